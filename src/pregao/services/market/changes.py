"""What a market tells: model objects with the channel and symbol they are of, and what the channels say of
themselves. `str` of any of them is a line for people."""

from collections.abc import Callable
from typing import Any, Final

from pregao.books.views import Level
from pregao.model.events import Definition, News, PhaseChanged, StateChanged, Trade, TradeBusted
from pregao.model.records import record
from pregao.services.formats.text_values import printable
from pregao.services.market.numbers import in_words, price_text
from pregao.services.market.statistic_texts import STATISTIC_TEXTS, Statistic
from pregao.sessions.events import Event as ChannelEvent
from pregao.sessions.instruments import Known


@record
class Quote:
    """Best bid and offer after an event that changed one of them. `known` says how far to believe it."""

    security_id: int
    bid: Level | None
    offer: Level | None
    time_ns: int
    known: Known = Known.CLEAN


What = Trade | TradeBusted | Quote | Statistic | StateChanged | PhaseChanged | News | Definition


@record
class Change:
    """Something that happened in the market. `symbol` is None where it is not about one instrument, and
    the securityID as text where its definition was not heard."""

    channel: int
    symbol: str | None
    what: What
    time_ns: int  # when it happened, as the exchange says

    def __str__(self) -> str:
        return _TEXTS[type(self.what)](printable(self.symbol or ""), self.what)


MarketEvent = Change | ChannelEvent


def _trade(symbol: str, trade: Trade) -> str:
    notes = [in_words(trade.sub_type)] if trade.sub_type else []
    return " ".join([f"{symbol} trade {trade.size:,} at {price_text(trade.price)}", *notes])


def _bust(symbol: str, bust: TradeBusted) -> str:
    return f"{symbol} trade {bust.trade_id} cancelled: {bust.size:,} at {price_text(bust.price)}"


def _quote(symbol: str, quote: Quote) -> str:
    doubt = "" if quote.known is Known.CLEAN else f" {quote.known.name}"
    return f"{symbol} quote {_level(quote.bid)} | {_level(quote.offer)}{doubt}"


def _level(level: Level | None) -> str:
    return "-" if level is None else f"{level.size:,} at {price_text(level.price)}"


def _state(symbol: str, told: StateChanged) -> str:
    if told.followed is not None:
        return f"{symbol} follows its group again, phase {in_words(told.followed)}"
    state = "as its group" if told.state is None else in_words(told.state)
    event = "" if told.event is None else f" ({in_words(told.event)})"
    return f"{symbol} state {state}{event}"


def _phase(_: str, told: PhaseChanged) -> str:
    event = "" if told.event is None else f" ({in_words(told.event)})"
    return f"group {printable(told.group)} phase {in_words(told.phase)}{event}"


def _news(symbol: str, news: News) -> str:
    about = f"{symbol} " if symbol else ""
    return f"{about}news: {printable(news.headline)}"


def _definition(symbol: str, told: Definition) -> str:
    instrument = told.instrument
    more = f" {printable(instrument.description)}" if instrument.description else ""
    return f"{symbol} definition {in_words(told.action)}: {instrument.security_type.name}{more}"


_TEXTS: Final[dict[type, Callable[[str, Any], str]]] = {
    Trade: _trade, TradeBusted: _bust, Quote: _quote, StateChanged: _state, PhaseChanged: _phase,
    News: _news, Definition: _definition, **STATISTIC_TEXTS,
}  # fmt: skip
