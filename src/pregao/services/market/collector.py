"""From what a handler tells while it works to what a market tells, in the order in which it happened."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.feeds.binary.handler.observer import Observer
from pregao.model.events import Definition, News
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.model.rows import Kind, Rows
from pregao.services.market.changes import Change, MarketEvent, Quote, What
from pregao.services.market.rows import MAKERS, STATISTICS, quote_of, statistic_told

if TYPE_CHECKING:
    from pregao.feeds.binary.handler.handler import ChannelHandler

_IS_TOLD: Final = np.zeros(256, np.bool_)
_IS_TOLD[list(MAKERS)] = True
_IS_STATISTIC: Final = np.zeros(256, np.bool_)
_IS_STATISTIC[list(STATISTICS)] = True


class Collector(Observer):
    """Of one channel. `symbols` None: of all instruments; what is not about one is always told.
    `statistics`: these too, which are many."""

    def __init__(self, symbols: frozenset[str] | None = None, *, statistics: bool = False) -> None:
        self._symbols = symbols
        self._is_told = _IS_TOLD | _IS_STATISTIC if statistics else _IS_TOLD
        self.quiet = False  # nobody wants to hear of trades and quotes for now
        self._ids: set[int] = set()  # of the symbols, as far as they are known
        self._defined: dict[int, Instrument] = {}
        self._handler: ChannelHandler | None = None
        self._out: list[MarketEvent] = []

    def attach(self, handler: "ChannelHandler") -> None:
        self._handler = handler

    def take(self) -> list[MarketEvent]:
        """All since the last time."""
        out, self._out = self._out, []
        return out

    # What the handler tells

    def on_rows(self, rows: Rows) -> None:
        handler = self._handler
        assert handler is not None
        if self.quiet:
            handler.store.take_quotes()
            return
        self._out += handler.machine.take_events()  # they came before these rows, or with them
        chosen, quotes = rows[self._is_told[rows["kind"]]], handler.store.take_quotes()
        if self._symbols is not None:
            chosen, quotes = self._of_symbols(chosen), self._of_symbols(quotes)
        changes = [*map(self._change, self._updates(chosen)), *map(self._change, self._quotes(quotes))]
        if len(chosen) and len(quotes):
            # A quote comes after the message that ended its event: the sort keeps equals in order.
            places = [(int(row["at"]), int(row["index"])) for each in (chosen, quotes) for row in each]
            changes = [changes[place] for place in sorted(range(len(changes)), key=places.__getitem__)]
        self._out += changes

    def on_definition(self, instrument: Instrument, action: DefinitionAction) -> None:
        """The loop tells the same again and again: only what is new is passed on."""
        security_id, deleted = instrument.security_id, action is DefinitionAction.DELETE
        before = self._defined.get(security_id)
        if before == (None if deleted else instrument):
            return
        if deleted:
            self._defined.pop(security_id, None)
        else:
            self._defined[security_id] = instrument
            if self._symbols is not None and instrument.symbol in self._symbols:
                self._ids.add(security_id)
        if self._symbols is None or instrument.symbol in self._symbols:
            self._tell(instrument.symbol, Definition(instrument, action), 0)

    def on_news(self, news: News) -> None:
        symbol = None if news.security_id is None else self._symbol(news.security_id)
        self._tell(symbol, news, news.time_ns)

    # Inside

    def _updates(self, rows: Rows) -> Iterator[What]:
        for row in rows:
            kind = int(row["kind"])
            yield MAKERS[kind](row) if kind in MAKERS else statistic_told(row)

    def _quotes(self, quotes: Any) -> Iterator[Quote]:
        assert self._handler is not None
        for told in quotes:
            quote = quote_of(told)
            known = self._handler.known(int(told["instrument"]))[0]
            yield Quote(quote.security_id, quote.bid, quote.offer, quote.time_ns, known)

    def _of_symbols(self, told: Any) -> Any:
        ids = told["security_id"]
        wanted = np.isin(ids, list(self._ids))
        if "kind" in told.dtype.names:
            wanted |= told["kind"] == Kind.PHASE
        return told[wanted]

    def _change(self, what: What) -> Change:
        security_id = getattr(what, "security_id", None)
        symbol = None if security_id is None else self._symbol(security_id)
        time_ns: int = getattr(what, "transact_ns", 0) or getattr(what, "time_ns", 0)
        return Change(self._channel, symbol, what, time_ns)

    def _tell(self, symbol: str | None, what: What, time_ns: int) -> None:
        self._out.append(Change(self._channel, symbol, what, time_ns))

    @property
    def _channel(self) -> int:
        assert self._handler is not None
        return self._handler.channel

    def _symbol(self, security_id: int) -> str:
        instrument = self._defined.get(security_id)
        return str(security_id) if instrument is None else instrument.symbol
