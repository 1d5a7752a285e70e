"""The servers of PUMA Conflated on real sockets: what clients get, and what hostile ones cannot do."""

import asyncio
import contextlib
import zlib
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient as AdminClient
from aiohttp.test_utils import TestServer as AdminServer

from pregao.codecs.fix import Encoder
from pregao.feeds.publishing import SequencePoint
from pregao.feeds.serving import SECOND_NS, SessionGrant, SessionLimits
from pregao.model.streams import Stream
from pregao.sessions.fix import SessionRecord
from pregao.sessions.fix.events import RejectReceived
from pregao.simulator.live.servers import (
    AllowHistory,
    CutSession,
    MarketServers,
    ServerSettings,
    StartServer,
    StopServer,
)
from pregao.simulator.operator.api import make_app
from tests.kits.conflated_tcp import ANY_PORT, LiveExchange, TcpClient, live_exchange, open_socket, serving

TWO = ServerSettings(ports=(0,), grants=(SessionGrant("CLIENT"), SessionGrant("OTHER")))


def play(
    use: Callable[[LiveExchange], Coroutine[Any, Any, None]], settings: ServerSettings = ANY_PORT
) -> None:
    async def run() -> None:
        async with live_exchange(settings) as exchange:
            await use(exchange)

    asyncio.run(run())


@pytest.mark.parametrize("compress", [True, False])
def test_a_client_gets_the_book_and_its_changes(compress: bool) -> None:
    async def use(exchange: LiveExchange) -> None:
        client = await TcpClient().log_on(exchange.ports[0])
        await client.subscribe(exchange.security_id)
        assert client.inflater.is_compressed is compress
        await exchange.order(700)
        await client.until(lambda: bool(client.entries(b"0")))
        assert client.entries(b"0")[0][271] == b"700"
        await exchange.trade()
        await client.until(lambda: bool(client.entries(b"2")))

    play(use, serving(compress=compress))


def test_the_stream_is_one_that_zlib_itself_inflates() -> None:
    """From the first byte, flushed with every batch."""

    async def use(exchange: LiveExchange) -> None:
        client = TcpClient()
        await client.connect(exchange.ports[0])
        data = await client.reader.read(1 << 16)
        assert zlib.decompressobj().decompress(data).startswith(b"8=FIX.4.4\x019=")

    play(use)


def test_primary_and_standby_have_numbers_of_their_own() -> None:
    async def use(exchange: LiveExchange) -> None:
        primary = await TcpClient(record=SessionRecord("CLIENT", "B3")).log_on(exchange.ports[0])
        await primary.subscribe(exchange.security_id)
        standby = await TcpClient(record=SessionRecord("CLIENT", "B3")).log_on(exchange.ports[1])
        await standby.subscribe(exchange.security_id)
        first, second = (server.numbers()["CLIENT"] for server in exchange.servers.servers)
        assert (first.next_in, second.next_in) == (3, 3)
        await exchange.order(100)
        for client in (primary, standby):
            await client.until(lambda: bool(client.entries(b"0")))  # noqa: B023

    play(use, replace(ANY_PORT, ports=(0, 0)))


# Who is let in


@pytest.mark.parametrize(
    ("comp_id", "address"), [("NOBODY", "127.0.0.1"), ("CLIENT", "127.0.0.2")], ids=["CompID", "address"]
)
def test_an_unknown_identity_is_cut_without_a_word(comp_id: str, address: str) -> None:
    async def use(exchange: LiveExchange) -> None:
        stranger = await TcpClient(comp_id).connect(exchange.ports[0], address)
        await stranger.until_closed()
        assert stranger.inflater.received == 0
        await TcpClient().log_on(exchange.ports[0])

    play(use)


def test_an_identity_is_connected_once_and_the_first_lives() -> None:
    async def use(exchange: LiveExchange) -> None:
        first = await TcpClient().log_on(exchange.ports[0])
        second = await TcpClient().connect(exchange.ports[0])
        await second.until_closed()
        assert second.inflater.received == 0, "cut without a word (4.4.3)"
        received = first.inflater.received
        await first.subscribe(exchange.security_id)
        assert first.inflater.received > received

    play(use)


def test_connections_are_counted_in_all_and_of_an_address() -> None:
    async def use(exchange: LiveExchange) -> None:
        port = exchange.ports[0]
        one = [await TcpClient().connect(port) for _ in range(1)]
        await one[0].until(lambda: one[0].inflater.received > 0)
        quiet = [await open_socket(port) for _ in range(2)]
        assert await quiet[1][0].read(1) == b""  # a third of this address
        other = await TcpClient("OTHER").connect(port, "127.0.0.2")
        await other.until_closed()  # a third of all
        assert exchange.servers.servers[0].refused == 2
        await one[0].subscribe(exchange.security_id)

    grants = (SessionGrant("CLIENT"), SessionGrant("OTHER", ("127.0.0.2",)))
    play(use, serving(replace(ANY_PORT, grants=grants), most_connections=2, most_of_address=2))


def test_an_address_that_fails_to_log_on_too_often_is_not_let_in() -> None:
    async def use(exchange: LiveExchange) -> None:
        port = exchange.ports[0]
        for _ in range(3):
            stranger = await TcpClient("NOBODY").connect(port, "127.0.0.2")
            await stranger.until_closed()
        assert exchange.servers.servers[0].refused == 0
        refused = await TcpClient("OTHER").connect(port, "127.0.0.2")
        await refused.until_closed()
        assert exchange.servers.servers[0].refused == 1
        await TcpClient().log_on(port)

    grants = (SessionGrant("CLIENT"), SessionGrant("OTHER", ("127.0.0.2",)))
    play(use, serving(replace(ANY_PORT, grants=grants), most_bad_logons=3))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n" + b"8=FIX.4.4\x019=5\x01",
        b"8=FIX.4.4\x019=99999999\x0135=A\x01",
        b"8=FIX.4.4\x01" * 100_000,
        b"\x00" * (1 << 20),
    ],
    ids=["another protocol", "too large", "no end", "zeros"],
)
def test_what_is_no_logon_is_cut(data: bytes) -> None:
    async def use(exchange: LiveExchange) -> None:
        reader, writer = await open_socket(exchange.ports[0])
        writer.write(data)
        async with asyncio.timeout(15):
            with contextlib.suppress(ConnectionError):
                assert await reader.read(1) == b""
        await TcpClient().log_on(exchange.ports[0])

    play(use)


# Who takes too much


def test_too_many_requests_end_a_session() -> None:
    async def use(exchange: LiveExchange) -> None:
        client = await TcpClient().log_on(exchange.ports[0])
        for place in range(10):
            client.session.send(b"x", {320: f"{place}", 263: "1", 460: 5}, client.clock.now_ns())
        await client.flush()
        await client.until_closed()
        assert "Too many requests" in client.last_words

    grant = SessionGrant("CLIENT", limits=SessionLimits(requests_a_second=5))
    play(use, replace(ANY_PORT, grants=(grant,)))


async def stuff(exchange: LiveExchange, deaf: TcpClient, bytes_wanted: int) -> None:
    """Ask for more than sockets hold, and read nothing."""
    deaf.writer.transport.pause_reading()  # type: ignore[union-attr]
    for place in range(bytes_wanted >> 12):
        deaf.session.send(b"x", {320: f"{place}", 263: "1", 559: 4}, deaf.clock.now_ns())
    await deaf.flush()


_MANY = SessionLimits(lists=100_000, requests_a_second=100_000)
_SLOW = (replace(_MANY, unread_bytes=1 << 14), replace(_MANY, unread_ns=SECOND_NS // 2))


@pytest.mark.parametrize("limits", _SLOW, ids=["bytes", "age"])
def test_who_does_not_read_is_cut_and_nobody_waits_for_it(limits: SessionLimits) -> None:
    async def use(exchange: LiveExchange) -> None:
        deaf = await TcpClient("OTHER").log_on(exchange.ports[0])
        client = await TcpClient().log_on(exchange.ports[0])
        await client.subscribe(exchange.security_id)
        await stuff(exchange, deaf, 16 << 20)
        socket, clock = exchange.servers.sockets[0], exchange.clock
        waits = []
        for place in range(10):
            before_ns = clock.now_ns()
            await exchange.order(100, ticks=place)
            await client.until(lambda: len(client.entries(b"0")) > place)  # noqa: B023
            waits.append(clock.now_ns() - before_ns)
        async with asyncio.timeout(10):
            while not socket.overflowed:
                await asyncio.sleep(0.05)
        assert sorted(waits)[5] < 2 * SECOND_NS
        assert [each.comp_id for each in exchange.servers.servers[0].connections] == ["CLIENT"]

    grants = (SessionGrant("CLIENT"), SessionGrant("OTHER", limits=limits))
    play(use, serving(replace(ANY_PORT, grants=grants), compress=False))


@pytest.mark.parametrize("limits", _SLOW, ids=["bytes", "age"])
def test_who_reads_again_in_time_finds_out_why_it_was_cut(limits: SessionLimits) -> None:
    """35=5 is the last that it gets. Who goes on not reading is not waited for."""

    async def use(exchange: LiveExchange) -> None:
        deaf = await TcpClient("OTHER").log_on(exchange.ports[0])
        await stuff(exchange, deaf, 16 << 20)
        async with asyncio.timeout(10):
            while not exchange.servers.sockets[0].overflowed:
                await asyncio.sleep(0.01)
        deaf.writer.transport.resume_reading()  # type: ignore[union-attr]
        await deaf.until_closed()
        assert "Messages are not taken" in deaf.last_words

    play(use, serving(replace(ANY_PORT, grants=(SessionGrant("OTHER", limits=limits),)), compress=False))


def test_who_talks_without_end_delays_nobody() -> None:
    async def use(exchange: LiveExchange) -> None:
        loud = await TcpClient("OTHER").log_on(exchange.ports[0])
        client = await TcpClient().log_on(exchange.ports[0])
        await client.subscribe(exchange.security_id)
        noise = b"8=FIX.4.4\x019=12\x0135=0\x0134=999\x0110=000\x01" * 200

        async def talk() -> None:
            try:
                while True:
                    loud.writer.write(noise)
                    await loud.writer.drain()
                    await asyncio.sleep(0)
            except ConnectionError:
                pass

        talking = asyncio.create_task(talk())
        waits, clock = [], exchange.clock
        for place in range(10):
            before_ns = clock.now_ns()
            await exchange.trade()
            await client.until(lambda: len(client.entries(b"2")) > place)  # noqa: B023
            waits.append(clock.now_ns() - before_ns)
        talking.cancel()
        assert sorted(waits)[5] < SECOND_NS // 2

    play(use, TWO)


def many_instruments(client: TcpClient, count: int) -> bytes:
    """A request as large as it may be: nobody knows any of its instruments."""
    listed = [{48: f"{place}", 22: "8", 207: "BVMF"} for place in range(count)]
    return Encoder(client.dictionary).message(
        b"V",
        {34: 2, 49: "OTHER", 52: client.clock.now_ns(), 56: "B3"},
        {262: "A", 263: "1", 1021: 3, 146: listed},
    )


@pytest.mark.parametrize("kind", ["endless", "too large", "as large as may be"])
def test_large_messages_of_one_delay_nobody(kind: str) -> None:
    """What is larger than it may be is garbled: it is not answered, and not kept."""

    async def use(exchange: LiveExchange) -> None:
        loud = await TcpClient("OTHER").log_on(exchange.ports[0])
        client = await TcpClient().log_on(exchange.ports[0])
        await client.subscribe(exchange.security_id)
        data = {
            "endless": b"8=FIX.4.4\x019=99999999\x0135=V\x01" + b"x" * (1 << 20),
            "too large": many_instruments(loud, 40_000),
            "as large as may be": many_instruments(loud, 10_000),
        }[kind]
        assert (len(data) > 256 << 10) is (kind != "as large as may be")
        loud.writer.write(data)
        waits, clock = [], exchange.clock
        for place in range(5):
            before_ns = clock.now_ns()
            await exchange.trade()
            await client.until(lambda: len(client.entries(b"2")) > place)  # noqa: B023
            waits.append(clock.now_ns() - before_ns)
        assert sorted(waits)[2] < SECOND_NS // 2
        if kind == "as large as may be":
            await loud.until(lambda: bool(loud.of(b"W")))
            assert (loud.of(b"W")[0].text(911), loud.of(b"W")[0].text(893)) == ("0", "Y")
        else:
            assert loud.of(b"W") == loud.of(b"Y") == []

    play(use, TWO)


@pytest.mark.parametrize(("count", "reason"), [("200000000", "16"), ("9" * 20, "6"), ("-1", "6")])
def test_a_count_that_lies_costs_one_reject(count: str, reason: str) -> None:
    """Nothing is made room for before it is there."""

    async def use(exchange: LiveExchange) -> None:
        client = await TcpClient().log_on(exchange.ports[0])
        header = {34: 2, 49: "CLIENT", 52: client.clock.now_ns(), 56: "B3"}
        told = {262: "A", 263: "1", 1021: 3, 146: [{48: str(exchange.security_id), 22: "8", 207: "BVMF"}]}
        whole = Encoder(client.dictionary).message(b"V", header, told)
        body = whole[whole.index(b"35=") : whole.rindex(b"10=")]
        body = body.replace(b"146=1\x01", b"146=%b\x01" % count.encode())
        data = b"8=FIX.4.4\x019=%d\x01" % len(body) + body
        client.writer.write(data + b"10=%03d\x01" % (sum(data) % 256))
        await client.until(lambda: any(isinstance(each, RejectReceived) for each in client.events))
        (reject,) = [each.message for each in client.events if isinstance(each, RejectReceived)]
        assert (reject.text(371), reject.text(373)) == ("146", reason)

    play(use)


def test_groups_are_nested_no_deeper_than_the_dictionary_has_them() -> None:
    """A group within itself, again and again, is one reject; the session goes on."""

    async def use(exchange: LiveExchange) -> None:
        client = await TcpClient().log_on(exchange.ports[0])
        whole = Encoder(client.dictionary).message(
            b"y", {34: 2, 49: "CLIENT", 52: client.clock.now_ns(), 56: "B3"}, {320: "A"}
        )
        body = whole[whole.index(b"35=") : whole.rindex(b"10=")] + b"146=1\x0155=A\x01" * 5_000
        data = b"8=FIX.4.4\x019=%d\x01" % len(body) + body
        client.session.record.numbers.next_out = 3
        client.writer.write(data + b"10=%03d\x01" % (sum(data) % 256))
        await client.until(lambda: any(isinstance(each, RejectReceived) for each in client.events))
        (reject,) = [each.message for each in client.events if isinstance(each, RejectReceived)]
        assert (reject.text(45), reject.text(372)) == ("2", "y")
        await client.subscribe(exchange.security_id)

    play(use)


def test_subscriptions_and_lists_are_counted() -> None:
    async def use(exchange: LiveExchange) -> None:
        client = await TcpClient().log_on(exchange.ports[0])
        for place in range(3):
            await client.ask(b"V", {262: f"{place}", 263: "1", 1021: 3, 146: [
                {48: str(exchange.security_id), 22: "8", 207: "BVMF"}
            ]})  # fmt: skip
            await client.until(lambda: len(client.of(b"W")) + len(client.of(b"Y")) > place)  # noqa: B023
            await client.ask(b"x", {320: f"{place}", 263: "1", 167: "MLEG"})
            await client.until(lambda: len(client.of(b"y")) > place)  # noqa: B023
        assert [each.text(281) for each in client.of(b"Y")] == ["M"]
        assert [each.text(560) for each in client.of(b"y")] == ["0", "0", "M"]

    grant = SessionGrant("CLIENT", limits=SessionLimits(subscriptions=2, lists=2))
    play(use, replace(ANY_PORT, grants=(grant,)))


# What outlives a restart


def test_numbers_survive_a_restart(tmp_path: Path) -> None:
    """A session that does not reset goes on with the next number of both sides."""
    settings = replace(ANY_PORT, numbers=str(tmp_path / "numbers"))
    record = SessionRecord("CLIENT", "B3")

    async def before(exchange: LiveExchange) -> None:
        client = await TcpClient(record=record).log_on(exchange.ports[0])
        await client.subscribe(exchange.security_id)
        client.close()

    play(before, settings)
    assert record.numbers.next_in > 2
    record.connected = False
    numbers = record.numbers.next_in, record.numbers.next_out

    async def after(exchange: LiveExchange) -> None:
        kept = exchange.servers.servers[0].numbers()["CLIENT"]
        assert (kept.next_out, kept.next_in) == numbers
        client = await TcpClient(record=record).log_on(exchange.ports[0])
        await client.subscribe(exchange.security_id, request_id="B")

    play(after, settings)


def test_numbers_are_never_given_twice_after_a_kill(tmp_path: Path) -> None:
    """Ours are written ahead: the client sees a gap, asks, and is told that there is nothing."""
    settings = replace(ANY_PORT, numbers=str(tmp_path / "numbers"))
    record = SessionRecord("CLIENT", "B3")

    async def killed(exchange: LiveExchange) -> None:
        client = await TcpClient(record=record).log_on(exchange.ports[0])
        await client.subscribe(exchange.security_id)
        async with asyncio.timeout(5):
            while exchange.servers._checked_ns == 0:
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)
        client.close()
        numbers = exchange.servers._numbers
        assert numbers is not None
        numbers._journal.close()
        exchange.servers._numbers = None  # as if the process were gone

    play(killed, settings)
    record.connected = False
    sent = record.numbers.next_in

    async def after(exchange: LiveExchange) -> None:
        assert exchange.servers.servers[0].numbers()["CLIENT"].next_out > sent
        client = await TcpClient(record=record).log_on_with_gap(exchange.ports[0])
        await client.subscribe(exchange.security_id, request_id="B")

    play(after, settings)


# The operator


def test_the_operator_stops_and_starts_servers_and_cuts_sessions() -> None:
    async def use(exchange: LiveExchange) -> None:
        port = exchange.ports[0]
        client = await TcpClient().log_on(port)
        assert (await exchange.loop.submit(CutSession(0, "CLIENT"))).rejection is None
        await client.until_closed()
        assert "Cut by the operator" in client.last_words
        assert (await exchange.loop.submit(CutSession(0, "CLIENT"))).rejection is not None
        client = await TcpClient().log_on(port)
        await client.subscribe(exchange.security_id)
        assert (await exchange.loop.submit(AllowHistory(0, False))).rejection is None
        asked = [{48: str(exchange.security_id), 22: "8", 207: "BVMF", 7174: 0, 7175: 1}]
        await client.ask(b"UTHQ", {262: "H", 263: "0", 146: asked})
        await client.until(lambda: bool(client.of(b"UTHP")))
        assert client.of(b"UTHP")[0].text(281) == "X"
        assert (await exchange.loop.submit(StopServer(0))).rejection is None
        await client.until_closed()
        assert "The server is stopped" in client.last_words
        with pytest.raises(ConnectionError):
            await TcpClient().connect(port)
        assert (await exchange.loop.submit(StartServer(0))).rejection is None
        async with asyncio.timeout(5):
            while not exchange.servers.sockets[0].is_listening:
                await asyncio.sleep(0.01)
        assert (await exchange.loop.submit(StartServer(0))).rejection is not None
        assert (await exchange.loop.submit(StopServer(0, 7))).rejection is not None
        await TcpClient().log_on(port)

    play(use)


def test_the_operator_interface_has_the_servers_too() -> None:
    """The same by HTTP: cut, stop, start, history, and a book that is told again."""

    async def use(exchange: LiveExchange) -> None:
        async with AdminClient(AdminServer(make_app(exchange.loop), host="127.0.0.1")) as admin:

            async def post(call: str, **body: object) -> int:
                async with admin.post(f"/v1/{call}", json=body) as answer:
                    return answer.status

            client = await TcpClient().log_on(exchange.ports[0])
            await client.subscribe(exchange.security_id)
            await exchange.order(700)
            await client.until(lambda: bool(client.entries(b"0")))
            symbol = exchange.market.catalogue.by_id[exchange.security_id].instrument.symbol
            assert await post("resets/book", security_id=symbol) == 200
            await client.until(lambda: bool(client.entries(b"J")))
            assert await post("servers/history", available=False) == 200
            assert await post("servers/cut", comp_id="CLIENT") == 200
            await client.until_closed()
            assert "Cut by the operator" in client.last_words
            assert await post("servers/cut", comp_id="CLIENT") == 409, "nobody is there"
            assert await post("servers/stop", server=0) == 200
            with pytest.raises(ConnectionError):
                await TcpClient().connect(exchange.ports[0])
            assert await post("servers/start", server=0) == 200
            assert await post("servers/stop", server="first") == 400

    play(use)


def test_sessions_are_told_that_the_exchange_ends() -> None:
    async def use(exchange: LiveExchange) -> None:
        client = await TcpClient().log_on(exchange.ports[0])
        await exchange.servers.close()
        await client.until_closed()
        assert "The exchange ends" in client.last_words

    play(use)


def test_an_event_that_cannot_be_told_is_published_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(exchange: LiveExchange) -> None:
        def fail(*_: Any) -> None:
            raise RuntimeError("a bad event")

        monkeypatch.setattr(exchange.servers.feed, "publish", fail)
        before = sum(point.next_number for point in points(exchange))
        await exchange.order()
        assert sum(point.next_number for point in points(exchange)) > before
        assert "could not tell an event" in caplog.text

    play(use)


def points(exchange: LiveExchange) -> list[SequencePoint]:
    return [each.point(Stream.INCREMENTAL) for each in exchange.market.publishers.values()]


def test_a_failing_moment_does_not_end_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(exchange: LiveExchange) -> None:
        client = await TcpClient().log_on(exchange.ports[0])
        turn, failed = MarketServers.turn, []

        def fail_once(servers: MarketServers) -> None:
            if not failed:
                failed.append(True)
                raise RuntimeError("a bad moment")
            turn(servers)

        monkeypatch.setattr(MarketServers, "turn", fail_once)
        await client.subscribe(exchange.security_id)
        assert failed

    play(use)
