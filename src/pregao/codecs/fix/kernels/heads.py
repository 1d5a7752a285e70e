"""What a journal asks of many messages: their types, numbers and whether they were sent again. The plain way
is `feeds.fix.journal`, one message at a time.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import inlined, kernel, load_i64, load_u8, store_8, store_64

NO_NUMBER = -1
_LONGEST_NUMBER, _LONGEST_TYPE = 18, 8
_MSG_TYPE, _NUMBER, _REPEATED = 35, 34, 43


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


@kernel
def read_heads(base, offsets, lengths, count, kinds, numbers, repeated):
    """For each message: MsgType as a number, MsgSeqNum or NO_NUMBER, and whether it has 43=Y. Of tags that
    are there twice the first counts."""
    for message in range(count):
        at = load_i64(offsets, message * 8)
        end = at + load_i64(lengths, message * 8)
        kind, number, again, going = 0, NO_NUMBER, 0, 1
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
            at += 1
        store_64(kinds, message * 8, kind)
        store_64(numbers, message * 8, number)
        store_8(repeated, message, again)
