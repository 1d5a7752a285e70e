"""Both books and the levels kept alone, side by side, under anything a feed may say."""

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pregao.books.views import NO_PRICE, Anomaly, Level, SideLevels, rank
from pregao.model.events import BookEmptied, SideDeleted
from pregao.model.market import Action, Side
from pregao.model.rows import Flag
from tests.twins.level_book import LevelBook
from tests.twins.lookups import DepthTeller, find_order, queue_position
from tests.twins.plain_book import BookUpdate, ReferenceBook
from tests.unit.books.making import SECURITY, KernelBook, level, order

SIDES = st.sampled_from(Side)
FLAGS = st.sampled_from((
    Flag(0), Flag.PRICE_UNTOLD, Flag.BY_POSITION, Flag.BY_POSITION | Flag.PRICE_UNTOLD,
    Flag.BY_POSITION | Flag.IN_RATES,
))  # fmt: skip
PRICES = st.one_of(st.none(), st.integers(-3, 12), st.integers(-(1 << 62), 1 << 62))
IDS = st.one_of(st.integers(1, 30), st.integers(-(1 << 63), (1 << 63) - 1))
SIZES = st.one_of(st.integers(0, 50), st.integers(0, 1 << 40))
FIRMS = st.one_of(st.none(), st.integers(1, 500))
CHOICES = st.integers(0, 1 << 16)
DEPTH = 3
MET: Counter[Anomaly] = Counter()  # by the machines of positions


def listed(levels: SideLevels) -> list[Level]:
    columns = (column.tolist() for column in levels)
    return [
        Level(None if price == NO_PRICE else price, size, orders)
        for price, size, orders in zip(*columns, strict=True)
    ]


def both_sides(depth: Any) -> tuple[list[Level], list[Level]]:
    bids, offers = (depth[side][depth[side]["orders"] > 0] for side in ("bids", "offers"))
    return tuple(listed(SideLevels(each["price"], each["size"], each["orders"])) for each in (bids, offers))


class SideBySide(RuleBasedStateMachine):
    """A plain book and the kernel's, which are told the same."""

    depth = 0  # of the books, where levels are told

    def __init__(self) -> None:
        super().__init__()
        self.plain, self.kernel = ReferenceBook(self.depth), KernelBook(self.depth)
        self.kernel.store.want_depth(DEPTH)
        self.depths = DepthTeller(DEPTH)
        self.next_id = 100

    def apply(self, update: BookUpdate, flags: Flag) -> None:
        self.plain.apply(update, flags)
        self.kernel.apply(update, flags)
        due, told = self.depths.look(self.plain), self.kernel.store.take_depths()
        assert [both_sides(depth) for depth in told] == ([] if due is None else [due])

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


class Books(SideBySide):
    @rule(
        side=SIDES, flags=FLAGS, action=st.sampled_from(Action), order_id=IDS, price=PRICES,
        size=st.one_of(SIZES, st.integers(-5, 1 << 60)), position=st.integers(0, 40), firm=FIRMS,
        implied=st.booleans(),
    )  # fmt: skip
    def anything(self, side, flags, action, order_id, price, size, position, firm, implied) -> None:
        update = order(
            action, side, order_id, price, size, position, firm=firm, implied=implied, inserted_ns=order_id
        )
        self.apply(update, flags)

    @rule(side=SIDES, flags=FLAGS, price=PRICES, size=SIZES, count=st.integers(1, 20), place=CHOICES)
    def enter(self, side, flags, price, size, count, place) -> None:
        """New orders that fit, near each other."""
        for number in range(count):
            self.next_id += 1
            moved = None if price is None else price + number % 5
            position = 1 + (place + 7 * number) % (len(self.plain.orders(side)) + 1)
            self.apply(order(Action.NEW, side, self.next_id, moved, size, position), flags)

    @rule(side=SIDES, flags=FLAGS, choice=CHOICES, size=SIZES, is_change=st.booleans())
    def touch_one(self, side, flags, choice, size, is_change) -> None:
        """A change or delete of an order that is there."""
        orders = self.plain.orders(side)
        if not orders:
            return
        place = choice % len(orders)
        there, action = orders[place], Action.CHANGE if is_change else Action.DELETE
        price = there.price if Flag.BY_POSITION not in flags or is_change else None
        self.apply(order(action, side, there.order_id, price, size, place + 1), flags)

    @rule(side=SIDES, flags=FLAGS, action=st.sampled_from(Action), position=st.integers(0, 12))
    def delete_side(self, side, flags, action, position) -> None:
        self.apply(SideDeleted(SECURITY, action, side, 0, position), flags)

    @rule(flags=FLAGS)
    def empty(self, flags) -> None:
        self.apply(BookEmptied(SECURITY, 0), flags)

    @rule(choice=CHOICES, any_id=IDS)
    def ask_for_an_order(self, choice, any_id) -> None:
        ids = [each.order_id for side in Side for each in self.plain.orders(side)]
        for order_id in (any_id, *ids[choice % (len(ids) + 1) :][:1]):
            assert self.kernel.store.find_order(0, order_id) == find_order(self.plain, order_id)
            assert self.kernel.store.queue_position(0, order_id) == queue_position(self.plain, order_id)


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=60, stateful_step_count=40)


class Positions(SideBySide):
    """Orders by position or price levels, with every action, near and beyond the ends of their sides. Now and
    then the feed changes from one to the other."""

    depth = 5

    @initialize(by_level=st.booleans())
    def begin(self, by_level) -> None:
        self.by_level = by_level

    @rule(
        side=SIDES, action=st.sampled_from(Action), beyond=st.integers(-1, 2), choice=CHOICES, price=PRICES,
        size=SIZES, orders=st.integers(0, 9),
    )  # fmt: skip
    def any_entry(self, side, action, beyond, choice, price, size, orders) -> None:
        """At a position that is there, or at the end, or wrong by a little."""
        position = choice % (len(self._entries(side)) + 1) + beyond if beyond >= 0 else 0
        self._enter(side, action, position, price, size, orders)

    @rule(side=SIDES, choices=st.lists(CHOICES, min_size=1, max_size=6), size=SIZES)
    def fitting_entries(self, side, choices, size) -> None:
        """New prices where they belong."""
        for choice in choices:
            prices = [entry.price for entry in self._entries(side)]
            price = choice % 200 - 100
            position = 1 + sum(rank(side, each) > rank(side, price) for each in prices)
            if not self.by_level or (price not in prices and position <= self.depth):
                self._enter(side, Action.NEW, position, price, size, 1)

    @rule(side=SIDES, action=st.sampled_from((Action.CHANGE, Action.DELETE, Action.OVERLAY)), choice=CHOICES)
    def touch_entry(self, side, action, choice) -> None:
        """One that is there, with its own price."""
        entries = self._entries(side)
        if entries:
            place = choice % len(entries)
            self._enter(side, action, place + 1, entries[place].price, choice % 50, 2)

    @rule(side=SIDES, action=st.sampled_from((Action.DELETE_FROM, Action.DELETE_THRU)), choice=CHOICES)
    def delete_side(self, side, action, choice) -> None:
        position = choice % (len(self._entries(side)) + 2)
        self.apply(SideDeleted(SECURITY, action, side, 0, position), Flag.BY_POSITION)

    @precondition(lambda self: self.plain.suspect)
    @rule()
    def empty(self) -> None:
        self.apply(BookEmptied(SECURITY, 0), Flag(0))

    @rule(choice=CHOICES)
    def change_policy(self, choice) -> None:
        self.by_level ^= choice % 8 == 0

    def _entries(self, side) -> list[Any]:
        return self.plain.levels(side) if self.by_level else self.plain.orders(side)

    def _enter(self, side, action, position, price, size, orders) -> None:
        if self.by_level:
            self.apply(level(action, side, position, price, size, orders), Flag(0))
            return
        there = self.plain.orders(side)
        order_id = there[position - 1].order_id if 1 <= position <= len(there) else self.next_id
        self.next_id += 1
        self.apply(order(action, side, order_id, price, size, position), Flag.BY_POSITION)

    @invariant()
    def same_policies(self) -> None:
        for side in Side:
            if self.plain.levels(side):
                assert self.plain.policy(side) is self.kernel.policy(side)

    def teardown(self) -> None:
        MET.update(self.plain.anomalies)


class TopOfBook(Positions):
    depth = 1


class TenLevels(Positions):
    depth = 10


TestPositions, TestTopOfBook, TestTenLevels = Positions.TestCase, TopOfBook.TestCase, TenLevels.TestCase
for _case in (TestPositions, TestTopOfBook, TestTenLevels):
    _case.settings = settings(max_examples=40, stateful_step_count=40)


class LevelsByPrice(SideBySide):
    """Levels that their price finds, of a feed without positions; now and then orders come between."""

    @rule(
        side=SIDES, action=st.sampled_from(Action), price=PRICES, size=SIZES, orders=st.integers(0, 9),
        previous=st.one_of(st.none(), st.integers(0, 50)),
    )  # fmt: skip
    def any_level(self, side, action, price, size, orders, previous) -> None:
        self.apply(level(action, side, 0, price, size, orders, previous), Flag.FOUND_BY_PRICE)

    @rule(side=SIDES, first=st.integers(-50, 50), count=st.integers(1, 30), size=SIZES)
    def fitting_levels(self, side, first, count, size) -> None:
        known = {each.price for each in self.plain.levels(side)}
        for price in {first + 7 * number % 31 for number in range(count)} - known:
            self.apply(level(Action.NEW, side, 0, price, size, 2), Flag.FOUND_BY_PRICE)

    @rule(side=SIDES, action=st.sampled_from((Action.CHANGE, Action.DELETE)), choice=CHOICES)
    def touch_level(self, side, action, choice) -> None:
        there = self.plain.levels(side)
        if there:
            one = there[choice % len(there)]
            update = level(action, side, 0, one.price, choice % 50, 3, one.size - choice % 2)
            self.apply(update, Flag.FOUND_BY_PRICE)

    @rule(side=SIDES, choice=CHOICES)
    def an_order_between(self, side, choice) -> None:
        if choice % 8 == 0:
            self.next_id += 1
            self.apply(order(Action.NEW, side, self.next_id, choice % 9, 5), Flag(0))

    @rule(side=SIDES)
    def wipe(self, side) -> None:
        self.apply(SideDeleted(SECURITY, Action.DELETE_THRU, side, 0, 0), Flag(0))

    @precondition(lambda self: self.plain.suspect)
    @rule()
    def empty(self) -> None:
        self.apply(BookEmptied(SECURITY, 0), Flag(0))

    def teardown(self) -> None:
        MET_BY_PRICE.update(self.plain.anomalies)


MET_BY_PRICE: Counter[Anomaly] = Counter()


class FewLevelsByPrice(LevelsByPrice):
    depth = 4


TestLevelsByPrice, TestFewLevelsByPrice = LevelsByPrice.TestCase, FewLevelsByPrice.TestCase
for _case in (TestLevelsByPrice, TestFewLevelsByPrice):
    _case.settings = settings(max_examples=40, stateful_step_count=40)


def test_the_machines_of_prices_met_their_anomalies() -> None:
    assert not MET_BY_PRICE or MET_BY_PRICE.keys() >= {
        Anomaly.UNKNOWN_CHANGE, Anomaly.UNKNOWN_DELETE, Anomaly.SIZE_DIFFERS, Anomaly.PRICE_ORDER,
        Anomaly.POLICY, Anomaly.MALFORMED,
    }  # fmt: skip


def test_the_machines_of_positions_met_their_anomalies() -> None:
    """After them: a machine that never comes to what it is for shows nothing."""
    assert not MET or MET.keys() >= {
        Anomaly.POSITION, Anomaly.PRICE_DIFFERS, Anomaly.PRICE_ORDER, Anomaly.POLICY, Anomaly.MALFORMED,
    }  # fmt: skip


class ValidLevels(RuleBasedStateMachine):
    """From version 16 the levels kept alone equal those of the orders (12.1.1.1)."""

    def __init__(self) -> None:
        super().__init__()
        self.orders, self.levels = ReferenceBook(), LevelBook()
        self.next_id = 0

    def apply(self, update: BookUpdate) -> None:
        self.orders.apply(update)
        self.levels.apply(update)

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
            update = order(Action.CHANGE, side, there.order_id, there.price, size, previous_size=there.size)
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
