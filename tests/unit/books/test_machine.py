"""Both books and the levels kept alone, side by side, under anything a feed may say."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pregao.books.levels import LevelBook
from pregao.books.views import NO_PRICE, Level, SideLevels
from pregao.model.events import BookEmptied, SideDeleted
from pregao.model.market import Action, Side
from tests.twins.lookups import DepthTeller, find_order, queue_position
from tests.twins.plain_book import BookUpdate, ReferenceBook
from tests.unit.books.making import SECURITY, KernelBook, order

SIDES = st.sampled_from(Side)
VERSIONS = st.sampled_from((8, 14, 15, 16, 17))
PRICES = st.one_of(st.none(), st.integers(-3, 12), st.integers(-(1 << 62), 1 << 62))
IDS = st.one_of(st.integers(1, 30), st.integers(-(1 << 63), (1 << 63) - 1))
SIZES = st.one_of(st.integers(0, 50), st.integers(0, 1 << 40))
FIRMS = st.one_of(st.none(), st.integers(1, 500))
CHOICES = st.integers(0, 1 << 16)
DEPTH = 3


def listed(levels: SideLevels) -> list[Level]:
    columns = (column.tolist() for column in levels)
    return [
        Level(None if price == NO_PRICE else price, size, orders)
        for price, size, orders in zip(*columns, strict=True)
    ]


def both_sides(depth: Any) -> tuple[list[Level], list[Level]]:
    bids, offers = (depth[side][depth[side]["orders"] > 0] for side in ("bids", "offers"))
    return tuple(listed(SideLevels(each["price"], each["size"], each["orders"])) for each in (bids, offers))


class Books(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.plain, self.kernel = ReferenceBook(), KernelBook()
        self.kernel.store.want_depth(DEPTH)
        self.depths = DepthTeller(DEPTH)
        self.next_id = 100

    def apply(self, update: BookUpdate, version: int) -> None:
        self.plain.apply(update, version)
        self.kernel.apply(update, version)
        due, told = self.depths.look(self.plain), self.kernel.store.take_depths()
        assert [both_sides(depth) for depth in told] == ([] if due is None else [due])

    @rule(
        side=SIDES, version=VERSIONS, action=st.sampled_from(Action), order_id=IDS, price=PRICES,
        size=st.one_of(SIZES, st.integers(-5, 1 << 60)), position=st.integers(0, 40), firm=FIRMS,
        implied=st.booleans(),
    )  # fmt: skip
    def anything(self, side, version, action, order_id, price, size, position, firm, implied) -> None:
        update = order(
            action, side, order_id, price, size, position, firm=firm, implied=implied, inserted_ns=order_id
        )
        self.apply(update, version)

    @rule(side=SIDES, version=VERSIONS, price=PRICES, size=SIZES, count=st.integers(1, 20), place=CHOICES)
    def enter(self, side, version, price, size, count, place) -> None:
        """New orders that fit, near each other."""
        for number in range(count):
            self.next_id += 1
            moved = None if price is None else price + number % 5
            position = 1 + (place + 7 * number) % (len(self.plain.orders(side)) + 1)
            self.apply(order(Action.NEW, side, self.next_id, moved, size, position), version)

    @rule(side=SIDES, version=VERSIONS, choice=CHOICES, size=SIZES, is_change=st.booleans())
    def touch_one(self, side, version, choice, size, is_change) -> None:
        """A change or delete of an order that is there."""
        orders = self.plain.orders(side)
        if not orders:
            return
        place = choice % len(orders)
        there, action = orders[place], Action.CHANGE if is_change else Action.DELETE
        price = there.price if version >= 15 or is_change else None
        self.apply(order(action, side, there.order_id, price, size, place + 1), version)

    @rule(side=SIDES, version=VERSIONS, action=st.sampled_from(Action), position=st.integers(0, 12))
    def delete_side(self, side, version, action, position) -> None:
        self.apply(SideDeleted(SECURITY, action, side, 0, position), version)

    @rule(version=VERSIONS)
    def empty(self, version) -> None:
        self.apply(BookEmptied(SECURITY, 0), version)

    @rule(choice=CHOICES, any_id=IDS)
    def ask_for_an_order(self, choice, any_id) -> None:
        ids = [each.order_id for side in Side for each in self.plain.orders(side)]
        for order_id in (any_id, *ids[choice % (len(ids) + 1) :][:1]):
            assert self.kernel.store.find_order(0, order_id) == find_order(self.plain, order_id)
            assert self.kernel.store.queue_position(0, order_id) == queue_position(self.plain, order_id)

    @invariant()
    def equal(self) -> None:
        for side in Side:
            assert self.kernel.orders(side) == self.plain.orders(side)
            assert self.kernel.levels(side) == self.plain.levels(side)
        assert self.kernel.top == self.plain.top
        for side, levels in zip(Side, self.kernel.store.both_sides(0, DEPTH), strict=True):
            assert listed(levels) == self.plain.levels(side)[:DEPTH]
        assert self.kernel.suspect == self.plain.suspect
        assert self.kernel.anomalies == self.plain.anomalies
        self.plain.check_invariants()
        self.kernel.check_invariants()


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=60, stateful_step_count=40)


class ValidLevels(RuleBasedStateMachine):
    """From version 16 the levels kept alone equal those of the orders (12.1.1.1)."""

    def __init__(self) -> None:
        super().__init__()
        self.orders, self.levels = ReferenceBook(), LevelBook()
        self.next_id = 0

    def apply(self, update: BookUpdate) -> None:
        self.orders.apply(update, 16)
        self.levels.apply(update, 16)

    @rule(side=SIDES, price=st.one_of(st.none(), st.integers(0, 6)), size=st.integers(1, 50))
    def enter(self, side, price, size) -> None:
        self.next_id += 1
        self.apply(order(Action.NEW, side, self.next_id, price, size))

    @rule(side=SIDES, choice=CHOICES, size=st.one_of(st.none(), st.integers(1, 50)))
    def touch_one(self, side, choice, size) -> None:
        orders = self.orders.orders(side)
        if not orders:
            return
        there = orders[choice % len(orders)]
        if size is None:
            self.apply(order(Action.DELETE, side, there.order_id, there.price, there.size))
        else:
            update = order(
                Action.CHANGE, side, there.order_id, there.price, size, previous_size=there.size
            )
            self.apply(update)

    @rule(side=SIDES)
    def delete_side(self, side) -> None:
        self.apply(SideDeleted(SECURITY, Action.DELETE_THRU, side, 0))

    @rule()
    def empty(self) -> None:
        self.apply(BookEmptied(SECURITY, 0))

    @invariant()
    def equal(self) -> None:
        assert not self.levels.suspect
        assert not self.orders.suspect
        assert self.levels.top == self.orders.top
        for side in Side:
            assert self.levels.levels(side) == self.orders.levels(side)


TestLevels = ValidLevels.TestCase
TestLevels.settings = settings(max_examples=40, stateful_step_count=40)
