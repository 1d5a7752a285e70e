"""How a live exchange is configured: a TOML file, every part of which may be left out.

    [multicast]
    interface = "127.0.0.1"        # address of the interface by which packets leave
    ttl = 0                        # 0: this machine only; 1: this network
    channels = "channels.toml"     # beside this file, as `pregao.model.channel_map` describes it

    [publisher]
    schema_version = 16            # 7 to 17; those below 15 publish by position
    heartbeat_ms = 1000
    loop_interval_ms = 2           # between two packets of the definition and snapshot loops
    loop_pause_ms = 1000           # between the end of a loop and the next

    [market]
    day = "open"                   # from the start; "script": on the clock; "closed": up to the operator
    flow = 200                     # background orders a second; 0: silence but for the operator
    seed = 1
    implied_partial = "change"     # or "restate" (18.3)
    state = "exchange.state"       # beside this file: what outlives a restart or a kill

    [fast]                         # UMDF FIX/FAST beside it; nothing of it has to be said
    levels = 5                     # of its channels by price level
    heartbeat_ms = 10000
    desks_ms = 30000               # between two reports of clearing, lending and indices
    index_ms = 0                   # index values come again so often; 0: only when they move

    [replayer]                     # and its replayers, on TCP
    address = "127.0.0.1"
    port = 8385                    # 0: any free one
    historical_port = 8386
    delay_ms = 25                  # from the sending of a message until it can be asked for
    historical_delay_ms = 2000     # the same of the slower one
    history_days = 5
    max_messages = 2000            # of a request
    clients = "CLIENT"             # CompIDs that may log on to B3, separated by spaces

    [conflated]                    # PUMA Conflated: a server of FIX sessions on TCP
    address = "127.0.0.1"
    port = 8387                    # of the primary; 0: any free one
    standby_ports = "8388 8389"    # of others, each with the numbers of its own sessions
    sessions = "sessions.toml"     # beside this file: who may log on; without it CLIENT, from loopback
    numbers = "conflated.numbers"  # beside this file: numbers of sessions that outlive a restart
    compress = true
    tick_ms = 380                  # of books
    price_depth = false            # true: books by price level too (1021=2)
    totals_ms = 1000
    desks_ms = 30000               # as in [fast], which says it where both do
    most_connections = 1000
    most_of_address = 100          # connections
    most_bad_logons = 20           # of an address in a minute
    bind_anywhere = false          # true: an address that is not loopback may be given

    [trademate]                    # the market of bonds, and its server of FIX sessions on TCP
    address = "127.0.0.1"
    port = 8390                    # of the primary; 0: any free one; the others as in [conflated]
    sessions = "bond-sessions.toml"
    users = "passwords"            # beside this file, of mode 0600: written by `pregao password USER`
    password_required = true       # false: who gives neither user nor password may come too
    compress = false               # the text has neither compression nor
    conflate = false               # books at ticks (tick_ms = 380)
    day = "open"                   # as in [market]; "script": national holidays are none
    flow = 5                       # orders, quotes and voice trades a second
    rate_order = "market"          # in rates the lower is the better bid; "plain": the higher
    catalogue = "bonds.toml"       # in place of the packaged one

    [operator]
    address = "127.0.0.1"
    port = 8384                    # 0: any free one
    queue = 1000                   # commands that may wait; more are refused

Without `channels` packets go to administratively scoped groups, a group and a port for each stream:
channel 84 sends incremental A to 239.255.84.1 port 20084, B to 239.255.84.2 port 21084, definitions to
.3 and 22084, snapshots to .4 and 23084, and feed C to .5 to .7 with 24084 to 26084. A stream and feed
that `channels` lacks is not sent; a contingency site exists where some feed C is configured.
"""

import tomllib
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from pregao.exchange.catalogues.tables import TomlTable
from pregao.exchange.clearing import EVERY_NS
from pregao.feeds.publishing import Habits, LoopPace, Paces
from pregao.feeds.registry import DEFAULT
from pregao.io.files import read_small_file, write_whole
from pregao.model.channel_map import LOOPBACK, ChannelMap, load_channels
from pregao.model.errors import ConfigurationError
from pregao.simulator.live.bonds import BondSettings
from pregao.simulator.live.replayers import ReplayerSettings
from pregao.simulator.live.schedule import DayKind
from pregao.simulator.live.servers import ServerSettings
from pregao.simulator.live.sessions_file import read_bonds, read_servers
from pregao.simulator.settings import DEFAULT_VERSION, LARGEST_SEED, checked_version

DEFAULT_PORT = 8384
MOST_FLOW = 20_000
USUAL_FLOW = 200.0  # of an exchange that is told nothing else: whoever listens sees a market
_MS = 1_000_000
_PACES = Paces()
_HABITS = Habits()


@dataclass(frozen=True, slots=True)
class LiveSettings:
    interface: str = LOOPBACK
    ttl: int = 0
    channels: ChannelMap | None = None  # None: the default addresses
    version: int = DEFAULT_VERSION
    paces: Paces = _PACES
    day: DayKind = DayKind.OPEN
    flow: float = 0.0  # `load_settings` has USUAL_FLOW where nothing is said
    seed: int = 1
    implied_partial: str = "change"
    address: str = LOOPBACK
    port: int = DEFAULT_PORT
    queue: int = 1000
    bind_anywhere: bool = False
    state: str | None = None  # None: a restart forgets everything
    system: str = DEFAULT  # that publishes, as `feeds.registry` knows it
    beside: tuple[str, ...] = ()  # others that publish the same
    beside_heartbeat_ns: int | None = None  # of those; None: as often as they say
    levels: int = 5  # of books by price level
    desks_ns: int | None = EVERY_NS  # between two reports of clearing, lending and indices; None: none
    replayers: ReplayerSettings | None = None
    servers: ServerSettings | None = None
    bonds: BondSettings | None = None
    habits: Habits = _HABITS  # of publishers, but for `levels`
    lists_funds: bool = False  # the channel of indices lists funds (ETFs) too
    index_interval_ns: int | None = None  # index values come again so often; None: only when they move

    def __post_init__(self) -> None:
        version = checked_version(self.system, self.version, "schema_version")
        object.__setattr__(self, "version", version)
        if not 0 <= self.flow <= MOST_FLOW:
            raise ConfigurationError(f"must be from 0 to {MOST_FLOW}, not {self.flow}", key="flow")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ConfigurationError(f"must be from 0 to {LARGEST_SEED}, not {self.seed}", key="seed")
        if not 0 <= self.port <= 65_535:
            raise ConfigurationError(f"must be from 0 to 65535, not {self.port}", key="port")


def write_channels(path: str, text: str) -> None:
    """Beside a running exchange: whoever waits for the file never sees half of it."""
    write_whole(Path(path), text.encode())


def load_settings(path: str | None) -> LiveSettings:
    """The settings of a file, or the default ones; ConfigurationError with the key at fault."""
    if path is None:
        return LiveSettings(flow=USUAL_FLOW)
    document = _document(path)
    multicast, publisher, market, operator = (
        document.table(name) if document.has(name) else TomlTable({}, path, name)
        for name in ("multicast", "publisher", "market", "operator")
    )
    fast = document.table("fast") if document.has("fast") else None
    replayers = _replayers(document.table("replayer")) if document.has("replayer") else None
    conflated = document.table("conflated") if document.has("conflated") else None
    desks_ns = _desks_ns(fast, conflated)
    servers = None if conflated is None else read_servers(conflated, Path(path))
    bonds = read_bonds(document.table("trademate"), Path(path)) if document.has("trademate") else None
    document.close()
    settings = LiveSettings(
        interface=multicast.text("interface", LOOPBACK),
        ttl=multicast.integer("ttl", 0, 1, 0),
        channels=_channels(multicast, path),
        version=publisher.integer("schema_version", 1, 1000)
        if publisher.has("schema_version")
        else DEFAULT_VERSION,
        paces=_paces(publisher),
        day=market.choice("day", {kind.value: kind for kind in DayKind}, "open"),
        flow=market.number("flow", USUAL_FLOW),
        seed=market.integer("seed", 0, LARGEST_SEED, 1),
        implied_partial=market.choice(
            "implied_partial", {name: name for name in ("change", "restate")}, "change"
        ),
        address=operator.text("address", LOOPBACK),
        state=str(Path(path).parent / market.text("state", longest=4096)) if market.has("state") else None,
        port=operator.integer("port", 0, 65_535, DEFAULT_PORT),
        queue=operator.integer("queue", 1, 100_000, 1000),
        beside=() if fast is None else ("fast",),
        levels=5 if fast is None else fast.integer("levels", 2, 20, 5),
        beside_heartbeat_ns=None if fast is None else fast.integer("heartbeat_ms", 10, 60_000, 10_000) * _MS,
        desks_ns=desks_ns,
        index_interval_ns=_index_interval_ns(fast),
        replayers=replayers,
        servers=servers,
        bonds=bonds,
    )
    if fast is not None:
        fast.close()
    for table in (multicast, publisher, market, operator):
        table.close()
    return settings


def _document(path: str) -> TomlTable:
    try:
        return TomlTable(tomllib.loads(read_small_file(path).decode("utf-8")), path, "")
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"not a TOML file: {error}", file=path) from error


def _desks_ns(*tables: TomlTable | None) -> int:
    """Of the first table that says it; it is one clock for all systems."""
    found = [
        table.integer("desks_ms", 100, 3_600_000, EVERY_NS // _MS) * _MS
        for table in tables
        if table is not None and table.has("desks_ms")
    ]
    return found[0] if found else EVERY_NS


def _index_interval_ns(fast: TomlTable | None) -> int | None:
    interval_ms = 0 if fast is None else fast.integer("index_ms", 0, 3_600_000, 0)
    return interval_ms * _MS or None


def _channels(table: TomlTable, path: str) -> ChannelMap | None:
    if not table.has("channels"):
        return None
    file = str(Path(path).parent / table.text("channels", longest=4096))
    channels = load_channels(read_small_file(file), file)
    for entry in channels:
        if not isinstance(entry.address, IPv4Address) or not entry.address.is_multicast:
            raise ConfigurationError(f"{entry.address} is not an IPv4 multicast group", file=file)
    return channels


def _replayers(table: TomlTable) -> ReplayerSettings:
    usual = ReplayerSettings()
    found = ReplayerSettings(
        address=table.text("address", usual.address),
        port=table.integer("port", 0, 65_535, usual.port),
        historical_port=table.integer("historical_port", 0, 65_535, usual.historical_port),
        delay_ms=table.integer("delay_ms", 0, 60_000, usual.delay_ms),
        historical_delay_ms=table.integer("historical_delay_ms", 0, 600_000, usual.historical_delay_ms),
        history_days=table.integer("history_days", 1, 10, usual.history_days),
        max_messages=table.integer("max_messages", 1, 100_000, usual.max_messages),
        clients=tuple(table.text("clients", " ".join(usual.clients)).split()) or usual.clients,
    )
    table.close()
    return found


def _paces(table: TomlTable) -> Paces:
    interval_ns = table.integer("loop_interval_ms", 1, 60_000, 2) * _MS
    pace = LoopPace(interval_ns, table.integer("loop_pause_ms", 0, 3_600_000, 1000) * _MS)
    return Paces(pace, pace, heartbeat_ns=table.integer("heartbeat_ms", 10, 60_000, 1000) * _MS)
