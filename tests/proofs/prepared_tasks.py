"""Tasks of a lake that return prepared manifests: as if each had written its files.

What is of real captures is run as it is. Of the others a scan gives the index of one simulated channel, moved
to the channel and date of the capture, and a slice as many files as the proof wants.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any
from uuid import uuid4

import numpy as np

from pregao.lake.computed.unit import ComputedPart, PartDone
from pregao.lake.maintenance.sorting import Part, SmallFiles, SortedFile
from pregao.lake.plan.index import FileIndex, StreamIndex
from pregao.lake.plan.scanning import IndexStore
from pregao.lake.plan.slicing import Slice
from pregao.lake.plan.stored import look
from pregao.lake.shared_parts import unpack
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.run import SliceDone
from tests.proofs.counting_store import PREPARED, PREPARED_BYTES

SLICE_TABLES = (
    "packets", "orders", "trades", "executions", "statistics", "bands", "imbalances", "states", "quotes",
    "depth", "book_checkpoints",
)  # fmt: skip
COMPUTED_TABLES = ("trades_clean", "bars", "daily", "auctions")
DAY_NS = 86_400 * 1_000_000_000
_ROWS = 100
_TIMES = ("first_ns", "last_ns", "sent_ns", "ended_ns")


def prepared_file(table: str, key: UnitKey, label: str, rows: int = _ROWS) -> DataFile:
    day = key.trade_date.isoformat()
    folder = "/".join(f"{name}={value}" for name, value in key.partition.items())
    least: dict[str, Any] = {
        "channel": key.channel,
        "security_id": 100_000_001,
        "symbol": "ABEV3",
        "ts_event": 1,
    }
    greatest = least | {"security_id": 100_060_000, "symbol": "WINZ26", "ts_event": 1 << 60}
    if table == "trades":  # otherwise somebody would look which days they speak of
        least, greatest = least | {"of_date": day}, greatest | {"of_date": day}
    known = find_table(table).by_name
    least, greatest = ({name: each[name] for name in each if name in known} for each in (least, greatest))
    figures = {
        "numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": dict.fromkeys(least, 0)
    }  # fmt: skip
    path = f"{folder}/{label}-{uuid4().hex}{PREPARED}.parquet"
    return DataFile(table, path, PREPARED_BYTES, rows, key.partition, json.dumps(figures))


def moved(index: FileIndex, path: str, channel: int, days: int) -> FileIndex:
    """As if the same had been sent on another channel, so many days later."""
    stored = look(path)
    content = f"{channel}-{days}-{index.content}"
    streams = [_moved(stream, channel, days) for stream in index.streams]
    layout = replace(index.layout, stored=stored)
    return replace(
        index, path=path, size=stored.size, version=stored.version, content=content, layout=layout,
        streams=streams,
    )  # fmt: skip


def _moved(stream: StreamIndex, channel: int, days: int) -> StreamIndex:
    by = days * DAY_NS

    def later(rows: Any) -> Any:
        rows = rows.copy()
        for name in set(_TIMES) & set(rows.dtype.names):
            rows[name] += by
        if "trade_date" in rows.dtype.names:
            rows["trade_date"] += np.where(rows["trade_date"] > 0, days, 0)
        return rows

    return replace(
        stream, channel=channel, version_ns=[each + by for each in stream.version_ns],
        **{name: later(getattr(stream, name)) for name in ("pieces", "runs", "marks", "snapshots", "loops")},
        definitions=[replace(each, sent_ns=each.sent_ns + by) for each in stream.definitions],
        news=[replace(each, sent_ns=each.sent_ns + by) for each in stream.news],
        pauses=[(key, sent_ns + by) for key, sent_ns in stream.pauses],
    )  # fmt: skip


def _uncounted(task: Any) -> Any:
    """Real tasks use the place itself: what they read and write is not the driver's, and engines that read by
    threads of their own cannot wait for files of Python."""
    given = task.keywords
    if "location" in given:
        given = given | {"location": Location(given["location"].uri)}
    return partial(task.func, *task.args, **given)


class PreparedRunner:
    """`index_of` gives the prepared index of a capture, None: it is a real one. `slices`: files of each table
    that a unit has in the end, however many slices the planner cuts it into."""

    def __init__(
        self,
        location: Location,
        index_of: Callable[[str], FileIndex | None],
        channels: Sequence[int],
        slices: int,
    ) -> None:
        self._location, self._index_of, self._slices = location, index_of, slices
        self._channels = set(channels)
        self.scanned: list[str] = []
        self.ran: dict[str, int] = {}  # tasks by name
        self.seconds = 0.0  # of the processor in tasks: what is left is the driver's

    def run(self, task: Any, items: Sequence[Any], progress: Any) -> list[Any]:
        name, task = task.func.__name__, _uncounted(task)
        since = process_time()
        prepared: Callable[[Any, Any], Any] | None = getattr(self, f"_prepared{name}", None) or getattr(
            self, f"_prepared_{name}", None
        )
        self.ran[name] = self.ran.get(name, 0) + len(items)
        done = [task(item) if prepared is None else prepared(task, item) for item in items]
        self.seconds += process_time() - since
        progress(len(items), len(items))
        return done

    def _is_prepared(self, key: UnitKey) -> bool:
        return key.channel in self._channels

    def _prepared_scan_item(self, task: Any, paths: tuple[str, ...]) -> list[Any]:
        self.scanned += paths
        found = []
        for path in paths:
            index = self._index_of(path)
            if index is None:
                found += task((path,))
            else:
                IndexStore(task.keywords["location"], task.keywords["settings"]).save(index)
                found.append(index)
        return found

    def _prepared_try_to_scan(self, task: Any, path: str) -> Any:  # of a stream
        self.scanned.append(path)
        return task(path)

    def _prepared_try_slice(self, task: Any, packed: bytes) -> Any:
        slice_ = unpack(packed, self._location)
        if not self._is_prepared(slice_.key):
            return task(packed)
        return self._slice_done(slice_)

    def _slice_done(self, slice_: Slice) -> SliceDone:
        """The last slice has the files that the others are too few for."""
        count = 1 if not slice_.is_last else max(1, self._slices - slice_.number)
        files = [
            prepared_file(table, slice_.key, f"slice-{slice_.number + extra:04}")
            for extra in range(count)
            for table in SLICE_TABLES
        ]
        return SliceDone(files, counts={file.table: file.rows for file in files})

    def _prepared_run(self, task: Any, item: Any) -> Any:  # of computed tables
        if not isinstance(item, ComputedPart) or not self._is_prepared(item.key):
            return task(item)
        return PartDone([prepared_file(table, item.key, "analytics") for table in COMPUTED_TABLES], [])

    def _prepared_cut_group(self, task: Any, group: SmallFiles) -> list[SortedFile]:
        if not all(PREPARED in file.path for file in group.files):
            found: list[SortedFile] = task(group)
            return found
        return [SortedFile(group, (Part((), group.rows),))]

    def _prepared_write_sorted(self, task: Any, file: SortedFile) -> DataFile:
        first = file.group.files[0]
        if PREPARED not in first.path:
            found: DataFile = task(file)
            return found
        key = UnitKey.of_row(first.partition)
        return prepared_file(file.group.name, key, file.group.label, file.group.rows)


def prepared_captures(templates: Sequence[Path], folder: Path, channel: int, days: int) -> list[Path]:
    """A capture for each of a channel's, with its first packet at the time that the date has: who looks at
    its beginning is told the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for template in templates:
        with template.open("rb") as file:
            head = file.read(24)
            record = bytearray(file.read(16))
            record += file.read(int.from_bytes(record[8:12], "little"))
        seconds = int.from_bytes(record[:4], "little") + days * (DAY_NS // 1_000_000_000)
        record[:4] = seconds.to_bytes(4, "little")
        path = folder / f"{channel:03}{template.name[3:]}"
        path.write_bytes(head + bytes(record))
        made.append(path)
    return made
