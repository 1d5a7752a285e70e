"""The replayers on sockets of loopback: a gap is asked for, and the very bytes that were sent come back."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fast import FastMessageDecoder, load_builtin_templates
from pregao.codecs.fix import load_builtin_dictionary
from pregao.feeds.publishing import PublishingSite
from pregao.io.clock import WallClock
from pregao.io.multicast import MulticastReceiver, MulticastSender
from pregao.market.replaying import Endpoint, ReplayLink
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream, StreamId
from pregao.sessions.fix import SessionSettings
from pregao.sessions.replay import ReplayClient, ReplayClientSettings, Replayed, SpanFailed
from pregao.simulator.live.exchange import channels_of
from pregao.simulator.live.loop import LiveLoop, Routes
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.replayers import Replayers, ReplayerSettings
from pregao.simulator.live.settings import LiveSettings, load_settings
from pregao.simulator.venue import default_catalogue
from tests.twins.position_books import messages_of

CATALOGUE = default_catalogue(12)
ORDERS = "184"
GROUP = "239.255.184.1"
WHOLE = b"\0\1\0\1"  # chunk 1 of 1
ANY_PORTS = ReplayerSettings(port=0, historical_port=0, delay_ms=0, historical_delay_ms=0)
_DECODER = FastMessageDecoder(load_builtin_templates())


def number_of(data: bytes) -> int | None:
    found = _DECODER.decode(data).fields.get("MsgSeqNum")
    return found if isinstance(found, int) else None


class Exchange:
    """A live exchange that sends into a list, and its replayers on their ports."""

    def __init__(
        self,
        settings: ReplayerSettings = ANY_PORTS,
        sender: MulticastSender | None = None,
        routes: Routes | None = None,
    ) -> None:
        live = LiveSettings(beside=("fast",), replayers=settings, flow=200.0)
        self.clock = WallClock()
        now_ns = self.clock.now_ns()
        self.market = LiveMarket(CATALOGUE, live, [PublishingSite.PRIMARY], now_ns)
        self.replayers = Replayers(settings, self.clock)
        self.sent: dict[str, dict[int, bytes]] = {}
        self.loop = LiveLoop(
            self.market, sender, routes or {}, self.clock, waiting=10, replayers=self.replayers
        )
        take = self.market.take

        def noting() -> Any:
            for channel, packet in take():
                if packet.stream is Stream.INCREMENTAL and channel > 95:
                    self._payloads.setdefault(str(channel), []).append(packet.payload)
                yield channel, packet

        self._payloads: dict[str, list[bytes]] = {}
        self.market.take = noting  # type: ignore[method-assign]

    def trade(self, turns: int) -> None:
        self.market.start(self.clock.now_ns())
        self.loop.turn()
        for turn in range(turns):
            self.market.on_timeout(self.clock.now_ns() + turn * 50_000_000)
        self.loop.turn()
        for channel, payloads in self._payloads.items():
            self.sent[channel] = {}
            for number, data in messages_of(payloads):
                if number == 1:
                    self.sent[channel].clear()  # a sequence reset: what was before it is gone
                self.sent[channel][number] = data


def link_to(ports: dict[str, int], told: list[Any], **more: Any) -> ReplayLink:
    settings = ReplayClientSettings(endpoints=tuple(ports), pause_ns=20_000_000, **more)
    client = ReplayClient(settings, SessionSettings("CLIENT", "B3"), load_builtin_dictionary(), number_of)
    endpoints: dict[str, Endpoint] = {name: ("127.0.0.1", port) for name, port in ports.items()}
    return ReplayLink(client, endpoints, told.append)


async def until(found: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not found():
            await asyncio.sleep(0.005)


Play = Callable[[Exchange], Coroutine[Any, Any, None]]


def played(what: Play, settings: ReplayerSettings = ANY_PORTS) -> None:
    async def run() -> None:
        exchange = Exchange(settings)
        await exchange.replayers.start()
        try:
            exchange.trade(40)
            await what(exchange)
        finally:
            await exchange.replayers.close()

    asyncio.run(run())


@pytest.mark.parametrize("historical", [False, True])
def test_a_gap_comes_back_as_the_bytes_that_were_sent(historical: bool) -> None:
    async def ask(exchange: Exchange) -> None:
        which = exchange.replayers.historical if historical else exchange.replayers.replayer
        sent, told = exchange.sent[ORDERS], list[Any]()
        last = max(sent)
        assert last > 20
        link = link_to({"A": which.server.port}, told, want_ns=30_000_000_000)
        running = asyncio.create_task(link.run())
        link.want(ORDERS, 3, 12)
        link.want(ORDERS, 13, 15)
        link.want("214", 2, 4)
        await until(lambda: len(told) >= 16, 20.0)
        link.stop()
        await running
        assert all(isinstance(each, Replayed) for each in told)
        assert {(each.channel, each.number): each.data for each in told} == {
            **{(ORDERS, number): sent[number] for number in range(3, 16)},
            **{("214", number): exchange.sent["214"][number] for number in range(2, 5)},
        }
        assert link.client.health.requests <= 2  # spans are merged, channels asked for together
        assert link.client.health.connections == 1

    played(ask)


def test_what_multicast_lost_comes_from_the_replayer() -> None:
    """Real sockets both: datagrams of feed A on loopback, every fifth dropped, and the numbers that lack."""

    async def ask(receiver: MulticastReceiver, exchange: Exchange) -> None:
        await exchange.replayers.start()
        exchange.trade(10)
        # Turns are stamped ahead of the clock, the last by half a second: nobody can have that one yet.
        ready_ns = exchange.clock.now_ns() + 600_000_000
        await until(lambda: exchange.clock.now_ns() > ready_ns)
        payloads = []
        while (payload := receiver.receive(0.2)) is not None:
            payloads.append(payload)
        sent = dict(exchange.sent[ORDERS])  # heartbeats go on
        # Each begins with the number of its first message; a chunk of a longer one is no whole message.
        heard = dict(messages_of(each for n, each in enumerate(payloads) if n % 5 and each[4:8] == WHOLE))
        lost = sorted(sent.keys() - heard.keys())
        assert lost
        told = list[Any]()
        link = link_to({"A": exchange.replayers.replayer.server.port}, told)
        running = asyncio.create_task(link.run())
        for number in lost:
            link.want(ORDERS, number, number)
        await until(lambda: len(told) == len(lost))
        link.stop()
        await running
        await exchange.replayers.close()
        healed = {each.number: each.data for each in told if isinstance(each, Replayed)}
        assert heard.keys() | healed.keys() == sent.keys()
        assert {**heard, **healed} == sent

    try:
        with MulticastReceiver(GROUP, 0) as receiver, MulticastSender("127.0.0.1") as sender:
            sender.send(b"?", (GROUP, receiver.port))
            if receiver.receive(1.0) != b"?":
                pytest.skip("no multicast on loopback here")
            routes: Routes = {(int(ORDERS), Stream.INCREMENTAL, Feed.A): (GROUP, receiver.port)}
            asyncio.run(ask(receiver, Exchange(ANY_PORTS, sender, routes)))
    except (OSError, ConfigurationError) as error:
        pytest.skip(f"no multicast on loopback here: {error}")


def test_b_is_asked_when_a_is_gone() -> None:
    async def ask(exchange: Exchange) -> None:
        told = list[Any]()
        dead = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        ports = {"A": dead.sockets[0].getsockname()[1], "B": exchange.replayers.replayer.server.port}
        link = link_to(ports, told)
        running = asyncio.create_task(link.run())
        link.want(ORDERS, 5, 5)
        await until(lambda: bool(told))
        link.stop()
        await running
        dead.close()
        assert told == [Replayed(ORDERS, 5, exchange.sent[ORDERS][5])]

    played(ask)


def test_what_is_not_there_is_told_in_time() -> None:
    async def ask(exchange: Exchange) -> None:
        told = list[Any]()
        link = link_to({"A": exchange.replayers.replayer.server.port}, told, want_ns=1_000_000_000)
        running = asyncio.create_task(link.run())
        link.want("9", 1, 1)
        link.want(ORDERS, 1_000_000, 1_000_000)
        link.want(ORDERS, 1, 2_001)
        await until(lambda: len(told) == 3)
        link.stop()
        await running
        reasons = sorted((each.span.channel, each.reason) for each in told if isinstance(each, SpanFailed))
        assert reasons == [
            (ORDERS, "1354=6"), (ORDERS, "more than a replayer gives at once"), ("9", "1354=0"),
        ]  # fmt: skip

    played(ask)


def test_messages_can_be_asked_for_some_time_after_they_were_sent() -> None:
    async def ask(exchange: Exchange) -> None:
        told = list[Any]()
        link = link_to({"A": exchange.replayers.replayer.server.port}, told, tries=1)
        running = asyncio.create_task(link.run())
        link.want(ORDERS, 5, 5)
        await until(lambda: bool(told))
        link.stop()
        await running
        assert [type(each) for each in told] == [SpanFailed]

    played(ask, replace(ANY_PORTS, delay_ms=60_000))


def test_a_stranger_is_not_let_in() -> None:
    async def ask(exchange: Exchange) -> None:
        told = list[Any]()
        port = exchange.replayers.replayer.server.port
        settings = ReplayClientSettings(endpoints=("A",), want_ns=1_000_000_000, reconnect_ns=10_000_000)
        session = SessionSettings("NOBODY", "B3")
        client = ReplayClient(settings, session, load_builtin_dictionary(), number_of)
        link = ReplayLink(client, {"A": ("127.0.0.1", port)}, told.append)
        running = asyncio.create_task(link.run())
        link.want(ORDERS, 5, 5)
        await until(lambda: bool(told))
        link.stop()
        await running
        assert [type(each) for each in told] == [SpanFailed]

    played(ask)


def test_the_configuration_says_where_and_how(tmp_path: Path) -> None:
    file = tmp_path / "exchange.toml"
    file.write_text('[fast]\nlevels = 3\n[replayer]\nport = 0\ndelay_ms = 7\nclients = "ONE TWO"\n')
    settings = load_settings(str(file))
    assert (settings.beside, settings.levels, settings.beside_heartbeat_ns) == (("fast",), 3, 10_000_000_000)
    assert settings.replayers == ReplayerSettings(port=0, delay_ms=7, clients=("ONE", "TWO"))
    channels = {entry.id for entry in channels_of(settings, CATALOGUE)}
    assert StreamId(184, Stream.SNAPSHOT, Feed.B) in channels
    assert StreamId(62, Stream.INCREMENTAL, Feed.B) in channels
    assert StreamId(84, Stream.SNAPSHOT, Feed.B) not in channels
    file.write_text("[replayer]\nprot = 1\n")
    with pytest.raises(ConfigurationError, match="prot"):
        load_settings(str(file))
