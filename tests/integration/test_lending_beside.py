"""The lending book of a share (1500=L) beside its own, under the share's own id: on one channel of UMDF
FIX/FAST, in a session of PUMA Conflated, and in a lake.

What a share's own book must be is told by Binary UMDF of the same day, and what the lending book must be by
the plain twin over the channel of lending."""

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pregao import Market
from pregao.feeds.publishing import Habits
from pregao.feeds.registry import load_system
from pregao.handler.handler import ChannelHandler
from pregao.handler.views import HandledBook
from pregao.lake.book_at import book_at
from pregao.lake.lake import Lake
from pregao.market.events import Quote
from pregao.model.market import Side
from pregao.model.streams import Feed, Stream
from pregao.recovery.instruments import BookStatus
from pregao.simulator.memory import MemoryDay, MemoryOutput, short_day
from pregao.simulator.run import Simulation
from tests.kits.lakes import SMALL_PIECES, all_tables, build
from tests.twins.position_books import ChannelBooks, decoded

LENDING, MBO = 61, 100
PAUSE_NS = 20_000_000
Told = list[tuple[int, int | None, int]]
BookOf = Callable[[int, str | None], HandledBook]


class Played(NamedTuple):
    lent: dict[int, int]  # shares that are lent, and the channel of their orders
    day: MemoryDay
    at_ns: int  # nothing is sent at this moment


def _settings(**changes: Any) -> Any:
    habits = Habits(lending_beside=True)
    return short_day(seed=3, messages=2_500, instruments=24, loops=12, trading=8.0, habits=habits, **changes)


def _pause(day: MemoryDay, channels: set[int]) -> int:
    """In the second half of the day."""
    sent = sorted(each.ts_ns for each in day.packets if each.channel in channels)
    begun = sent[len(sent) * 6 // 10]
    return next(
        one + PAUSE_NS // 2 for one, other in pairwise(sent) if one > begun and other - one > PAUSE_NS
    )


@pytest.fixture(scope="module")
def played() -> Played:
    settings = _settings(beside=("fast",))
    memory = MemoryOutput(settings)
    simulation = Simulation(settings, output=memory)
    for _ in simulation.days():
        pass
    markets = simulation.venue.engine.floor.markets
    lent = {each: markets[each].instrument.channel + MBO for each in simulation.clearing.lent}
    channels = {LENDING, *lent.values(), *(channel - MBO for channel in lent.values())}
    return Played(lent, memory.day, _pause(memory.day, channels))


def _handlers(day: MemoryDay, channels: set[int], since_ns: int, until_ns: int) -> dict[int, ChannelHandler]:
    handlers = {
        channel: ChannelHandler(channel, load_system("fast" if channel > MBO else "binary"))
        for channel in channels
    }
    for packet in day.packets:
        if packet.channel in channels and since_ns <= packet.ts_ns <= until_ns:
            handlers[packet.channel].receive(packet.payload, packet.stream, packet.feed, packet.ts_ns)
    return handlers


def _lending_books(day: MemoryDay, until_ns: int) -> ChannelBooks:
    books = ChannelBooks()
    of_lending = (
        each.payload
        for each in day.packets
        if (each.channel, each.stream, each.feed) == (LENDING, Stream.INCREMENTAL, Feed.A)
        and each.ts_ns <= until_ns
    )
    for _, kind, fields in decoded(of_lending):
        for entry in fields["MDEntries"] if kind == "X" else ():
            if entry["MDEntryType"] != "J":
                books.apply(entry)
    return books


def _told(book: HandledBook, side: Side) -> Told:
    return [(each.order_id, each.price, each.size) for each in book.orders(side)]


def _check(played: Played, book_of: BookOf) -> None:
    own = _handlers(played.day, {channel - MBO for channel in played.lent.values()}, 0, played.at_ns)
    lending = _lending_books(played.day, played.at_ns)
    compared = [0, 0]
    for security_id, channel in played.lent.items():
        of_share, of_lending = book_of(security_id, None), book_of(security_id, "L")
        assert (of_share.stream, of_lending.stream) == ("E", "L")
        assert of_share.status is of_lending.status is BookStatus.CLEAN
        for which, side in enumerate(Side):
            assert _told(of_share, side) == _told(own[channel - MBO].book(security_id), side)
            rows = lending.of(security_id).sides[which]
            expected = [(int(row["OrderID"]), row["MDEntrySize"]) for row in rows]
            assert [(order_id, size) for order_id, _, size in _told(of_lending, side)] == expected
            compared[0] += len(of_share.orders(side))
            compared[1] += len(rows)
    assert min(compared) > 5


@pytest.mark.parametrize("joins", [0.0, 0.3], ids=["from the start", "in the middle"])
def test_fast_handlers_keep_both(played: Played, joins: float) -> None:
    """Whoever joins late has them of snapshots."""
    channels, packets = set(played.lent.values()), played.day.packets
    since_ns = packets[int(joins * len(packets))].ts_ns
    handlers = _handlers(played.day, channels, since_ns, played.at_ns)
    _check(played, lambda each, stream: handlers[played.lent[each]].book(each, stream))
    for handler in handlers.values():
        handler.machine.table.check_invariants()
        handler.store.check_invariants()
        assert handler.machine.table.unclean_count == 0


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Simulation, Path]:
    out = tmp_path_factory.mktemp("lending-beside")
    simulation = Simulation(_settings(out=out, beside=("fast", "conflated")))
    for _ in simulation.days():
        pass
    return simulation, out


def _at_the_end(simulation: Simulation, security_id: int, side: Side) -> Told:
    offers = simulation.clearing.lent[security_id].sides[side]
    return [(offer.order_id, offer.rate, offer.size) for offer in offers]


def test_a_market_of_fast_shows_both(recorded: tuple[Simulation, Path], played: Played) -> None:
    simulation, out = recorded
    market = Market.replay(out / "fast", system="fast")
    told: dict[int, set[str]] = {}
    for event in market:
        if isinstance(event, Quote) and event.channel == played.lent.get(event.security_id):
            told.setdefault(event.security_id, set()).add(event.stream)
    assert told == {each: {"E", "L"} for each in played.lent}
    for security_id, channel in played.lent.items():
        lending = market.book(security_id, channel, stream="L")
        assert market.book(security_id, channel).streams == ["E", "L"]
        for side in Side:
            assert _told(lending, side) == _at_the_end(simulation, security_id, side)


def test_a_session_of_conflated_keeps_both(recorded: tuple[Simulation, Path]) -> None:
    """By rate and OrderID; orders of the share itself do not outlive the day."""
    simulation, out = recorded
    (journal,) = sorted((out / "conflated").rglob("*.pcap.zst"))
    market = Market.replay(journal, system="conflated").run()
    binary = Market.replay(next(out.glob("20*")), system="binary").run()
    compared = 0
    for security_id in simulation.clearing.lent:
        lending, own = market.book(security_id, stream="L"), market.book(security_id)
        assert own.stream == "E"
        for side in Side:
            assert _told(own, side) == _told(binary.book(security_id), side)
            assert sorted(_told(lending, side)) == sorted(_at_the_end(simulation, security_id, side))
            compared += len(_told(lending, side))
    assert compared > 5


@pytest.fixture(scope="module")
def lake(
    recorded: tuple[Simulation, Path], played: Played, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Lake]:
    """Of the channels of orders alone."""
    folder = tmp_path_factory.mktemp("lending-captures")
    for path in (recorded[1] / "fast").rglob("*.pcap*"):
        if int(path.name[:3]) in played.lent.values():
            shutil.copy(path, folder / path.name)
    built = tmp_path_factory.mktemp("lending-lake")
    build([folder], built, system="fast", slices=1, piece_packets=4096)
    return folder, Lake(built, system="fast")


def test_a_lake_has_both(lake: tuple[Path, Lake], played: Played) -> None:
    """At any moment, of stored books and of orders; `quotes` and `depth` say which book they are of."""
    _, opened = lake
    assert not opened.arrow("quality", "severity = 'ERROR' and finding <> 'STATISTIC_DIFFERS'").to_pylist()
    handlers = _handlers(played.day, set(played.lent.values()), 0, played.at_ns)
    compared = 0
    for security_id, channel in played.lent.items():
        for stream in (None, "L"):
            book = handlers[channel].book(security_id, stream)
            found = book_at(opened, book.symbol, played.at_ns, stream=stream)
            for side, orders in ((Side.BUY, found.bid_orders), (Side.SELL, found.offer_orders)):
                assert [(each.order_id, each.price, each.size) for each in orders] == _told(book, side)
                compared += len(orders) if stream else 0
            levels = opened.depth(book.symbol, levels=1, end=played.at_ns, stream=stream).to_pylist()[-1]
            best = levels["bid_price_1"]
            assert [each.price for each in book.bids[:1]] == ([] if best is None else [int(best * 10_000)])
    assert compared > 5
    for table in ("quotes", "depth"):
        told = opened.arrow(table, columns=["security_id", "md_stream"]).to_pylist()
        lent = {row["security_id"] for row in told if row["md_stream"] == "L"}
        assert lent == set(played.lent), table
        assert {row["md_stream"] for row in told} == {None, "L"}


def test_a_lake_with_both_does_not_depend_on_the_cuts(lake: tuple[Path, Lake], tmp_path: Path) -> None:
    folder, opened = lake
    build([folder], tmp_path / "cut", system="fast", slices=7, piece_packets=SMALL_PIECES)
    whole, cut = all_tables(opened.location.uri), all_tables(tmp_path / "cut")
    assert [name for name in whole if whole[name] != cut[name]] == []
