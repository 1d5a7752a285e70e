"""Dates and times in digits (3.1.3) to days and nanoseconds. The plain twins are in `feeds.fast.times`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import inlined, kernel, load_i64, store_64

NO_TIME = -1
DAY = 86_400_000_000_000
_CLOCK = 1_000_000_000  # HHMMSSsss in a time with its date


@kernel
def days_of(date):
    """YYYYMMDD as days since 1970; NO_TIME: there is no such day, or it is before."""
    year, month, day = date // 10_000, date // 100 % 100, date % 100
    if year < 1970 or year > 9999 or month < 1 or month > 12 or day < 1 or day > 31:
        return NO_TIME
    if month in (4, 6, 9, 11) and day > 30:
        return NO_TIME
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month == 2 and day > (29 if leap else 28):
        return NO_TIME
    # Years that begin in March: the day that some have more is their last.
    shifted = year - 1 if month <= 2 else year
    month_from_march = (month + 9) % 12
    day_of_year = (153 * month_from_march + 2) // 5 + day - 1
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + day_of_year - 719_468


@inlined
def clock_ns(clock):
    """HHMMSSsss since midnight; NO_TIME: there is no such time. A second may be the 61st of its minute."""
    hours, minutes, milliseconds = clock // 10_000_000, clock // 100_000 % 100, clock % 100_000
    if clock < 0 or hours > 23 or minutes > 59 or milliseconds >= 61_000:
        return NO_TIME
    return ((hours * 60 + minutes) * 60_000 + milliseconds) * 1_000_000


@inlined
def day_ns(known, date):
    """The first nanosecond of a date; `known` are two words that remember the last one, 0: none yet."""
    if load_i64(known, 0) == date and date != 0:
        return load_i64(known, 8)
    days = days_of(date)
    if days == NO_TIME:
        return NO_TIME
    store_64(known, 0, date)
    store_64(known, 8, days * DAY)
    return days * DAY


@inlined
def ns_of(known, time):
    """YYYYMMDDHHMMSSsss, all 17 digits of it; NO_TIME: there is no such time."""
    if time < 10_000_000_000_000_000 or time >= 100_000_000_000_000_000:
        return NO_TIME
    since = clock_ns(time % _CLOCK)
    begins = day_ns(known, time // _CLOCK)
    if since == NO_TIME or begins == NO_TIME:
        return NO_TIME
    return begins + since


@kernel
def time_of(known, time):
    """As `ns_of`, for tests."""
    return ns_of(known, time)
