"""The other direction of the port: what the exchange asks of a system that is to publish its events.

Events of the model go in, packets of each stream come out. A publisher is one channel at one site, a machine
without I/O or a clock. The simulator has the clocks: it gives every event to the publishers of the channels
that the system names for it (`channels_of`), and the books they ask for.

A system need not publish. One that does is a `PublishingSystem` beside what `feeds.port` asks of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum
from typing import Final, NamedTuple, Protocol, runtime_checkable

from pregao.model.events import (
    Event,
    PhaseChanged,
    StateChanged,
    Update,
)
from pregao.model.instruments import Instrument
from pregao.model.streams import Feed, Stream
from pregao.recovery.policy import RecoveryPolicy

NOT_SENT: Final = -1  # among the counts of messages: the update became none
_MILLISECOND: Final = 1_000_000

# Told of every event once it is published, with its time; those of a reset the publisher makes itself.
Listener = Callable[[Event, int], None]


class PublishingSite(Enum):
    """Who sends: which feeds carry the incremental stream, and which the loops.

    The contingency site is a publisher of its own, with its own sequence and its own resets.
    """

    PRIMARY = "primary"
    CONTINGENCY = "contingency"

    @property
    def incremental(self) -> tuple[Feed, ...]:
        return (Feed.A, Feed.B) if self is PublishingSite.PRIMARY else (Feed.C,)

    @property
    def loops(self) -> tuple[Feed, ...]:
        return (Feed.A,) if self is PublishingSite.PRIMARY else (Feed.C,)


class LoopPace(NamedTuple):
    """How fast a loop goes: time between its packets, and between its end and the next."""

    interval_ns: int = 2 * _MILLISECOND
    pause_ns: int = 1_000 * _MILLISECOND


class Paces(NamedTuple):
    """How fast everything that repeats is repeated."""

    definitions: LoopPace = LoopPace()
    snapshots: LoopPace = LoopPace()
    heartbeat_ns: int = 1_000 * _MILLISECOND
    recovery_ns: int = 1 * _MILLISECOND  # between two books that come back gradually
    snapshot_entries: int | None = None  # orders in a message; None: as the system has it


class Habits(NamedTuple):
    """What guidelines leave open, or real feeds do otherwise."""

    replenishment_orders: int = 0  # in an event of a book published again; 0: all, with what empties it
    definitions_reset: bool = True  # a reset of the sequence ends a loop of definitions; real loops lack it
    phases_as_states: bool = False  # snapshots send the phase's number as the state of who follows it
    levels: int = 5  # of books by price level, where a system has such channels
    empty_snapshots: bool = False  # also of instruments of which nothing was ever told
    lending_beside: bool = False  # the lending book of a share is on the channel of its orders too


class SequencePoint(NamedTuple):
    """Where a stream goes on: mid-week neither begins at 1."""

    version: int = 1
    next_number: int = 1


class DeskChannels(NamedTuple):
    """Channels of those who tell something beside the engine."""

    lending: int
    indices: int


class OutgoingPacket(NamedTuple):
    """Bytes to send, the same on each of `feeds`; what its header says (number 0 is a heartbeat's), and
    how many messages it has: 0 where it is about the sequence alone. Where messages are the units, `number`
    is that of the first and `units` has the entries of each that begins in the packet."""

    stream: Stream
    feeds: tuple[Feed, ...]
    payload: bytes
    sending_ns: int
    version: int
    number: int
    messages: int
    units: tuple[int, ...]  # none: the packet is the unit


class BookOrder(Protocol):
    """A resting order as the public sees it; an `OrderUpdate` is one."""

    @property
    def order_id(self) -> int: ...
    @property
    def price(self) -> int | None: ...
    @property
    def size(self) -> int: ...
    @property
    def inserted_ns(self) -> int: ...
    @property
    def transact_ns(self) -> int: ...
    @property
    def firm(self) -> int | None: ...
    @property
    def implied(self) -> bool: ...


class InstrumentBook(Protocol):
    """Both sides in order of priority, the newest statistic of each kind, and the state.

    Must not change until the publisher returns from the call in which it asked for it.
    """

    @property
    def bids(self) -> Sequence[BookOrder]: ...
    @property
    def offers(self) -> Sequence[BookOrder]: ...
    @property
    def statistics(self) -> Sequence[Update]: ...
    @property
    def state(self) -> StateChanged | None: ...


@runtime_checkable
class BookSource(Protocol):
    """The market of one channel, up to and including the last event given to the publisher."""

    def definitions(self) -> Sequence[Instrument]:
        """All listed instruments; deleted and expired ones are not."""

    def phases(self) -> Sequence[PhaseChanged]:
        """The phase of every group, as last published."""

    def instruments(self) -> Sequence[int]:
        """The instruments that have market data, in the order of the snapshot loop."""

    def book(self, security_id: int) -> InstrumentBook | None:
        """One of them; None once it is deleted."""


class PublisherSetup(NamedTuple):
    """What a publisher begins with. `start`, `rpt_seqs` and `booked` let a day in mid-week go on where the
    last one ended; `loops` the other two streams."""

    channel: int
    version: int  # of the wire
    source: BookSource
    now_ns: int
    site: PublishingSite = PublishingSite.PRIMARY
    paces: Paces | None = None  # None: as the system has them
    habits: Habits = Habits()
    start: SequencePoint | None = None
    loops: SequencePoint | None = None
    rpt_seqs: Mapping[int, int] | None = None
    booked: Iterable[int] = ()
    listener: Listener | None = None


class Publisher(Protocol):
    """One channel at one site. Give it every event right after the source has it, `flush` when the instant is
    over, and call `on_timeout` when `next_timeout` is reached."""

    def publish(self, event: Event, now_ns: int) -> None: ...

    def flush(self, now_ns: int) -> None:
        """The instant is over: what was published leaves."""

    def take(self) -> list[OutgoingPacket]:
        """The packets since the last call, in the order they are sent."""

    @property
    def waiting(self) -> int:
        """How many packets there are to `take`."""

    def next_timeout(self) -> int:
        """Publishing only moves it later; a reset may move it earlier."""

    def on_timeout(self, now_ns: int) -> None:
        """Time has passed: books that come back, packets of the loops, heartbeats."""

    def message_counts(self, updates: Sequence[Update]) -> Sequence[int] | None:
        """How many messages each update of the event that was just published became: 0 where it is in the
        message of the one before, NOT_SENT where it is in none. None: one each, as usual."""

    def point(self, stream: Stream) -> SequencePoint:
        """Where a publisher that goes on from here would start."""

    def is_in_loop(self, stream: Stream) -> bool:
        """Whether a loop of definitions or snapshots has begun and not ended."""

    def rpt_seq(self, security_id: int) -> int | None:
        """Of the instrument's last message; 0 right after its book was emptied, None before the first."""

    @property
    def muted(self) -> Set[int]:
        """Instruments whose book updates are not sent: after a reset their book is to come whole."""

    def reset_stream(self, now_ns: int, *, gradually: bool = False) -> None:
        """The sequence starts over, and every book comes again."""

    def reset_channel(self, now_ns: int, *, definitions: bool = False, gradually: bool = False) -> None:
        """Every book comes again; with the list of instruments where the system initialises."""

    def reset_book(self, security_id: int, now_ns: int) -> None: ...

    def start_week(self, now_ns: int, *, gradually: bool = False) -> None: ...

    def fail_over(self, now_ns: int, *, gradually: bool = False) -> None:
        """The secondary instance takes over."""


class SentMessage(NamedTuple):
    """A message of the incremental stream as a replayer gives it again: whole, without technical header."""

    number: int
    data: bytes
    sent_ns: int


@runtime_checkable
class ReplayablePublisher(Protocol):
    """A publisher whose messages can be asked for again, one by one."""

    def keep_messages(self) -> None:
        """From now on: whoever says so takes them."""

    def take_messages(self) -> list[SentMessage]:
        """Since the last call."""


@runtime_checkable
class HoldingPublisher(Protocol):
    """A publisher whose loop of snapshots can be made to wait, so that something happens before it."""

    def hold_snapshots(self, now_ns: int, *, held: bool) -> None:
        """Held, a loop under way ends and none begins; released, one begins at once."""


@runtime_checkable
class PublishingSystem(Protocol):
    """A system that the simulated exchange can speak."""

    name: str
    title: str
    policy: RecoveryPolicy
    versions: tuple[int, ...]  # of its wire: those it can publish
    default_version: int  # of those, where nobody says another
    extra_channels: tuple[int, ...]  # beside those of instruments
    desks: DeskChannels | None  # None: nothing of clearing, lending and indices is published

    def channels_of(self, instrument: Instrument) -> tuple[int, ...]:
        """The channels an instrument is on. `Instrument.channel` is that of Binary UMDF; a system with a
        channel for orders and another for levels has both."""

    def channels_of_update(self, update: Update) -> tuple[int, ...] | None:
        """The channels of an update that does not go where its instrument is; None of all others. Those of no
        instrument go to every channel of instruments."""

    def feeds(self, site: PublishingSite, stream: Stream) -> tuple[Feed, ...]:
        """Those that carry a stream from a site."""

    def point_of(self, payload: bytes) -> SequencePoint:
        """What the header of a packet says of its place, 0 where it says nothing."""

    def with_other_header(self, payload: bytes, later_ns: int) -> bytes:
        """The same messages as another feed may send them: what is each feed's own in a header differs."""

    def publisher(self, setup: PublisherSetup) -> Publisher: ...


@runtime_checkable
class DeprecatingSystem(Protocol):
    """A system whose versions still declare messages that others replaced and that its publisher never
    sends."""

    def deprecated_templates(self, version: int) -> Callable[[bytes], bytes]:
        """What puts them into packets of a version, for samples in which everything occurs."""


class OccurrenceCounter(Protocol):
    """Counts what occurs in messages; what may occur and did not has 0."""

    @property
    def counts(self) -> Mapping[str, int]: ...

    def count(self, payloads: Iterable[bytes]) -> None:
        """The packets of one stream, in order."""


@runtime_checkable
class CountingSystem(Protocol):
    """A system whose simulated days must have everything that it can send."""

    def occurrences(self) -> OccurrenceCounter: ...
