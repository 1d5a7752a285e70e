"""Nothing of the flow stays for ever where no day ever ends, as in a live market that is always open."""

import pytest

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.commands import CancelOrder, RlpOrder
from pregao.exchange.engine import Engine
from pregao.exchange.flow import FlowSettings, OrderFlow
from pregao.exchange.orders import OrderPlace

START = 1_794_830_400_000_000_000
DAY_NS = 1_200 * 1_000_000_000  # a day of twenty minutes
RLP_A_DAY, ON_CLOSE_A_DAY, STRATEGIES_A_DAY = 6, 4, 6


class Market:
    """An engine that is always open, and its flow, which is never told that a day is over."""

    def __init__(self) -> None:
        catalogue = load_default_catalogue()
        self.engine = Engine(catalogue.instruments, trade_date=20_773)
        floor = self.engine.floor
        settings = FlowSettings(day_ns=DAY_NS)
        self.flow = OrderFlow(
            catalogue, 5, floor.orders, self.engine.trading_state, settings, markets=floor.markets
        )
        self.providers: dict[int, int] = {}  # when each RLP order was entered
        self.lives_ns: list[int] = []

    def play(self, day: int) -> None:
        start_ns = START + day * DAY_NS
        for now_ns, command in self.flow.commands(start_ns, start_ns + DAY_NS, 400):
            outcome = self.engine.submit(command)
            self.flow.answered(outcome)
            if isinstance(command, RlpOrder):
                self.providers.update(dict.fromkeys(outcome.order_ids, now_ns))
            elif isinstance(command, CancelOrder) and command.order_id in self.providers:
                self.lives_ns.append(now_ns - self.providers[command.order_id])

    def waiting(self, place: OrderPlace) -> int:
        return sum(order.place is place for order in self.engine.floor.orders.values())


@pytest.fixture(scope="module")
def market() -> tuple[Market, list[tuple[int, int, int]]]:
    """After each of some days: RLP orders, those for a close that never comes, operations not yet made."""
    playing, found = Market(), []
    for day in range(12):
        playing.play(day)
        places = playing.waiting(OrderPlace.HIDDEN), playing.waiting(OrderPlace.ON_CLOSE)
        operations = sum(what < 0 for _, what, _ in playing.flow._agenda._entries)
        found.append((*places, operations))
    return playing, found


def test_rlp_orders_are_cancelled_when_their_life_is_over(
    market: tuple[Market, list[tuple[int, int, int]]],
) -> None:
    playing, days = market
    assert len(playing.providers) >= 10 * RLP_A_DAY
    assert len(playing.lives_ns) > RLP_A_DAY
    assert min(playing.lives_ns) > DAY_NS // 2_000  # not before the retail order that it is there for
    assert max(playing.lives_ns) <= DAY_NS
    assert max(hidden for hidden, _, _ in days) <= RLP_A_DAY


def test_what_waits_for_a_close_that_never_comes_is_cancelled(
    market: tuple[Market, list[tuple[int, int, int]]],
) -> None:
    _, days = market
    assert days[-1][1] > 0
    assert max(on_close for _, on_close, _ in days) <= 2 * ON_CLOSE_A_DAY


def test_operations_that_never_find_their_time_are_forgotten_with_their_day(
    market: tuple[Market, list[tuple[int, int, int]]],
) -> None:
    """No strategy is added here, so the orders for one are never made."""
    _, days = market
    assert all(0 < operations <= 2 * STRATEGIES_A_DAY for _, _, operations in days)
