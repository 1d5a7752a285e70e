"""Colours of a terminal, or none."""

from dataclasses import dataclass

_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Palette:
    """What each thing is wrapped in; `PLAIN` leaves everything as it is."""

    faint: str = ""  # what is read last: names of fields, UTC
    strong: str = ""  # template
    symbol: str = ""
    buy: str = ""
    sell: str = ""
    number: str = ""  # price and size
    alarm: str = ""  # what nobody knows

    def paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if style else text


PLAIN = Palette()
COLORFUL = Palette(
    faint="\x1b[2m",
    strong="\x1b[1m",
    symbol="\x1b[1;36m",
    buy="\x1b[32m",
    sell="\x1b[31m",
    number="\x1b[1m",
    alarm="\x1b[1;33m",
)
