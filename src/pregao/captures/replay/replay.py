"""The replay itself: files in, batches out, as fast as possible or at a pace."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol

from pregao.captures.decoded import Finding
from pregao.captures.replay.merging import NEVER, Merge, WaitingFile
from pregao.captures.replay.runs import FileRuns, PacketRun, ReplayFindings, ReplaySource, Sources
from pregao.feeds.registry import DEFAULT
from pregao.io.clock import Metronome
from pregao.model.channel_map import ChannelMap
from pregao.model.errors import ConfigurationError
from pregao.model.packets import PacketBatch, empty_batch

BATCH_PACKETS = 4096
BATCH_BYTES = 4 << 20
_LONGEST_DATAGRAM = 65_535
_GLANCE = 64 * 1024  # decompressed to find a file's first packet
_FIRST_OF_ALL = -(1 << 63)


class ReplayClock(Protocol):
    """Time that a replay goes by: `io.clock.Metronome`, or a test's."""

    def now_ns(self) -> int: ...
    def wait_until(self, due_ns: int) -> None: ...


class Replay:
    """Iterate once. `speed` 0: as fast as possible; otherwise how many times as fast as recorded.

    Every file is opened once at the start, to see that it can be and when it begins: CaptureError. What
    is wrong inside is in `findings`. A batch is valid until the next is asked for.
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        *,
        channels: ChannelMap | None = None,
        speed: float = 0.0,
        pace: ReplayClock | None = None,
        packets: int = BATCH_PACKETS,
        buffer_size: int = BATCH_BYTES,
        system: str = DEFAULT,
    ) -> None:
        if not 0.0 <= speed < float("inf"):
            raise ConfigurationError(f"must be 0 or more, not {speed}", key="speed")
        self.speed = speed
        self._pace = pace or Metronome()
        files = [str(path) for path in paths]
        self._sources, self._findings = Sources(files, channels, system), ReplayFindings()
        self._batch = empty_batch(packets, max(buffer_size, _LONGEST_DATAGRAM))
        self._merge = Merge([self._waiting(order, file) for order, file in enumerate(files)])
        self._origin: tuple[int, int] | None = None  # a recorded time, and when it was played

    @property
    def sources(self) -> list[ReplaySource]:
        """What `source` of a batch counts; more are added as they are met, never changed."""
        return self._sources.all

    @property
    def untold(self) -> list[str]:
        """Packets that are of no stream, for all that can be told: a line for each flow."""
        return self._sources.streams.untold

    @property
    def findings(self) -> list[Finding]:
        """What was wrong so far, the first thousand."""
        return self._findings.kept

    @property
    def finding_count(self) -> int:
        return self._findings.count

    def next_ns(self) -> int | None:
        """The recorded time of the next packet; None at the end."""
        return self._merge.next_key()

    def take(self, before_ns: int = NEVER) -> PacketBatch:
        """Packets recorded before a time, as many as a batch holds; for who has a clock of their own."""
        self._merge.fill(self._batch, before_ns)
        return self._batch

    def __iter__(self) -> Iterator[PacketBatch]:
        with closing(self._merge):
            while (next_ns := self._merge.next_key()) is not None:
                batch = self.take(self._due(next_ns))
                if batch.count:
                    yield batch

    def _due(self, next_ns: int) -> int:
        """Wait for the next packet; the recorded time up to which packets are due then."""
        if not self.speed:
            return NEVER
        if self._origin is None:
            self._origin = next_ns, self._pace.now_ns()
        recorded_ns, played_ns = self._origin
        self._pace.wait_until(played_ns + int((next_ns - recorded_ns) / self.speed))
        passed = int((self._pace.now_ns() - played_ns) * self.speed)
        return max(recorded_ns + passed, next_ns) + 1  # all of that instant

    def _waiting(self, order: int, file: str) -> WaitingFile:
        sources = self._sources.of_file(file)

        def runs() -> Generator[PacketRun, None, None]:
            return FileRuns(file, sources, self._findings).runs()

        # At a glance only: what it finds wrong it will find again.
        with closing(FileRuns(file, sources, ReplayFindings(), packets=1).runs(_GLANCE)) as glance:
            first = next(glance, None)
            start_ns = _FIRST_OF_ALL if first is None else int(first.columns.key[0])
        return WaitingFile(start_ns, order, runs)
