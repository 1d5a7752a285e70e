"""Instruments by what people call them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches

from pregao.handler.views import HandledBook, Handler
from pregao.market.collector import MarketEvent
from pregao.model.errors import PregaoError


class UnknownInstrumentError(PregaoError, KeyError):
    """Nobody has told of an instrument with this symbol."""

    def __str__(self) -> str:  # a KeyError shows its argument as it would stand in source
        return str(self.args[0])


class AmbiguousSymbolError(UnknownInstrumentError):
    """Several channels have this symbol: say which one is meant."""


def find_book(
    handlers: Mapping[int, Handler],
    instrument: str | int,
    channel: int | None,
    chosen: Collection[str] | None = None,
    stream: str | None = None,
) -> HandledBook:
    """By symbol or securityID, on any channel if none is named. `chosen`: books are kept of these only.
    `stream`: which of its books (MDStreamID)."""
    if chosen is not None and isinstance(instrument, str) and instrument not in chosen:
        raise UnknownInstrumentError(not_chosen(instrument, chosen))
    searched = [handler for number, handler in handlers.items() if channel in (None, number)]
    found = [book for handler in searched if (book := _book_of(handler, instrument, stream)) is not None]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownInstrumentError(_unknown(handlers, searched, instrument, channel))
    channels = " and ".join(str(book.channel) for book in found)
    said = f"{instrument} is on channels {channels}: say which, as channel={found[0].channel}"
    raise AmbiguousSymbolError(said)


def not_chosen(symbol: str, chosen: Collection[str]) -> str:
    kept = ", ".join(sorted(chosen)[:4]) + (", …" if len(chosen) > 4 else "")
    return f"{symbol} is not among the symbols that were chosen ({kept}): no book is kept of it"


def _book_of(handler: Handler, instrument: str | int, stream: str | None) -> HandledBook | None:
    try:
        return handler.book(instrument, stream)
    except KeyError:
        return None


def _unknown(
    handlers: Mapping[int, Handler],
    searched: Iterable[Handler],
    instrument: str | int,
    channel: int | None,
) -> str:
    if channel is not None and channel not in handlers:
        known = ", ".join(map(str, sorted(handlers))) or "none yet"
        return f"no channel {channel}; there are: {known}"
    symbols = [each.symbol for handler in searched for each in handler.instruments]
    if not symbols:
        return f"{instrument}: no definitions were heard yet; read some events first, or call `run`"
    near = get_close_matches(str(instrument).upper(), symbols, n=4, cutoff=0.6)
    hint = f"; near: {', '.join(near)}" if near else ""
    return f"no instrument {instrument} among {len(symbols)}{hint}"


# Who wants to be called for the events of an instrument.


OnEvent = Callable[[MarketEvent], object]


class Subscription:
    """Ends with `cancel`, or with the `with` block that it is used in."""

    def __init__(self, subscribers: "Subscribers", symbol: str, on_event: OnEvent) -> None:
        self._subscribers, self.symbol, self.on_event = subscribers, symbol, on_event

    def cancel(self) -> None:
        """No more calls; doing it twice does no harm."""
        self._subscribers.remove(self)

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class Subscribers:
    def __init__(self) -> None:
        self._by_symbol: dict[str, list[Subscription]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_symbol)

    def add(self, symbol: str, on_event: OnEvent) -> Subscription:
        subscription = Subscription(self, symbol, on_event)
        self._by_symbol.setdefault(symbol, []).append(subscription)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        theirs = self._by_symbol.get(subscription.symbol, [])
        if subscription in theirs:
            theirs.remove(subscription)
            if not theirs:
                del self._by_symbol[subscription.symbol]

    def call(self, event: MarketEvent) -> None:
        """Those who want this one, in the order in which they subscribed."""
        symbol = event.symbol
        if symbol is not None:
            for subscription in tuple(self._by_symbol.get(symbol, ())):
                subscription.on_event(event)
