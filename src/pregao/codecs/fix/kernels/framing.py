"""Where the messages of a stream are. The plain framer judges all that is not ordinary."""

from pregao.codecs.fix.kernels.values import digit_of
from pregao.kernels import kernel, load_u8, store_64


@kernel
def frame_messages(base, at, end, longest, begin, begin_size, offsets, lengths, room):
    """Places of messages that stand one behind the other and are as they should be: `begin` (8=…|9=),
    length, 35=, sum. Stops before what is not whole or not ordinary, which the plain framer judges. How
    many, and where it stopped."""
    count = 0
    while count < room:
        place = at + begin_size
        if place + 12 > end:
            break
        same = True
        for i in range(begin_size):
            same = same and load_u8(base, at + i) == load_u8(begin, i)
        size, digits, digit = 0, 0, digit_of(base, place)
        while digit <= 9 and digits < 9:
            size, digits, place = size * 10 + digit, digits + 1, place + 1
            digit = digit_of(base, place) if place < end else 99
        body_end = place + 1 + size
        if not same or digits < 1 or place >= end or load_u8(base, place) != 1 or body_end + 7 - at > longest:
            break
        if body_end + 7 > end or size < 4 or load_u8(base, body_end - 1) != 1:
            break
        total = 0
        for i in range(at, body_end):
            total += load_u8(base, i)
        given = digit_of(base, body_end + 3) * 10 + digit_of(base, body_end + 4)
        given = given * 10 + digit_of(base, body_end + 5)
        good = load_u8(base, body_end) == 49 and load_u8(base, body_end + 1) == 48
        good = good and load_u8(base, body_end + 2) == 61 and load_u8(base, body_end + 6) == 1
        good = good and load_u8(base, place + 1) == 51 and load_u8(base, place + 2) == 53
        good = good and load_u8(base, place + 3) == 61 and given == total % 256
        if not good:
            break
        store_64(offsets, count * 8, at)
        store_64(lengths, count * 8, body_end + 7 - at)
        count += 1
        at = body_end + 7
    return count, at
