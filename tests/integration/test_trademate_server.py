"""The servers of Trademate on real sockets: what clients get, who is let in, what hostile ones cannot do."""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from pregao.feeds.serving import SECOND_NS, SessionGrant, SessionLimits
from pregao.model.market import Side, State
from pregao.sessions.fix.passwords import Cost, PasswordBook, hash_password
from pregao.simulator.live import bond_commands as b
from pregao.simulator.live.servers import CutSession, ServerSettings, StopServer
from tests.kits.bonds import LTN
from tests.kits.conflated_tcp import open_socket
from tests.kits.trademate import PASSWORDS, SECRET
from tests.kits.trademate_tcp import ANY_PORT, PRICE, SIZE, BondClient, LiveBondExchange, live_bonds, serving

SECOND_DESK = replace(ANY_PORT, grants=(SessionGrant("CLIENT"), SessionGrant("OTHER", user="other")))


def play(
    use: Callable[[LiveBondExchange], Coroutine[Any, Any, None]], settings: ServerSettings = ANY_PORT,
    flow: float = 0.0,
) -> None:  # fmt: skip
    async def run() -> None:
        async with live_bonds(settings, flow) as exchange:
            await use(exchange)

    asyncio.run(run())


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("conflate", [False, True])
def test_a_client_gets_books_trades_and_cancels(compress: bool, conflate: bool) -> None:
    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        await client.subscribe_all()
        assert len(client.of(b"W")) == 84
        assert client.inflater.is_compressed is compress
        await exchange.order()
        await client.until(lambda: bool(client.entries(b"0")))
        bid = client.entries(b"0")[0]
        assert (bid[270], bid[271], bid[290], bid[423]) == (b"13.32", b"1000", b"1", b"9")
        await exchange.order(Side.SELL)
        await client.until(lambda: bool(client.entries(b"2")))
        trade = client.entries(b"2")[0]
        await exchange.submit(b.BustBondTrade(0, LTN, int(trade[1003])))
        await client.until(lambda: client.entries(b"2")[-1][279] == b"2")

    play(use, serving(compress=compress, conflate=conflate, tick_ns=50_000_000))


def test_quotes_voice_trades_and_halts_through_the_operator() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        await client.subscribe_all()
        deadline_ns = exchange.clock.now_ns() + 60 * SECOND_NS
        asked = await exchange.submit(b.RequestBondQuote(0, LTN, Side.BUY, SIZE, 3, (5, 8), deadline_ns))
        quote = await exchange.submit(b.AnswerBondQuote(0, asked, PRICE, 8))
        await exchange.submit(b.AcceptBondQuote(0, asked, quote, 3))
        for side, firm, other in ((Side.BUY, 1, 2), (Side.SELL, 2, 1)):
            await exchange.submit(b.RegisterVoiceTrade(0, LTN, side, PRICE, SIZE, firm, other))
        await exchange.submit(b.ChangeBondState(0, LTN, State.PAUSE))
        await client.until(lambda: bool(client.of(b"f")))
        assert [each[277] for each in client.entries(b"2")] == [b"RFQ", b"VO"]
        assert client.of(b"f")[0].text(326) == "2"
        refused = await exchange.loop.submit(b.EnterBondOrder(0, LTN, Side.BUY, PRICE, SIZE, 3))
        assert refused.rejection is not None
        half = await exchange.loop.submit(b.EnterBondOrder(0, LTN, Side.BUY, PRICE, SIZE // 10**4, 3))
        assert half.rejection is not None

    play(use)


# Who is let in

CAUSES: dict[str, tuple[str, str, dict[int, bytes]]] = {
    "a wrong password": ("CLIENT", "127.0.0.1", {553: b"desk", 554: b"wrong"}),
    "no password": ("CLIENT", "127.0.0.1", {553: b"desk"}),
    "nothing": ("CLIENT", "127.0.0.1", {}),
    "an unknown user": ("CLIENT", "127.0.0.1", {553: b"nobody", 554: SECRET.encode()}),
    "an unknown CompID": ("NOBODY", "127.0.0.1", {553: b"desk", 554: SECRET.encode()}),
    "another address": ("CLIENT", "127.0.0.2", {553: b"desk", 554: SECRET.encode()}),
    "another's CompID": ("OTHER", "127.0.0.1", {553: b"desk", 554: SECRET.encode()}),
    "35002=2": ("CLIENT", "127.0.0.1", {553: b"desk", 554: SECRET.encode(), 35002: b"2"}),
    "35003=x": ("CLIENT", "127.0.0.1", {553: b"desk", 554: SECRET.encode(), 35003: b"x"}),
}


def test_every_refusal_is_the_same_logout_and_a_cut() -> None:
    """But for who it is to, and the time."""

    async def refused(comp_id: str, address: str, logon: dict[int, bytes]) -> bytes:
        async with live_bonds(SECOND_DESK) as exchange:
            reader, writer = await open_socket(exchange.ports[0], address)
            client = BondClient(comp_id, logon)
            client.session.connect(exchange.clock.now_ns())
            writer.write(client.session.data_to_send())
            async with asyncio.timeout(10):
                answer = await reader.read(-1)  # to the end: it is cut
        return re.sub(rb"\x01(9|10|52|56)=[^\x01]*", b"", answer)

    async def run() -> dict[str, bytes]:
        return {name: await refused(*cause) for name, cause in CAUSES.items()}

    answers = asyncio.run(run())
    assert len(set(answers.values())) == 1, answers
    assert b"\x0135=5\x01" in answers["nothing"]
    assert b"\x0158=Logon refused\x01" in answers["nothing"]


def test_checked_and_without_effect() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        for number in (b"0", b"1"):
            more = {553: b"desk", 554: SECRET.encode(), 35002: number, 35003: b"5"}
            client = await BondClient(logon=more).log_on(exchange.ports[0])
            await client.subscribe_all()
            client.close()
            await asyncio.sleep(0.1)

    play(use)


def test_a_header_with_an_application_version_is_tolerated() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        client.session.send(b"x", {320: "a", 263: "1"}, client.clock.now_ns(), {1128: b"6"})
        await client.flush()
        await client.until(lambda: bool(client.of(b"y")))
        assert not client.of(b"3"), "nothing is rejected"

    play(use)


def test_failures_make_a_user_wait() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        port = exchange.ports[0]
        stranger = await BondClient(logon={553: b"desk", 554: b"wrong"}).connect(port)
        await stranger.until_closed()
        early = await BondClient().connect(port)
        await early.until_closed()  # with the right password, and too soon
        assert early.last_words[0] == "Logon refused"
        await asyncio.sleep(1.1)
        await BondClient().log_on(port)

    play(use)


def test_a_check_of_passwords_delays_nobody() -> None:
    """Its cost is far above what a session could wait for; others are served meanwhile."""
    secret = hash_password(SECRET.encode(), b"salt of tests", Cost(1 << 17, 8, 1))
    book = PasswordBook({"desk": hash_password(SECRET.encode(), b"salt of tests", Cost(16, 1, 1))})
    book.put("other", secret)

    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        await client.subscribe_all()
        slow = await BondClient("OTHER", {553: b"other", 554: SECRET.encode()}).connect(exchange.ports[0])
        waited = []
        for _ in range(5):
            before, told = time.perf_counter(), len(client.entries(b"0"))
            await exchange.order()
            await client.until(lambda: len(client.entries(b"0")) > told)  # noqa: B023
            waited.append(time.perf_counter() - before)
        await slow.until(lambda: slow.session.core.is_live)
        spent = time.perf_counter()
        assert book.is_right("other", SECRET.encode())
        assert min(waited) < time.perf_counter() - spent, "a check takes longer than an order to be told"

    play(use, serving(SECOND_DESK, passwords=book))


def test_without_passwords_where_that_is_said() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        await BondClient(logon={}).log_on(exchange.ports[0])
        wrong = await BondClient("OTHER", {553: b"other", 554: b"wrong"}).connect(exchange.ports[0])
        await wrong.until_closed()
        assert [each.comp_id for each in exchange.servers.servers[0].connections] == ["CLIENT"]

    play(use, serving(SECOND_DESK, password_required=False))


# Bounds


def test_connections_are_counted_in_all_and_of_an_address() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        port = exchange.ports[0]
        client = await BondClient().log_on(port)
        quiet = [await open_socket(port) for _ in range(2)]
        assert await quiet[1][0].read(1) == b""  # a third of this address
        other = await open_socket(port, "127.0.0.2")
        assert await other[0].read(1) == b""  # a third of all
        assert exchange.servers.servers[0].refused == 2
        await client.subscribe_all()

    play(use, serving(most_connections=2, most_of_address=2))


def test_an_address_that_fails_too_often_is_not_let_in() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        for _ in range(3):
            stranger = await BondClient("NOBODY").connect(exchange.ports[0], "127.0.0.2")
            await stranger.until_closed()
        reader, _ = await open_socket(exchange.ports[0], "127.0.0.2")
        assert await reader.read(1) == b""
        assert exchange.servers.servers[0].refused == 1
        await BondClient().log_on(exchange.ports[0])

    play(use, serving(most_bad_logons=3))


@pytest.mark.parametrize("logged_on", [True, False])
def test_a_message_that_is_too_large_is_not_read(logged_on: bool) -> None:
    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        bad = await BondClient("OTHER", {553: b"other", 554: SECRET.encode()}).connect(exchange.ports[0])
        if logged_on:
            await bad.until(lambda: bad.session.core.is_live)
        bad.writer.write(b"8=FIX.4.4\x019=999999\x0135=V\x01" + b"x" * 600_000)
        await exchange.order()
        await client.subscribe_all()
        assert not client.is_closed

    play(use, serving(SECOND_DESK, most_message_bytes=4_096))


def test_too_many_requests_end_a_session() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        for number in range(8):
            client.session.send(b"x", {320: str(number), 263: "1", 461: "E"}, client.clock.now_ns())
        await client.flush()
        await client.until_closed()
        assert "Too many requests" in client.last_words

    limits = SessionLimits(requests_a_second=5)
    play(use, replace(ANY_PORT, grants=(SessionGrant("CLIENT", limits=limits),)))


def test_subscriptions_are_counted() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        await client.subscribe_all()
        await client.ask(b"V", {262: "B", 263: "1"})
        await client.until(lambda: bool(client.of(b"Y")))
        assert client.of(b"Y")[0].text(281) == "M"

    limits = SessionLimits(subscriptions=1)
    play(use, replace(ANY_PORT, grants=(SessionGrant("CLIENT", limits=limits),)))


def test_who_does_not_read_is_ended_and_others_are_not() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        slow = await BondClient("OTHER", {553: b"other", 554: SECRET.encode()}).log_on(exchange.ports[0])
        client = await BondClient().log_on(exchange.ports[0])
        await client.subscribe_all()
        for number in range(1_000):
            slow.session.send(b"x", {320: str(number), 263: "1"}, slow.clock.now_ns())
            await slow.flush()
            await asyncio.sleep(0.02)
            if exchange.servers.sockets[0].overflowed:
                break
        assert exchange.servers.sockets[0].overflowed == 1
        assert {each.comp_id for each in exchange.servers.servers[0].connections} == {"CLIENT"}
        await exchange.order()
        await client.until(lambda: bool(client.entries(b"0")))

    limits = SessionLimits(unread_bytes=2 << 20, unread_ns=SECOND_NS, requests_a_second=1_000, lists=2_000)
    slow = SessionGrant("OTHER", limits=limits)
    play(use, replace(ANY_PORT, grants=(SessionGrant("CLIENT"), slow)))


# The operator


def test_the_operator_cuts_sessions_and_stops_servers() -> None:
    async def use(exchange: LiveBondExchange) -> None:
        client = await BondClient().log_on(exchange.ports[0])
        await exchange.submit(CutSession(0, "CLIENT", system="trademate"))
        await client.until_closed()
        assert client.last_words[0] == "Cut by the operator"
        again = await BondClient().log_on(exchange.ports[0])
        await exchange.submit(StopServer(0, system="trademate"))
        await again.until_closed()
        with pytest.raises(ConnectionError):
            await open_socket(exchange.ports[0])

    play(use)


def test_passwords_are_not_shown_by_settings() -> None:
    assert SECRET not in repr(ANY_PORT) + repr(PASSWORDS)
