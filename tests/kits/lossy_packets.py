"""A source of packets that loses some of them, by what they carry: so both feeds lose the same."""

from collections.abc import Callable, Sequence

import numpy as np

from pregao.handler.replays import Asker
from pregao.market.live import LivePackets, Reception
from pregao.model.packets import PacketBatch
from pregao.model.streams import StreamId
from pregao.recovery.events import Event


class LossyPackets:
    """`loses` is asked of every packet. All else is that of the live packets behind it."""

    speed: float | None = None
    ended = False
    findings = 0

    def __init__(self, packets: LivePackets, loses: Callable[[StreamId, bytes], bool]) -> None:
        self._packets, self._loses = packets, loses
        self.lines: Sequence[StreamId] = packets.lines
        self.replayer: Asker | None = packets.replayer
        self.start, self.close = packets.start, packets.close
        self.lost = 0

    @property
    def now_ns(self) -> int:
        return self._packets.now_ns

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None:
        batch = self._packets.take(timeout_s, due_ns)
        if batch is None:
            return None
        sources = batch.source[: batch.count].tolist()
        kept = [
            row for row, source in enumerate(sources)
            if not self._loses(self.lines[source], bytes(batch.payload(row)))
        ]  # fmt: skip
        self.lost += batch.count - len(kept)
        if len(kept) == batch.count:
            return batch
        if not kept:
            return None
        rows = np.array(kept)
        columns = (batch.offset, batch.length, batch.source, batch.arrival_ns)
        return PacketBatch(batch.buffer, len(kept), *(column[rows] for column in columns))

    def follow(self, events: Sequence[Event]) -> None:
        self._packets.follow(events)

    def reception(self) -> Reception:
        return self._packets.reception()
