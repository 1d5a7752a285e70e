"""PUMA Conflated on sockets of loopback: a live market with its servers, and clients."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pregao.codecs.fix import FixMessage
from pregao.codecs.fix.compression import StreamInflater
from pregao.exchange.clearing import EVERY_NS
from pregao.exchange.commands import CrossOrder, NewOrder
from pregao.feeds.publishing import PublishingSite
from pregao.io.clock import WallClock
from pregao.model.market import Side
from pregao.sessions.fix import FixSession, SessionRecord, SessionSettings, SessionState
from pregao.sessions.fix.events import ConnectionCut, Event, GapFilled, LoggedOut, MessageReceived
from pregao.simulator.live.loop import LiveLoop
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.servers import MarketServers, ServerSettings
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.whole_market import WholeMarket, market_totals
from tests.kits.conflated import DICTIONARY, small_catalogue

PATIENCE_S = 10.0
ANY_PORT = ServerSettings(ports=(0,))
OPENED: list[asyncio.StreamWriter] = []  # closed with the exchange


async def open_socket(
    port: int, address: str = "127.0.0.1"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    OPENED.append(writer)
    return reader, writer


class LiveExchange:
    """Its market runs by itself; orders are entered by tests."""

    def __init__(
        self, settings: ServerSettings = ANY_PORT, flow: float = 0.0, desks_ns: int = EVERY_NS
    ) -> None:
        self.clock = WallClock()
        catalogue, now_ns = small_catalogue(), self.clock.now_ns()
        live = LiveSettings(flow=flow, desks_ns=desks_ns)
        self.market = LiveMarket(catalogue, live, [PublishingSite.PRIMARY], now_ns)
        source = WholeMarket(catalogue, self.market.engine, self.market.desk, self.market.clearing)
        self.servers = MarketServers(settings, source, self.clock, market_totals(catalogue))
        self.market.serve(self.servers)
        self.loop = LiveLoop(self.market, None, {}, self.clock, waiting=1000)
        self.security_id = catalogue.instruments[0].security_id
        self.price = catalogue.listings[0].closing
        self.tick = catalogue.instruments[0].tick

    @property
    def ports(self) -> list[int]:
        return [socket.port for socket in self.servers.sockets]

    async def order(self, size: int = 100, ticks: int = 0) -> None:
        price = self.price - ticks * self.tick
        outcome = await self.loop.submit(NewOrder(0, self.security_id, Side.BUY, size, price))
        assert outcome.rejection is None, outcome.rejection

    async def trade(self) -> None:
        outcome = await self.loop.submit(CrossOrder(0, self.security_id, 1_000, self.price, 3, 8))
        assert outcome.rejection is None, outcome.rejection


@asynccontextmanager
async def live_exchange(
    settings: ServerSettings = ANY_PORT, flow: float = 0.0, desks_ns: int = EVERY_NS
) -> AsyncIterator[LiveExchange]:
    exchange = LiveExchange(settings, flow, desks_ns)
    await exchange.servers.start()
    task = asyncio.create_task(exchange.loop.run())
    try:
        yield exchange
    finally:
        exchange.loop.stop()
        await task
        for writer in OPENED:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        OPENED.clear()
        await exchange.servers.close()


class TcpClient:
    """A FIX client on a socket; `receive` reads what is there."""

    dictionary = DICTIONARY

    def __init__(self, comp_id: str = "CLIENT", record: SessionRecord | None = None, **settings: Any) -> None:
        usual: dict[str, Any] = {"reset_on_logon": record is None}
        self.session = FixSession.initiator(
            SessionSettings(comp_id, "B3", **usual | settings), self.dictionary, record
        )
        self.clock = WallClock()
        self.inflater = StreamInflater()
        self.messages: list[FixMessage] = []
        self.events: list[Event] = []
        self.is_closed = False

    async def connect(self, port: int, address: str = "127.0.0.1") -> "TcpClient":
        self.reader, self.writer = await open_socket(port, address)
        self.session.connect(self.clock.now_ns())
        await self.flush()
        return self

    async def log_on(self, port: int, address: str = "127.0.0.1") -> "TcpClient":
        await self.connect(port, address)
        await self.until(lambda: self.session.state is SessionState.ACTIVE)
        return self

    async def log_on_with_gap(self, port: int) -> "TcpClient":
        """Until the gap that the server's number shows is filled."""
        await self.connect(port)
        await self.until(lambda: any(isinstance(each, GapFilled) for each in self.events))
        return self

    async def flush(self) -> None:
        self.writer.write(self.session.data_to_send())
        await self.writer.drain()

    async def receive(self) -> None:
        data = await self.reader.read(1 << 16)
        self.is_closed = not data
        for piece in self.inflater.feed(data):
            events = self.session.receive(piece, self.clock.now_ns())
            self.events += events
            self.messages += [each.message for each in events if isinstance(each, MessageReceived)]
        if not self.is_closed:
            await self.flush()

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not done():
                assert not self.is_closed, "the server closed the connection"
                await self.receive()

    async def until_closed(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self.is_closed:
                try:
                    await self.receive()
                except ConnectionError:
                    self.is_closed = True

    async def ask(self, msg_type: bytes, fields: dict[int, Any]) -> None:
        self.session.send(msg_type, fields, self.clock.now_ns())
        await self.flush()

    async def subscribe(self, *security_ids: int, request_id: str = "A") -> None:
        """Until the last of its snapshots is there."""
        instruments = [{48: str(each), 22: "8", 207: "BVMF"} for each in security_ids]
        await self.ask(b"V", {262: request_id, 263: "1", 1021: 3, 146: instruments})
        await self.until(lambda: any(each.text(893) == "Y" for each in self.of(b"W")))

    def of(self, msg_type: bytes) -> list[FixMessage]:
        return [each for each in self.messages if each.msg_type == msg_type]

    def entries(self, kind: bytes) -> list[dict[int, Any]]:
        """Of 35=X, of one kind."""
        return [entry for each in self.of(b"X") for entry in each.group(268) if entry[269] == kind]

    @property
    def last_words(self) -> list[str]:
        """Texts of 35=5, and why the session ended."""
        return [
            each.text if isinstance(each, LoggedOut) else each.reason
            for each in self.events
            if isinstance(each, LoggedOut | ConnectionCut)
        ]

    def close(self) -> None:
        self.writer.close()


def serving(settings: ServerSettings = ANY_PORT, **changes: Any) -> ServerSettings:
    """The same with other settings of all servers."""
    return replace(settings, serving=replace(settings.serving, **changes))
