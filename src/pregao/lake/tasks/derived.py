"""Tables that are computed from others, written by Spark's tasks in our own files."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pregao.lake import analytics
from pregao.lake.analytics import FROM_TRADES, INPUTS
from pregao.lake.reading.sparkframes import frame
from pregao.lake.store.deltalog import LiveFile
from pregao.lake.store.files import MANIFEST, DataFile, write_file
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import CHANNEL, TRADE_DATE

UnitKey = tuple[date, int]
LABEL: Final = "analytics"  # of their files: findings of slices share the table `quality` with ours
_LARGEST: Final = ("trades", "statistics")
_FEW_ROWS: Final = 200_000
_INTERPRETED: Final = {
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"
}  # fmt: skip
_MANIFEST_DDL: Final = (
    "table string, path string, size bigint, rows bigint, partition string, statistics string"
)


def live(file: DataFile) -> LiveFile:
    """A file that is not committed yet, as readers know files."""
    partition = {
        TRADE_DATE: date.fromisoformat(str(file.partition[TRADE_DATE])),
        CHANNEL: int(str(file.partition[CHANNEL])),
    }
    return LiveFile(file.table, file.path, file.size, file.rows, partition, {}, {}, {})


def derive(
    spark: SparkSession, location: Location, files: dict[str, list[LiveFile]], units: list[UnitKey],
    late: list[UnitKey], intervals: Iterable[int], build_id: str, progress: Callable[[int, int], None],
) -> list[DataFile]:  # fmt: skip
    """`late` are units of which only what comes from trades is made again."""
    frames = {name: frame(spark, location, find_table(name), files.get(name, [])) for name in INPUTS}
    wanted = [*units, *late]
    found: list[DataFile] = []
    with _interpreted(spark, sum(file.rows for name in _LARGEST for file in files.get(name, []))):
        made = analytics.run(frames, units=wanted, intervals=tuple(intervals), build_id=build_id)
        for number, (name, rows) in enumerate(made.items()):
            mine = units if name not in FROM_TRADES else wanted
            found += [file for file in _write(rows, location, name) if _key(file) in mine]
            progress(number + 1, len(made))
        made.release()
    return found


@contextmanager
def _interpreted(spark: SparkSession, rows: int) -> Iterator[None]:
    """Spark writes and compiles Java for every query. Of few rows that takes longer than the query."""
    if rows > _FEW_ROWS:
        yield
        return
    before = {name: spark.conf.get(name, None) for name in _INTERPRETED}
    for name, value in _INTERPRETED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def _key(file: DataFile) -> UnitKey:
    known = live(file)
    return known.partition[TRADE_DATE], known.partition[CHANNEL]


def _write(rows: DataFrame, location: Location, name: str) -> list[DataFile]:
    table = find_table(name)
    sorted_rows = rows.repartition(TRADE_DATE, CHANNEL).sortWithinPartitions(
        TRADE_DATE, CHANNEL, *table.order
    )
    manifest = sorted_rows.mapInArrow(_writer(location, name), _MANIFEST_DDL).toArrow()
    return [DataFile.from_row(row) for row in manifest.to_pylist()]


def _writer(location: Location, name: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def write(batches: Iterable[Any]) -> Iterator[Any]:
        table = find_table(name)
        kept: dict[tuple[str, str], list[Any]] = {}
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            for key, part in _by_unit(rows):
                kept.setdefault(key, []).append(part)
        for (day, channel), parts in kept.items():
            whole = pa.concat_tables(parts).select(table.stored_schema.names).cast(table.stored_schema)
            file = write_file(location, table, {TRADE_DATE: day, CHANNEL: channel}, whole, label=LABEL)
            yield pa.RecordBatch.from_pylist([file.to_row()], schema=MANIFEST)

    return write


def _by_unit(rows: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    """Sorted by unit, so each is a run."""
    days, channels = rows.column(TRADE_DATE).to_pylist(), rows.column(CHANNEL).to_pylist()
    start = 0
    for at in range(1, len(days) + 1):
        if at == len(days) or days[at] != days[start] or channels[at] != channels[start]:
            yield (days[start].isoformat(), str(channels[start])), rows.slice(start, at - start)
            start = at
