"""How long it took from a packet to its row."""

from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow.parquet as pq

from pregao.lake.errors import named
from pregao.lake.plan.stored import Stored
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.streaming.source import Latency

_COLUMNS: Final = ("ts_recv_a", "ts_recv_b")
_NEVER: Final = (1 << 63) - 1
_FAR_NS: Final = 3600 * 1_000_000_000  # packets of another day: captures that are played again


def latency(
    location: Location, adds: Iterable[DataFile], files: Iterable[Stored], now_ns: int
) -> Latency | None:
    """None: the batch has no packets, or there is nothing to compare them with."""
    heard = [_first_heard(location, file) for file in adds if file.table == "packets"]
    times = np.concatenate([np.zeros(0, np.int64), *heard])
    if not len(times):
        return None
    newest_ns = now_ns - int(times.max())
    if 0 <= newest_ns < _FAR_NS:
        slowest = np.percentile(now_ns - times, 99, method="higher")
        return Latency(newest_ns, int(slowest), of_files=False)
    written = [int(file.version) for file in files if file.version.isdigit()]
    return Latency(now_ns - max(written), now_ns - min(written), of_files=True) if written else None


def _first_heard(location: Location, file: DataFile) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """When the faster feed had each packet."""
    with (
        named(location.full(file.table, file.path)),
        location.filesystem.open_input_file(location.path(file.table, file.path)) as opened,
    ):
        table = pq.ParquetFile(opened).read(columns=list(_COLUMNS))
    a, b = (table[name].fill_null(_NEVER).to_numpy().astype(np.int64) for name in _COLUMNS)
    first = np.minimum(a, b)
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = first[first != _NEVER]
    return found
