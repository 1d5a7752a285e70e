"""The FIX 4.4 session, both sides, without I/O: see `session`."""

from .session import FixSession
from .settings import B3, STANDARD, Role, Rules, SessionSettings
from .states import LocalProtocolError, State
from .store import MessageStore, Numbers, SessionDirectory, SessionRecord

__all__ = [
    "B3",
    "STANDARD",
    "FixSession",
    "LocalProtocolError",
    "MessageStore",
    "Numbers",
    "Role",
    "Rules",
    "SessionDirectory",
    "SessionRecord",
    "SessionSettings",
    "State",
]
