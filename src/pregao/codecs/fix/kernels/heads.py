"""What a journal asks of many messages: types, numbers, times and whether they were sent again. The plain way
is `feeds.fix.journal`, one message at a time.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import inlined, kernel, load_i64, load_u8, store_8, store_64

NO_NUMBER = -1
_LONGEST_NUMBER, _LONGEST_TYPE = 18, 8
_MSG_TYPE, _NUMBER, _REPEATED, _SENT = 35, 34, 43, 52
_SHORTEST_TIME, _LONGEST_TIME = 17, 27  # YYYYMMDD-HH:MM:SS, with up to nine decimals


@inlined
def _is_of_header(tag):
    return tag in (
        8,
        9,
        34,
        35,
        43,
        49,
        50,
        52,
        56,
        57,
        97,
        115,
        116,
        122,
        128,
        129,
        142,
        143,
        144,
        145,
        347,
        369,
    )


@inlined
def _digits(base, at, count):
    """The number of so many digits; below zero: they are not all digits."""
    found = 0
    for i in range(count):
        digit = load_u8(base, at + i) - 48
        found = found * 10 + digit if found >= 0 and 0 <= digit <= 9 else -1
    return found


@inlined
def _days(year, month, day):
    """Since 1970, counted from the first of March, so that a leap day is the last of its year."""
    year -= 1 if month <= 2 else 0
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468


@inlined
def _is_time(base, at, size):
    if size < _SHORTEST_TIME or size > _LONGEST_TIME or size == _SHORTEST_TIME + 1:
        return False
    marks = load_u8(base, at + 8) == 45 and load_u8(base, at + 11) == 58 and load_u8(base, at + 14) == 58
    return marks and (size == _SHORTEST_TIME or load_u8(base, at + 17) == 46)


@inlined
def _time(base, at, size):
    """SendingTime in nanoseconds; 0: it is none."""
    if not _is_time(base, at, size):
        return 0
    year, month, day = _digits(base, at, 4), _digits(base, at + 4, 2), _digits(base, at + 6, 2)
    hour, minute, second = _digits(base, at + 9, 2), _digits(base, at + 12, 2), _digits(base, at + 15, 2)
    decimals = max(size - _SHORTEST_TIME - 1, 0)
    part = _digits(base, at + 18, decimals)
    if min(year, hour, minute, second, part) < 0 or not (1 <= month <= 12 and 1 <= day <= 31):
        return 0
    if hour > 23 or minute > 59 or second > 59 or year < 1970 or year > 2200:
        return 0
    for _ in range(9 - decimals):
        part *= 10
    seconds = _days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds * 1_000_000_000 + part


@kernel
def read_heads(base, offsets, lengths, count, kinds, numbers, repeated, sent):
    """For each message: MsgType as a number, MsgSeqNum or NO_NUMBER, whether it has 43=Y, and SendingTime in
    nanoseconds, 0 where it is none. Of tags that are there twice the first counts."""
    for message in range(count):
        at = load_i64(offsets, message * 8)
        end = at + load_i64(lengths, message * 8)
        kind, number, again, sent_ns, going = 0, NO_NUMBER, 0, 0, 1
        while going and at < end:
            tag = 0
            while at < end and load_u8(base, at) != 61:
                tag = tag * 10 + load_u8(base, at) - 48
                at += 1
            at += 1
            start = at
            while at < end and load_u8(base, at) != 1:
                at += 1
            size = at - start
            if not _is_of_header(tag):
                going = 0
            elif tag == _MSG_TYPE and kind == 0 and size <= _LONGEST_TYPE:
                for i in range(start, at):
                    kind = kind << 8 | load_u8(base, i)
            elif tag == _NUMBER and number == NO_NUMBER and 0 < size <= _LONGEST_NUMBER:
                number = 0
                for i in range(start, at):
                    digit = load_u8(base, i) - 48
                    number = number * 10 + digit if 0 <= digit <= 9 and number >= 0 else NO_NUMBER
            elif tag == _REPEATED:
                again = 1 if size == 1 and load_u8(base, start) == 89 else 0
            elif tag == _SENT and sent_ns == 0:
                sent_ns = _time(base, start, size)
            at += 1
        store_64(kinds, message * 8, kind)
        store_64(numbers, message * 8, number)
        store_8(repeated, message, again)
        store_64(sent, message * 8, sent_ns)
