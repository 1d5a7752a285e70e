"""From packets to events that wait for whoever reads the market: a batch at a time, step by step."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from pregao.market.channels import Channels
from pregao.market.collector import Collector, MarketEvent, TakeRows, WantedEvents
from pregao.market.session_channels import MarketSource, SessionChannels
from pregao.market.session_replay import ReplayedSessions
from pregao.market.sessions import SessionPackets
from pregao.model.packets import PacketBatch
from pregao.recovery.policy import ChannelSettings


class EventPump:
    """The channels of a market, and the collector of each. `waiting`: events that nobody has taken yet."""

    def __init__(
        self,
        packets: MarketSource,
        wanted: WantedEvents,
        *,
        exact: bool,
        whole_events: bool,
        settings: ChannelSettings | None,
        system: str,
    ) -> None:
        self._packets, self._wanted = packets, wanted
        self._collectors: dict[int, Collector] = {}
        self._is_quiet = False
        self._take_rows: TakeRows | None = None
        self.channels: Channels | SessionChannels
        if isinstance(packets, SessionPackets | ReplayedSessions):
            self.channels = SessionChannels(
                packets, self._observe, exact=exact, quotes=wanted.quotes, settings=settings
            )
        else:
            self.channels = Channels(
                packets, self._observe, exact=exact, quotes=wanted.quotes, whole_events=whole_events,
                settings=settings, system=system,
            )  # fmt: skip
        self.waiting: deque[MarketEvent] = deque()
        self._left: Iterator[None] = iter(())  # of a batch that was not taken to its end
        if packets.speed is None:
            for channel, events in self.channels.start():
                self.waiting += self._collectors[channel].finish(events)

    def begin(self, batch: PacketBatch | None) -> None:
        self._left = self._steps(batch)

    def go_on(self) -> bool:
        """One step of the batch; False when it is done."""
        return next(self._left, self) is not self

    def _steps(self, batch: PacketBatch | None) -> Iterator[None]:
        for channel, events in self.channels.handle(batch):
            self.waiting += self._collectors[channel].finish(events)
            yield None

    def _observe(self, channel: int) -> Collector:
        collector = Collector(self._wanted, lambda: self.channels.now_ns, self._packets.follow)
        self._collectors[channel] = collector
        collector.begin(quiet=self._is_quiet, take_rows=self._take_rows)
        return collector

    @contextmanager
    def handing_on(self, take_rows: TakeRows) -> Iterator[None]:
        """Whole batches of rows to somebody, in the place of events."""
        with self._in_whole_batches():
            self._use(take_rows)
            try:
                yield
            finally:
                self._use(None)

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Whole batches, and no objects made that nobody sees."""
        with self._in_whole_batches():
            self._set_quiet(True)
            try:
                yield
            finally:
                self._set_quiet(False)

    @contextmanager
    def _in_whole_batches(self) -> Iterator[None]:
        exact, self.channels.exact = self.channels.exact, False
        try:
            yield
        finally:
            self.channels.exact = exact

    def _use(self, take_rows: TakeRows | None) -> None:
        self._take_rows = take_rows
        for collector in self._collectors.values():
            collector.take_rows = take_rows

    def _set_quiet(self, quiet: bool) -> None:
        self._is_quiet = quiet
        for collector in self._collectors.values():
            collector.quiet = quiet
