"""What faults did, packet by packet, in order: `faults.parquet`, or a list in memory.

    date         the day's folder
    kind         loss, both, gap, dup, delay, reorder, cut, silence, gone, site, skew, header, reset,
                 burst
    channel, feed, stream, seq_version, seq_num
                 the packet: number 0 is a heartbeat, known by its time; of a reset the first packet it
                 sent, on the feed that every other feed of its site equals; none of a skew, header or burst
    sending_ns   the packet's sendingTime; of the others when they happened
    amount       nanoseconds of a delay or skew, places of a reorder, orders of a burst, the instrument
                 of a book reset
    detail       which reset, and how its books came back
"""

from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import pyarrow as pa

from pregao.simulator.tables import ROWS, Table


class Deed(NamedTuple):
    date: str
    kind: str
    channel: int
    feed: str
    stream: str
    seq_version: int | None
    seq_num: int | None
    sending_ns: int
    amount: int | None = None
    detail: str | None = None


DEEDS: Final = pa.schema(
    [
        ("date", pa.string()), ("kind", pa.string()), ("channel", pa.int32()), ("feed", pa.string()),
        ("stream", pa.string()), ("seq_version", pa.int32()), ("seq_num", pa.int64()),
        ("sending_ns", pa.int64()), ("amount", pa.int64()), ("detail", pa.string()),
    ]
)  # fmt: skip


class DeedLog(Protocol):
    counts: Counter[str]

    def note(self, deed: Deed) -> None: ...

    def close(self) -> None: ...

    def discard(self) -> None: ...


class DeedList:
    """Kept in memory."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.done: list[Deed] = []

    def note(self, deed: Deed) -> None:
        self.counts[deed.kind] += 1
        self.done.append(deed)

    def close(self) -> None:
        pass

    def discard(self) -> None:
        self.done.clear()


class DeedFile:
    """Written as they are done: a long day loses more packets than fit the memory."""

    def __init__(self, path: Path, spec: str, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        schema = DEEDS.with_metadata({"spec": spec, "seed": str(seed)})
        self._table = Table(path, schema)
        self._rows: list[Deed] = []

    def note(self, deed: Deed) -> None:
        self.counts[deed.kind] += 1
        self._rows.append(deed)
        if len(self._rows) >= ROWS:
            self._write()

    def _write(self) -> None:
        self._table.write(list(zip(*self._rows)) or [[] for _ in DEEDS])  # noqa: B905
        self._rows.clear()

    def close(self) -> None:
        self._write()
        self._table.close()

    def discard(self) -> None:
        self._table.discard()
