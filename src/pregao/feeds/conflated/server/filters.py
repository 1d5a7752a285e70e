"""Which instruments a request is for (7.4.1, 7.5.1): all filters that are given must match, of a group of
values any."""

from collections.abc import Iterable, Mapping

from pregao.codecs.fix import FixMessage
from pregao.feeds.conflated.publisher.entries import MARKET, SOURCE
from pregao.model.instruments import Instrument
from pregao.model.records import record

_LONGEST_ID = 18  # digits of a SecurityID


@record
class InstrumentFilter:
    """What is None was not given."""

    security_ids: frozenset[int] | None = None
    groups: frozenset[str] | None = None
    security_type: str | None = None
    product: int | None = None
    cfi_code: str | None = None  # by its beginning
    changed_since_ns: int | None = None

    @property
    def is_empty(self) -> bool:
        given = (self.security_ids, self.groups, self.security_type, self.product, self.cfi_code)
        return all(each is None for each in given)

    def matches(self, instrument: Instrument) -> bool:
        return (
            (self.security_ids is None or instrument.security_id in self.security_ids)
            and (self.groups is None or instrument.group in self.groups)
            and (self.security_type is None or instrument.security_type.name == self.security_type)
            and (self.product is None or instrument.product == self.product)
            and (self.cfi_code is None or instrument.cfi_code.startswith(self.cfi_code))
        )

    def find(self, instruments: Mapping[int, Instrument]) -> list[int]:
        """Those that match, in the order of the list."""
        if self.security_ids is not None:
            candidates: Iterable[int] = sorted(self.security_ids & instruments.keys())
        else:
            candidates = instruments
        return [each for each in candidates if self.matches(instruments[each])]


def read_filter(message: FixMessage) -> InstrumentFilter:
    """Of 35=x or 35=V. A group of none is no filter; an instrument of elsewhere is one that nobody knows."""
    groups = frozenset(_text(entry[1151]) for entry in message.group(37022) if 1151 in entry)
    return InstrumentFilter(
        security_ids=security_ids(message) if message.group(146) else None,
        groups=groups or None,
        security_type=message.text(167) or None,
        product=message.integer(460),
        cfi_code=message.text(461) or None,
        changed_since_ns=message.timestamp(6935),
    )


def security_ids(message: FixMessage) -> frozenset[int]:
    found = (read_security_id(entry) for entry in message.group(146))
    return frozenset(each for each in found if each is not None)


def read_security_id(entry: Mapping[int, object]) -> int | None:
    text = entry.get(48)
    if entry.get(22) != SOURCE or entry.get(207) != MARKET or not isinstance(text, bytes):
        return None
    return int(text) if text.isdigit() and len(text) <= _LONGEST_ID else None


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else ""
