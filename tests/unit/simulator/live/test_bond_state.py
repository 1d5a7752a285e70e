"""A market of bonds that is killed goes on where it was: books, ids, figures, what waits for an answer."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.book import RateOrder
from pregao.feeds.trademate.feed import TrademateFeed
from pregao.model.errors import ConfigurationError
from pregao.model.events import Event
from pregao.model.market import Side, State
from pregao.simulator.live.bonds import BondSettings, LiveBonds
from pregao.simulator.live.schedule import DayKind
from tests.kits.bonds import CATALOGUE, LTN
from tests.unit.simulator.live.test_bonds import DAY, HOUR, MONDAY, pass_time

BEGIN = MONDAY + 11 * HOUR


class Told:
    """What servers would send to whoever comes now: every 35=W."""

    def __init__(self, bonds: LiveBonds) -> None:
        self.feed = TrademateFeed(bonds.bonds(), bonds.trade_date)

    def publish(self, event: Event, now_ns: int) -> None:
        for _ in self.feed.publish(event):
            pass

    def snapshots(self) -> dict[int, list[object]]:
        return {number: list(self.feed.snapshot_entries(number)) for number in self.feed.told}


def live(settings: BondSettings, now_ns: int) -> tuple[LiveBonds, Told]:
    bonds = LiveBonds(CATALOGUE, settings, now_ns)
    told = Told(bonds)
    bonds.serve(told)
    bonds.start(now_ns)
    return bonds, told


def figures(bonds: LiveBonds) -> list[object]:
    return [
        (number, each.own_state, each.bands, each.statistics, each.theoretical,
         [each.book.sides[side].orders for side in Side])
        for number, each in bonds.market.floor.listed.items()
    ]  # fmt: skip


@pytest.mark.parametrize("kind", DayKind)
def test_a_killed_market_goes_on_where_it_was(tmp_path: Path, kind: DayKind) -> None:
    settings = BondSettings(flow=2.0, day=kind, state=str(tmp_path / "bonds.state"))
    first, _ = live(settings, BEGIN)
    pass_time(first, BEGIN + HOUR // 30)
    if kind is not DayKind.CLOSED:
        first.market.submit(c.ChangeTradingState(BEGIN + HOUR // 30, LTN, State.PAUSE))
    before = deepcopy(figures(first))
    if kind is not DayKind.CLOSED:
        assert sum(len(each[5][0]) + len(each[5][1]) for each in before) > 20  # type: ignore[index]
    first.close()
    second, _ = live(replace(settings, flow=0.0), BEGIN + HOUR // 20)
    assert figures(second) == before
    second.market.check_invariants()
    assert second.market.floor.next_number() == first.market.floor.next_number()
    second.close()
    third, _ = live(settings, BEGIN + HOUR // 20)
    pass_time(third, BEGIN + HOUR // 10)  # its flow goes on, where there was one
    assert (figures(third) != before) is (kind is not DayKind.CLOSED)
    third.close()


def test_what_is_told_after_a_restart_is_what_was_told(tmp_path: Path) -> None:
    settings = BondSettings(flow=3.0, state=str(tmp_path / "bonds.state"))
    first, told = live(settings, BEGIN)
    pass_time(first, BEGIN + HOUR // 30)
    first.close()
    assert live(settings, BEGIN + HOUR)[1].snapshots() == told.snapshots()


def test_a_request_that_waits_can_still_be_answered(tmp_path: Path) -> None:
    settings = BondSettings(flow=0.0, state=str(tmp_path / "bonds.state"))
    first, _ = live(settings, BEGIN)
    asked = first.market.submit(c.RequestQuote(BEGIN, LTN, Side.BUY, 1000, 3, (4,), BEGIN + HOUR)).number
    assert asked is not None
    first.close()
    second, _ = live(settings, BEGIN + 1)
    price = CATALOGUE.bonds[LTN].instrument.closing_price or 0
    quote = second.market.submit(c.AnswerQuote(BEGIN + 2, asked, price, 4)).number
    assert quote is not None
    second.close()
    third, _ = live(settings, BEGIN + 3)
    assert third.market.submit(c.AcceptQuote(BEGIN + 4, asked, quote, 3)).rejection is None
    third.close()


def test_another_day_or_order_of_rates_begins_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = str(tmp_path / "bonds.state")
    first, _ = live(BondSettings(flow=0.0, state=state), BEGIN)
    order = c.EnterOrder(BEGIN, LTN, Side.BUY, CATALOGUE.bonds[LTN].instrument.closing_price or 0, 1000, 3)
    assert first.market.submit(order).number
    first.close()
    for settings, now_ns in (
        (BondSettings(flow=0.0, state=state), BEGIN + DAY),
        (BondSettings(flow=0.0, state=state, rate_order=RateOrder.PLAIN), BEGIN + DAY),
    ):
        caplog.clear()
        other, _ = live(settings, now_ns)
        assert not other.market.floor.order_bonds
        assert "left behind" in caplog.text
        other.close()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bonds.state"
    file.write_bytes(b"not a journal")
    with pytest.raises(ConfigurationError, match=r"bonds\.state"):
        LiveBonds(CATALOGUE, BondSettings(state=str(file)), BEGIN)
