"""SQL over one lake version: each table is a view. By DuckDB, which answers at once, or by Spark.

with open_query("lake", as_of=3) as query:
    table = query.run("select symbol, count(*) from trades group by symbol")   # a pyarrow.Table
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from pregao.extras import name_missing_extra
from pregao.lake.errors import NoLakeError, QueryError, StoreError, is_passing
from pregao.lake.lake import Lake, Systems
from pregao.lake.reading.arrow import find_damage
from pregao.lake.runners import GROUP, Runner
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import TABLES, find_table
from pregao.lake.task_results import shown_as

if TYPE_CHECKING:
    from pregao.lake.maintenance.compact import Compaction
    from pregao.lake.maintenance.vacuum import Vacuumed

DUCKDB, SPARK = "duckdb", "spark"
ENGINES: Final = (DUCKDB, SPARK)
_HUGE: Final = pa.decimal128(38, 0)
_SHOWN: Final = 200  # letters of a query, on Spark's page
_STACKS: Final = ("JVM stacktrace", "at ", "'", "+-", "LINE ", "Stack Trace")


class LakeQuery(Protocol):
    @property
    def version(self) -> int: ...
    def run(self, sql: str) -> Any: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_query(
    lake: str, *, engine: str = DUCKDB, as_of: int | None = None, system: Systems = None,
    master: str | None = None, archive: str | None = None, conf: Mapping[str, str] | None = None,
) -> LakeQuery:  # fmt: skip
    if engine == SPARK:
        return SparkQuery(lake, as_of=as_of, system=system, master=master, archive=archive, conf=conf)
    return DuckQuery(lake, as_of=as_of, system=system)


class _Opened:
    """Opens the lake before any engine: a wrong path must not cost the start of a Java."""

    def __init__(self, lake: str, *, as_of: int | None = None, system: Systems = None) -> None:
        self._lake = Lake(lake, as_of=as_of, system=system)

    @property
    def version(self) -> int:
        return self._lake.version.number

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def _failed(self, error: Exception, tables: list[str]) -> Exception:
        """Why: a damaged file before all that an engine makes of it."""
        if is_passing(error):
            return StoreError(_reason(error), file=self._lake.location.uri)
        for name in tables:
            find_damage(self._lake.location, TABLES[name], self._lake.files(name))
        return QueryError(_reason(error))


class DuckQuery(_Opened):
    """In this process; only the tables that are named are opened."""

    def run(self, sql: str) -> Any:
        mentioned = tables_in(sql)
        connection = self._lake.to_duckdb(tables=mentioned)
        with name_missing_extra():
            import duckdb
        try:
            found = connection.sql(sql)
            if found is None:
                raise QueryError("that asks for nothing: a query begins with select, from, with or describe")
            return _with_whole_sums(found.to_arrow_table())
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._failed(error, mentioned) from error
        finally:
            connection.close()


class SparkQuery(_Opened):
    def __init__(
        self, lake: str, *, as_of: int | None = None, system: Systems = None, master: str | None = None,
        archive: str | None = None, conf: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(lake, as_of=as_of, system=system)
        self._master, self._archive, self._conf = master, archive, conf
        self._spark: Any = None
        self._is_ours = True

    def run(self, sql: str) -> Any:
        spark = self._session()
        mentioned = tables_in(sql)
        lake = self._lake.on(spark)
        for name in mentioned:
            lake.table(name).createOrReplaceTempView(name)
        try:
            with shown_as(spark.sparkContext, f"pregao: query: {sql}"[:_SHOWN], GROUP):
                return spark.sql(sql).toArrow()
        except Exception as error:  # Spark's errors have no common base
            raise self._failed(error, mentioned) from error

    def _session(self) -> Any:
        if self._spark is None:
            from pregao.lake.spark.session import active_session, local_session

            self._is_ours = active_session() is None
            self._spark = local_session(master=self._master, archive=self._archive, settings=self._conf)
        return self._spark

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spark is not None and self._is_ours:
            from pregao.lake.spark.failures import stop

            stop(self._spark)


def tables_in(sql: str) -> list[str]:
    """Tables whose names occur in the text: more than are meant, perhaps, but never fewer."""
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    return [name for name in TABLES if name in words]


def _with_whole_sums(table: Any) -> Any:
    """DuckDB adds whole numbers up to ones of 128 bits, which Arrow has as decimals: as Spark gives them, in
    64 bits, where they fit."""
    for index, field in enumerate(table.schema):
        if field.type == _HUGE:
            try:
                whole = pc.cast(table.column(index), pa.int64())
            except pa.ArrowInvalid:
                continue
            table = table.set_column(index, pa.field(field.name, pa.int64()), whole)
    return table


def _reason(error: Exception) -> str:
    """The engine's own sentence, without the plan and the stack below it."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    kept: list[str] = []
    for line in lines:
        if not line or line.startswith(_STACKS) or "SQLSTATE" in line:
            kept += [line.split(" SQLSTATE")[0]] if "SQLSTATE" in line else []
            break
        kept.append(line)
    return " ".join(kept) or type(error).__name__


# Compaction and vacuum of a lake by its path.


Progress = Callable[[int, int], None]


def compact_lake(
    path: str, tables: Sequence[str] | None, target_bytes: int, progress: Progress,
    runner: Runner | None = None,
) -> "Compaction":  # fmt: skip
    for name in tables or ():
        find_table(name)
    from pregao.lake.maintenance.compact import compact  # a query is not to wait for it

    return compact(Lake(path), tables=tables, target_bytes=target_bytes, progress=progress, runner=runner)


def vacuum_lake(
    path: str, keep_ns: int, grace_ns: int, dry_run: bool, progress: Progress, runner: Runner | None = None
) -> "Vacuumed":
    location = Location(path)
    if not Ledger(location).exists:
        raise NoLakeError(f"{location.uri}: there is no lake here")
    from pregao.lake.maintenance.vacuum import vacuum

    return vacuum(
        location, keep_ns=keep_ns, grace_ns=grace_ns, dry_run=dry_run, progress=progress, runner=runner
    )
