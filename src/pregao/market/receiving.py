"""How receiving goes, for people and metrics."""

from dataclasses import dataclass

from pregao.io.packet_reader import ReaderHealth
from pregao.model.streams import StreamId


@dataclass(frozen=True, slots=True)
class LineReception:
    """One socket."""

    id: StreamId
    group: str
    port: int
    joined: bool
    packets: int
    bytes: int
    drops: int  # by the kernel, as far as packets told
    too_long: int
    errors: int
    buffer_bytes: int
    trouble: str | None = None  # why it could not be joined or left; it is tried again


@dataclass(frozen=True, slots=True)
class Reception:
    """All sockets. `hint`: what to do about a receive buffer that is too small."""

    reader: ReaderHealth
    lines: tuple[LineReception, ...]
    hint: str | None
