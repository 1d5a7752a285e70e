"""The packets of the live benchmark: a simulated day of four channels, with its definition and snapshot
loops, in the order in which the exchange sent them. Made once and kept in build/.

The incremental packets of one feed are taken: the sender sends each on A and on B.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import simulate_in_memory
from pregao.simulator.settings import Settings

SEED = 8
LOOPS = 160  # in the day: whoever joins hears the first ones whole within seconds
_SQUEEZE = 40  # a day of sixteen minutes: nothing here depends on its clock
_MESSAGES_A_PACKET = 1.25  # at the least; the rest of the day is not sent
_KEPT = Path("build/bench-live-day-1.npz")
Array = np.ndarray


@dataclass(frozen=True)
class LiveDay:
    data: Array  # uint8
    offset: Array  # int64
    length: Array  # uint32
    channel: Array  # uint8
    stream: Array  # uint8: 1 incremental, 2 definitions, 3 snapshots

    @property
    def incremental(self) -> Array:
        """Which packets are of incremental streams and numbered."""
        numbers = self.data[self.offset[:, None] + np.arange(4, 8)].view("<u4")[:, 0]
        chosen: Array = (self.stream == Stream.INCREMENTAL) & (numbers > 0)
        return chosen

    @property
    def channels(self) -> list[int]:
        return np.unique(self.channel).tolist()


def live_day(packets: int) -> LiveDay:
    """With at least so many packets of incremental streams."""
    day = _load()
    if day is None or int(day.incremental.sum()) < packets:
        day = _make(int(packets * _MESSAGES_A_PACKET) + 20_000)
        while int(day.incremental.sum()) < packets:
            day = _make(int(packets * _MESSAGES_A_PACKET * 1.4) + 20_000)
        _KEPT.parent.mkdir(exist_ok=True)
        np.savez(_KEPT, **vars(day))
    return day


def _load() -> LiveDay | None:
    if not _KEPT.exists():
        return None
    with np.load(_KEPT) as kept:
        return LiveDay(**{name: kept[name] for name in kept.files})


def _make(messages: int) -> LiveDay:
    settings = Settings(out=Path(), messages=messages, seed=SEED, squeeze=_SQUEEZE, loops=LOOPS, truth=False)
    (day,) = simulate_in_memory(settings)
    packets = [each for each in day.packets if each.feed is Feed.A]
    length = np.array([len(each.payload) for each in packets], np.uint32)
    return LiveDay(
        np.frombuffer(b"".join(each.payload for each in packets), np.uint8),
        np.cumsum(length, dtype=np.int64) - length,
        length,
        np.array([each.channel for each in packets], np.uint8),
        np.array([int(each.stream) for each in packets], np.uint8),
    )
