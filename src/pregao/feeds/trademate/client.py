"""A client of Trademate: its session file, and what it asks for.

system = "trademate"
name = "bonds"                # of the session, in tables and health; sender's name if left out
sender = "DESK1"              # our CompID (49)
target = "B3"                 # the server's (56)
user = "desk"                 # 553
password_file = "desk.secret" # beside this file, of mode 0600: 554 is its first line; nothing else shows it
primary = "127.0.0.1:8390"
standbys = ["127.0.0.1:8391"]
heartbeat_s = 30
retry_s = 30
products = ["government"]     # and "corporate"; none: both (460)
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pregao.codecs.fix import Dictionary, Entry
from pregao.feeds.fix.client import FixClient
from pregao.feeds.fix.requests import FixRequests, Request, RequestKind
from pregao.feeds.fix.settings import (
    CONNECTION_KEYS,
    ConnectionSettings,
    check_keys,
    connection_settings,
    text_of,
)
from pregao.feeds.fix_values import number_of
from pregao.feeds.fix_values import text_of as field_of
from pregao.model.errors import ConfigurationError
from pregao.model.rows import NULL
from pregao.sessions.fix.passwords import check_password

LOGGED_OUT: Final = "Logged out"  # a logout always has 58 (1.2.2)
_PRODUCTS: Final = {"corporate": 3, "government": 6}
_KEYS: Final = CONNECTION_KEYS | {"user", "password", "products"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings(ConnectionSettings):
    products: tuple[int, ...] = ()  # 460; none: all


def settings_of(told: Mapping[str, Any], file: str = "") -> ClientSettings:
    """From a session file; ConfigurationError says which key is wrong, and never a password."""
    check_keys(told, _KEYS, file)
    products = told.get("products", [])
    if not isinstance(products, list) or not all(each in _PRODUCTS for each in products):
        raise ConfigurationError(f"a list of {', '.join(_PRODUCTS)}", file=file, key="products")
    connection = connection_settings(
        told, file, logon_fields=_logon_fields(told, file), logout_text=LOGGED_OUT
    )
    return ClientSettings(**connection, products=tuple(_PRODUCTS[each] for each in dict.fromkeys(products)))


def _logon_fields(told: Mapping[str, Any], file: str) -> dict[int, bytes]:
    """553 and 554: both, or neither."""
    if "user" not in told and "password" not in told:
        return {}
    user, password = text_of(told, "user", file), told.get("password")
    if not isinstance(password, str):
        raise ConfigurationError("of the user, or password_file, is needed", file=file, key="password")
    try:
        return {553: user.encode("ascii"), 554: check_password(password)}
    except ConfigurationError as error:
        raise ConfigurationError(error.reason, file=file, key="password") from None


class TrademateRequests(FixRequests):
    """All bonds of the products that are wanted. A filter by symbol is ours: the service has none, so that
    of others than `symbols` messages come and nobody looks at them."""

    def __init__(self, settings: ClientSettings, symbols: frozenset[str]) -> None:
        self._products: tuple[int | None, ...] = settings.products or (None,)
        self._product_of: dict[int, int | None] = {}
        super().__init__(settings, symbols)

    def _bodies(self) -> list[dict[int, Any]]:
        return [{263: "1", **({} if each is None else {460: each})} for each in self._products]

    def _first_requests(self) -> Iterator[Request]:
        for body in self._bodies():
            yield Request(RequestKind.INSTRUMENTS, "", b"x", body)

    def _market_bodies(self) -> list[dict[int, Any]]:
        return self._bodies()

    def _learned(self, entry: Entry) -> None:
        product = number_of(field_of(entry, 460))
        self._product_of[number_of(field_of(entry, 48))] = None if product == NULL else product

    def _refresh_request(self, security_id: int) -> Request | None:
        """One bond cannot be asked for: all of its product come again, once for all that are wrong."""
        product = self._product_of.get(security_id)
        body: dict[int, Any] = {263: "1", **({} if product is None else {460: product})}
        return Request(RequestKind.MARKET_DATA, "", b"V", body, refreshes=product or 0)


def make_client(settings: ClientSettings, dictionary: Dictionary, symbols: Collection[str] = ()) -> FixClient:
    return FixClient("trademate", settings, dictionary, TrademateRequests(settings, frozenset(symbols)))
