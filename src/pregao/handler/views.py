"""An instrument as the handler has it: the book, the statistics, and how far they can be believed."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from pregao.books.phases import effective, shown
from pregao.books.statistics import Statistics
from pregao.books.views import BookLevels, Level, Order, QueuePosition, SidePolicy, Top
from pregao.model.instruments import Instrument
from pregao.model.market import Phase, Session, Side, State
from pregao.model.rows import ELECTRONIC
from pregao.model.scales import USUAL, Scale
from pregao.recovery.instruments import BookStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pregao.books.store import BookStore
    from pregao.handler.groups import SecurityGroups
    from pregao.handler.incremental import IncrementalReader
    from pregao.handler.instruments import Instruments
    from pregao.recovery.channel import ChannelMachine


class Handler(ABC):
    """Who has books: the handler of a channel, or of a session."""

    channel: int
    store: "BookStore"
    groups: "SecurityGroups"
    instruments: "Instruments"
    incremental: "IncrementalReader"
    machine: "ChannelMachine"

    @abstractmethod
    def book_depth(self) -> int | None:
        """How many price levels a side its feed tells of books; None: orders, or nobody has said yet."""

    def known(self, index: int) -> tuple[BookStatus, BookStatus]:
        """What is known of the book and of the statistics of an instrument."""
        return self.machine.known(index)

    def book(self, instrument: str | int, stream: str | None = None) -> "HandledBook":
        """By symbol or securityID; KeyError when there is none. `stream`: which of its books (MDStreamID)."""
        security_id = self.instruments.id_of(instrument) if isinstance(instrument, str) else instrument
        index = -1 if security_id is None else self.machine.table.find(security_id)
        if index < 0:
            raise KeyError(instrument)
        return HandledBook(self, index, stream)

    def books(self) -> "Iterable[HandledBook]":
        """Of all instruments that there are."""
        table = self.machine.table
        return (HandledBook(self, index) for index in range(len(table)) if table.is_followed(index))


class HandledBook:
    """A view: it shows what is there now, each time it is asked. An instrument may have a book for each
    stream (MDStreamID, 1500); what is known of them, statistics and states are the instrument's."""

    def __init__(self, handler: Handler, index: int, stream: str | None = None) -> None:
        """`stream`: which of its books; None: E, or the first that was told of where E has none."""
        if stream is not None and not (len(stream) == 1 and stream.isascii()):
            raise ValueError(f"{stream!r} is no MDStreamID: it has one character")
        self._handler, self.index = handler, index
        self._stream = None if stream is None else ord(stream)

    @property
    def _number(self) -> int:
        """Of its book in the store."""
        store = self._handler.store
        if self._stream is None:
            found = store.book_number(self.index, 0)
            return self.index if found is None else found
        opened = store.open_book(self.index, self._stream)
        if opened is None:
            raise KeyError(f"{self.symbol}: there are as many books as there may be")
        return opened

    @property
    def stream(self) -> str:
        """Which of the instrument's books this is, as MDStreamID says it: E electronic, L lending."""
        stream = self._handler.store.book_stream(self._number) if self._stream is None else self._stream
        return chr(stream or ELECTRONIC)

    @property
    def streams(self) -> list[str]:
        """Those that have a book of this instrument."""
        store = self._handler.store
        return sorted(chr(store.book_stream(each) or ELECTRONIC) for each in store.book_numbers(self.index))

    @property
    def channel(self) -> int:
        return self._handler.channel

    @property
    def security_id(self) -> int:
        return self._handler.machine.table.security_ids[self.index]

    @property
    def instrument(self) -> Instrument | None:
        """Its definition, if that was heard."""
        return self._handler.instruments.get(self.security_id)

    @property
    def scale(self) -> Scale:
        """What its prices and sizes count, and what a price is."""
        instrument = self.instrument
        return USUAL if instrument is None else instrument.scale

    @property
    def symbol(self) -> str:
        instrument = self.instrument
        return str(self.security_id) if instrument is None else instrument.symbol

    @property
    def status(self) -> BookStatus:
        """How far the book is to be believed."""
        return self._handler.known(self.index)[0]

    @property
    def statistics_status(self) -> BookStatus:
        return self._handler.known(self.index)[1]

    @property
    def state_status(self) -> BookStatus:
        """Its group's phase is told to no instrument: see `groups`. Bonds have no groups."""
        instrument = self.instrument
        if instrument is not None and not instrument.group:
            return self.statistics_status
        group = self._handler.groups.of(self.index)
        if group is None or not group.verified or self._is_untold:
            return BookStatus.STALE
        return self.statistics_status

    @property
    def _is_untold(self) -> bool:
        """It was created in this session, and no state of it was told yet."""
        if self.index not in self._handler.groups.created:
            return False
        state = self.statistics.state
        return state is None or not state.security_id  # a phase of its group was kept for it, and no state

    @property
    def is_clean(self) -> bool:
        return self.status is BookStatus.CLEAN

    @property
    def kind(self) -> str:
        """What its feed tells of it: MBO (orders), MBP (price levels), TOB (the best level of each side).
        One that never had a row is as the others of its channel are."""
        store, channel_depth = self._handler.store, self._handler.book_depth()
        depth = store.depth(self.index) or channel_depth or 0
        if channel_depth is not None or depth or self._has_levels:
            return "TOB" if depth == 1 else "MBP"
        return "MBO"

    @property
    def _has_levels(self) -> bool:
        return any(self._handler.store.policy(self._number, side) is SidePolicy.BY_LEVEL for side in Side)

    @property
    def top(self) -> Top:
        return self._handler.store.top(self._number)

    def levels(self, depth: int = 10) -> BookLevels:
        """The first levels of both sides as NumPy arrays, copied."""
        return self._handler.store.both_sides(self._number, depth)

    def side_levels(self, side: Side, depth: int | None = None) -> list[Level]:
        """The levels of one side, best first."""
        return self._handler.store.levels(self._number, side, depth)

    @property
    def bids(self) -> list[Level]:
        return self.side_levels(Side.BUY)

    @property
    def offers(self) -> list[Level]:
        return self.side_levels(Side.SELL)

    def orders(self, side: Side) -> list[Order]:
        """By priority."""
        return self._handler.store.orders(self._number, side)

    def order(self, order_id: int) -> Order | None:
        """By its secondaryOrderID; None when there is no such order."""
        found = self._handler.store.find_order(self._number, order_id)
        return None if found is None else found[1]

    def queue_position(self, order_id: int) -> QueuePosition | None:
        """Side and price of an order, and how many orders and what quantity stand before it there."""
        return self._handler.store.queue_position(self._number, order_id)

    @property
    def statistics(self) -> Statistics:
        return self._handler.store.statistics(self.index)

    def statistics_of(self, stream: str) -> Statistics:
        """What another venue tells of it, by its MDStreamID (1500): L lending, N index, X ex-pit, T termo, O
        option exercise, A all. `statistics` are those of E, the electronic market."""
        return self._handler.store.statistics(self.index, ord(stream))

    @property
    def phase(self) -> Phase | int | None:
        """Of its group."""
        group = self._handler.groups.of(self.index)
        return None if group is None or self._is_untold else group.phase

    @property
    def session(self) -> int | None:
        """Of its group: 1 regular, 6 after hours; None while that is not known."""
        group = self._handler.groups.of(self.index)
        return None if group is None or not group.verified else group.session or int(Session.REGULAR)

    @property
    def own_state(self) -> State | None:
        """The state of its own (101); None while it follows its group."""
        own = self._handler.store.own_state(self.index)
        return State(own) if own in State._value2member_map_ else None

    @property
    def state(self) -> Phase | State | None:
        """What it is in (14): a Phase where it follows its group, a State where one of its own rules; None
        while nothing is known."""
        phase = self.phase
        return shown(phase if isinstance(phase, Phase) else None, self.own_state)

    @property
    def trading_state(self) -> State | None:
        """What may be done with it: the more restrictive of both, as a state. PRE_CLOSE is CLOSE here."""
        phase = self.phase
        return effective(phase if isinstance(phase, Phase) else None, self.own_state)

    @property
    def ends_ns(self) -> int | None:
        """When the state of its own, or else its group's phase, is to end, if that was told."""
        if self._handler.store.own_state(self.index):
            state = self.statistics.state
            return None if state is None else state.ends_ns or None
        group = self._handler.groups.of(self.index)
        return None if group is None else group.ends_ns
