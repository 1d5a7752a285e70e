"""Levels of a snapshot are those that counting order by order comes to (9.2)."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.feeds.fast.publisher.levels import LevelSide, whole_side
from pregao.model.market import Side
from pregao.simulator.venue import Resting

ORDERS = st.lists(st.tuples(st.one_of(st.none(), st.integers(-3, 9)), st.integers(1, 500)), max_size=40)


@given(ORDERS, st.sampled_from(Side), st.integers(1, 12))
def test_levels_of_orders_in_priority(rows: list[tuple[int | None, int]], side: Side, depth: int) -> None:
    sign = -1 if side is Side.BUY else 1
    rows.sort(key=lambda row: (row[0] is not None, sign * (row[0] or 0)))  # those without price first (9.1)
    orders = [Resting(at, price, size, 0, 0, None, False) for at, (price, size) in enumerate(rows)]
    counted = LevelSide(side)
    counted.set(orders)
    assert whole_side(orders, depth) == counted.best(depth)
