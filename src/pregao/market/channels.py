"""The handlers of any number of channels, fed from one source of packets."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from pregao.feeds.registry import DEFAULT, load_system
from pregao.handler.handler import ChannelHandler
from pregao.handler.instruments import LineTable
from pregao.handler.keeper import Observer
from pregao.handler.replays import Replays
from pregao.market.health import MarketHealth, channel_health
from pregao.market.live import warm_up
from pregao.market.packets import ChannelUnits, PacketSource, Slicer, feeds_of
from pregao.market.times import FeedTimes
from pregao.model.packets import PacketBatch
from pregao.recovery.events import Event
from pregao.recovery.policy import ChannelSettings

_LONGEST_WAIT_S: Final = 0.1

Observe = Callable[[int], Observer]  # who is told of a channel


class Channels:
    """`exact`: one new packet at a time, so that whoever looks in between sees every state of a book."""

    def __init__(
        self,
        packets: PacketSource,
        observe: Observe,
        *,
        exact: bool = False,
        quotes: bool = True,
        whole_events: bool = True,
        settings: ChannelSettings | None = None,
        system: str = DEFAULT,
    ) -> None:
        self.packets = packets
        self.handlers: dict[int, ChannelHandler] = {}
        # When each is to be woken. It only moves when its handler is given something.
        self._due_ns: dict[int, int | None] = {}
        self.times = FeedTimes()
        self.exact = exact
        self.now_ns = packets.now_ns  # when what is handled came
        self._observe, self._slicer = observe, Slicer()
        self._quotes, self._whole_events = quotes, whole_events
        replayer = packets.replayer
        self._replays = None if replayer is None else Replays(replayer, self.handlers)
        settings = settings or ChannelSettings()
        self._settings = replace(settings, asks=settings.asks and replayer is not None)
        self._system = load_system(system)
        self._reader = ChannelUnits(self._system)
        self._known_lines = -1
        self._is_over = False  # captures have ended, and channels have said their last
        self._look_at_lines()

    def start(self) -> Iterator[tuple[int, list[Event]]]:
        """Begin to receive: which streams each channel needs. Only somebody who joins streams has to ask,
        and then to the end."""
        warm_up(self._system)
        self.packets.start()
        for channel, handler in self.handlers.items():
            events = handler.start(self.packets.now_ns)
            self._follow(channel, events)
            yield channel, events

    # Packets

    def wait(self, timeout_s: float = _LONGEST_WAIT_S) -> PacketBatch | None:
        """The next packets; None when there are none, or it is time to look after something."""
        times = [time for time in self._due_ns.values() if time is not None]
        return self.packets.take(timeout_s, min(times) if times else None)

    def handle(self, batch: PacketBatch | None) -> Iterator[tuple[int, list[Event]]]:
        """What `wait` gave: for each channel concerned, what it has to say. Ask to the end."""
        if batch is not None and batch.count:
            if len(self.packets.lines) != self._known_lines:
                self._look_at_lines()
            for piece in self._pieces(batch) if self.exact else (batch,):
                yield from self._receive(piece)
            self.times.take(batch, self._reader.read(batch))  # after the books: nobody waits for it
        yield from self._wake()
        if self._replays is not None:
            yield from self._take_answers(self._replays)
        if self.packets.ended and not self._is_over:
            yield from self._end()

    def _pieces(self, batch: PacketBatch) -> list[PacketBatch]:
        return list(self._slicer.cut(batch, self._reader.read(batch), self._feeds))

    def _receive(self, batch: PacketBatch) -> Iterator[tuple[int, list[Event]]]:
        now_ns = self.now_ns = int(batch.arrival_ns[batch.count - 1])
        for channel in self._channels_of(batch):
            handler = self.handlers[channel]
            events = handler.receive_batch(batch, self._lines, now_ns)
            self._follow(channel, events)
            yield channel, events

    def _channels_of(self, batch: PacketBatch) -> Sequence[int]:
        if len(self._channels) == 1 or batch.count > len(self._channel_of):
            return self._channels
        found = {self._channel_of[source] for source in batch.source[: batch.count].tolist()}
        return [channel for channel in found if channel is not None]

    def _wake(self) -> Iterator[tuple[int, list[Event]]]:
        now_ns = self.now_ns = self.packets.now_ns
        for channel, due_ns in list(self._due_ns.items()):
            if due_ns is not None and due_ns <= now_ns:
                handler = self.handlers[channel]
                events = handler.on_timeout(now_ns)
                self._follow(channel, events)
                yield channel, events

    def _take_answers(self, replays: Replays) -> Iterator[tuple[int, list[Event]]]:
        for channel, events in replays.deliver(self.now_ns):
            self._follow(channel, events)
            yield channel, events

    def _follow(self, channel: int, events: list[Event]) -> None:
        """After a handler was given something: what it asks for, and when it is to be woken."""
        self._due_ns[channel] = self.handlers[channel].next_timeout()
        if events:
            self.packets.follow(events)
            if self._replays is not None:
                self._replays.follow(events, self.now_ns)

    def _end(self) -> Iterator[tuple[int, list[Event]]]:
        self._is_over = True
        for channel, handler in self.handlers.items():
            yield channel, handler.on_end(self.now_ns)

    def _look_at_lines(self) -> None:
        """Captures show their streams as they are read."""
        lines = list(self.packets.lines)
        self._known_lines = len(lines)
        self._lines, self._feeds = LineTable(lines), feeds_of(lines)
        self.times.set_lines(lines)
        self._reader.set_lines(lines)
        self._channels, self._channel_of = self._lines.channels, [line.channel for line in lines]
        for channel in self._channels:
            if channel not in self.handlers:
                self.handlers[channel] = self._handler(channel)

    def _handler(self, channel: int) -> ChannelHandler:
        observer, settings = self._observe(channel), self._settings
        interest = getattr(observer, "interest", None)
        if settings.interest is None and interest is not None:
            settings = replace(settings, interest=interest)
        handler = ChannelHandler(
            channel, self._system, settings, observer=observer, whole_events=self._whole_events,
            quotes=self._quotes,
        )  # fmt: skip
        attach = getattr(observer, "attach", None)
        if attach is not None:
            attach(handler)
        return handler

    # What people ask

    def health(self) -> MarketHealth:
        packets, now_ns = self.packets, self.packets.now_ns
        handlers = [self.handlers[channel] for channel in sorted(self.handlers)]
        channels = tuple(channel_health(each, self.times, now_ns) for each in handlers)
        return MarketHealth(now_ns, packets.ended, packets.findings, channels, packets.reception())
