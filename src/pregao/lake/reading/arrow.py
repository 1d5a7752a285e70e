"""Files of a lake version through Arrow, without Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pregao.lake.errors import LakeDamagedError, LakeFullError, is_full, named
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import Table
from pregao.model.errors import PregaoError

_CHECKED = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
)


class LoggedFile(Protocol):
    """As the log has it, or whoever has written it."""

    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...


def dataset(
    location: Location, table: Table, files: Sequence[LoggedFile], *, with_seldom: bool = True
) -> Any:
    """Lazy: DuckDB and Polars read from it only what they need. Not `with_seldom`: without columns that most
    files do not have."""
    schema = table.schema if with_seldom else table.usual_schema
    partitions = pa.schema([table.schema.field(name) for name in table.partitions])
    return ds.dataset(
        [location.path(table.name, file.path) for file in files],
        schema=schema,
        format=_CHECKED,
        filesystem=location.filesystem,
        partitioning=ds.partitioning(partitions, flavor="hive"),
        partition_base_dir=location.path(table.name),
    ) if files else ds.dataset(schema.empty_table())  # fmt: skip


def read(
    location: Location,
    table: Table,
    files: Sequence[LoggedFile],
    conditions: Iterable[Condition],
    columns: Sequence[str] | None = None,
) -> Any:
    """A table in memory; LakeDamagedError names the file that cannot be read."""
    try:
        with named(location.full(table.name)):
            return dataset(location, table, files).to_table(
                columns=None if columns is None else list(columns), filter=expression(table, conditions)
            )
    except LakeFullError:
        raise
    except LakeDamagedError as error:
        find_damage(location, table, files)
        raise error


def find_damage(location: Location, table: Table, files: Iterable[LoggedFile]) -> None:
    """Raise for the first file that is not there, or is not what the log says."""
    for file in files:
        name = location.full(table.name, file.path)
        size = location.size(table.name, file.path)
        if size is None:
            raise LakeDamagedError("file is missing", file=name)
        if size != file.size:
            raise LakeDamagedError(f"has {size} bytes, the log says {file.size}", file=name)
        with named(name), location.filesystem.open_input_file(location.path(table.name, file.path)) as source:
            for batch in pq.ParquetFile(source, page_checksum_verification=True).iter_batches():
                del batch


@contextmanager
def naming_damage(location: Location, files: Mapping[str, Iterable[LoggedFile]]) -> Iterator[None]:
    """LakeDamagedError names the file that is the reason of an error: an engine that reads many does not say.
    Any other error stays what it is."""
    try:
        yield
    except PregaoError:
        raise
    except Exception as error:
        if is_full(error):
            raise LakeFullError(location.full()) from error
        for name, each in files.items():
            find_damage(location, find_table(name), each)
        raise


def expression(table: Table, conditions: Iterable[Condition]) -> Any:
    """For a dataset's filter; None when all is wanted."""
    each = [_expression(table, condition) for condition in conditions]
    return reduce(and_, each) if each else None


def _expression(table: Table, condition: Condition) -> Any:
    field = pc.field(condition.column)
    if condition.operator == "is null":
        return field.is_null()
    if condition.operator == "is not null":
        return field.is_valid()
    type_ = table.by_name[condition.column].type.arrow
    if condition.operator == "in":
        return field.isin(pa.array([each for each in condition.value if _fits(each, type_)], type_))
    value = _scalar(condition.value, type_)
    comparisons = {
        "=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
        ">=": pc.greater_equal,
    }  # fmt: skip
    return comparisons[condition.operator](field, value)


def _scalar(value: Any, type_: Any) -> Any:
    """A decimal with more places than the column is compared as it is, never rounded."""
    try:
        return pa.scalar(value, type_)
    except pa.ArrowInvalid:
        return pa.scalar(value)


def _fits(value: Any, type_: Any) -> bool:
    """What does not fit is equal to no value of the column."""
    try:
        pa.scalar(value, type_)
    except pa.ArrowInvalid:
        return False
    return True


# Which files can hold wanted rows, by the log's figures: a file is left out only when it cannot.


def prune(files: Iterable[LiveFile], conditions: Iterable[Condition]) -> list[LiveFile]:
    wanted = list(conditions)
    return [file for file in files if all(may_hold(file, condition) for condition in wanted)]


def may_hold(file: LiveFile, condition: Condition) -> bool:
    name, operator = condition.column, condition.operator
    if name in file.partition:
        return value_fits(file.partition[name], condition)
    nulls = file.nulls.get(name)
    if operator == "is null":
        return nulls is None or nulls > 0
    if nulls is not None and nulls == file.rows:
        return False  # nothing but nulls, and no comparison holds for null
    if operator == "is not null" or name not in file.least or name not in file.greatest:
        return True
    return range_fits(file.least[name], file.greatest[name], condition)


def range_fits(least: Any, greatest: Any, condition: Condition) -> bool:
    value = condition.value
    match condition.operator:
        case "=":
            return bool(least <= value <= greatest)
        case "in":
            return any(least <= each <= greatest for each in value)
        case "<":
            return bool(least < value)
        case "<=":
            return bool(least <= value)
        case ">":
            return bool(greatest > value)
        case ">=":
            return bool(greatest >= value)
        case _:
            return bool(not least == greatest == value)


def value_fits(value: Any, condition: Condition) -> bool:
    """A partition has one value for all its rows."""
    if condition.operator.startswith("is "):
        return (value is None) == (condition.operator == "is null")
    return value is not None and range_fits(value, value, condition)
