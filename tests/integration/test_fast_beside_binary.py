"""One simulated day in both systems: what the feed handler makes of UMDF FIX/FAST is what it makes of Binary
UMDF, book by book, for channels of orders, of levels and of the best level."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from pregao.books.views import Order
from pregao.feeds.registry import load_system
from pregao.handler.handler import ChannelHandler
from pregao.handler.views import HandledBook
from pregao.model.market import Side
from pregao.simulator.memory import MemoryDay, short_day, simulate_in_memory

BINARY = range(66, 96)
OTHERS = {"MBO": (100, None), "MBP": (130, 5), "TOB": (160, 1)}  # added to the channel, and how deep


@pytest.fixture(scope="module")
def day() -> MemoryDay:
    settings = short_day(
        seed=5, messages=1_500, instruments=8, loops=6, trading=12.0, beside=("fast",),
        faults="reset=2xbook@?", relistings=2,
    )  # fmt: skip
    return next(iter(simulate_in_memory(settings)))


@pytest.fixture(scope="module", params=[0.6, 1.0])
def handlers(day: MemoryDay, request: pytest.FixtureRequest) -> dict[int, ChannelHandler]:
    """All channels, each fed with everything that its feeds sent in a part of the day, which ends in a pause:
    both systems tell an event at nearly the same time only."""
    found: dict[int, ChannelHandler] = {}
    first, pause_ns = int(len(day.packets) * request.param), 50_000_000
    for number, packet in enumerate(day.packets):
        if number > first and packet.ts_ns - day.packets[number - 1].ts_ns > pause_ns:
            break
        if packet.channel not in found:
            system = load_system("binary" if packet.channel in BINARY else "fast")
            found[packet.channel] = ChannelHandler(packet.channel, system)
        found[packet.channel].receive(packet.payload, packet.stream, packet.feed, packet.ts_ns)
    return found


def _in_ms(order: Order) -> Order:
    """FIX/FAST tells times of insertion in milliseconds (37017)."""
    inserted_ns = None if order.inserted_ns is None else order.inserted_ns // 1_000_000 * 1_000_000
    return replace(order, inserted_ns=inserted_ns)


def _books(handler: ChannelHandler) -> Iterator[HandledBook]:
    return iter(sorted(handler.books(), key=lambda book: book.security_id))


@pytest.mark.parametrize("kind", list(OTHERS))
def test_books_are_those_of_binary(handlers: dict[int, ChannelHandler], kind: str) -> None:
    added, depth = OTHERS[kind]
    compared = levels = 0
    for channel in [each for each in handlers if each in BINARY]:
        for ours in _books(handlers[channel]):
            theirs = handlers[channel + added].book(ours.security_id)
            assert (ours.is_clean, theirs.is_clean) == (True, True), ours.symbol
            assert theirs.kind == kind, ours.symbol
            assert theirs.symbol == ours.symbol
            for side in Side:
                assert theirs.side_levels(side, depth) == ours.side_levels(side, depth), ours.symbol
                levels += len(ours.side_levels(side, depth))
                if kind == "MBO":
                    assert theirs.orders(side) == [_in_ms(order) for order in ours.orders(side)]
            compared += 1
    assert compared >= 8
    assert levels > 5


def test_trades_and_prices_are_those_of_binary(handlers: dict[int, ChannelHandler]) -> None:
    compared = 0
    for channel in [each for each in handlers if each in BINARY]:
        for ours in _books(handlers[channel]):
            theirs = handlers[channel + 100].book(ours.security_id)
            for name in ("high", "low", "opening"):
                mine, other = getattr(ours.statistics, name), getattr(theirs.statistics, name)
                assert (mine and mine.price) == (other and other.price), (ours.symbol, name)
                compared += mine is not None
            last, other = ours.statistics.last_trade, theirs.statistics.last_trade
            if last is not None:
                assert other is not None
                assert (other.trade_id, other.price, other.size) == (last.trade_id, last.price, last.size)
    assert compared > 8
