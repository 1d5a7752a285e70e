"""A simulated day on Binary UMDF and PUMA Conflated: the journal of a session has the engine's trades, and
its messages lead to the engine's books."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pregao import (
    HighPrice,
    Imbalance,
    LastTrade,
    LowPrice,
    Market,
    OpeningPrice,
    PhaseChanged,
    PriceBand,
    QuantityBand,
    SessionEnded,
    SettlementPrice,
    SideDeleted,
    StateChanged,
    TheoreticalPrice,
    Trade,
    TradeBusted,
)
from pregao.captures.reader import CaptureReader
from pregao.captures.sessions import CapturedMessage, CapturedSessions
from pregao.codecs.fix import FixMessage, load_builtin_dictionary, parse_message
from pregao.codecs.pcap.tcp import SegmentReader
from pregao.feeds.conflated.system import CONFLATED
from pregao.feeds.session_port import SessionMessage
from pregao.handler.session import SessionHandler
from pregao.io.captures import open_capture
from pregao.model.errors import ConfigurationError
from pregao.model.market import Side
from pregao.simulator import Settings, Simulation

DICTIONARY = load_builtin_dictionary()
SERVER_PORT = 9_700


def simulated(out: Path, **more: object) -> Simulation:
    settings = Settings(out, messages=1_500, instruments=20, squeeze=60, beside=("conflated",), **more)  # type: ignore[arg-type]
    simulation = Simulation(settings)
    simulation.run()
    return simulation


def journals(out: Path) -> list[Path]:
    return sorted((out / "conflated").rglob("*.pcap.zst"))


def messages_of(path: Path) -> list[bytes]:
    """What the server sent."""
    return [each.data for each in messages_between(path) if each.direction[2] == SERVER_PORT]


def messages_between(path: Path) -> list[CapturedMessage]:
    segments, sessions = SegmentReader(), CapturedSessions(str(path))
    found = []
    with open_capture(str(path)) as source:
        for _ in CaptureReader(str(path), segments).read(source):
            found += list(sessions.items(segments))
        found += list(sessions.finish())
    sent = [each for each in found if isinstance(each, CapturedMessage)]
    assert not [each for each in found if not isinstance(each, CapturedMessage) and hasattr(each, "fault")]
    return sent


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Simulation, Path]:
    out = tmp_path_factory.mktemp("conflated") / "day"
    return simulated(out, sessions=2), out


def parsed(path: Path) -> list[FixMessage]:
    return [parse_message(data, DICTIONARY) for data in messages_of(path)]


def test_every_session_has_a_journal_with_everything(day: tuple[Simulation, Path]) -> None:
    simulation, out = day
    one, two = journals(out)
    assert out / "conflated" / "2026-11-16" in simulation.summary.beside
    kinds = Counter(each.msg_type for each in parsed(one))
    assert set(kinds) >= {b"A", b"y", b"W", b"X", b"f", b"B", b"UTOTP", b"UTOTC", b"UTOT", b"5"}
    assert kinds[b"W"] >= len(simulation.venue.catalogue.listings)
    assert kinds[b"X"] > 50
    bodies = [[each.body for each in parsed(path) if each.msg_type == b"X"] for path in (one, two)]
    assert bodies[0] == bodies[1]


def test_every_kind_of_entry_happens_in_a_day(day: tuple[Simulation, Path]) -> None:
    """7.8, with index values, lending, volatilities and totals; 269=J needs a fault, and none is sent."""
    _, out = day
    messages = [each for each in parsed(journals(out)[0]) if each.msg_type in (b"X", b"W")]
    told = {(entry[269], entry.get(1500, b"E")) for each in messages for entry in each.group(268)}
    assert told >= {
        *((kind, b"E") for kind in (b"0", b"1", b"2", b"4", b"5", b"7", b"8", b"9", b"A", b"B", b"C")),
        *((kind, b"E") for kind in (b"c", b"g", b"h", b"v")),
        *((kind, b"L") for kind in (b"0", b"1", b"2", b"B", b"C")),
        *((kind, b"N") for kind in (b"3", b"4", b"5", b"6", b"7", b"8", b"D")), (b"6", b"A"),
    }  # fmt: skip


def test_trades_of_the_journal_are_the_engines(day: tuple[Simulation, Path]) -> None:
    _, out = day
    told = {
        (int(entry[48]), int(entry[1003]), entry[279])  # type: ignore[arg-type]
        for each in parsed(journals(out)[0])
        if each.msg_type == b"X"
        for entry in each.group(268)
        if entry[269] == b"2" and 1003 in entry and entry.get(1500) != b"L"
    }
    truth = set()
    for name, action in (("trade", b"0"), ("trade_busted", b"2")):
        for path in (out / "2026-11-16" / "truth" / "events").glob(f"{name}.parquet"):
            table = pq.read_table(path, columns=["security_id", "trade_id"]).to_pylist()
            truth |= {(row["security_id"], row["trade_id"], action) for row in table}
    assert told == truth
    assert len(truth) > 20


def test_the_journal_leads_to_the_engines_books(day: tuple[Simulation, Path]) -> None:
    simulation, out = day
    handler = SessionHandler(0, CONFLATED)
    handler.begin(1)
    for number, data in enumerate(messages_of(journals(out)[0]), 1):
        handler.take([SessionMessage(1, number, number, number, 0, data)], number)
    compared = 0
    for market in simulation.venue.engine.floor.markets.values():
        book = handler.book(market.instrument.symbol)
        for side, orders in ((Side.BUY, market.book.buys.orders), (Side.SELL, market.book.sells.orders)):
            found = [(each.order_id, each.price, each.size) for each in book.orders(side)]
            assert found == [(each.secondary_id, each.price, each.shown) for each in orders]
            compared += len(found)
    assert compared > 0


def test_a_day_beside_conflated_is_the_same_day(tmp_path: Path, day: tuple[Simulation, Path]) -> None:
    """What is served beside must not change what is published."""
    _, out = day
    Simulation(Settings(tmp_path, messages=1_500, instruments=20, squeeze=60)).run()
    name = "2026-11-16/084_Incremental_FeedA.pcap"
    assert (tmp_path / name).read_bytes() == (out / name).read_bytes()


def test_sessions_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        simulated(tmp_path, sessions=0)


STATISTICS = (
    PriceBand, QuantityBand, SettlementPrice, HighPrice, LowPrice, OpeningPrice, LastTrade, TheoreticalPrice,
    Imbalance, StateChanged, PhaseChanged, SideDeleted,
)  # fmt: skip


def told(market: Market, symbols: set[str]) -> tuple[set[tuple[object, ...]], Counter[tuple[object, ...]]]:
    """Trades and busts by what they say; how often each other thing was told of an instrument or a group."""
    trades, others = set[tuple[object, ...]](), Counter[tuple[object, ...]]()
    for event in market:
        if isinstance(event, Trade | TradeBusted) and event.symbol in symbols:
            trades.add((type(event), event.symbol, event.trade_id, event.price, event.size, event.trade_date))
        elif isinstance(event, PhaseChanged):
            others[PhaseChanged, event.group, event.phase, event.event] += 1
        elif isinstance(event, STATISTICS) and event.symbol in symbols:
            others[type(event), event.symbol] += 1
    return trades, others


def test_a_day_is_the_same_on_binary_and_on_conflated(day: tuple[Simulation, Path]) -> None:
    """Through `Market.replay` of both: trades, statistics, states, and every order of every book at the end.
    What only Conflated has (lending, indices) is left out."""
    simulation, out = day
    symbols = {each.instrument.symbol for each in simulation.venue.catalogue.listings}
    binary = Market.replay(out / "2026-11-16", statistics=True, orders=True)
    conflated = Market.replay(journals(out)[0], system="conflated", statistics=True, orders=True)
    trades, others = told(binary, symbols)
    trades_too, others_too = told(conflated, symbols)
    assert trades
    assert trades_too == trades
    kinds, kinds_too = (
        Counter(key[0] for key in others.elements()),
        Counter(key[0] for key in others_too.elements()),
    )
    assert kinds[StateChanged] == kinds_too[StateChanged] > 10
    assert {key: n for key, n in others_too.items() if key[0] is PhaseChanged} == {
        key: n for key, n in others.items() if key[0] is PhaseChanged
    }
    assert kinds[PriceBand] == kinds_too[PriceBand] > 10
    books = [book for book in binary.books() if book.symbol in symbols]
    assert len(books) >= 20
    for book in books:
        other = conflated.book(book.security_id)
        assert other.instrument.symbol == book.symbol
        for side in Side:
            orders = [(each.order_id, each.price, each.size, each.firm) for each in book.orders(side)]
            assert [
                (each.order_id, each.price, each.size, each.firm) for each in other.orders(side)
            ] == orders
    assert conflated.health().findings == 0


def test_sessions_that_break_lose_no_trade_and_end_with_the_engines_books(tmp_path: Path) -> None:
    """Connections cut in mid-message, and a primary that stops for a while: clients come back, to the standby
    too, and ask for the trades they missed. Each is told once, whatever the journal has twice."""
    simulation = simulated(tmp_path, sessions=2, faults="session=3xcut@?,session=stop@12:00+20s")
    truth = Counter[tuple[int, int]]()
    for path in (tmp_path / "2026-11-16" / "truth" / "events").glob("trade.parquet"):
        table = pq.read_table(path, columns=["security_id", "trade_id"]).to_pylist()
        truth.update((row["security_id"], row["trade_id"]) for row in table)
    assert len(truth) > 20
    symbols = {each.instrument.symbol for each in simulation.venue.catalogue.listings}
    for journal in journals(tmp_path):
        servers = {each.direction[2] for each in messages_between(journal)} & {SERVER_PORT, SERVER_PORT + 1}
        assert servers == {SERVER_PORT, SERVER_PORT + 1}
        market = Market.replay(journal, system="conflated")
        events = list(market)
        trades = Counter(
            (each.security_id, each.trade_id)
            for each in events
            if isinstance(each, Trade) and each.symbol in symbols
        )
        assert trades.keys() == truth.keys()
        assert sum(isinstance(each, SessionEnded) for each in events) >= 4
        for engine_market in simulation.venue.engine.floor.markets.values():
            book = market.book(engine_market.instrument.security_id)
            for side, rows in ((Side.BUY, engine_market.book.buys), (Side.SELL, engine_market.book.sells)):
                found = [(each.order_id, each.price, each.size) for each in book.orders(side)]
                assert found == [(each.secondary_id, each.price, each.shown) for each in rows.orders]


def test_faults_of_sessions_need_sessions(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Simulation(Settings(tmp_path, faults="session=cut@?"))
    assert raised.value.key == "faults"
