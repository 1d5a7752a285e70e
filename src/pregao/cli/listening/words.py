"""Small words of the screen: times, durations, sizes, how far something is to be believed."""

from typing import Final

from rich.text import Text

from pregao.captures.formats.times import Clock
from pregao.recovery.instruments import BookStatus

CLOCK: Final = Clock()
STYLES: Final = {BookStatus.CLEAN: "green", BookStatus.UNVERIFIED: "yellow", BookStatus.STALE: "bold red"}
_MEANINGS: Final = {
    BookStatus.CLEAN: "clean",
    BookStatus.UNVERIFIED: "UNVERIFIED: packets were lost that may have concerned it",
    BookStatus.STALE: "STALE: something is missing, waiting for a snapshot",
}
_STEPS: Final = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def status_text(status: BookStatus, *, long: bool = False) -> Text:
    word = _MEANINGS[status] if long else status.name if status is not BookStatus.CLEAN else "clean"
    return Text(word, STYLES[status])


def clock_text(ns: int | None, places: int = 3) -> str:
    """São Paulo's time of day."""
    if not ns:
        return "-"
    return CLOCK.local(ns, ns)[: 8 + (places + 1 if places else 0)]


def date_text(ns: int) -> str:
    return CLOCK.both(ns)[:10]


def duration_text(ns: int) -> str:
    """In the unit that leaves one to three digits before the point."""
    for unit_ns, unit in _STEPS:
        if abs(ns) >= unit_ns:
            value = ns / unit_ns
            return f"{value:.0f} {unit}" if abs(value) >= 10 else f"{value:.1f} {unit}"
    return "0"


def amount_text(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
