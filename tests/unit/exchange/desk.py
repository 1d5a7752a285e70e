"""What the exchange's tests share: instruments, short words for commands, and a reader that rebuilds
books from published updates alone, by order id and by position."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from pregao.exchange.commands import NewOrder
from pregao.exchange.engine import CommandOutcome, Engine
from pregao.exchange.hooks import Hooks
from pregao.exchange.orders import key_of
from pregao.model.events import Event, OrderUpdate, SideDeleted, Update
from pregao.model.instruments import Instrument, Leg, Product, SecurityType
from pregao.model.market import Action, Side, State

BUY, SELL = Side.BUY, Side.SELL
A, B, SPREAD = 1, 2, 3
TERMO = 4


def px(price: str | float) -> int:
    return round(float(price) * 10_000)


def stock(security_id: int = A, **attributes: object) -> Instrument:
    values: dict[str, object] = {
        "security_id": security_id,
        "symbol": f"S{security_id}",
        "channel": 1,
        "group": "01",
        "asset": "S",
        "security_type": SecurityType.CS,
        "product": Product.EQUITY,
        "tick": 100,
        "lot": 1,
    }
    return Instrument(**(values | attributes))  # type: ignore[arg-type]


def spread(security_id: int = SPREAD, *, buys: int = B, sells: int = A) -> Instrument:
    legs = (Leg(buys, f"S{buys}", BUY), Leg(sells, f"S{sells}", SELL))
    return stock(
        security_id, security_type=SecurityType.MLEG, product=Product.MULTILEG, implied=True, legs=legs
    )


class Desk:
    """An engine with a clock that ticks per command, and states that the test sets."""

    def __init__(
        self,
        *instruments: Instrument,
        trade_date: int = 20_000,
        implied_partial: str = "change",
        kept_trades: int | None = None,
    ) -> None:
        self.states: dict[int, State] = {}
        self.hooks = Hooks(trading_state=lambda security_id: self.states.get(security_id, State.OPEN))
        self.engine = Engine(
            instruments or (stock(),),
            trade_date=trade_date,
            hooks=self.hooks,
            implied_partial=implied_partial,
            kept_trades=kept_trades,
        )
        self.now_ns = 0

    def tick(self) -> int:
        self.now_ns += 1
        return self.now_ns

    def submit(self, command: object) -> CommandOutcome:
        return self.engine.submit(command)  # type: ignore[arg-type]

    def order(
        self, side: Side, quantity: int, price: str | float | None = None, **attributes: object
    ) -> CommandOutcome:
        security_id = attributes.pop("security_id", A)
        mantissa = None if price is None else px(price)
        return self.submit(NewOrder(self.tick(), security_id, side, quantity, mantissa, **attributes))  # type: ignore[arg-type]

    def numbered(
        self, secondary_id: int, side: Side, quantity: int, price: str | float, **attributes: object
    ) -> CommandOutcome:
        """As `order`, with the next secondaryOrderID set: printed examples have their own."""
        segment = self.engine.floor.segment(1)
        segment.continue_after(secondary_id - 1, segment.last()[1])
        return self.order(side, quantity, price, **attributes)

    def book(self, side: Side, security_id: int = A) -> list[tuple[int, int, float | None]]:
        """secondaryOrderID, displayed size and price of each order, best first."""
        orders = self.engine.market(security_id).book.side(side).orders
        return [(o.secondary_id, o.shown, None if o.price is None else o.price / 10_000) for o in orders]


def updates(outcome: CommandOutcome) -> list[Update]:
    assert outcome.rejection is None, outcome.rejection
    return [update for event in outcome.events for update in event.updates]


def only_event(outcome: CommandOutcome) -> tuple[Update, ...]:
    assert outcome.rejection is None, outcome.rejection
    assert len(outcome.events) == 1, outcome.events
    return outcome.events[0].updates


T = TypeVar("T")


def of(kind: type[T], items: Iterable[object]) -> list[T]:
    return [item for item in items if isinstance(item, kind)]


def rows(items: Iterable[object]) -> list[tuple[str, str, float | None, int, int, int]]:
    """Book updates as the text prints them: action, side, price, size, secondaryOrderID, position."""
    return [
        (
            u.action.name,
            u.side.name,
            None if u.price is None else u.price / 10_000,
            u.size,
            u.order_id,
            u.position,
        )
        for u in items
        if isinstance(u, OrderUpdate)
    ]


@dataclass
class Reader:
    """A client's book: kept by id as versions from 15, and by position as versions below."""

    by_id: dict[tuple[int, Side], dict[int, tuple[int | None, int]]] = field(default_factory=dict)
    by_position: dict[tuple[int, Side], list[tuple[int, int | None, int]]] = field(default_factory=dict)

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            for update in event.updates:
                if isinstance(update, OrderUpdate):
                    self._apply(update)
                elif isinstance(update, SideDeleted):
                    self.by_id.pop((update.security_id, update.side), None)
                    self.by_position.pop((update.security_id, update.side), None)

    def _apply(self, update: OrderUpdate) -> None:
        key = update.security_id, update.side
        orders = self.by_id.setdefault(key, {})
        places = self.by_position.setdefault(key, [])
        place = update.position - 1
        entry = update.order_id, update.price, update.size
        if update.action is Action.NEW:
            assert update.order_id not in orders
            assert update.previous_size is None
            assert 0 <= place <= len(places)
            orders[update.order_id] = update.price, update.size
            places.insert(place, entry)
        elif update.action is Action.CHANGE:
            assert orders[update.order_id] == (update.price, update.previous_size)
            assert places[place] == (update.order_id, update.price, update.previous_size)
            orders[update.order_id] = update.price, update.size
            places[place] = entry
        else:
            assert orders.pop(update.order_id) == (update.price, update.size)
            assert places.pop(place) == entry

    def check(self, engine: Engine) -> None:
        for market in engine.floor.markets.values():
            for side in Side:
                engines = [(o.secondary_id, o.price, o.shown) for o in market.book.side(side).orders]
                key = market.security_id, side
                assert self.by_position.get(key, []) == engines
                ids = self.by_id.get(key, {})
                ranked = sorted(ids, key=lambda i, side=side, ids=ids: key_of(side, ids[i][0], i))  # type: ignore[misc]
                assert [(i, *ids[i]) for i in ranked] == engines
