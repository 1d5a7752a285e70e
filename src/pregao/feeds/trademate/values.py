"""Values of Trademate's fields, written and read.

Prices have eight places here, sizes too where a bond may be traded in fractions; texts have as few decimals
as they need. Times are UTC to the millisecond, with separators; those without (hhmmssSSS) are read too.
"""

from functools import lru_cache
from typing import Any, Final

from pregao.codecs.fix import Entry
from pregao.codecs.fix.formats import format_timestamp
from pregao.feeds.fix_values import DAY_NS, number_of
from pregao.model.market import EXCHANGE, State

Fields = dict[int, Any]  # bytes; of groups a list of such

SOURCE, MARKET = b"8", EXCHANGE.encode("ascii")
ELECTRONIC: Final = b"E"
STATES: Final = {State.PAUSE: b"2", State.OPEN: b"17", State.RESERVED: b"21"}

# Written


@lru_cache(maxsize=1 << 16)
def decimal_text(value: int, exponent: int) -> bytes:
    """An integer of ten to an exponent, without zeros at its end: 1332000000 and -8 are 13.32."""
    if not exponent:
        return b"%d" % value
    sign, (whole, rest) = b"-" if value < 0 else b"", divmod(abs(value), 10**-exponent)
    text = b"%b%d.%0*d" % (sign, whole, -exponent, rest)
    return text.rstrip(b"0").rstrip(b".")


@lru_cache(maxsize=1024)
def date_text(days: int) -> bytes:
    return format_timestamp(days * DAY_NS, 0)[:8]


def time_text(time_ns: int) -> bytes:
    return format_timestamp(time_ns, 3)[9:]


def moment_fields(time_ns: int) -> Fields:
    return {272: date_text(time_ns // DAY_NS), 273: time_text(time_ns)}


# Read


def group_of(entry: Entry, tag: int) -> list[Entry]:
    value = entry.get(tag)
    return value if isinstance(value, list) else []


def small_of(raw: bytes | None, most: int = 255) -> int:
    """0 where there is none that fits."""
    number = number_of(raw)
    return number if 0 <= number <= most else 0
