"""A live exchange in memory with its operator interface, for tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from pregao.exchange.bonds.catalogue import load_default_bonds
from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.publishing import PublishingSite
from pregao.io.clock import WallClock
from pregao.model.channel_map import default_channels
from pregao.simulator.live.bonds import BondSettings, LiveBonds
from pregao.simulator.live.loop import LiveLoop, routes_of
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.operator.api import make_app


@dataclass
class Wire:
    """Stands in for the sender: keeps what was sent."""

    packets: list[tuple[bytes, tuple[str, int]]] = field(default_factory=list)
    lost: int = 0

    @property
    def sent(self) -> int:
        return len(self.packets)

    def send(self, payload: bytes, to: tuple[str, int]) -> None:
        self.packets.append((payload, to))


def make_loop(wire: Wire, settings: LiveSettings | None = None) -> LiveLoop:
    settings, catalogue, clock = settings or LiveSettings(), load_default_catalogue(), WallClock()
    market = LiveMarket(catalogue, settings, tuple(PublishingSite), clock.now_ns())
    market.trade_bonds(LiveBonds(load_default_bonds(), BondSettings(flow=0.0), clock.now_ns()), None)
    routes = routes_of(default_channels(catalogue.channels), catalogue.channels)
    return LiveLoop(market, wire, routes, clock, waiting=settings.queue)


@dataclass
class Desk:
    """Asks as an operator would."""

    client: TestClient[Any, Any]
    loop: LiveLoop
    wire: Wire

    async def post(self, path: str, **body: Any) -> tuple[int, Any]:
        async with self.client.post(path, json=body) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.client.get(path, headers=headers) as answer:
            return answer.status, await answer.json()

    async def done(self, path: str, **body: Any) -> Any:
        status, answer = await self.post(path, **body)
        assert status == 200, (path, status, answer)
        return answer


@asynccontextmanager
async def running_desk(settings: LiveSettings | None = None, *, run: bool = True) -> AsyncIterator[Desk]:
    wire = Wire()
    loop = make_loop(wire, settings)
    async with TestClient(TestServer(make_app(loop), host="127.0.0.1")) as client:
        task = asyncio.create_task(loop.run()) if run else None
        try:
            yield Desk(client, loop, wire)
        finally:
            loop.stop()
            if task is not None:
                await task


def with_desk(
    use: Callable[[Desk], Awaitable[None]], settings: LiveSettings | None = None, *, run: bool = True
) -> None:
    """Runs one test on a running exchange."""

    async def go() -> None:
        async with running_desk(settings, run=run) as desk:
            await use(desk)

    asyncio.run(go())
