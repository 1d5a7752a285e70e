"""A market from a session on real sockets: the same events and books as from multicast."""

import json
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from pregao import (
    BookStatus,
    BookStatusChanged,
    Definition,
    HistoryFilled,
    Level,
    Market,
    MarketTotal,
    News,
    OrderAdded,
    PhaseChanged,
    Quote,
    SessionEnded,
    SessionStarted,
    Side,
    Trade,
)
from pregao.captures.decode import decode_capture
from pregao.captures.recorder import RecordSettings
from pregao.cli.main import main
from pregao.codecs.fix.compression import StreamInflater
from pregao.feeds.fix import client
from pregao.market.sessions import open_session, record_session, session_system_of
from pregao.model.errors import ConfigurationError
from tests.kits.conflated_server import ScriptedServer
from tests.kits.conflated_sockets import SocketServer, until
from tests.kits.conflated_wire import bid, offer

PETR4, VALE3 = 900_001, 900_002


def session_file(folder: Path, port: int, **more: object) -> str:
    told = {"system": "conflated", "sender": "SCREENS1", "target": "B3MD", "primary": f"127.0.0.1:{port}",
            "retry_s": 1, **more}  # fmt: skip
    file = folder / "session.toml"
    file.write_text(
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items()), encoding="utf-8"
    )
    return str(file)


def made(compress: bool = True, trades: dict[int, list[int]] | None = None) -> ScriptedServer:
    server = ScriptedServer(compress=compress)
    server.books[PETR4] = [bid(1, b"10", 100), bid(2, b"10", 200), offer(3, b"10.02", 50)]
    server.trades = {PETR4: trades.get(PETR4, [])} if trades else {}
    return server


@pytest.mark.parametrize("compress", [True, False])
def test_books_and_events_are_those_of_any_market(tmp_path, compress):
    with SocketServer(lambda: made(compress)) as sockets:
        config = session_file(tmp_path, sockets.port)
        with Market.live(config, symbols=["PETR4"], orders=True, depth=5, exact=True) as market:
            seen: list[object] = []
            until(lambda: market.health().whole, lambda: seen.extend(market.poll(0.05)))
            book = market.book("PETR4")
            assert book.status is BookStatus.CLEAN
            assert (book.kind, book.top.bid, book.top.offer) == (
                "MBO",
                Level(100_000, 300, 2),
                Level(100_200, 50, 1),
            )
            assert [order.order_id for order in book.orders(Side.BUY)] == [1, 2]
            assert {type(event) for event in seen} >= {SessionStarted, Definition, BookStatusChanged, Quote}

            def tell(server: ScriptedServer) -> None:
                server.update(PETR4, bid(4, b"10.01", 70))
                server.update(PETR4, {269: b"2", 270: b"10.01", 271: b"20", 1003: b"10", 1500: b"E"})
                server.send(b"f", {207: "BVMF", 1151: "01", 60: server.now_ns, 75: b"20261118", 625: b"17"})
                server.send(b"B", {6940: "3", 148: "Leilao", 33: [{58: "x"}]})
                entry = {
                    269: "t",
                    55: "TOT1",
                    272: b"20261118",
                    273: b"13:00:00.120",
                    381: 10,
                    387: 7,
                    6139: 3,
                }
                server.send(
                    b"UTOTC", {393: 1, 893: "Y", 146: [{55: "TOT1", 107: "All", 37022: [{1151: "01"}]}]}
                )
                server.send(b"UTOT", {268: [entry]})

            seen.clear()
            sockets.do(tell)
            wanted = {OrderAdded, Quote, Trade, PhaseChanged, News, MarketTotal}
            until(lambda: {type(event) for event in seen} >= wanted, lambda: seen.extend(market.poll(0.05)))
            assert book.top.bid == Level(100_100, 70, 1)
            (total,) = [event for event in seen if isinstance(event, MarketTotal)]
            assert (total.name, total.trades, total.groups) == ("TOT1", 3, ("01",))
            (trade,) = [event for event in seen if isinstance(event, Trade)]
            assert (trade.symbol, trade.price, trade.size, trade.trade_id) == ("PETR4", 100_100, 20, 10)
            (session,) = market.health().sessions
            assert session.is_live
            assert session.counters["received_bytes"] > 0
            assert abs(session.counters["lag_ns"]) < 60_000_000_000
            assert "pregao_session_live" in market.metrics()


def test_after_a_cut_books_are_stale_until_their_snapshots_and_trades_are_filled(tmp_path):
    trades: dict[int, list[int]] = {PETR4: [10, 20]}
    with SocketServer(lambda: made(trades=trades)) as sockets:
        config = session_file(tmp_path, sockets.port)
        with Market.live(config, symbols=["PETR4"]) as market:
            seen: list[object] = []
            until(lambda: market.health().whole, lambda: seen.extend(market.poll(0.05)))
            sockets.do(lambda server: server.update(PETR4, {269: b"2", 270: b"10", 271: b"5", 1003: b"30"}))
            until(
                lambda: any(isinstance(event, Trade) for event in seen),
                lambda: seen.extend(market.poll(0.05)),
            )
            seen.clear()
            trades[PETR4] = [10, 20, 30, 40, 50]
            sockets.cut()
            until(
                lambda: any(isinstance(e, SessionEnded) for e in seen), lambda: seen.extend(market.poll(0.05))
            )
            assert market.book("PETR4").status is BookStatus.STALE
            assert not market.health().whole
            until(
                lambda: any(isinstance(e, HistoryFilled) for e in seen),
                lambda: seen.extend(market.poll(0.05)),
            )
            assert market.book("PETR4").status is BookStatus.CLEAN
            assert [event.trade_id for event in seen if isinstance(event, Trade)] == [40, 50]
            changes = [(e.before, e.status) for e in seen if isinstance(e, BookStatusChanged)]
            assert changes == [(BookStatus.CLEAN, BookStatus.STALE), (BookStatus.STALE, BookStatus.CLEAN)]
            assert sockets.connections == 2


def test_a_book_that_is_wrong_is_asked_for_again(tmp_path):
    with SocketServer(made) as sockets:
        config = session_file(tmp_path, sockets.port)
        with Market.live(config, symbols=["PETR4"]) as market:
            until(lambda: market.health().whole, lambda: market.poll(0.05))
            changed = {279: b"1", **bid(1, b"10", 30, _37780=b"77")}
            sockets.do(lambda server: server.update(PETR4, changed))
            statuses: list[BookStatus] = []

            def step() -> None:
                statuses.extend(e.status for e in market.poll(0.05) if isinstance(e, BookStatusChanged))

            until(lambda: statuses == [BookStatus.STALE, BookStatus.CLEAN], step)
            assert market.book("PETR4").top.bid == Level(100_000, 300, 2)


def test_a_server_that_is_not_there_is_tried_and_the_standby_taken(tmp_path):
    with SocketServer(made) as standby:
        config = session_file(tmp_path, 1, standbys=[f"127.0.0.1:{standby.port}"])
        with Market.live(config, symbols=["PETR4"]) as market:
            until(lambda: market.health().whole, lambda: market.poll(0.05))
            assert market.health().sessions[0].endpoint == "standby 1"


def test_bytes_that_are_no_session_are_named(tmp_path):
    class Liar(ScriptedServer):
        def data_to_send(self) -> bytes:
            super().data_to_send()
            return b"HTTP/1.1 400 Bad Request\r\n\r\n" if self.session.record.connected else b""

    with SocketServer(Liar) as sockets:
        config = session_file(tmp_path, sockets.port)
        with Market.live(config, symbols=["PETR4"]) as market:
            seen: list[object] = []
            until(
                lambda: any(isinstance(e, SessionEnded) for e in seen), lambda: seen.extend(market.poll(0.05))
            )
            (first, *_) = [event for event in seen if isinstance(event, SessionEnded)]
            assert first.reason.startswith("fix-deflate")


def test_a_bomb_within_a_session_is_stopped_after_its_bound(tmp_path, monkeypatch):
    """The server has logged on; then a few bytes become more than may be taken at once (4.1)."""
    most = 1 << 20
    monkeypatch.setattr(client, "StreamInflater", partial(StreamInflater, max_inflated=most))
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS)  # blocks that go on with the stream
    bomb = deflater.compress(bytes(8 * most)) + deflater.flush(zlib.Z_FULL_FLUSH)
    assert len(bomb) < most // 100

    class Bomber(ScriptedServer):
        has_thrown = False

        def data_to_send(self) -> bytes:
            data = super().data_to_send()
            if not data or self.has_thrown:
                return data
            self.has_thrown = True
            return data + bomb

    with SocketServer(Bomber) as sockets:
        config = session_file(tmp_path, sockets.port)
        with Market.live(config, symbols=["PETR4"]) as market:
            seen: list[object] = []
            until(
                lambda: any(isinstance(e, SessionEnded) for e in seen), lambda: seen.extend(market.poll(0.05))
            )
            (first, *_) = [event for event in seen if isinstance(event, SessionEnded)]
            assert first.reason == f"fix-too-large: more than {most} bytes at once"


def test_which_file_is_a_session(tmp_path):
    channels = tmp_path / "channels.toml"
    channels.write_text("[[stream]]\nchannel = 1\n", encoding="utf-8")
    assert session_system_of(str(channels)) is None
    assert session_system_of(None) is None
    assert session_system_of(session_file(tmp_path, 5)) == "conflated"
    with pytest.raises(ConfigurationError):
        open_session(str(channels))


def test_a_session_is_recorded_and_its_journal_makes_the_same_books(tmp_path):
    with SocketServer(made) as sockets:
        config = session_file(tmp_path, sockets.port, name="screens")
        stop = Event()

        def tell(server: ScriptedServer) -> None:
            if server.asked(b"UTOTQ"):  # the snapshots have gone
                server.update(PETR4, bid(4, b"10.01", 70))
                sockets.do(lambda server: stop.set())
            else:
                sockets.do(tell)

        sockets.do(tell)
        journal, status = record_session(config, RecordSettings(tmp_path / "out"), stop, 30)
    assert status.counters["messages"] >= 6
    (file,) = journal.files
    kinds = [each.message.name for each in decode_capture(str(file), system="conflated")]
    assert kinds[:2] == ["Logon", "Logon"]
    assert kinds[-2:] == ["Logout", "Logout"]
    market = Market.replay(file, system="conflated", orders=True)
    seen = list(market)
    assert market.book("PETR4").top.bid == Level(100_100, 70, 1)
    kinds = [type(event) for event in seen]
    assert kinds[0] is SessionStarted
    assert kinds.count(SessionEnded) == 1
    assert kinds.count(OrderAdded) == 1
    changes = [
        event.status for event in seen if isinstance(event, BookStatusChanged) if event.symbol == "PETR4"
    ]
    assert changes == [BookStatus.STALE, BookStatus.CLEAN, BookStatus.STALE]
    assert market.health().findings == 0


def test_commands_take_a_session_file(tmp_path, capsys):
    with SocketServer(made) as sockets:
        config = session_file(tmp_path, sockets.port)
        assert main(["record", "--config", config, "--out", str(tmp_path / "out"), "--for", "2s"]) == 0
    assert "1 files, 0 losses of the connection" in capsys.readouterr().err
    (file,) = (tmp_path / "out").glob("*.pcap.zst")
    assert main(["decode", "--system", "conflated", "--stats", "--no-progress", str(file)]) == 0
    assert "SecurityList" in capsys.readouterr().out
    assert main(["listen", str(file), "--system", "conflated", "--symbol", "PETR4"]) == 0
    assert "PETR4" in capsys.readouterr().out


def test_listening_to_a_session_in_a_pipe(tmp_path):
    with SocketServer(made) as sockets:
        config = session_file(tmp_path, sockets.port)
        command = [sys.executable, "-m", "pregao", "listen", "--config", config, "--symbol", "PETR4"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            lines: list[str] = []
            until(
                lambda: any("10.0000" in line or "10.00" in line for line in lines),
                lambda: lines.append(process.stdout.readline()),
                60.0,
            )
            process.terminate()
            assert process.wait(10) == 0
    assert any("PETR4" in line for line in lines)
