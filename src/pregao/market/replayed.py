"""Packets of captures, as fast as they can be read or at a pace. Time is that of the recording."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pregao.captures.decode import load_channel_map
from pregao.captures.decoded import Finding
from pregao.captures.replay import Replay, ReplayClock
from pregao.captures.streams import stream_of_file_name
from pregao.feeds.registry import DEFAULT
from pregao.io.clock import NS_PER_SECOND, Metronome
from pregao.model.errors import CaptureError, ConfigurationError
from pregao.model.packets import PacketBatch
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.events import Event

BATCH_PACKETS: Final = 4096
_NEVER: Final = (1 << 63) - 1
_DUE_IN_A_PAUSE: Final = 64  # a night is not waited out second by second
_NOT_WANTED: Final = StreamId(None, Stream.UNKNOWN, Feed.UNKNOWN)


class ReplayedPackets:
    """`speed` 0: as fast as possible; otherwise how many times as fast as recorded. `channels`: of these
    only, if there are any; files whose names say that they are of others are not opened."""

    def __init__(
        self,
        paths: Iterable[Path],
        *,
        speed: float = 0.0,
        config: str | None = None,
        channels: Collection[int] = (),
        pace: ReplayClock | None = None,
        packets: int = BATCH_PACKETS,
        system: str = DEFAULT,
    ) -> None:
        self.speed: float | None = speed
        self.replayer = None  # what captures lack nobody has
        self._wanted = frozenset(channels)
        if self._wanted and config is None:
            paths = self._of_wanted(paths)
        self._replay = Replay(
            paths, channels=load_channel_map(config), speed=speed, packets=packets, system=system
        )
        self._pace = pace or Metronome()
        self._played: tuple[int, int] | None = None  # a recorded time, and when it was played
        self._dues = 0  # in a row, since packets came
        self.now_ns = self._replay.next_ns() or 0

    @property
    def lines(self) -> Sequence[StreamId]:
        ids = [source.id for source in self._replay.sources]
        return [one if self._is_wanted(one) else _NOT_WANTED for one in ids] if self._wanted else ids

    @property
    def ended(self) -> bool:
        return self._replay.next_ns() is None

    @property
    def absent(self) -> list[int]:
        """Channels that were wanted, and of which nothing has come."""
        return sorted(self._wanted - {source.id.channel for source in self._replay.sources})

    @property
    def untold(self) -> list[str]:
        """Packets that are left out because their stream cannot be told: a line for each flow."""
        return self._replay.untold

    @property
    def findings(self) -> int:
        return self._replay.finding_count

    @property
    def first_findings(self) -> list[Finding]:
        """The first thousand of them."""
        return self._replay.findings

    def _is_wanted(self, one: StreamId) -> bool:
        return one.channel in self._wanted

    def _of_wanted(self, paths: Iterable[Path]) -> list[Path]:
        kept = [path for path in paths if stream_of_file_name(str(path)).channel in {None, *self._wanted}]
        if not kept:
            raise ConfigurationError(
                f"no captures of channels {sorted(self._wanted)}", file="", key="channel"
            )
        return kept

    def start(self) -> None:
        """They come as they are taken."""

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None:
        next_ns = self._replay.next_ns()
        if next_ns is None:
            return None
        due_ns = self._believable(due_ns, next_ns)
        if self.speed and not self._wait(min(next_ns, due_ns), timeout_s):
            return None
        if due_ns <= next_ns:
            self.now_ns, self._dues = due_ns, self._dues + 1
            return None
        reached_ns = max(self._reached_ns(), next_ns) + 1 if self.speed else _NEVER
        batch = self._replay.take(min(due_ns, reached_ns))
        self._dues = 0
        if batch.count:
            self.now_ns = max(self.now_ns, int(batch.arrival_ns[batch.count - 1]))
        return batch

    def _believable(self, due_ns: int | None, next_ns: int) -> int:
        """Whose time comes before the next packet; not one that has come already, nor one more of very
        many."""
        if due_ns is None or due_ns <= self.now_ns:
            return _NEVER
        if due_ns <= next_ns and self._dues >= _DUE_IN_A_PAUSE:
            return next_ns if next_ns > self.now_ns else _NEVER
        return due_ns

    def _wait(self, recorded_ns: int, timeout_s: float) -> bool:
        """Whether a recorded time has come, after waiting a while for it."""
        assert self.speed
        played_ns = self._pace.now_ns()
        if self._played is None:
            self._played = recorded_ns, played_ns
        origin_ns, started_ns = self._played
        comes_ns = started_ns + int((recorded_ns - origin_ns) / self.speed)
        latest_ns = played_ns + int(timeout_s * NS_PER_SECOND)
        self._pace.wait_until(min(comes_ns, latest_ns))
        if comes_ns > latest_ns:
            self.now_ns = max(self.now_ns, self._reached_ns())
            return False
        return True

    def _reached_ns(self) -> int:
        assert self.speed
        assert self._played is not None
        origin_ns, started_ns = self._played
        return origin_ns + int((self._pace.now_ns() - started_ns) * self.speed)

    def follow(self, events: Sequence[Event]) -> None:
        """Everything that was recorded comes anyway."""

    def reception(self) -> None:
        return None

    def close(self) -> None:
        """Its files close themselves as they end."""


# Captures by name: files, or folders of them.


_ENDINGS: Final = tuple(
    f".{kind}{packed}" for kind in ("pcap", "pcapng", "cap") for packed in ("", ".gz", ".zst")
)


def captures_in(paths: Iterable[str | Path]) -> list[Path]:
    """Files as they are; of a folder all captures in it, at any depth. CaptureError where there is none."""
    found = [each for path in paths for each in _captures(Path(path))]
    if not found:
        raise CaptureError("no captures are named", file="captures")
    return found


def _captures(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    inside = sorted(each for each in path.rglob("*") if each.name.lower().endswith(_ENDINGS))
    if not inside:
        raise CaptureError(f"no captures ({', '.join(_ENDINGS[::3])}) in this folder", file=str(path))
    yield from inside
