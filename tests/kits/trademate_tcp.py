"""Trademate on sockets of loopback: a live market of bonds with its servers, and clients."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pregao.feeds.publishing import PublishingSite
from pregao.io.clock import WallClock
from pregao.model.market import Side
from pregao.simulator.live.bond_commands import EnterBondOrder
from pregao.simulator.live.bonds import BondSettings, LiveBonds
from pregao.simulator.live.loop import LiveLoop
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.servers import MarketServers, ServerSettings
from pregao.simulator.live.settings import LiveSettings
from tests.kits.bonds import CATALOGUE, LTN
from tests.kits.conflated import small_catalogue
from tests.kits.conflated_tcp import OPENED, TcpClient
from tests.kits.trademate import LOGON, TRADEMATE, served_settings

ANY_PORT = ServerSettings("trademate", ports=(0,), serving=served_settings())
PRICE, SIZE = 1_332_000_000, 1000 * 10**8  # 13.32 % a year, and a thousand, as an operator says it


class LiveBondExchange:
    """Its markets run by themselves; orders are entered by tests."""

    def __init__(self, settings: ServerSettings, flow: float) -> None:
        self.clock = WallClock()
        now_ns = self.clock.now_ns()
        self.market = LiveMarket(small_catalogue(), LiveSettings(), [PublishingSite.PRIMARY], now_ns)
        self.bonds = LiveBonds(CATALOGUE, BondSettings(settings, flow=flow), now_ns)
        self.servers = MarketServers(settings, self.bonds, self.clock)
        self.market.trade_bonds(self.bonds, self.servers)
        self.loop = LiveLoop(self.market, None, {}, self.clock, waiting=1000)

    @property
    def ports(self) -> list[int]:
        return [socket.port for socket in self.servers.sockets]

    async def submit(self, command: Any) -> int:
        outcome = await self.loop.submit(command)
        assert outcome.rejection is None, outcome.rejection
        return outcome.order_ids[0] if outcome.order_ids else 0

    async def order(self, side: Side = Side.BUY, price: int = PRICE, size: int = SIZE) -> int:
        return await self.submit(EnterBondOrder(0, LTN, side, price, size, 3))


@asynccontextmanager
async def live_bonds(
    settings: ServerSettings = ANY_PORT, flow: float = 0.0
) -> AsyncIterator[LiveBondExchange]:
    exchange = LiveBondExchange(settings, flow)
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


class BondClient(TcpClient):
    """`logon` are 553 and 554, or whatever a test says."""

    dictionary = TRADEMATE

    def __init__(
        self, comp_id: str = "CLIENT", logon: dict[int, bytes] | None = None, **settings: Any
    ) -> None:
        super().__init__(comp_id, logon_fields=LOGON if logon is None else logon, **settings)

    async def subscribe_all(self) -> None:
        """Until the last of its snapshots is there."""
        await self.ask(b"V", {262: "A", 263: "1"})
        await self.until(lambda: any(each.text(893) == "Y" for each in self.of(b"W")))


def serving(settings: ServerSettings = ANY_PORT, **changes: Any) -> ServerSettings:
    return replace(settings, serving=replace(settings.serving, **changes))
