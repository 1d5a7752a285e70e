"""Times as people read them, in São Paulo and UTC, without a datetime per message.

São Paulo has been whole hours from UTC for as long as there is a wire, and changes its clock on
whole hours: what is looked up once an hour of data is the date, the hour and the offset.
"""

from datetime import UTC, date, datetime, timedelta

from pregao.model.local_time import SAO_PAULO

_HOUR_NS = 3_600_000_000_000
_CACHE = 4096
_EPOCH = date(1970, 1, 1)


class Clock:
    """Formats nanoseconds since 1970."""

    def __init__(self) -> None:
        self._hours: dict[int, tuple[str, str, str, str]] = {}

    def both(self, ns: int) -> str:
        """`2025-03-31 10:15:00.123456789-03 13:15:00.123456789Z`"""
        hour, rest = divmod(ns, _HOUR_NS)
        day, local, offset, utc = self._hours.get(hour) or self._look_up(hour)
        tail = _tail(rest)
        return f"{day} {local}{tail}{offset} {utc}{tail}Z"

    def local(self, ns: int, near_ns: int) -> str:
        """São Paulo's time of day; with its date when that is not the one of `near_ns`."""
        hour, rest = divmod(ns, _HOUR_NS)
        day, local, _, _ = self._hours.get(hour) or self._look_up(hour)
        near = near_ns // _HOUR_NS
        same_day = hour == near or day == (self._hours.get(near) or self._look_up(near))[0]
        return f"{local}{_tail(rest)}" if same_day else f"{day} {local}{_tail(rest)}"

    def seconds(self, value: int) -> str:
        """Seconds since 1970, with the date."""
        day, local, _, _ = self._hours.get(value // 3600) or self._look_up(value // 3600)
        minute, second = divmod(value % 3600, 60)
        return f"{day} {local}{minute:02d}:{second:02d}"

    def _look_up(self, hour: int) -> tuple[str, str, str, str]:
        if len(self._hours) >= _CACHE:
            self._hours.clear()
        try:
            moment = datetime.fromtimestamp(hour * 3600, UTC)
            local = moment.astimezone(SAO_PAULO)
        except (OverflowError, ValueError, OSError):
            entry = ("????-??-??", "??:", "", "??:")
        else:
            away = (local.utcoffset() or timedelta()) // timedelta(hours=1)
            entry = (local.date().isoformat(), f"{local.hour:02d}:", f"{away:+03d}", f"{moment.hour:02d}:")
        self._hours[hour] = entry
        return entry


def _tail(rest: int) -> str:
    seconds, fraction = divmod(rest, 1_000_000_000)
    return f"{seconds // 60:02d}:{seconds % 60:02d}.{fraction:09d}"


def date_of(days: int) -> str:
    """A LocalMktDate: days since 1970. One that no calendar has is shown as it was sent."""
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:
        return f"day {days}"
