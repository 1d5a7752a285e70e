"""From what a handler tells while it works to events of the library, in the order in which it happened."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pregao.books import layout as t
from pregao.handler.instruments import SymbolInterest
from pregao.handler.keeper import Observer
from pregao.handler.views import Handler
from pregao.market import making
from pregao.market.channel_events import ChannelEvent, channel_event, position_of
from pregao.market.events import BookStatusChanged, Definition, Depth, MarketTotal, News, Quote
from pregao.market.health import BookStatuses
from pregao.market.making import ALWAYS, MAKERS, ORDERS, STATISTICS, RowEvent, Scene, Symbols
from pregao.model.errors import ConfigurationError
from pregao.model.events import MarketTotal as WholeTotal
from pregao.model.events import News as WholeNews
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.rows import AT, ELECTRONIC, INDEX, ROW_SIZE, SECURITY_ID, Kind, Rows
from pregao.model.scales import scaled_symbol
from pregao.recovery.events import (
    ChannelReady,
    DefinitionsComplete,
    JoinStream,
    LeaveStream,
    SnapshotLoopComplete,
)
from pregao.recovery.events import Event as SessionEvent
from pregao.recovery.instrument_events import InstrumentsUnverified
from pregao.recovery.instruments import BookStatus
from pregao.recovery.table import NOT_FOLLOWED

# Which events somebody wants: nothing else is made.


MOST_LEVELS: Final = 100

Kinds = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class WantedEvents:
    """`symbols` None: of all instruments. What is not about one is always told."""

    symbols: frozenset[str] | None = None
    orders: bool = False
    quotes: bool = True
    statistics: bool = False
    depth: int = 0  # levels a side; 0: none

    def __post_init__(self) -> None:
        if not 0 <= self.depth <= MOST_LEVELS:
            raise ConfigurationError(f"{self.depth} is not from 0 to {MOST_LEVELS}", key="depth")

    @property
    def kinds(self) -> Kinds:
        """Of rows, by their number."""
        wanted = np.zeros(256, np.bool_)
        orders = ORDERS if self.orders else ()
        wanted[[*ALWAYS, *orders, *(STATISTICS if self.statistics else ())]] = True
        return wanted


MarketEvent = RowEvent | Quote | Depth | BookStatusChanged | News | Definition | MarketTotal | ChannelEvent

_PLACE: Final = struct.Struct(f"<{INDEX}xH{AT - INDEX - 2}xq").unpack_from  # of a row: index, then at
_QUOTE_PLACE: Final = struct.Struct(f"<{t.QUOTE_AT}xq{t.QUOTE_INDEX - 16}xH").unpack_from  # at, then index
_QUOTE_OF: Final = struct.Struct(f"<{t.QUOTE_INSTRUMENT}xI").unpack_from
_ID_OF_QUOTE: Final = struct.Struct(f"<{t.QUOTE_SECURITY}xq").unpack_from
_ID: Final = struct.Struct(f"<{SECURITY_ID}xq").unpack_from
_PHASE: Final = int(Kind.PHASE)

# What a channel says that changes no book.
_HARMLESS: Final = (JoinStream, LeaveStream, DefinitionsComplete, SnapshotLoopComplete, ChannelReady)

# Rows of kinds that are wanted, the quotes behind them, how far these are to be believed, whose they are.
TakeRows = Callable[[Rows, NDArray[Any], list[BookStatus], list[int], Scene], None]


class Collector(Observer):
    """Of one channel. `now_ns` says when what is handled came; `follow` is given what a channel asks for
    between two rows."""

    def __init__(
        self,
        wanted: WantedEvents,
        now_ns: Callable[[], int],
        follow: Callable[[Sequence[SessionEvent]], None],
    ) -> None:
        self._wanted, self._kinds = wanted, wanted.kinds
        self.interest = None if wanted.symbols is None else SymbolInterest(wanted.symbols)
        self._now_ns, self._follow = now_ns, follow
        self.take_rows: TakeRows | None = None  # set: who takes them in the place of events
        self._quiet = False
        self._defined: dict[int, Instrument] = {}
        self._out: list[MarketEvent] = []
        # Books that may be to be believed more or less than before: these, or any of them.
        self._touched: set[int] = set()
        self._stirred = False

    def attach(self, handler: Handler) -> None:
        self._handler, self._statuses = handler, BookStatuses(handler)
        self._scene = Scene(handler.channel, Symbols())
        if self._wanted.depth:
            handler.store.want_depth(self._wanted.depth)

    def begin(self, *, quiet: bool, take_rows: TakeRows | None) -> None:
        self._quiet, self.take_rows = quiet, take_rows

    @property
    def quiet(self) -> bool:
        """Nobody wants to hear of anything for now."""
        return self._quiet

    @quiet.setter
    def quiet(self, quiet: bool) -> None:
        if self._quiet and not quiet:
            self._statuses.settle()
        self._quiet = quiet

    def finish(self, events: Sequence[SessionEvent]) -> list[MarketEvent]:
        """All since the last time; `events` is what the channel said at the end."""
        if self._quiet:
            self._out.clear()
            return []
        if events:
            self._say(events)
        if self._stirred or self._touched or self._statuses.may_change:
            self._tell_statuses()
        out, self._out = self._out, []
        return out

    # What the handler tells

    def on_rows(self, rows: Rows) -> None:
        store = self._handler.store
        quotes, depths = store.take_quotes(), store.take_depths() if self._wanted.depth else None
        said = self._handler.machine.take_events()  # they came before these rows, or with them
        if said:
            self._follow(said)
            if not self._quiet:
                self._say(said)
        if self._quiet:
            return
        self._scene.now_ns = self._now_ns()
        chosen = rows[self._kinds[rows["kind"]]]
        if self.take_rows is not None:
            self._hand_on(chosen, quotes)
            return
        out = self._row_events(chosen)
        if len(quotes):
            out += self._book_events(quotes, 0)
        if depths is not None and len(depths):
            out += self._book_events(depths, self._wanted.depth)
        if len(quotes) or depths is not None:
            out.sort(key=itemgetter(0))  # two or three runs in order: what a row ended comes behind it
        self._out += [event for _, event in out]

    def on_definition(self, instrument: Instrument, action: DefinitionAction) -> None:
        """The loop tells the same again and again: only what is new is passed on."""
        security_id, deleted = instrument.security_id, action is DefinitionAction.DELETE
        if self._defined.get(security_id) == (None if deleted else instrument):
            return
        if deleted:
            self._defined.pop(security_id, None)
        else:
            self._defined[security_id] = instrument
            self._scene.symbols[security_id] = scaled_symbol(instrument.symbol, instrument.scale)
            if self.interest is not None:
                self.interest.learn(instrument)
        self._touched.add(self._handler.machine.table.find(security_id))
        if self.interest is None or security_id in self.interest:
            self._out.append(Definition(*self._here(instrument.symbol), security_id, instrument, action))

    def on_news(self, news: WholeNews) -> None:
        about = news.security_id
        symbol = None if about is None else self._scene.symbols[about]
        channel, _, _, position = self._here(None)
        self._out.append(
            News(
                channel, symbol, news.time_ns, position, about, news.news_id, news.headline, news.text,
                news.source, news.language, news.url, news.complete, news.related,
            )
        )  # fmt: skip

    def on_totals(self, totals: Sequence[WholeTotal]) -> None:
        """Of sessions: a market as a whole."""
        channel, _, _, position = self._here(None)
        self._out += [
            MarketTotal(
                channel, None, each.time_ns, position, each.symbol, each.amount, each.volume, each.trades,
                each.groups,
            )
            for each in totals
        ]  # fmt: skip

    # Inside

    def _row_events(self, rows: Rows) -> "list[tuple[tuple[int, int], MarketEvent]]":
        """With the place of each: packet and message."""
        data, scene, interest = rows.tobytes(), self._scene, self.interest
        found: list[tuple[tuple[int, int], MarketEvent]] = []
        for offset in range(0, len(data), ROW_SIZE):
            kind = data[offset]
            if interest is not None and kind != _PHASE and _ID(data, offset)[0] not in interest:
                continue
            event = MAKERS[kind](scene, data, offset)
            if event is not None:
                index, at = _PLACE(data, offset)
                found.append(((at, index), event))
        return found

    def _book_events(self, rows: NDArray[Any], levels: int) -> "list[tuple[tuple[int, int], MarketEvent]]":
        """Quotes, or depths of so many levels."""
        data, size, scene, interest = rows.tobytes(), rows.dtype.itemsize, self._scene, self.interest
        offsets: Sequence[int] = range(0, len(data), size)
        if interest is not None:  # a book of another may be kept by the ids of `ChannelSettings.interest`
            offsets = [offset for offset in offsets if _ID_OF_QUOTE(data, offset)[0] in interest]
        numbers = [_QUOTE_OF(data, offset)[0] for offset in offsets]
        statuses, stream_of = self._statuses.of(numbers), self._handler.store.book_stream
        found: list[tuple[tuple[int, int], MarketEvent]] = []
        for offset, number, status in zip(offsets, numbers, statuses, strict=True):
            event: Quote | Depth
            stream = chr(stream_of(number) or ELECTRONIC)
            if levels:
                event = making.depth(scene, data, offset, levels, status, stream)
            else:
                event = making.quote(scene, data, offset, status, stream)
            found.append((_QUOTE_PLACE(data, offset), event))
        return found

    def _hand_on(self, rows: Rows, quotes: NDArray[Any]) -> None:
        """To whoever wants rows and not events."""
        assert self.take_rows is not None
        if self.interest is not None:
            ids = np.fromiter(self.interest, np.int64, len(self.interest))
            rows = rows[np.isin(rows["security_id"], ids) | (rows["kind"] == _PHASE)]
            quotes = quotes[np.isin(quotes["security_id"], ids)]
        if len(rows) or len(quotes):
            numbers, stream_of = quotes["instrument"].tolist(), self._handler.store.book_stream
            streams = [stream_of(number) or ELECTRONIC for number in numbers]
            self.take_rows(rows, quotes, self._statuses.of(numbers), streams, self._scene)

    def _say(self, events: Sequence[SessionEvent]) -> None:
        """What the channel says of itself."""
        find, symbols = self._handler.machine.table.find, self._scene.symbols
        channel, _, time_ns, position = self._here(None)
        for event in events:
            about: int | None = getattr(event, "security_id", None)
            if about is not None:
                self._touched.add(find(about))
            elif isinstance(event, InstrumentsUnverified):
                self._touched.update(map(find, event.security_ids))
            elif not isinstance(event, _HARMLESS):
                self._stirred = True
            symbol = None if about is None else symbols[about]
            self._out.append(channel_event(event, channel, symbol, time_ns, position_of(event, position)))

    def _tell_statuses(self) -> None:
        ids = self._handler.machine.table.security_ids
        self._touched.discard(NOT_FOLLOWED)
        any_of = None if self._stirred else self._touched.copy()
        self._stirred = False
        self._touched.clear()
        for index, before, status in self._statuses.changes(any_of):
            security_id = ids[index]
            head = self._here(self._scene.symbols[security_id])
            self._out.append(BookStatusChanged(*head, security_id, before, status))

    def _here(self, symbol: Any) -> tuple[int, Any, int, int]:
        """The head of an event that no row tells; the position before the first packet is 0."""
        return self._handler.channel, symbol, self._now_ns(), max(self._handler.machine.at, 0)
