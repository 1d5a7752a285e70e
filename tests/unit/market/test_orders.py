"""Orders, depths and the status of books as events: what somebody who keeps books of their own needs."""

from collections import defaultdict
from dataclasses import dataclass, field

import pytest

from pregao import (
    Action,
    BookEmptied,
    BookStatus,
    BookStatusChanged,
    Depth,
    ExecutionSummary,
    Level,
    Market,
    MarketEvent,
    OrderAdded,
    OrderChanged,
    OrderDeleted,
    Side,
    SideDeleted,
)
from pregao.model import events as model
from pregao.simulator.memory import MemoryDay
from tests.unit.market.kit import MemoryPackets, as_sent, day, differences, market

ORDER_EVENTS = {Action.NEW: OrderAdded, Action.CHANGE: OrderChanged, Action.DELETE: OrderDeleted}
OTHERS = {model.SideDeleted: SideDeleted, model.BookEmptied: BookEmptied,
          model.ExecutionSummary: ExecutionSummary}  # fmt: skip
LOSSY = {"seed": 4, "messages": 1_500, "faults": "loss=3%,both=3x5"}
RESETS = [
    {"seed": 5, "messages": 1_500, "faults": f"reset={kind}@?"} for kind in ("failover", "channel", "week")
]


@pytest.fixture(scope="module")
def clean_day() -> MemoryDay:
    return day(seed=3, messages=1_500)


@pytest.fixture(scope="module")
def events(clean_day: MemoryDay) -> list[MarketEvent]:
    return list(market(clean_day, orders=True, depth=3))


def test_orders_are_those_of_the_exchange(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    told: dict[int, list[MarketEvent]] = defaultdict(list)
    for event in events:
        if isinstance(event, OrderAdded | OrderChanged | OrderDeleted):
            told[event.channel].append(event)
    assert told
    for channel, done in as_sent(clean_day, model.OrderUpdate).items():
        heard = told[channel]
        assert len(done) - len(heard) <= 2
        for event, update in zip(heard, done[-len(heard) :], strict=True):
            assert type(event) is ORDER_EVENTS[update.action]
            assert not differences(event, update)


def test_executions_and_empty_books_are_those_of_the_exchange(
    clean_day: MemoryDay, events: list[MarketEvent]
) -> None:
    for kind, ours in OTHERS.items():
        for channel, done in as_sent(clean_day, kind).items():
            heard = [each for each in events if isinstance(each, ours) and each.channel == channel]
            assert len(done) - len(heard) <= 2, kind
            for event, update in zip(heard, done[len(done) - len(heard) :], strict=True):
                assert not differences(event, update)


def test_who_does_not_ask_for_orders_hears_of_none(clean_day: MemoryDay, events: list[MarketEvent]) -> None:
    kinds = (OrderAdded, OrderChanged, OrderDeleted, Depth, *OTHERS.values())
    assert list(market(clean_day)) == [event for event in events if not isinstance(event, kinds)]


@dataclass
class OwnBook:
    """As a reader of the library might keep it."""

    sides: dict[Side, dict[int, OrderAdded | OrderChanged]] = field(
        default_factory=lambda: {side: {} for side in Side}
    )

    def take(self, event: MarketEvent) -> None:
        if isinstance(event, OrderAdded | OrderChanged):
            self.sides[event.side][event.order_id] = event
        elif isinstance(event, OrderDeleted):
            del self.sides[event.side][event.order_id]
        elif isinstance(event, SideDeleted):
            self.sides[event.side].clear()
        elif isinstance(event, BookEmptied):
            self.sides = {side: {} for side in Side}

    def levels(self, side: Side, depth: int) -> tuple[Level, ...]:
        """An order at any price comes before all others (12.1)."""
        sizes: dict[int | None, list[int]] = defaultdict(list)
        for order in self.sides[side].values():
            sizes[order.price].append(order.size)
        sign = -1 if side is Side.BUY else 1
        ranked = sorted(sizes, key=lambda price: (price is not None, sign * (price or 0)))
        return tuple(Level(price, sum(sizes[price]), len(sizes[price])) for price in ranked[:depth])


def test_books_kept_by_the_events_are_those_of_the_market(clean_day: MemoryDay) -> None:
    seen = market(clean_day, orders=True)
    own: dict[int, OwnBook] = defaultdict(OwnBook)
    for event in seen:
        if isinstance(event, OrderAdded | OrderChanged | OrderDeleted | SideDeleted | BookEmptied):
            own[event.security_id].take(event)
    compared = 0
    for book in seen.books():
        assert book.status is BookStatus.CLEAN
        for side in Side:
            orders = book.orders(side)
            assert {order.order_id for order in orders} == set(own[book.security_id].sides[side])
            for place, order in enumerate(orders):
                theirs = own[book.security_id].sides[side][order.order_id]
                assert (order.price, order.size, order.firm) == (theirs.price, theirs.size, theirs.firm)
                assert book.order(order.order_id) == order
                ahead = [each for each in orders[:place] if each.price == order.price]
                position = book.queue_position(order.order_id)
                assert position is not None
                assert (position.side, position.orders_ahead) == (side, len(ahead))
                assert position.size_ahead == sum(each.size for each in ahead)
                compared += 1
        for side, levels in zip(Side, book.levels(5), strict=True):
            assert levels.size.tolist() == [level.size for level in book.side_levels(side, 5)]
    assert compared > 5
    assert seen.book("PETR4").order(-1) is None
    assert seen.book("PETR4").queue_position(-1) is None


@pytest.mark.parametrize("exact", [True, False])
def test_depths_are_told_when_one_of_the_levels_changed(clean_day: MemoryDay, exact: bool) -> None:
    """Books kept by the order events say when: a depth comes behind the last message of its event."""
    own: dict[int, OwnBook] = defaultdict(OwnBook)
    last: dict[int, tuple[tuple[Level, ...], ...]] = defaultdict(lambda: ((), ()))
    touched: set[int] = set()
    compared = 0
    for event in market(clean_day, orders=True, quotes=False, depth=3, exact=exact):
        if isinstance(event, OrderAdded | OrderChanged | OrderDeleted | SideDeleted | BookEmptied):
            own[event.security_id].take(event)
            touched.add(event.security_id)
        elif isinstance(event, Depth):
            assert event.security_id in touched
            touched.discard(event.security_id)
            now = event.bids, event.offers
            assert now == tuple(own[event.security_id].levels(side, 3) for side in Side)
            assert now != last[event.security_id]
            last[event.security_id] = now
            compared += 1
    assert compared > 300
    for security_id, book in own.items():
        assert last[security_id] == tuple(book.levels(side, 3) for side in Side)


@pytest.mark.parametrize("settings", [LOSSY, *RESETS], ids=str)
@pytest.mark.parametrize("exact", [True, False])
def test_the_status_of_every_book_is_told_when_it_changes(settings: dict[str, object], exact: bool) -> None:
    """After each step of the market the statuses told are those that its books have."""
    packets = MemoryPackets(day(**settings).packets, at_once=200)
    seen, told = Market(packets, exact=exact), {}
    kinds = set()
    while not seen.ended:
        for event in seen.poll(0.0):
            if isinstance(event, BookStatusChanged):
                assert told.get((event.channel, event.security_id)) == event.before
                assert event.status != event.before
                told[event.channel, event.security_id] = event.status
                kinds.add((event.before, event.status))
        for handler in seen._channels.handlers.values():
            for index, security_id in enumerate(handler.machine.table.security_ids):
                assert told[handler.channel, security_id] is handler.known(index)[0]
    assert len(kinds) > 3
    assert {told[book.channel, book.security_id] for book in seen.books()} == {BookStatus.CLEAN}
