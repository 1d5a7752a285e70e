"""What a client of PUMA Conflated is set to: the session file, as TOML.

system = "conflated"
name = "screens"              # of the session, in tables and health; sender's name if left out
sender = "SCREENS1"           # our CompID (49)
target = "B3MD"               # the server's (56)
primary = "127.0.0.1:9700"
standbys = ["127.0.0.1:9701"]
heartbeat_s = 30              # 108 (4.4.1)
retry_s = 30                  # until the primary is tried again (4.1)
totals = true                 # market totals (7.7)
history = "missed"            # or "day": all trades of the day; "none"
heartbeats = false            # whether those of the server are told

[[filter]]                    # what to subscribe to; none: everything (559=4)
security_type = "CS"          # 167
product = 5                   # 460
cfi_code = "ES"               # 461
groups = ["01"]               # 1151, of market data
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pregao.feeds.session_port import Endpoint
from pregao.model.errors import ConfigurationError
from pregao.sessions.fix import SessionSettings

SECOND: Final = 1_000_000_000
MOST_STANDBYS: Final = 16
MOST_FILTERS: Final = 100
HISTORIES: Final = ("missed", "day", "none")
_KEYS: Final = frozenset({
    "system", "name", "sender", "target", "primary", "standbys", "heartbeat_s", "retry_s", "connect_s",
    "answer_s", "totals", "history", "heartbeats", "filter",
})  # fmt: skip
_FILTER_KEYS: Final = frozenset({"security_type", "product", "cfi_code", "groups"})


@dataclass(frozen=True, slots=True)
class Filter:
    """What an instrument must have: all that is given (7.4.1)."""

    security_type: str = ""
    product: int | None = None
    cfi_code: str = ""
    groups: tuple[str, ...] = ()

    def fields(self) -> dict[int, Any]:
        """Tags of both requests."""
        told = {167: self.security_type or None, 460: self.product, 461: self.cfi_code or None}
        return {tag: value for tag, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ClientSettings:
    session: SessionSettings
    endpoints: tuple[Endpoint, ...]  # the primary first
    name: str = "session"
    retry_ns: int = 30 * SECOND
    connect_ns: int = 10 * SECOND
    answer_ns: int = 60 * SECOND  # from a request to its last answer, or to the next of them
    again_ns: int = SECOND  # until what a server was too busy for is asked for again
    tries: int = 5
    totals: bool = True
    history: str = "missed"
    filters: tuple[Filter, ...] = field(default=())
    instruments_in_a_request: int = 50
    groups_in_a_request: int = 100
    most_instruments: int = 1 << 17


def settings_of(told: Mapping[str, Any], file: str = "") -> ClientSettings:
    """From a session file; ConfigurationError says which key is wrong."""
    for key in told:
        if key not in _KEYS:
            raise ConfigurationError(f"unknown key {key!r}", file=file, key=key)
    sender, target = (_text(told, key, file) for key in ("sender", "target"))
    standbys = told.get("standbys", [])
    if not isinstance(standbys, list) or len(standbys) > MOST_STANDBYS:
        raise ConfigurationError(f"a list of at most {MOST_STANDBYS}", file=file, key="standbys")
    names = ["primary", *(f"standby {number}" for number in range(1, len(standbys) + 1))]
    places = [told.get("primary"), *standbys]
    endpoints = tuple(_endpoint(name, place, file) for name, place in zip(names, places, strict=True))
    filters = told.get("filter", [])
    if not isinstance(filters, list) or len(filters) > MOST_FILTERS:
        raise ConfigurationError(f"at most {MOST_FILTERS} of [[filter]]", file=file, key="filter")
    history, totals = told.get("history", "missed"), told.get("totals", True)
    if history not in HISTORIES:
        raise ConfigurationError(f"one of {', '.join(HISTORIES)}", file=file, key="history")
    heartbeats = told.get("heartbeats", False)
    for key, value in (("totals", totals), ("heartbeats", heartbeats)):
        if not isinstance(value, bool):
            raise ConfigurationError("true or false", file=file, key=key)
    heartbeat_s = _seconds(told, "heartbeat_s", 30, file)
    session = SessionSettings(
        sender=sender, target=target, heartbeat_s=heartbeat_s, reset_on_logon=True, strict=False,
        tells_heartbeats=heartbeats,
    )  # fmt: skip
    return ClientSettings(
        session, endpoints, name=str(told.get("name", sender)),
        retry_ns=_seconds(told, "retry_s", 30, file) * SECOND,
        connect_ns=_seconds(told, "connect_s", 10, file) * SECOND,
        answer_ns=_seconds(told, "answer_s", 60, file) * SECOND, totals=totals, history=history,
        filters=tuple(_filter(each, file) for each in filters),
    )  # fmt: skip


def _text(told: Mapping[str, Any], key: str, file: str) -> str:
    value = told.get(key)
    if not isinstance(value, str) or not value or len(value) > 64 or not value.isascii() or "\x01" in value:
        raise ConfigurationError("a text of at most 64 letters is needed", file=file, key=key)
    return value


def _seconds(told: Mapping[str, Any], key: str, otherwise: int, file: str) -> int:
    value = told.get(key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 3_600:
        raise ConfigurationError("whole seconds from 1 to 3600", file=file, key=key)
    return value


def _endpoint(name: str, place: object, file: str) -> Endpoint:
    """`host:port`; an IPv6 address in brackets."""
    host, colon, port = place.rpartition(":") if isinstance(place, str) else ("", "", "")
    if not host or not colon or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f"{place!r} is no host:port", file=file, key=name.split()[0])
    return Endpoint(name, host.strip("[]"), int(port))


def _filter(told: object, file: str) -> Filter:
    if not isinstance(told, dict) or not told or not told.keys() <= _FILTER_KEYS:
        raise ConfigurationError(f"keys are {', '.join(sorted(_FILTER_KEYS))}", file=file, key="filter")
    product, groups = told.get("product"), told.get("groups", [])
    if product is not None and (not isinstance(product, int) or isinstance(product, bool)):
        raise ConfigurationError("a number", file=file, key="product")
    if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
        raise ConfigurationError("a list of names", file=file, key="groups")
    return Filter(str(told.get("security_type", "")), product, str(told.get("cfi_code", "")), tuple(groups))
