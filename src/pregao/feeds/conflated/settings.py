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
price_depth = false           # true: books by price level (1021=2), where a server has them

[[filter]]                    # what to subscribe to; none: everything (559=4)
security_type = "CS"          # 167
product = 5                   # 460
cfi_code = "ES"               # 461
groups = ["01"]               # 1151, of market data
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pregao.feeds.fix.settings import CONNECTION_KEYS, ConnectionSettings, check_keys, connection_settings
from pregao.model.errors import ConfigurationError

MOST_FILTERS: Final = 100
HISTORIES: Final = ("missed", "day", "none")
_KEYS: Final = CONNECTION_KEYS | {"totals", "history", "price_depth", "filter"}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings(ConnectionSettings):
    totals: bool = True
    history: str = "missed"
    price_depth: bool = False
    filters: tuple[Filter, ...] = field(default=())
    instruments_in_a_request: int = 50
    groups_in_a_request: int = 100


def settings_of(told: Mapping[str, Any], file: str = "") -> ClientSettings:
    """From a session file; ConfigurationError says which key is wrong."""
    check_keys(told, _KEYS, file)
    filters = told.get("filter", [])
    if not isinstance(filters, list) or len(filters) > MOST_FILTERS:
        raise ConfigurationError(f"at most {MOST_FILTERS} of [[filter]]", file=file, key="filter")
    history = told.get("history", "missed")
    if history not in HISTORIES:
        raise ConfigurationError(f"one of {', '.join(HISTORIES)}", file=file, key="history")
    return ClientSettings(
        **connection_settings(told, file), totals=_flag(told, "totals", file, usual=True), history=history,
        price_depth=_flag(told, "price_depth", file, usual=False),
        filters=tuple(_filter(each, file) for each in filters),
    )  # fmt: skip


def _flag(told: Mapping[str, Any], key: str, file: str, *, usual: bool) -> bool:
    value = told.get(key, usual)
    if not isinstance(value, bool):
        raise ConfigurationError("true or false", file=file, key=key)
    return value


def _filter(told: object, file: str) -> Filter:
    if not isinstance(told, dict) or not told or not told.keys() <= _FILTER_KEYS:
        raise ConfigurationError(f"keys are {', '.join(sorted(_FILTER_KEYS))}", file=file, key="filter")
    product, groups = told.get("product"), told.get("groups", [])
    if product is not None and (not isinstance(product, int) or isinstance(product, bool)):
        raise ConfigurationError("a number", file=file, key="product")
    if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
        raise ConfigurationError("a list of names", file=file, key="groups")
    return Filter(str(told.get("security_type", "")), product, str(told.get("cfi_code", "")), tuple(groups))
