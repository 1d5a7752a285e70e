"""São Paulo's clock, where the exchange is: the only place that knows how far it is from UTC.

Three hours since 2019; before that there was summer time, so the zone database is asked.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

SAO_PAULO: Final = ZoneInfo("America/Sao_Paulo")
_EPOCH: Final = date(1970, 1, 1)
_SECOND_NS: Final = 1_000_000_000
_DAY_S: Final = 86_400
_USUAL: Final = timedelta(hours=-3)


def local_datetime(ns: int) -> datetime:
    """To the second, of nanoseconds since 1970."""
    return datetime.fromtimestamp(ns // _SECOND_NS, UTC).astimezone(SAO_PAULO)


def local_day(ns: int) -> int:
    """Days since 1970 of the date in São Paulo. A time that no calendar has (it may come from a damaged
    packet) is taken as three hours from UTC."""
    try:
        away = local_datetime(ns).utcoffset() or _USUAL
    except (OverflowError, ValueError, OSError):
        away = _USUAL
    return (ns // _SECOND_NS + away // timedelta(seconds=1)) // _DAY_S


def local_midnight_ns(day: int) -> int:
    """When a date, as days since 1970, begins in São Paulo."""
    on = _EPOCH + timedelta(days=day)
    return int(datetime(on.year, on.month, on.day, tzinfo=SAO_PAULO).timestamp()) * _SECOND_NS
