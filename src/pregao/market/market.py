"""The library's face: events to iterate, books to ask for.

    from pregao import Market

    for event in Market.replay("day/"):
        print(event)

    market = Market.replay("day/").run()
    print(market.book("PETR4").top)

docs/library.md says more.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypedDict, Unpack

from pregao.captures.subscriptions import load_subscriptions
from pregao.feeds.registry import DEFAULT, is_session_system
from pregao.handler.views import HandledBook, Handler
from pregao.io.clock import NS_PER_SECOND, system_time_ns
from pregao.io.files import ClosedAtExit
from pregao.market.collector import MarketEvent, WantedEvents
from pregao.market.health import MarketHealth
from pregao.market.live import LivePackets
from pregao.market.names import (
    OnEvent,
    Subscribers,
    Subscription,
    UnknownInstrumentError,
    find_book,
    not_chosen,
)
from pregao.market.pump import EventPump
from pregao.market.replayed import ReplayedPackets, captures_in
from pregao.market.replaying import open_replayer
from pregao.market.session_channels import MarketSource
from pregao.market.session_replay import ReplayedSessions
from pregao.market.sessions import SessionPackets, open_session, session_system_of
from pregao.model.packets import PacketBatch
from pregao.recovery.policy import ChannelSettings

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_WAIT_S: Final = 0.1
_BATCH_ROWS: Final = 65_536


class MarketOptions(TypedDict, total=False):
    """Keywords of `Market`, `Market.replay` and `Market.live` alike; `Market` has their defaults."""

    orders: bool
    quotes: bool
    statistics: bool
    depth: int
    whole_events: bool
    settings: ChannelSettings | None


class Market(ClosedAtExit):
    """Any number of channels. Use `replay` or `live` to make one.

    `symbols`: events and books of these only; none: of all. `orders`, `quotes`, `statistics`, `depth`
    (levels a side): which events are told besides trades, states, phases, news and what channels say.
    `exact`: one new packet at a time. `whole_events`: books change at the end of events only (4.2).
    `system`: whose packets they are, as `feeds.registry` knows it."""

    def __init__(
        self,
        packets: MarketSource,
        *,
        symbols: Collection[str] = (),
        orders: bool = False,
        quotes: bool = True,
        statistics: bool = False,
        depth: int = 0,
        exact: bool = True,
        whole_events: bool = True,
        settings: ChannelSettings | None = None,
        system: str = DEFAULT,
    ) -> None:
        self._packets = packets
        self._wanted = WantedEvents(frozenset(symbols) or None, orders, quotes, statistics, depth)
        self._pump = EventPump(
            packets, self._wanted, exact=exact, whole_events=whole_events, settings=settings, system=system
        )
        self._channels = self._pump.channels
        self._subscribers = Subscribers()
        self._arriving: asyncio.Future[PacketBatch | None] | None = None

    @classmethod
    def replay(
        cls,
        *paths: str | Path,
        speed: float = 0.0,
        config: str | None = None,
        channels: Collection[int] = (),
        symbols: Collection[str] = (),
        exact: bool = True,
        system: str = DEFAULT,
        **options: Unpack[MarketOptions],
    ) -> Self:
        """Captures (or folders of them), merged by time. `speed` 1.0: at the recorded pace; 0: as fast as
        possible. `config` names the streams of captures whose file names do not."""
        packets: ReplayedPackets | ReplayedSessions
        if is_session_system(system):
            packets = ReplayedSessions(captures_in(paths), system)
        else:
            packets = ReplayedPackets(
                captures_in(paths), speed=speed, config=config, channels=channels, system=system
            )
        return cls(packets, symbols=symbols, exact=exact, system=system, **options)

    @classmethod
    def live(
        cls,
        config: str | None = None,
        *,
        channels: Collection[int] = (),
        interface: str | None = None,
        symbols: Collection[str] = (),
        exact: bool = False,
        system: str = DEFAULT,
        **options: Unpack[MarketOptions],
    ) -> Self:
        """Multicast, as a channel configuration says, with its replayer if there is one; without a
        configuration, `pregao exchange` on this machine. Or a session, where the file names a system of
        sessions (`system = "conflated"`)."""
        packets: LivePackets | SessionPackets
        if config is not None and session_system_of(config) is not None:
            packets = open_session(config, symbols)
        else:
            subscriptions = load_subscriptions(config, channels, interface, system)
            packets = LivePackets(subscriptions, replayer=open_replayer(config, system))
        return cls(packets, symbols=symbols, exact=exact, system=system, **options)

    # Events

    def __iter__(self) -> Iterator[MarketEvent]:
        """What happens, until captures end; a live market has no end. Whoever leaves the loop may begin
        another: it goes on where the first one stopped."""
        while True:
            while self._pump.waiting:
                yield self._next()
            if not self._pump.go_on():
                if self._packets.ended:
                    return
                self._pump.begin(self._channels.wait(_WAIT_S))

    def poll(self, timeout_s: float = _WAIT_S) -> list[MarketEvent]:
        """For those who have a loop of their own: what happens next, all that came together; an empty
        list when nothing does in time, and when captures are at their `ended`."""
        if not self._pump.go_on() and not self._pump.waiting and not self.ended:
            self._pump.begin(self._channels.wait(timeout_s))
        while self._pump.go_on():
            pass
        return [self._next() for _ in range(len(self._pump.waiting))]

    async def __aiter__(self) -> AsyncIterator[MarketEvent]:
        """The same, while other tasks run."""
        while True:
            while self._pump.waiting:
                yield self._next()
            if not self._pump.go_on():
                if self._packets.ended:
                    return
                self._pump.begin(await self._arrival())

    async def _arrival(self) -> PacketBatch | None:
        """A thread waits. What it got for a task that was cancelled is for the next one."""
        if self._arriving is None:
            loop = asyncio.get_running_loop()
            self._arriving = loop.run_in_executor(None, self._channels.wait, _WAIT_S)
        batch = await asyncio.shield(self._arriving)
        self._arriving = None
        return batch

    def subscribe(self, symbol: str, on_event: OnEvent) -> Subscription:
        """Have `on_event` called with each event of an instrument, just before the loop, `poll` or `run`
        that reads the market has it. What it returns ends that: `cancel()`, or a `with` block."""
        chosen = self._wanted.symbols
        if chosen is not None and symbol not in chosen:
            raise UnknownInstrumentError(not_chosen(symbol, chosen))
        return self._subscribers.add(symbol, on_event)

    def run(self, seconds: float | None = None) -> Self:
        """Read without telling anybody but subscribers: to the end of captures, or for a while."""
        ends_ns = None if seconds is None else system_time_ns() + int(seconds * NS_PER_SECOND)
        with nullcontext() if self._subscribers else self._pump.quietly():
            while not self.ended and (ends_ns is None or system_time_ns() < ends_ns):
                self.poll()
        return self

    def batches(self, rows: int = _BATCH_ROWS, wait_s: float = 1.0) -> "Iterator[RecordBatch]":
        """The same as Arrow record batches of `batch_schema()`, to the end of captures: of so many rows at
        least, or, of a live market, of what came in so many seconds. Depths, definitions, news and what
        channels say are not in them."""
        from pregao.market.batches import RowBatches

        gathered = RowBatches()
        with self._pump.handing_on(gathered.take):
            yield from gathered.gather(self, rows, wait_s if self._packets.speed is None else None)

    def _next(self) -> MarketEvent:
        event = self._pump.waiting.popleft()
        if self._subscribers:
            self._subscribers.call(event)
        return event

    # What people ask

    @property
    def ended(self) -> bool:
        """Nothing will come any more."""
        return self._packets.ended

    def book(
        self, instrument: str | int, channel: int | None = None, *, stream: str | None = None
    ) -> HandledBook:
        """The view of an instrument, by symbol or securityID; it stays up to date. KeyError when there is
        none, or when several channels have it and none is named. `stream`: which of its books, where a
        channel has several (MDStreamID: "L" is lending); else that of the electronic market, "E"."""
        return find_book(self._channels.handlers, instrument, channel, self._wanted.symbols, stream)

    def books(self) -> Iterable[HandledBook]:
        """Of every instrument of every channel."""
        handlers: Mapping[int, Handler] = self._channels.handlers
        for channel in sorted(handlers):
            yield from handlers[channel].books()

    @property
    def untold(self) -> list[str]:
        """Of captures: packets that are left out because their stream cannot be told, a line for each flow.
        A configuration (`config`) can tell it."""
        return list(getattr(self._packets, "untold", ()))

    def health(self) -> MarketHealth:
        return self._channels.health()

    def metrics(self) -> str:
        """The same for Prometheus, in its text format."""
        from pregao.market.metrics import exposition

        return exposition(self.health())

    @property
    def time_ns(self) -> int:
        """The market's time: when what was last handled came."""
        return self._channels.now_ns

    # Ending

    def close(self) -> None:
        """A live market leaves its groups; asking for books goes on to work."""
        self._packets.close()
