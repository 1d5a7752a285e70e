"""The library's face: events to iterate, books to ask for.

    from pregao import Market

    for event in Market.replay("day/"):
        print(event)

    market = Market.replay("day/").run()
    print(market.book("PETR4").top)

docs/library.md says more.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pregao.feeds.binary.handler.views import HandledBook
from pregao.io.clock import NS_PER_SECOND, system_time_ns
from pregao.model.packets import PacketBatch
from pregao.services.market.capture_files import captures_in
from pregao.services.market.changes import MarketEvent
from pregao.services.market.channels import Channels
from pregao.services.market.collector import Collector
from pregao.services.market.health import MarketHealth
from pregao.services.market.live import LivePackets
from pregao.services.market.names import find_book
from pregao.services.market.packets import Packets
from pregao.services.market.replayed import ReplayedPackets
from pregao.services.subscriptions import load_subscriptions
from pregao.sessions.settings import Settings

_WAIT_S: Final = 0.1


class Market:
    """Any number of channels. Use `replay` or `live` to make one."""

    def __init__(
        self,
        packets: Packets,
        *,
        symbols: Collection[str] = (),
        quotes: bool = True,
        statistics: bool = False,
        exact: bool = True,
        whole_events: bool = True,
        settings: Settings | None = None,
    ) -> None:
        self._packets = packets
        self._symbols, self._statistics = frozenset(symbols) or None, statistics
        self._collectors: dict[int, Collector] = {}
        self._is_quiet = False
        self._channels = Channels(
            packets, self._observe, exact=exact, quotes=quotes, whole_events=whole_events, settings=settings
        )
        self._told: deque[MarketEvent] = deque()
        self._left: Iterator[None] = iter(())  # of a batch that was not taken to its end
        self._arriving: asyncio.Future[PacketBatch | None] | None = None
        if packets.speed is None:
            self._told.extend(self._channels.start())

    @classmethod
    def replay(
        cls,
        *paths: str | Path,
        speed: float = 0.0,
        config: str | None = None,
        channels: Collection[int] = (),
        symbols: Collection[str] = (),
        quotes: bool = True,
        statistics: bool = False,
        exact: bool = True,
        whole_events: bool = True,
        settings: Settings | None = None,
    ) -> Self:
        """Captures (or folders of them), merged by time. `speed` 1.0: at the recorded pace; 0: as fast as
        possible. `config` names the streams of captures whose file names do not."""
        packets = ReplayedPackets(captures_in(paths), speed=speed, config=config, channels=channels)
        return cls(
            packets, symbols=symbols, quotes=quotes, statistics=statistics, exact=exact,
            whole_events=whole_events, settings=settings,
        )  # fmt: skip

    @classmethod
    def live(
        cls,
        config: str | None = None,
        *,
        channels: Collection[int] = (),
        interface: str | None = None,
        symbols: Collection[str] = (),
        quotes: bool = True,
        statistics: bool = False,
        exact: bool = False,
        whole_events: bool = True,
        settings: Settings | None = None,
    ) -> Self:
        """Multicast, as a channel configuration says; without one, `pregao exchange` on this machine."""
        packets = LivePackets(load_subscriptions(config, channels, interface))
        return cls(
            packets, symbols=symbols, quotes=quotes, statistics=statistics, exact=exact,
            whole_events=whole_events, settings=settings,
        )  # fmt: skip

    # Events

    def __iter__(self) -> Iterator[MarketEvent]:
        """What happens, until captures end; a live market has no end. Whoever leaves the loop may begin
        another: it goes on where the first one stopped."""
        while True:
            while self._told:
                yield self._told.popleft()
            if not self._go_on():
                if self._packets.ended:
                    return
                self._begin(self._channels.wait(_WAIT_S))

    def poll(self, timeout_s: float = _WAIT_S) -> list[MarketEvent]:
        """For those who have a loop of their own: what happens next, all that came together; an empty
        list when nothing does in time, and when captures are at their `ended`."""
        if not self._go_on() and not self._told and not self.ended:
            self._begin(self._channels.wait(timeout_s))
        while self._go_on():
            pass
        told = list(self._told)
        self._told.clear()
        return told

    async def __aiter__(self) -> AsyncIterator[MarketEvent]:
        """The same, while other tasks run."""
        while True:
            while self._told:
                yield self._told.popleft()
            if not self._go_on():
                if self._packets.ended:
                    return
                self._begin(await self._arrival())

    async def _arrival(self) -> PacketBatch | None:
        """A thread waits. What it got for a task that was cancelled is for the next one."""
        if self._arriving is None:
            loop = asyncio.get_running_loop()
            self._arriving = loop.run_in_executor(None, self._channels.wait, _WAIT_S)
        batch = await asyncio.shield(self._arriving)
        self._arriving = None
        return batch

    def run(self, seconds: float | None = None) -> Self:
        """Read without telling: to the end of captures, or for a while."""
        ends_ns = None if seconds is None else system_time_ns() + int(seconds * NS_PER_SECOND)
        with self._quietly():
            while not self.ended and (ends_ns is None or system_time_ns() < ends_ns):
                self.poll()
        return self

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Whole batches, and no objects made that nobody sees."""
        exact, self._channels.exact = self._channels.exact, False
        self._quiet(True)
        try:
            yield
        finally:
            self._channels.exact = exact
            self._quiet(False)

    def _quiet(self, quiet: bool) -> None:
        self._is_quiet = quiet
        for collector in self._collectors.values():
            collector.quiet = quiet

    def _begin(self, batch: PacketBatch | None) -> None:
        self._left = self._steps(batch)

    def _go_on(self) -> bool:
        """One step of the batch; False when it is done."""
        return next(self._left, self) is not self

    def _steps(self, batch: PacketBatch | None) -> Iterator[None]:
        for channel, events in self._channels.handle(batch):
            self._told += self._collectors[channel].take()
            self._told += events
            yield None

    def _observe(self, channel: int) -> Collector:
        collector = self._collectors[channel] = Collector(self._symbols, statistics=self._statistics)
        collector.quiet = self._is_quiet
        return collector

    # What people ask

    @property
    def ended(self) -> bool:
        """Nothing will come any more."""
        return self._packets.ended

    def book(self, instrument: str | int, channel: int | None = None) -> HandledBook:
        """The view of an instrument, by symbol or securityID; it stays up to date. KeyError when there is
        none, or when several channels have it and none is named."""
        return find_book(self._channels.handlers, instrument, channel)

    def books(self) -> Iterable[HandledBook]:
        """Of every instrument of every channel."""
        for _, handler in sorted(self._channels.handlers.items()):
            yield from handler.books()

    @property
    def untold(self) -> list[str]:
        """Of captures: packets that are left out because their stream cannot be told, a line for each flow.
        A configuration (`config`) can tell it."""
        return list(getattr(self._packets, "untold", ()))

    def health(self) -> MarketHealth:
        return self._channels.health()

    def metrics(self) -> str:
        """The same for Prometheus, in its text format."""
        from pregao.services.metrics.exposition import exposition

        return exposition(self.health())

    def describe(self, event: MarketEvent) -> str:
        """A line for people, in which instruments have names."""
        security_id = getattr(event, "security_id", None)
        handlers = self._channels.handlers.values()
        found = (handler.instruments.get(security_id) for handler in handlers if security_id is not None)
        instrument = next((each for each in found if each is not None), None)
        line = str(event)
        return line if instrument is None else line.replace(f"instrument {security_id}", instrument.symbol)

    @property
    def time_ns(self) -> int:
        """The market's time: recorded, or now."""
        return self._packets.now_ns

    # Ending

    def close(self) -> None:
        """A live market leaves its groups; asking for books goes on to work."""
        self._packets.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
