"""A system of text lines, whose messages are the units, through the same handler: books are right, losses are
noticed and heal. Nothing above `feeds` knows that it is there."""

from random import Random

import pytest

from pregao.feeds.registry import load_system, system_names
from pregao.handler.handler import ChannelHandler
from pregao.handler.instruments import LineTable
from pregao.market import Market
from pregao.model.errors import ConfigurationError
from pregao.model.market import Side
from pregao.model.packets import batch_of
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.instruments import BookStatus
from pregao.simulator.memory import CapturedPacket
from tests.toy.exchange import CHANNEL, ToyExchange, ToyPacket
from tests.toy.system import TOY
from tests.unit.market.kit import MemoryPackets

NAME = "tests.toy.system:TOY"
LINES = [
    StreamId(CHANNEL, Stream.INCREMENTAL, Feed.A), StreamId(CHANNEL, Stream.INCREMENTAL, Feed.B),
    StreamId(CHANNEL, Stream.DEFINITION, Feed.A), StreamId(CHANNEL, Stream.SNAPSHOT, Feed.A),
]  # fmt: skip


def shown(handler: ChannelHandler, security_id: int) -> dict[int, tuple[int, int, int]]:
    book = handler.book(security_id)
    return {
        order.order_id: (int(side), order.price or 0, order.size)
        for side in Side
        for order in book.orders(side)
    }


@pytest.mark.parametrize("at_once", [1, 7, 200])
@pytest.mark.parametrize("seed", range(4))
def test_books_are_the_exchange_s_and_heal_after_losses(seed: int, at_once: int) -> None:
    """Both feeds lose packets, some the same ones: a clean book is always right, and at the end all are."""
    exchange, random = ToyExchange(seed), Random(f"loss/{seed}")
    handler, lines = ChannelHandler(CHANNEL, TOY), LineTable(LINES)
    compared = unclean = 0
    waiting: list[tuple[int, int, bytes]] = []
    last_ns = 0
    for step, packet in enumerate(exchange.day(600)):
        is_bad = step < 700  # then the network is well, and everything must heal
        lost = is_bad and random.random() < 0.02
        for feed in packet.feeds:
            if not lost and not (is_bad and len(packet.feeds) > 1 and random.random() < 0.05):
                source = LINES.index(StreamId(CHANNEL, packet.stream, feed))
                waiting.append((source, packet.ts_ns, packet.payload))
        if len(waiting) < at_once:
            continue
        last_ns = packet.ts_ns
        due_ns = handler.next_timeout()
        if due_ns is not None and due_ns <= last_ns:
            handler.on_timeout(last_ns)
        handler.receive_batch(batch_of(waiting), lines, last_ns)
        handler.machine.check_invariants()
        waiting.clear()
        if handler.machine.arbiter.whole and not handler.incremental.waits_from and not lost:
            for security_id in exchange.books:
                if handler.machine.table.find(security_id) < 0 or _behind(handler, exchange):
                    continue
                if handler.book(security_id).status is BookStatus.CLEAN:
                    compared += 1
                    assert shown(handler, security_id) == exchange.books[security_id], (step, security_id)
                else:
                    unclean += 1
    assert compared > 20
    assert at_once > 1 or unclean > 0  # large batches end where everything is whole
    assert handler.machine.counters.gaps > 0
    assert [handler.book(each).status for each in exchange.books] == [BookStatus.CLEAN] * len(exchange.books)
    assert handler.book("TOY2").security_id == 2


def _behind(handler: ChannelHandler, exchange: ToyExchange) -> bool:
    """Whether the last packets were lost on both feeds: then the truth is ahead."""
    return handler.machine.at & 0xFFFFFFFF != exchange.last_number


def test_a_market_of_it() -> None:
    """The library, by the name of a module: as other processes find it."""
    packets = list(ToyExchange(7).day(200))
    market = Market(MemoryPackets(_as_sent(packets)), system=NAME, orders=True)
    told = list(market)
    assert sum(type(event).__name__ == "OrderAdded" for event in told) > 100
    assert market.book("TOY1").is_clean


def _as_sent(packets: list[ToyPacket]) -> list[CapturedPacket]:
    return [
        CapturedPacket(packet.ts_ns, packet.channel, packet.stream, feed, packet.payload)
        for packet in packets
        for feed in packet.feeds
    ]


def test_systems_are_found_by_name_or_by_module() -> None:
    assert load_system("binary").title == "Binary UMDF"
    assert load_system(NAME) is TOY
    assert "binary" in system_names()
    with pytest.raises(ConfigurationError, match="there are binary"):
        load_system("semaphore")
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        load_system("pregao.nowhere:SYSTEM")
    with pytest.raises(ConfigurationError, match="is not a system"):
        load_system("pregao.model.rows:ROW")
