"""The FIX 4.4 session, both sides, without I/O: see `session`."""

from pregao.sessions.fix.session import FixSession
from pregao.sessions.fix.states import (
    B3,
    STANDARD,
    LocalProtocolError,
    Role,
    Rules,
    SessionSettings,
    SessionState,
)
from pregao.sessions.fix.store import MessageStore, Numbers, SessionDirectory, SessionRecord

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
    "SessionState",
]
