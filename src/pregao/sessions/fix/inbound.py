"""The other side's numbers: what is next, what is missing, what is held behind a gap."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pregao.codecs.fix import FixMessage
from pregao.sessions.fix.store import Numbers


@dataclass(slots=True)
class Gap:
    """A gap that was asked for. It is over when the highest number that was seen has been passed."""

    seen: int
    last_progress_ns: int
    attempts: int = 1


@dataclass(slots=True)
class Inbound:
    """Holds messages that came too early, within bounds. What does not fit is dropped: its number is missing
    again when its turn comes, and is then asked for."""

    numbers: Numbers
    max_held: int
    max_bytes: int
    gap: Gap | None = None
    _held: dict[int, tuple[FixMessage | None, int]] = field(default_factory=dict)
    _bytes: int = 0

    @property
    def expected(self) -> int:
        return self.numbers.next_in

    @property
    def held(self) -> int:
        return len(self._held)

    def hold(self, number: int, message: FixMessage | None, size: int) -> None:
        """Keep a message for its turn; None where it has been dealt with already and only its number
        counts."""
        if number in self._held or len(self._held) >= self.max_held or self._bytes + size > self.max_bytes:
            return
        self._held[number] = (message, size)
        self._bytes += size

    def advance(self, to: int, now_ns: int) -> None:
        """The next number to expect. Numbers only go forward, but for a reset."""
        self.numbers.next_in = to
        if self.gap is not None:
            self.gap.last_progress_ns = now_ns
            self.gap.attempts = 1

    def next_held(self) -> Iterator[FixMessage | None]:
        """Held messages whose turn it is, as long as whoever takes them goes forward."""
        while self.expected in self._held:
            yield self._drop(self.expected)
        for number in [number for number in self._held if number < self.expected]:
            self._drop(number)

    def is_filled(self) -> bool:
        return self.gap is not None and self.expected > self.gap.seen

    def clear(self) -> None:
        self._held.clear()
        self._bytes = 0
        self.gap = None

    def _drop(self, number: int) -> FixMessage | None:
        message, size = self._held.pop(number)
        self._bytes -= size
        return message
