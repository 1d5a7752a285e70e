"""What happens in a market, as events of the library.

Every event begins alike: `channel`; `symbol`, the securityID as text where no definition was heard and None
where it is not about one instrument; `time_ns`, the exchange's time, or that of arrival where the message
has none; `stream_position`, the place of its packet in the channel's stream: later packets have greater
ones, and the lower 32 bits are the packet's number. Prices are whole ten-thousandths, times nanoseconds and
dates days since 1970. A value that no enum has a word for stays a number. `str` of an event is a line for
people.
"""

from pregao.books.views import Level
from pregao.captures.formats.text_values import printable
from pregao.market.numbers import in_words, price_text
from pregao.model.events import followed_phase
from pregao.model.instruments import Instrument
from pregao.model.market import (
    Action,
    Aggressor,
    DefinitionAction,
    Phase,
    Session,
    Side,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from pregao.model.records import record
from pregao.recovery.instruments import BookStatus

# Orders


@record
class OrderAdded:
    """`order_id` is the secondaryOrderID (12.1). `position` on its side, from 1, is told below wire version
    15 only. `recovery`: told again after a failure (RecoveryMsg)."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    side: Side
    order_id: int
    price: int | None  # None: at any price (MOA, MOC)
    size: int
    inserted_ns: int | None
    position: int | None
    firm: int | None
    implied: bool
    recovery: bool

    def __str__(self) -> str:
        return f"{_named(self.symbol)} order {self.order_id} added: {_resting(self)}"


@record
class OrderChanged:
    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    side: Side
    order_id: int
    price: int | None
    size: int  # now
    previous_size: int | None
    inserted_ns: int | None
    position: int | None
    firm: int | None
    implied: bool
    recovery: bool

    def __str__(self) -> str:
        before = "" if self.previous_size is None else f" (was {self.previous_size:,})"
        return f"{_named(self.symbol)} order {self.order_id} changed: {_resting(self)}{before}"


@record
class OrderDeleted:
    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    side: Side
    order_id: int
    price: int | None  # not told by all wire versions
    size: int | None  # what was left of it, where told
    position: int | None
    implied: bool
    recovery: bool

    def __str__(self) -> str:
        return f"{_named(self.symbol)} order {self.order_id} deleted: {in_words(self.side)}"


@record
class SideDeleted:
    """All orders of a side are gone (DELETE_THRU), or the first `position` (DELETE_FROM, below 15)."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    action: Action
    side: Side
    position: int | None

    def __str__(self) -> str:
        which = "all" if self.action is Action.DELETE_THRU else f"the first {self.position}"
        return f"{_named(self.symbol)} side {in_words(self.side)}: {which} deleted"


@record
class BookEmptied:
    """Both sides are no longer valid; rptSeq starts again (6.5.13)."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int

    def __str__(self) -> str:
        return f"{_named(self.symbol)} book emptied"


@record
class ExecutionSummary:
    """First message of a matching event (13.1)."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    aggressor: Aggressor
    last_price: int | None
    fill_size: int | None
    hidden_size: int | None
    cancelled_size: int | None
    aggressor_ns: int | None

    def __str__(self) -> str:
        filled = "-" if self.fill_size is None else f"{self.fill_size:,}"
        last = "-" if self.last_price is None else price_text(self.last_price)
        summary = f"execution {filled}, last at {last}, aggressor {in_words(self.aggressor)}"
        return f"{_named(self.symbol)} {summary}"


# Trades


@record
class Trade:
    """One trade (13.3); `forward`: a forward one (13.5)."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    trade_id: int
    price: int
    size: int
    trade_date: int | None
    session: Session
    condition: TradeCondition
    sub_type: TradeSubType | None
    buyer: int | None
    seller: int | None
    implied: bool
    forward: bool
    seller_days: int | None
    interest_rate: int | None  # ten-thousandths

    def __str__(self) -> str:
        note = f" {in_words(self.sub_type)}" if self.sub_type else ""
        return f"{_named(self.symbol)} trade {self.size:,} at {price_text(self.price)}{note}"


@record
class TradeBusted:
    """A trade was cancelled by market supervision (13.4)."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    trade_id: int
    price: int
    size: int
    trade_date: int | None
    session: Session
    implied: bool

    def __str__(self) -> str:
        cancelled = f"trade {self.trade_id} cancelled: {self.size:,} at {price_text(self.price)}"
        return f"{_named(self.symbol)} {cancelled}"


# What books come to


@record
class Quote:
    """Best bid and offer after an event that changed one of them. `status` says how far to believe it."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    bid: Level | None
    offer: Level | None
    status: BookStatus

    def __str__(self) -> str:
        return f"{_named(self.symbol)} quote {_level(self.bid)} | {_level(self.offer)}{_doubt(self.status)}"


@record
class Depth:
    """The first levels of both sides, best first, after an event that changed one of them."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    bids: tuple[Level, ...]
    offers: tuple[Level, ...]
    status: BookStatus

    def __str__(self) -> str:
        sides = (", ".join(map(_level, levels)) or "-" for levels in (self.bids, self.offers))
        return f"{_named(self.symbol)} depth {' | '.join(sides)}{_doubt(self.status)}"


@record
class BookStatusChanged:
    """How far a book is to be believed. `before` is None for an instrument that is new."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    before: BookStatus | None
    status: BookStatus

    def __str__(self) -> str:
        before = "" if self.before is None else f"{in_words(self.before)} → "
        return f"{_named(self.symbol)} book {before}{in_words(self.status)}"


# States, news, definitions


@record
class StateChanged:
    """State of an instrument (14). `state` None: as its group. The number told with a 102 is the phase of the
    group that it follows again: `followed`."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    session: Session
    state: State | None
    event: StateEvent | None
    trade_date: int | None
    ends_ns: int | None

    @property
    def followed(self) -> Phase | None:
        return followed_phase(self.state, self.event)

    def __str__(self) -> str:
        if self.followed is not None:
            return f"{_named(self.symbol)} follows its group again, phase {in_words(self.followed)}"
        state = "as its group" if self.state is None else in_words(self.state)
        return f"{_named(self.symbol)} state {state}{_cause(self.event)}"


@record
class PhaseChanged:
    """Phase of a group (14.2)."""

    channel: int
    symbol: None
    time_ns: int
    stream_position: int
    group: str
    exchange: str
    session: Session
    phase: Phase
    event: StateEvent | None
    trade_date: int | None
    ends_ns: int | None

    def __str__(self) -> str:
        return f"group {printable(self.group)} phase {in_words(self.phase)}{_cause(self.event)}"


@record
class News:
    """A news text; the feed cuts it into parts (5.8). Not `complete`: some of them never came."""

    channel: int
    symbol: str | None
    time_ns: int
    stream_position: int
    security_id: int | None
    news_id: int | None
    headline: str
    text: str
    source: int
    language: str | None
    url: str | None
    complete: bool

    def __str__(self) -> str:
        about = f"{_named(self.symbol)} " if self.symbol else ""
        return f"{about}news: {printable(self.headline)}{'' if self.complete else ' (incomplete)'}"


@record
class Definition:
    """An instrument that is new, or another than before. `time_ns` is that of arrival."""

    channel: int
    symbol: str
    time_ns: int
    stream_position: int
    security_id: int
    instrument: Instrument
    action: DefinitionAction

    def __str__(self) -> str:
        instrument = self.instrument
        more = f" {printable(instrument.description)}" if instrument.description else ""
        kind = instrument.security_type.name
        return f"{_named(self.symbol)} definition {in_words(self.action)}: {kind}{more}"


def _named(symbol: str) -> str:
    return printable(symbol)


def _resting(order: OrderAdded | OrderChanged) -> str:
    return f"{in_words(order.side)} {order.size:,} at {price_text(order.price)}"


def _level(level: Level | None) -> str:
    return "-" if level is None else f"{level.size:,} at {price_text(level.price)}"


def _doubt(status: BookStatus) -> str:
    return "" if status is BookStatus.CLEAN else f" {status.name}"


def _cause(event: StateEvent | None) -> str:
    return "" if event is None else f" ({in_words(event)})"
