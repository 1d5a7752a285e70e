"""How often every value and field that Trademate lists has occurred in messages; what never occurred is there
with 0.

What the text reserves (277: 1, 3; 871=58: 8) and what no message of a running market can have is left out, as
are messages of the session itself but the logon.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from pregao.codecs.fix import Dictionary, Entry, FixMessage, parse_message
from pregao.model.fixed_income import BondAttribute, BondKind, TradingSector

_LISTED: Final[dict[int, tuple[str, ...]]] = {
    167: ("CBIO", "CORP", "GOVBOND"),
    263: ("1", "2"),
    269: ("0", "1", "2", "4", "5", "7", "8", "9", "B", "c", "g"),
    274: ("0", "1", "2", "3"),
    277: ("L", "R", "AW", "AWR", "RFQ", "VO"),
    279: ("0", "1", "2"),
    281: ("1", "4", "M", "T", "Y"),
    286: ("0", "4", "5"),
    326: ("2", "17", "21"),
    336: ("1",),
    423: ("1", "2", "6", "9"),
    456: ("4", "8", "H"),
    460: ("3", "6"),
    560: ("0", "1", "6", "M"),
    762: tuple(str(int(kind)) for kind in BondKind if kind),
    871: tuple(str(int(kind)) for kind in BondAttribute),
    876: ("1", "2"),
    893: ("Y",),
    980: ("A", "D", "M"),
    1093: ("1", "2"),
    1500: ("E",),
    1946: ("1", "2", "3", "4"),
    6939: ("1", "2", "3", "4"),
    9750: ("N", "Y"),
    9751: ("N", "Y"),
}
_SECTOR: Final = str(int(BondAttribute.TRADING_SECTOR)).encode()
# Fields of messages (1.2.1, 1.3), those of groups under the message.
_OF_MESSAGES: Final[dict[str, tuple[int, ...]]] = {
    "A": (98, 108, 141, 553, 554),
    "x": (320, 263, 460, 461),
    "y": (
        320, 322, 560, 393, 893, 146, 55, 48, 22, 207, 1141, 264, 1021, 454, 455, 456, 460, 461, 167, 762,
        541, 223, 224, 225, 1946, 228, 326, 470, 107, 876, 980, 969, 9600, 9746, 9747, 9748, 9749, 9750,
        9751, 870, 871, 872, 711, 311, 309, 305, 15, 6937, 6938, 561, 423, 1234, 1093,
    ),
    "f": (48, 22, 207, 228, 876, 870, 871, 872, 711, 311, 309, 305, 60, 75, 336, 342, 326, 1500),
    "V": (262, 263, 460),
    "W": (262, 75, 911, 893, 48, 22, 207, 228, 876, 711, 268),
    "X": (75, 268),
    "Y": (262, 281, 58),
}  # fmt: skip
_EVERY: Final = (272, 273)
_EVERY_X: Final = (279, 48, 22, 207, 876)
_OF_ENTRIES: Final[dict[str, tuple[int, ...]]] = {
    "0": (37, 290, 423, 270, 271), "1": (37, 290, 423, 270, 271),
    "2": (1003, 270, 271, 423, 274, 277, 451, 1020), "4": (270, 271, 286, 1500), "5": (270, 286),
    "7": (270, 423), "8": (270, 423), "9": (270, 423), "B": (270, 271, 1020), "c": (326,),
    "g": (6939, 1148, 1149),
}  # fmt: skip
_ONLY_W: Final = {"2": (336,)}
_ONLY_X: Final = dict.fromkeys(("0", "1", "2"), (37016, 37017))


def _names() -> Iterator[str]:
    yield from (f"35={each}" for each in _OF_MESSAGES)
    yield from (f"{tag}={value}" for tag, values in _LISTED.items() for value in values)
    yield from (f"871=58: 872={int(sector)}" for sector in TradingSector)
    yield from (f"35={kind}: {tag}" for kind, tags in _OF_MESSAGES.items() for tag in tags)
    for kind, tags in _OF_ENTRIES.items():
        yield from (f"35=W, 269={kind}: {tag}" for tag in (*_EVERY, *tags, *_ONLY_W.get(kind, ())))
        yield from (f"35=X, 269={kind}: {tag}" for tag in (*_EVERY, *_EVERY_X, *tags, *_ONLY_X.get(kind, ())))


class Occurrences:
    """Counts in the messages of both sides of sessions."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.counts: Counter[str] = Counter(dict.fromkeys(_names(), 0))

    def count(self, payloads: Iterable[bytes]) -> None:
        for payload in payloads:
            self._message(parse_message(payload, self._dictionary))

    def _message(self, message: FixMessage) -> None:
        name = f"35={message.msg_type.decode('latin-1')}"
        self._note(name)
        self._fields(name, message.body)
        self._values(message.body)
        for entry in message.group(268) if name in ("35=W", "35=X") else ():
            kind = entry.get(269)
            of_entry = f"{name}, 269={kind.decode('latin-1') if isinstance(kind, bytes) else ''}"
            for tag in entry:
                self._note(f"{of_entry}: {tag}")

    def _note(self, name: str) -> None:
        if name in self.counts:
            self.counts[name] += 1

    def _fields(self, name: str, entry: Entry) -> None:
        for tag, value in entry.items():
            self._note(f"{name}: {tag}")
            if isinstance(value, list) and tag != 268:
                for each in value:
                    self._fields(name, each)

    def _values(self, entry: Entry) -> None:
        for tag, value in entry.items():
            if isinstance(value, list):
                for each in value:
                    self._values(each)
            elif tag in _LISTED and isinstance(value, bytes):
                for word in value.decode("latin-1").split(" "):
                    self._note(f"{tag}={word}")
        if entry.get(871) == _SECTOR and isinstance(sector := entry.get(872), bytes):
            self._note(f"871=58: 872={sector.decode('latin-1')}")
