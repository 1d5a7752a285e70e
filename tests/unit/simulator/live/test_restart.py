"""A listener that stays while the exchange is killed and started again (6.5.5.1, 6.5.11, 6.5.12)."""

from collections.abc import Iterator

import pytest

from pregao.exchange.commands import NewOrder
from pregao.exchange.orders import TimeInForce
from pregao.feeds.binary.system import BINARY
from pregao.feeds.publishing import PublishingSite
from pregao.market import Market
from pregao.model.market import Side
from pregao.simulator.live.channels import version_at
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.live.state import KeptState
from pregao.simulator.live.tracking import StateTracker
from pregao.simulator.memory import CapturedPacket
from tests.unit.market.kit import MemoryPackets
from tests.unit.simulator.live.test_state import CATALOGUE, NOON_NS, PETR4

CHANNEL = 84
STEP_NS = 20_000_000
SECONDS = 4


def packets_of(market: LiveMarket, start_ns: int, tracker: StateTracker) -> Iterator[CapturedPacket]:
    """What it sends in a few seconds, with an order of the operator's among it; then it is killed."""
    market.start(start_ns)
    market.execute(NewOrder(0, PETR4, Side.BUY, 700, 350_000, tif=TimeInForce.GTC), start_ns)
    for step in range(SECONDS * 50):
        now_ns = start_ns + step * STEP_NS
        market.on_timeout(now_ns)
        tracker.state.apply(tracker.take())
        for channel, packet in market.take():
            if channel == CHANNEL:
                for feed in packet.feeds:
                    yield CapturedPacket(now_ns, channel, packet.stream, feed, packet.payload)


def books_of(market: LiveMarket) -> dict[int, list[list[tuple[int, int | None, int]]]]:
    """The exchange's own: order id, price and shown size, in order of priority."""
    return {
        each.security_id: [
            [(order.secondary_id, order.price, order.shown) for order in side.orders]
            for side in (each.book.buys, each.book.sells)
        ]
        for each in market.engine.floor.markets.values()
        if each.instrument.channel == CHANNEL
    }


@pytest.mark.parametrize("keeps", [True, False])
def test_the_books_of_a_listener_are_those_of_the_exchange_after_a_restart(keeps: bool) -> None:
    packets, kept, start_ns = list[CapturedPacket](), KeptState(), NOON_NS
    versions = list[int]()
    for _ in range(2):
        settings = LiveSettings(flow=200.0)
        if keeps:
            market = LiveMarket(CATALOGUE, settings, (PublishingSite.PRIMARY,), start_ns, kept)
        else:
            before = version_at(start_ns, BINARY.policy)
            market = LiveMarket(
                CATALOGUE, settings, (PublishingSite.PRIMARY,), start_ns, version_before=before
            )
        tracker = StateTracker(market, kept)
        market.observer = tracker
        packets += packets_of(market, start_ns, tracker)
        (sent,) = [each.incremental for each in market.sent_versions() if each.channel == CHANNEL]
        versions.append(sent)
        kept, start_ns = tracker.state, start_ns + (SECONDS + 8) * 1_000_000_000
    assert versions == sorted(set(versions))
    listener = Market(MemoryPackets(packets, at_once=50))
    listener.run()
    expected = books_of(market)
    assert sum(len(side) for book in expected.values() for side in book) > 100
    for security_id, sides in expected.items():
        book = listener.book(security_id)
        assert book.is_clean, book.symbol
        for side, orders in zip((Side.BUY, Side.SELL), sides, strict=True):
            assert [(each.order_id, each.price, each.size) for each in book.orders(side)] == orders
    mine = [order for order in expected[PETR4][0] if order[1:] == (350_000, 700)]
    assert len(mine) == (2 if keeps else 1)
