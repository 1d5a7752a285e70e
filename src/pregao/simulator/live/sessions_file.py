"""`[conflated]` and `[trademate]` of an exchange's configuration, and the files of their sessions:

[CLIENT]                        # a CompID
addresses = "127.0.0.1"         # from where it may log on, separated by spaces
groups = "01 02"                # what it may see; without them everything
security_types = "CS PS"
symbols = "PETR4 VALE3"
subscriptions = 100             # at most, of market data
lists = 100                     # and of instruments
requests_a_second = 50
unread_mb = 32                  # that it may leave unread, and for how long; then it is cut
unread_s = 30
user = "desk"                   # who alone may use it, of those with passwords (trademate)
"""

import tomllib
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.catalogues.tables import TomlTable
from pregao.feeds.registry import load_serving_system
from pregao.feeds.serving import SECOND_NS, Permissions, ServingSettings, SessionGrant, SessionLimits
from pregao.io.bounded_http import is_loopback
from pregao.io.files import read_private, read_small_file
from pregao.model.channel_map import LOOPBACK
from pregao.model.errors import ConfigurationError
from pregao.model.instruments import SecurityType
from pregao.sessions.fix.passwords import PasswordBook
from pregao.simulator.live.bonds import BondSettings
from pregao.simulator.live.schedule import DayKind
from pregao.simulator.live.servers import DEFAULT_PORT, ServerSettings
from pregao.simulator.settings import LARGEST_SEED

_MS: Final = 1_000_000
_MOST_SESSIONS: Final = 10_000
_MOST_STANDBYS: Final = 9
_MOST_BOND_FLOW: Final = 5_000
BONDS_PORT: Final = 8390


def read_bonds(table: TomlTable, path: Path) -> BondSettings:
    """`[trademate]`; ConfigurationError with the key at fault."""
    usual = BondSettings()
    required = table.flag("password_required", True)
    users = _beside(path, table.text("users", longest=4096)) if table.has("users") else None
    if users is None and required:
        raise table.error("is needed: who may log on (or password_required = false)", "users")
    passwords = None if users is None else PasswordBook.parse(read_private(users), users)
    settings = BondSettings(
        day=table.choice("day", {kind.value: kind for kind in DayKind}, usual.day.value),
        flow=table.number("flow", usual.flow),
        seed=table.integer("seed", 0, LARGEST_SEED, usual.seed),
        rate_order=table.choice("rate_order", {each.value: each for each in RateOrder}, "market"),
        catalogue=_beside(path, table.text("catalogue", longest=4096)) if table.has("catalogue") else None,
        state=_beside(path, table.text("state", longest=4096)) if table.has("state") else None,
    )
    if not 0 <= settings.flow <= _MOST_BOND_FLOW:
        raise table.error(f"must be from 0 to {_MOST_BOND_FLOW}", "flow")
    serving = replace(
        load_serving_system("trademate").usual, conflate=table.flag("conflate", False), passwords=passwords,
        password_required=required,
    )  # fmt: skip
    servers = read_servers(table, path, "trademate", serving, BONDS_PORT)
    return replace(settings, servers=servers)


def read_servers(
    table: TomlTable, path: Path, system: str = "conflated", usual: ServingSettings | None = None,
    port: int = DEFAULT_PORT,
) -> ServerSettings:  # fmt: skip
    """ConfigurationError with the key at fault."""
    usual = usual or load_serving_system(system).usual
    address, anywhere = table.text("address", LOOPBACK), table.flag("bind_anywhere", False)
    if not anywhere and not is_loopback(address):
        raise table.error("is not loopback: nothing is encrypted (bind_anywhere = true)", "address")
    serving = replace(
        usual,
        tick_ns=table.integer("tick_ms", 1, 60_000, usual.tick_ns // _MS) * _MS,
        totals_ns=table.integer("totals_ms", 100, 600_000, usual.totals_ns // _MS) * _MS,
        compress=table.flag("compress", usual.compress),
        price_depth=table.flag("price_depth", False) if system == "conflated" else False,
        most_connections=table.integer("most_connections", 1, 100_000, usual.most_connections),
        most_of_address=table.integer("most_of_address", 1, 100_000, usual.most_of_address),
        most_bad_logons=table.integer("most_bad_logons", 1, 1_000, usual.most_bad_logons),
    )
    found = ServerSettings(
        system=system, address=address, ports=_ports(table, port), serving=serving,
        numbers=_beside(path, table.text("numbers", longest=4096)) if table.has("numbers") else None,
    )  # fmt: skip
    if table.has("sessions"):
        file = _beside(path, table.text("sessions", longest=4096))
        found = replace(found, grants=load_sessions(read_small_file(file), file))
    table.close()
    return found


def _beside(path: Path, name: str) -> str:
    return str(path.parent / name)


def _ports(table: TomlTable, usual: int) -> tuple[int, ...]:
    first = table.integer("port", 0, 65_535, usual)
    words = table.text("standby_ports", "").split()
    if len(words) > _MOST_STANDBYS or not all(word.isdecimal() and int(word) <= 65_535 for word in words):
        raise table.error(f"must be at most {_MOST_STANDBYS} ports, separated by spaces", "standby_ports")
    return first, *map(int, words)


def load_sessions(data: bytes, file: str) -> tuple[SessionGrant, ...]:
    """The identities of a sessions file."""
    try:
        document = TomlTable(tomllib.loads(data.decode("utf-8")), file, "")
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"not a TOML file: {error}", file=file) from error
    names = document.names()
    if not 1 <= len(names) <= _MOST_SESSIONS:
        raise ConfigurationError(f"must have from 1 to {_MOST_SESSIONS} sessions", file=file)
    for name in names:
        if not (name.isascii() and name.isprintable() and 1 <= len(name) <= 32):
            raise ConfigurationError(f"{name[:40]!r} is not a CompID", file=file)
    return tuple(_grant(document.table(name), name) for name in names)


def _grant(table: TomlTable, comp_id: str) -> SessionGrant:
    usual = SessionLimits()
    limits = SessionLimits(
        subscriptions=table.integer("subscriptions", 0, 100_000, usual.subscriptions),
        lists=table.integer("lists", 0, 100_000, usual.lists),
        requests_a_second=table.integer("requests_a_second", 1, 100_000, usual.requests_a_second),
        unread_bytes=table.integer("unread_mb", 1, 1_024, usual.unread_bytes >> 20) << 20,
        unread_ns=table.integer("unread_s", 1, 3_600, usual.unread_ns // SECOND_NS) * SECOND_NS,
    )
    addresses = table.text("addresses", LOOPBACK, longest=4096).split()
    for address in addresses:
        try:
            ip_address(address)
        except ValueError as error:
            raise table.error(f"{address[:60]!r} is not an address", "addresses") from error
    types = _words(table, "security_types")
    if types is not None and not types <= SecurityType.__members__.keys():
        raise table.error(f"must be of {', '.join(SecurityType.__members__)}", "security_types")
    permissions = Permissions(_words(table, "groups"), types, _words(table, "symbols"))
    user = table.text("user") if table.has("user") else None
    table.close()
    return SessionGrant(comp_id, tuple(addresses), permissions, limits, user)


def _words(table: TomlTable, name: str) -> frozenset[str] | None:
    return frozenset(table.text(name, longest=65_536).split()) if table.has(name) else None
