"""Who wants to be called for the events of an instrument."""

from collections.abc import Callable

from pregao.market.collector import MarketEvent

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
