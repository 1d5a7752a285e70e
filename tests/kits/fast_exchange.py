"""A live exchange with UMDF FIX/FAST on loopback multicast and its replayers on TCP, in a thread of its own:
a turn at a time, so that between two turns nothing moves and its books are the truth."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pregao.feeds.publishing import LoopPace, Paces, PublishingSite
from pregao.io.clock import WallClock
from pregao.io.multicast import MulticastReceiver, MulticastSender
from pregao.model.channel_map import LOOPBACK, ChannelMap, ReplayerEntry, channels_toml, default_channels
from pregao.model.streams import Feed, Stream
from pregao.simulator.live.loop import LiveLoop, routes_of
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.replayers import COMP_ID, Replayers, ReplayerSettings
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.venue import BookView, default_catalogue

CATALOGUE = default_catalogue(12)
ORDERS, LEVELS, TOPS = 184, 214, 244
LENDING, INDICES = 61, 62
_MS = 1_000_000
_PATIENCE_S = 30.0
_LOOPS = LoopPace(2 * _MS, 100 * _MS)


def free_channels(channels: tuple[int, ...], replayer: ReplayerEntry | None) -> ChannelMap:
    """The default groups of both feeds, with ports that nobody has."""
    with ExitStack() as stack:
        entries = []
        for entry in default_channels(channels, channels):
            if entry.id.feed is not Feed.C:
                free = stack.enter_context(MulticastReceiver(str(entry.address), 0))
                entries.append(replace(entry, port=free.port))
        return ChannelMap(tuple(entries), replayer)


class FastExchange:
    """`turn` lets so much time pass for orders and loops as has passed."""

    def __init__(
        self, stack: ExitStack, folder: Path, *, seed: int, delay_ms: int, flow: float, desks_ms: int
    ) -> None:
        settings = ReplayerSettings(port=0, historical_port=0, delay_ms=delay_ms)
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        stack.callback(self._loop.close)
        stack.callback(thread.join, _PATIENCE_S)
        stack.callback(self._loop.call_soon_threadsafe, self._loop.stop)
        self.clock = WallClock()
        self.replayers = Replayers(settings, self.clock)
        self._call(self.replayers.start())
        stack.callback(lambda: self._call(self.replayers.close()))
        entry = ReplayerEntry(((LOOPBACK, self.port), (LOOPBACK, self.port)), "CLIENT", COMP_ID)
        channels = free_channels((ORDERS, LEVELS, TOPS, LENDING, INDICES), entry)
        self.channels_file = folder / "channels.toml"
        self.channels_file.write_text(channels_toml(channels, LOOPBACK))
        live = LiveSettings(
            beside=("fast",), beside_heartbeat_ns=200 * _MS, replayers=settings, flow=flow, seed=seed,
            paces=Paces(_LOOPS, _LOOPS), desks_ns=desks_ms * _MS,
        )  # fmt: skip
        self.market = LiveMarket(CATALOGUE, live, [PublishingSite.PRIMARY], self.clock.now_ns())
        sender = stack.enter_context(MulticastSender(LOOPBACK))
        self._exchange = LiveLoop(
            self.market, sender, routes_of(channels, ()), self.clock, waiting=10, replayers=self.replayers
        )
        self.market.start(self.clock.now_ns())
        self.turn()

    @property
    def port(self) -> int:
        return self.replayers.replayer.server.port

    def turn(self) -> None:
        async def turn() -> None:
            self._exchange.turn()

        self._call(turn())

    def point(self, channel: int) -> int:
        """The number of the last message of a channel."""
        publisher = self.market.publishers[channel, PublishingSite.PRIMARY]
        return publisher.point(Stream.INCREMENTAL).next_number - 1

    def book(self, channel: int, security_id: int) -> BookView:
        book = self.market.books[channel].book(security_id)
        assert book is not None
        return book

    def _call(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_PATIENCE_S)


@contextmanager
def fast_exchange(
    folder: Path, *, seed: int = 1, delay_ms: int = 25, flow: float = 400.0, desks_ms: int = 60_000
) -> Iterator[FastExchange]:
    with ExitStack() as stack:
        yield FastExchange(stack, folder, seed=seed, delay_ms=delay_ms, flow=flow, desks_ms=desks_ms)
