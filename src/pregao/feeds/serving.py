"""A third direction of the port: systems whose users come to a server, ask for what they want and get it.

Events of the model go into a feed, which a server of the system has for all its connections. A connection is
a machine of bytes (`io.tcp.ByteMachine`) without I/O or a clock. `simulator` has the sockets.

    feed = system.feed(source, settings, now_ns=…)
    server = system.server(feed, settings, grants)
    connection = server.accept(address, now_ns)      # None: refused
    feed.publish(event, now_ns)                      # every event, in order
    feed.advance(now_ns)                             # when feed.next_timeout() is due
    server.work(now_ns)                              # a slice of what is to be sent, while has_work
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

from pregao.feeds.publishing import BookSource
from pregao.model.events import Event
from pregao.model.fixed_income import Bond
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.records import record
from pregao.sessions.fix.passwords import PasswordBook

_MS = 1_000_000
SECOND_NS = 1_000 * _MS


class ListedTotal(NamedTuple):
    """A market total of the catalogue: what was traded in some groups of instruments."""

    symbol: str
    description: str
    groups: tuple[str, ...]
    index_symbol: str | None = None  # of the index that it refers to


@record
class Permissions:
    """What a session may see; None: everything. An instrument must be allowed by each that is given."""

    groups: frozenset[str] | None = None
    security_types: frozenset[str] | None = None
    symbols: frozenset[str] | None = None

    def allows(self, instrument: Instrument) -> bool:
        return (
            (self.groups is None or instrument.group in self.groups)
            and (self.security_types is None or instrument.security_type.name in self.security_types)
            and (self.symbols is None or instrument.symbol in self.symbols)
        )


@record
class SessionLimits:
    """Of one session."""

    subscriptions: int = 100
    lists: int = 100  # subscriptions of instruments
    requests_a_second: int = 50
    unread_bytes: int = 32 << 20
    unread_ns: int = 30 * SECOND_NS


class BondSource(Protocol):
    """The market of bonds, for systems that serve it."""

    trade_date: int  # days since 1970

    def bonds(self) -> Iterable[Bond]: ...


class ServedMarket(Enum):
    """Which of the exchange's markets a system is of."""

    LISTED = "listed"  # shares and derivatives: its source is a BookSource
    BONDS = "bonds"  # its source is a BondSource


_LIMITS = SessionLimits()
_EVERYTHING = Permissions()


@record
class SessionGrant:
    """An identity: a CompID that may log on from some addresses (2.4)."""

    comp_id: str
    addresses: tuple[str, ...] = ("127.0.0.1",)
    permissions: Permissions = _EVERYTHING
    limits: SessionLimits = _LIMITS
    user: str | None = None  # who alone may use it, where users have passwords; None: any of them


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """Of all servers of an exchange."""

    comp_id: str = "B3"  # ours
    tick_ns: int = 380 * _MS
    delay_ns: int = 20 * _MS  # that trades and statistics may wait for others
    totals_ns: int = SECOND_NS
    compress: bool = True
    most_connections: int = 1_000
    most_of_address: int = 100
    most_bad_logons: int = 20  # of an address in a minute
    most_message_bytes: int = 256 << 10  # of a request
    totals: tuple[ListedTotal, ...] = field(default=())
    conflate: bool = True  # books at ticks, where a system leaves that open
    price_depth: bool = False  # books by level too, where a system leaves that open
    passwords: PasswordBook | None = field(default=None, repr=False)  # of users, where a system has them
    password_required: bool = True


class KeptNumbers(NamedTuple):
    """The next number of each direction of a session, and the trading day they belong to."""

    next_in: int
    next_out: int
    day: str


# A question that takes long, and whom to give its answer and the time: on the thread of the asker, and later.
RunBeside = Callable[[Callable[[], bool], Callable[[bool, int], None]], None]


class ServedFeed(Protocol):
    """Shared by all servers."""

    history_available: bool

    @property
    def trade_date(self) -> int: ...

    def publish(self, event: Event, now_ns: int) -> None: ...

    def next_timeout(self) -> int | None: ...

    def advance(self, now_ns: int) -> None:
        """What is due by now goes to the servers."""

    def reset_book(self, security_id: int, now_ns: int) -> None:
        """269=J, and the book again."""


@runtime_checkable
class BondListing(Protocol):
    """A feed whose bonds may come, change and go in the day."""

    def define(self, bond: Bond, action: DefinitionAction, now_ns: int) -> None: ...


class ServedConnection(Protocol):
    """One connection of a client, as a machine of bytes."""

    wake: Callable[[], None] | None  # called when there is something to send that nobody asked for
    unread: Callable[[], int] | None  # bytes that the other side has not taken

    @property
    def is_over(self) -> bool: ...

    @property
    def comp_id(self) -> str:
        """Empty before the logon."""

    @property
    def address(self) -> str: ...

    @property
    def most_unread(self) -> tuple[int, int]: ...

    def receive(self, data: bytes, now_ns: int) -> None: ...

    def data_to_send(self) -> bytes: ...

    def next_timeout(self) -> int | None: ...

    def on_timeout(self, now_ns: int) -> None: ...

    def resume(self, now_ns: int) -> None: ...

    def disconnected(self, now_ns: int) -> None: ...

    def overflow(self, now_ns: int) -> None:
        """The other side does not take what it is sent: 35=5, and the end."""

    def cut(self, text: str, now_ns: int) -> None:
        """The operator ends it: 35=5 with the text."""


class MarketServer(Protocol):
    """One of the servers of an exchange: its sessions have numbers of their own."""

    refused: int  # connections that were not let in

    beside: "RunBeside | None"  # who does what takes long, as checks of passwords do; None: at once

    @property
    def connections(self) -> Sequence[ServedConnection]: ...

    @property
    def has_work(self) -> bool: ...

    def accept(self, address: str, now_ns: int) -> ServedConnection | None: ...

    def work(self, now_ns: int) -> None: ...

    def begin_day(self, trade_date: int) -> None: ...

    def numbers(self) -> Mapping[str, KeptNumbers]:
        """Of every session, by CompID."""

    def restore(self, kept: Mapping[str, KeptNumbers]) -> None: ...


@runtime_checkable
class ServingSystem(Protocol):
    """A system that the simulated exchange can serve."""

    name: str
    title: str
    market: ServedMarket
    usual: ServingSettings  # where nothing else is said

    def feed(
        self, source: BookSource | BondSource, settings: ServingSettings, *, now_ns: int
    ) -> ServedFeed: ...

    def server(
        self, feed: ServedFeed, settings: ServingSettings, grants: Iterable[SessionGrant]
    ) -> MarketServer: ...
