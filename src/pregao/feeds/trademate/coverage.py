"""How often every value that Trademate lists has occurred in messages; what never occurred is there with 0.

What the text reserves (277: 1, 3; 871=58: 8) and what no message of a running market can have is left out.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from pregao.codecs.fix import Dictionary, Entry, parse_message
from pregao.model.fixed_income import BondAttribute, BondKind, TradingSector

_LISTED: Final[dict[int, tuple[str, ...]]] = {
    269: tuple("012457 8 9 B g c".replace(" ", "")),
    277: ("L", "R", "AW", "AWR", "RFQ", "VO"),
    279: ("0", "1", "2"),
    286: ("0", "4", "5"),
    326: ("2", "17", "21"),
    423: ("1", "2", "6", "9"),
    762: tuple(str(int(kind)) for kind in BondKind if kind),
    871: tuple(str(int(kind)) for kind in BondAttribute),
    876: ("1", "2"),
    980: ("M",),
    1946: ("1", "2", "3", "4"),
    6939: ("1", "2", "3", "4"),
}
_SECTOR: Final = str(int(BondAttribute.TRADING_SECTOR)).encode()
_MESSAGES: Final = ("A", "V", "W", "X", "f", "x", "y")


class Occurrences:
    """Counts in the messages of both sides of sessions."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        names = [f"35={each}" for each in _MESSAGES]
        names += [f"{tag}={value}" for tag, values in _LISTED.items() for value in values]
        names += [f"871=58: 872={int(sector)}" for sector in TradingSector]
        self.counts: Counter[str] = Counter(dict.fromkeys(names, 0))

    def count(self, payloads: Iterable[bytes]) -> None:
        for payload in payloads:
            message = parse_message(payload, self._dictionary)
            name = f"35={message.msg_type.decode('latin-1')}"
            if name in self.counts:
                self.counts[name] += 1
            self._entry(message.body)

    def _entry(self, entry: Entry) -> None:
        for tag, value in entry.items():
            if isinstance(value, list):
                for each in value:
                    self._entry(each)
            elif tag in _LISTED and isinstance(value, bytes):
                for word in value.decode("latin-1").split(" "):
                    if word in _LISTED[tag]:
                        self.counts[f"{tag}={word}"] += 1
        if entry.get(871) == _SECTOR and isinstance(sector := entry.get(872), bytes):
            name = f"871=58: 872={sector.decode('latin-1')}"
            if name in self.counts:
                self.counts[name] += 1
