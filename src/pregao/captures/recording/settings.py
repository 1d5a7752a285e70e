"""How recordings are cut."""

from dataclasses import dataclass
from pathlib import Path

from pregao.io.receive_buffer import RECEIVE_BUFFER
from pregao.io.recording import DEFAULT_LEVEL
from pregao.model.errors import ConfigurationError

NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RecordSettings:
    out: Path
    rotate_bytes: int = 1 << 30  # on disk
    rotate_ns: int = 3600 * NS_PER_SECOND
    frame_bytes: int = 4 << 20  # before compression
    frame_ns: int = NS_PER_SECOND  # what a power cut may cost
    level: int = DEFAULT_LEVEL
    buffer_bytes: int = RECEIVE_BUFFER
    longest: int = 9216  # payload, a jumbo frame's; longer ones are counted and left out

    def __post_init__(self) -> None:
        for name, low, high in (
            ("rotate_bytes", 1, 1 << 50),
            ("rotate_ns", 1, 1 << 60),
            ("frame_bytes", 1, 1 << 28),
            ("frame_ns", 1, 1 << 60),
            ("level", 1, 22),
            ("buffer_bytes", 4096, 1 << 30),
            ("longest", 64, 65_535),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigurationError(f"must be from {low} to {high}, not {getattr(self, name)}", key=name)
