"""What happens in a market, as events of the library: trades, what books come to, states, news and
definitions. `order_events` has those of orders, `statistic_events` those of statistics.

Every event begins alike: see `event_head`. Prices are whole ten-thousandths, times nanoseconds and dates days
since 1970; bonds count otherwise, which `scale` of an event says. A value that no enum has a word for stays a
number. `str` of an event is a line for people.
"""

from pregao.books.views import Level
from pregao.captures.formats.text import printable
from pregao.market.row_values import in_words, price_text
from pregao.model.events import followed_phase
from pregao.model.instruments import Instrument
from pregao.model.market import (
    DefinitionAction,
    Phase,
    Session,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from pregao.model.records import record
from pregao.model.scales import Scale, scale_of
from pregao.recovery.instruments import BookStatus

# What every event of the library begins with.
#
# `channel`; `symbol`, the securityID as text where no definition was heard and None where it is not about one
# instrument; `time_ns`, the exchange's time, or that of arrival where the message has none;
# `stream_position`, the place of its packet in the channel's stream: later packets have greater ones, and the
# lower 32 bits are the packet's number.


@record
class LibraryEvent:
    channel: int
    symbol: str | None
    time_ns: int
    stream_position: int


@record
class InstrumentEvent(LibraryEvent):
    """Of one instrument; `scale` says what its prices and sizes count, and what a price is."""

    symbol: str
    security_id: int

    @property
    def scale(self) -> Scale:
        return scale_of(self.symbol)


# Trades


@record
class Trade(InstrumentEvent):
    """One trade (13.3); `forward`: a forward one (13.5). Block trades of UMDF FIX/FAST have no price."""

    trade_id: int
    price: int | None
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
        scale = self.scale
        price = "without a price" if self.price is None else f"at {price_text(self.price, scale=scale)}"
        return f"{printable(self.symbol)} trade {scale.size_text(self.size)} {price}{note}"


@record
class TradeBusted(InstrumentEvent):
    """A trade was cancelled by market supervision (13.4)."""

    trade_id: int
    price: int
    size: int
    trade_date: int | None
    session: Session
    implied: bool

    def __str__(self) -> str:
        size, price = self.scale.size_text(self.size), price_text(self.price, scale=self.scale)
        cancelled = f"trade {self.trade_id} cancelled: {size} at {price}"
        return f"{printable(self.symbol)} {cancelled}"


# What books come to


@record
class Quote(InstrumentEvent):
    """Best bid and offer after an event that changed one of them. `status` says how far to believe it."""

    bid: Level | None
    offer: Level | None
    status: BookStatus
    stream: str = "E"  # which book of the instrument (MDStreamID)

    def __str__(self) -> str:
        sides = f"{_level(self.bid, self.scale)} | {_level(self.offer, self.scale)}"
        return f"{printable(self.symbol)}{_of(self.stream)} quote {sides}{_doubt(self.status)}"


@record
class Depth(InstrumentEvent):
    """The first levels of both sides, best first, after an event that changed one of them."""

    bids: tuple[Level, ...]
    offers: tuple[Level, ...]
    status: BookStatus
    stream: str = "E"  # as of a Quote

    def __str__(self) -> str:
        sides = (
            ", ".join(_level(level, self.scale) for level in levels) or "-"
            for levels in (self.bids, self.offers)
        )
        return f"{printable(self.symbol)}{_of(self.stream)} depth {' | '.join(sides)}{_doubt(self.status)}"


@record
class BookStatusChanged(InstrumentEvent):
    """How far a book is to be believed. `before` is None for an instrument that is new."""

    before: BookStatus | None
    status: BookStatus

    def __str__(self) -> str:
        before = "" if self.before is None else f"{in_words(self.before)} → "
        return f"{printable(self.symbol)} book {before}{in_words(self.status)}"


# States, news, definitions


@record
class StateChanged(InstrumentEvent):
    """State of an instrument (14). `state` None: as its group. The number told with a 102 is the phase of the
    group that it follows again: `followed`."""

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
            return f"{printable(self.symbol)} follows its group again, phase {in_words(self.followed)}"
        state = "as its group" if self.state is None else in_words(self.state)
        return f"{printable(self.symbol)} state {state}{_cause(self.event)}"


@record
class PhaseChanged(LibraryEvent):
    """Phase of a group (14.2)."""

    symbol: None
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
class MarketTotal(LibraryEvent):
    """What a market has traded so far, as the exchange adds it up. `amount` is money in ten-thousandths;
    `groups` are the security groups, or the index, that it is of, where that was told. Its own name is
    `name`: it is no instrument."""

    symbol: None
    name: str
    amount: int
    volume: int
    trades: int
    groups: tuple[str, ...]

    def __str__(self) -> str:
        return f"total {printable(self.name)}: {self.trades} trades, volume {self.volume}"


@record
class News(LibraryEvent):
    """A news text; the feed cuts it into parts (5.8). Not `complete`: some of them never came."""

    security_id: int | None
    news_id: int | None
    headline: str
    text: str
    source: int
    language: str | None
    url: str | None
    complete: bool
    related: tuple[int, ...] = ()  # all instruments that it names, where the feed may name several

    def __str__(self) -> str:
        about = f"{printable(self.symbol)} " if self.symbol else ""
        return f"{about}news: {printable(self.headline)}{'' if self.complete else ' (incomplete)'}"


@record
class Definition(InstrumentEvent):
    """An instrument that is new, or another than before. `time_ns` is that of arrival."""

    instrument: Instrument
    action: DefinitionAction

    def __str__(self) -> str:
        instrument = self.instrument
        more = f" {printable(instrument.description)}" if instrument.description else ""
        kind = instrument.security_type.name
        return f"{printable(self.symbol)} definition {in_words(self.action)}: {kind}{more}"


def _level(level: Level | None, scale: Scale) -> str:
    if level is None:
        return "-"
    return f"{scale.size_text(level.size)} at {price_text(level.price, scale=scale)}"


def _of(stream: str) -> str:
    return "" if stream == "E" else f" {printable(stream)}"


def _doubt(status: BookStatus) -> str:
    return "" if status is BookStatus.CLEAN else f" {status.name}"


def _cause(event: StateEvent | None) -> str:
    return "" if event is None else f" ({in_words(event)})"
