"""What every client of FIX sessions is set to: who it is, where its servers are, how long it waits.

name = "screens"              # of the session, in tables and health; sender's name if left out
sender = "SCREENS1"           # our CompID (49)
target = "B3MD"               # the server's (56)
primary = "127.0.0.1:9700"
standbys = ["127.0.0.1:9701"]
heartbeat_s = 30              # 108
retry_s = 30                  # until the primary is tried again
heartbeats = false            # whether those of the server are document
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pregao.feeds.session_port import Endpoint
from pregao.model.errors import ConfigurationError
from pregao.sessions.fix import SessionSettings

SECOND: Final = 1_000_000_000
MOST_STANDBYS: Final = 16
CONNECTION_KEYS: Final = frozenset({
    "system", "name", "sender", "target", "primary", "standbys", "heartbeat_s", "retry_s", "connect_s",
    "answer_s", "heartbeats",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    session: SessionSettings
    endpoints: tuple[Endpoint, ...]  # the primary first
    name: str = "session"
    retry_ns: int = 30 * SECOND
    connect_ns: int = 10 * SECOND
    answer_ns: int = 60 * SECOND  # from a request to its last answer, or to the next of them
    again_ns: int = SECOND  # until what a server was too busy for is asked for again
    tries: int = 5
    most_instruments: int = 1 << 17


def connection_settings(document: Mapping[str, Any], file: str, **session: Any) -> dict[str, Any]:
    """The fields of `ConnectionSettings` from a session file; `session` is more of its `SessionSettings`.
    ConfigurationError says which key is wrong."""
    sender, target = (text_of(document, key, file) for key in ("sender", "target"))
    standbys = document.get("standbys", [])
    if not isinstance(standbys, list) or len(standbys) > MOST_STANDBYS:
        raise ConfigurationError(f"a list of at most {MOST_STANDBYS}", file=file, key="standbys")
    names = ["primary", *(f"standby {number}" for number in range(1, len(standbys) + 1))]
    places = [document.get("primary"), *standbys]
    heartbeats = document.get("heartbeats", False)
    if not isinstance(heartbeats, bool):
        raise ConfigurationError("true or false", file=file, key="heartbeats")
    return {
        "session": SessionSettings(
            sender=sender, target=target, heartbeat_s=seconds_of(document, "heartbeat_s", 30, file),
            reset_on_logon=True, strict=False, tells_heartbeats=heartbeats, **session,
        ),
        "endpoints": tuple(_endpoint(name, place, file) for name, place in zip(names, places, strict=True)),
        "name": str(document.get("name", sender)),
        "retry_ns": seconds_of(document, "retry_s", 30, file) * SECOND,
        "connect_ns": seconds_of(document, "connect_s", 10, file) * SECOND,
        "answer_ns": seconds_of(document, "answer_s", 60, file) * SECOND,
    }  # fmt: skip


def check_keys(document: Mapping[str, Any], known: Collection[str], file: str) -> None:
    for key in document:
        if key not in known:
            raise ConfigurationError(f"unknown key {key!r}", file=file, key=key)


def text_of(document: Mapping[str, Any], key: str, file: str) -> str:
    """Errors name the key, never the value: it may be a password."""
    value = document.get(key)
    if not isinstance(value, str) or not value or len(value) > 64 or not value.isascii() or "\x01" in value:
        raise ConfigurationError("a text of at most 64 letters is needed", file=file, key=key)
    return value


def seconds_of(document: Mapping[str, Any], key: str, otherwise: int, file: str) -> int:
    value = document.get(key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 3_600:
        raise ConfigurationError("whole seconds from 1 to 3600", file=file, key=key)
    return value


def _endpoint(name: str, place: object, file: str) -> Endpoint:
    """`host:port`; an IPv6 address in brackets."""
    host, colon, port = place.rpartition(":") if isinstance(place, str) else ("", "", "")
    if not host or not colon or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f"{place!r} is no host:port", file=file, key=name.split()[0])
    return Endpoint(name, host.strip("[]"), int(port))
