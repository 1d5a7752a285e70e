"""`pregao record`: every packet of the subscribed streams to capture files, until it is told to stop.

    record(load_subscriptions(None), RecordSettings(Path("recordings")), stop, watch)

Sockets stay joined whatever the sender does, so an exchange that restarts is recorded on. docs/recordings.md
describes the files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from threading import Event

from pregao.captures.recorder import NS_PER_SECOND, FileCounts, Recorder, RecordSettings
from pregao.captures.subscriptions import StreamSubscription, open_receivers
from pregao.codecs.pcap.formats import PcapHeader, recognise
from pregao.codecs.pcap.framing import Endpoints, times_of_records
from pregao.io.clock import WallClock
from pregao.io.drain import BATCH_PACKETS
from pregao.io.files import need_writable
from pregao.io.multicast import MulticastReceiver
from pregao.io.packet_reader import PacketReader, ReaderHealth
from pregao.io.recording import Repair, RepairOutcome, repair_folder
from pregao.io.seek_table import FrameTimes
from pregao.model.packets import PacketBatch

__all__ = ["RecordHealth", "RecordSettings", "Repair", "RepairOutcome", "record", "repair_recordings"]

_TICK_NS = NS_PER_SECOND // 10


@dataclass(frozen=True, slots=True)
class RecordHealth:
    """How it goes."""

    seconds: float
    reader: ReaderHealth
    files: FileCounts
    buffer_hint: str | None  # what to do about a receive buffer that is too small


def repair_recordings(settings: RecordSettings) -> list[Repair]:
    """Make whole what an earlier run left in the folder when it was killed; ConfigurationError where
    nothing can be written there, before there is a packet to write."""
    need_writable(settings.out)
    return repair_folder(settings.out, _is_header, _describe)


def _is_header(content: bytes) -> bool:
    header = recognise(content)
    return isinstance(header, PcapHeader) and len(content) == header.header_size and header.ts_unit_ns == 1


def _describe(records: bytes) -> FrameTimes | None:
    times = times_of_records(records)
    return None if times is None else FrameTimes(*times)


def record(
    subscriptions: Sequence[StreamSubscription],
    settings: RecordSettings,
    stop: Event,
    watch: Callable[[RecordHealth], None],
) -> RecordHealth:
    """Until `stop` is set; `watch` is called about ten times a second, and must not take long."""
    clock = WallClock()
    with open_receivers(subscriptions, settings.buffer_bytes) as receivers:
        running = _Recording(subscriptions, receivers, settings, clock)
        try:
            running.run(stop, watch)
        finally:
            running.recorder.close(clock.now_ns())
        return running.health()


class _Recording:
    """The loop between the reader's ring and the recorder."""

    def __init__(
        self,
        subscriptions: Sequence[StreamSubscription],
        receivers: list[MulticastReceiver],
        settings: RecordSettings,
        clock: WallClock,
    ) -> None:
        self._subscriptions, self._receivers, self._clock = subscriptions, receivers, clock
        self._started_ns = self._ticked_ns = clock.now_ns()
        self.reader = PacketReader(receivers, slot=settings.longest)
        self._senders = [counts.raw_sender for counts in self.reader.drain.counts]
        endpoints = [self._endpoints(index) for index in range(len(subscriptions))]
        self.recorder = Recorder([each.id for each in subscriptions], endpoints, settings, BATCH_PACKETS)

    def run(self, stop: Event, watch: Callable[[RecordHealth], None]) -> None:
        with self.reader:
            while not stop.is_set():
                self._take(self.reader.take(_TICK_NS / NS_PER_SECOND))
                if self._tick():
                    watch(self.health())
            for batch in self.reader.remaining():
                self._take(batch)
                self._tick()

    def _take(self, batch: PacketBatch | None) -> None:
        if batch is not None:
            self._look_at_senders()
            self.recorder.take(batch, self._clock.now_ns())

    def _tick(self) -> bool:
        now_ns = self._clock.now_ns()
        due = now_ns - self._ticked_ns >= _TICK_NS
        if due:
            self._ticked_ns = now_ns
            self.recorder.tick(now_ns)
        return due

    def _look_at_senders(self) -> None:
        """The headers of a recording name the sender that was last heard: another one is seldom."""
        for index, counts in enumerate(self.reader.drain.counts):
            if counts.raw_sender != self._senders[index]:
                self._senders[index] = counts.raw_sender
                self.recorder.address(index, self._endpoints(index))

    def _endpoints(self, index: int) -> Endpoints:
        address, port = self.reader.drain.counts[index].sender
        subscription = self._subscriptions[index]
        return Endpoints(
            int(IPv4Address(address)), port, int(IPv4Address(subscription.group)), subscription.port
        )

    def health(self) -> RecordHealth:
        hints = [receiver.buffer.hint for receiver in self._receivers if receiver.buffer.hint]
        seconds = (self._clock.now_ns() - self._started_ns) / NS_PER_SECOND
        return RecordHealth(seconds, self.reader.health(), self.recorder.counts, hints[0] if hints else None)
