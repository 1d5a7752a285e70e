"""Passwords taken out of the bytes of FIX messages, so that journals and logs can keep all else.

The value of 554 (and 925, a new password) becomes `***` whatever its length was. BodyLength and CheckSum are
mended by as much as the message changed: a right one stays right, a garbled one exactly as wrong as it was.
Bytes that are no whole message are blanked too: what looks like a password in them is one.
"""

import re
from typing import Final

from pregao.codecs.fix.message import byte_sum

BLANK: Final = b"***"
# Also with leading zeros, which no engine takes, and cut off before its delimiter.
_SECRET: Final = re.compile(rb"((?:^|\x01)0*(?:554|925)=)[^\x01]*")
_LENGTH: Final = re.compile(rb"\A(8=[^\x01]*\x019=)(\d{1,9})(\x01)")
_NEXT_MESSAGE: Final = re.compile(rb"(?<=\x01)(?=8=FIX)")
_CHECK_SUM: Final = re.compile(rb"(\x0110=)(\d{3})(\x01)\Z")


def blank_stream(data: bytes) -> bytes:
    """The same of any number of messages, as they follow each other on a connection."""
    if b"554=" not in data and b"925=" not in data:
        return data
    return b"".join(blank_passwords(part) for part in _NEXT_MESSAGE.split(data))


def blank_passwords(data: bytes) -> bytes:
    """The same message, or piece of one, without its passwords."""
    if b"554=" not in data and b"925=" not in data:
        return data
    blanked = _SECRET.sub(lambda match: match[1] + BLANK, data)
    if blanked == data:
        return data
    check = _CHECK_SUM.search(data)
    blanked = _LENGTH.sub(
        lambda match: b"%b%d%b" % (match[1], int(match[2]) + len(blanked) - len(data), match[3]), blanked
    )
    if check is None:
        return blanked
    place = len(blanked) - (len(data) - check.start()) + 1  # behind the delimiter before 10=
    change = byte_sum(blanked[:place]) - byte_sum(data[: check.start() + 1])
    return b"%b10=%03d\x01" % (blanked[:place], (int(check[2]) + change) % 256)
