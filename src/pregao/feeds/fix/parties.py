"""Sessions of FIX as captures know them: whose they are, and which side says what."""

import re
from collections.abc import Set
from typing import Final

from pregao.feeds.session_port import SessionParties

LOOKED_AT: Final = 1_024  # bytes: the names are in the header
_TYPE: Final = re.compile(rb"\x0135=([^\x01]{1,8})\x01")
_SENDER: Final = re.compile(rb"\x0149=([^\x01]{1,64})\x01")
_TARGET: Final = re.compile(rb"\x0156=([^\x01]{1,64})\x01")
_BEGIN: Final = b"8=FIX"


def parties_of(data: bytes) -> SessionParties | None:
    """SenderCompID and TargetCompID of the first message that begins in these bytes."""
    at = data.find(_BEGIN)
    if at < 0:
        return None
    head = data[at : at + LOOKED_AT]
    sender, target = _SENDER.search(head), _TARGET.search(head)
    if sender is None or target is None:
        return None
    return SessionParties(sender[1].decode("latin-1"), target[1].decode("latin-1"))


def type_of(message: bytes) -> bytes:
    """MsgType; empty where there is none."""
    found = _TYPE.search(message[:LOOKED_AT])
    return b"" if found is None else found[1]


def side_of(message: bytes, servers: Set[bytes], clients: Set[bytes]) -> bool | None:
    """Whether it is of a type that only servers send, or only clients; None: neither."""
    kind = type_of(message)
    return True if kind in servers else False if kind in clients else None
