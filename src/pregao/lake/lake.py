"""A lake as people use it.

lake = Lake("lake", spark)                    # or without Spark
lake.table("trades", where={"symbol": "PETR4"})          # a Spark DataFrame
lake.to_pandas("bars", where="symbol = 'PETR4' and interval = '1m'")
lake.at(3).table("trades")                    # all tables as of lake version 3
lake.of("toy").table("trades")                # those of another market data system

Several systems tell of the same market, so their rows are never shown together unless that is asked for: a
volume must not be counted twice.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from pregao.extras import name_missing_extra
from pregao.feeds.registry import DEFAULT
from pregao.lake.errors import LakeError, NoLakeError
from pregao.lake.quant.questions import Questions
from pregao.lake.reading import arrow, faces
from pregao.lake.reading.arrow import prune
from pregao.lake.reading.conditions import Condition, Where, conditions
from pregao.lake.store.deltalog import DeltaLog
from pregao.lake.store.ledger import LakeVersion, Ledger, whole_table
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import TABLES, find_table
from pregao.lake.tables.ledger import COMMITS, UNITS
from pregao.lake.tables.table import SYSTEM, TRADE_DATE, Table

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession

ALL_SYSTEMS: Final = "all"
Systems = str | Iterable[str] | None


class Lake(Questions):
    """One version of a lake: the newest when it was opened, or `as_of`. Another commit does not change
    what it shows; open it again (or `refresh`) for that.

    `system`: one, several or ALL_SYSTEMS; without it the lake's only one, or of several the default
    (Binary UMDF). A condition on the column `system` goes before it."""

    def __init__(
        self, path: str | os.PathLike[str] | Location, spark: "SparkSession | None" = None, *,
        as_of: int | None = None, system: Systems = None,
    ) -> None:  # fmt: skip
        self.location = path if isinstance(path, Location) else Location(path)
        self._spark = spark
        if spark is not None:
            faces.use_utc(spark)
        self._ledger = Ledger(self.location)
        if not self._ledger.exists:
            raise NoLakeError(f"{self.location.uri}: there is no lake here")
        self.version: LakeVersion = self._ledger.version(as_of)
        self._logs: dict[tuple[str, int], DeltaLog] = {}
        self._asked = None if system is None else frozenset([system] if isinstance(system, str) else system)
        if self._asked is not None:
            self._check_asked(self._asked)

    def at(self, number: int) -> "Lake":
        """The same lake as of another version."""
        return Lake(self.location, self._spark, as_of=number, system=self._asked)

    def refresh(self) -> "Lake":
        """The same lake as it is now."""
        return Lake(self.location, self._spark, system=self._asked)

    def of(self, system: Systems) -> "Lake":
        """The same version, with rows of other systems."""
        return Lake(self.location, self._spark, as_of=self.version.number or None, system=system)

    def on(self, spark: "SparkSession") -> "Lake":
        """The same, to be read by Spark."""
        return Lake(self.location, spark, as_of=self.version.number or None, system=self._asked)

    @property
    def opened(self) -> Mapping[tuple[str, int], DeltaLog]:
        """Logs that have been read so far, by table and version."""
        return self._logs

    @property
    def systems(self) -> list[str]:
        """All that the lake has units of."""
        return self._systems(self.version)

    @property
    def shown(self) -> list[str]:
        """Those whose rows are shown."""
        return sorted(self._chosen(self.version))

    def versions(self) -> list[LakeVersion]:
        return self._ledger.versions()

    def files(self, name: str, where: Where = None, *, as_of: int | None = None) -> list[LiveFile]:
        """Files that can hold such rows, by the partitions and figures of the log."""
        table = find_table(name)
        return self._pruned(table, conditions(table, where), as_of)

    def trade_dates(self, tables: Iterable[str]) -> set[date]:
        """Those that tables have files of, whatever system is shown."""
        logs = (self._log(find_table(name), self.version) for name in tables)
        return {day for log in logs if log is not None for day in log.values_of(TRADE_DATE)}

    def greatest(self, name: str, partition: str) -> Any:
        """The greatest value of a partition column; None: the table has no file."""
        log = self._log(find_table(name), self.version)
        return None if log is None else log.greatest(partition)

    def table(
        self, name: str, where: Where = None, *, as_of: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> "DataFrame":  # fmt: skip
        with name_missing_extra():
            from pregao.lake.reading.sparkframes import frame

        table = find_table(name)
        wanted = conditions(table, where)
        files = self._pruned(table, wanted, as_of)
        return frame(self._session(), self.location, table, files, wanted, columns)

    def arrow(
        self, name: str, where: Where = None, *, as_of: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> Any:  # fmt: skip
        """A pyarrow.Table. Without Spark, as are all that follow."""
        table = find_table(name)
        wanted = conditions(table, where)
        return arrow.read(self.location, table, self._pruned(table, wanted, as_of), wanted, columns)

    def to_pandas(
        self, name: str, where: Where = None, *, as_of: int | None = None,
        columns: Sequence[str] | None = None, floats: bool = False,
    ) -> "pandas.DataFrame":  # fmt: skip
        """`floats`: prices as float64, fast but rounded; otherwise as exact Decimals. Whole numbers are of
        pandas' nullable types (Int64)."""
        return faces.to_pandas(self.arrow(name, where, as_of=as_of, columns=columns), floats=floats)

    def to_polars(
        self, name: str, where: Where = None, *, as_of: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> "polars.DataFrame":  # fmt: skip
        return faces.to_polars(self.arrow(name, where, as_of=as_of, columns=columns))

    def scan_polars(self, name: str, where: Where = None, *, as_of: int | None = None) -> "polars.LazyFrame":
        """Nothing is read before `collect`, and then only what is needed. `where` leaves out files by the log
        before that, and rows as everywhere."""
        table = find_table(name)
        wanted = conditions(table, where)
        found = arrow.dataset(self.location, table, self._pruned(table, wanted, as_of))
        keep = arrow.expression(table, wanted)
        return faces.to_lazy_polars(found if keep is None else found.filter(keep))

    def to_duckdb(
        self, connection: "duckdb.DuckDBPyConnection | None" = None, *, as_of: int | None = None,
        tables: Iterable[str] | None = None,
    ) -> "duckdb.DuckDBPyConnection":  # fmt: skip
        """A connection in which every table (or each of `tables`) is a view; DuckDB reads only the
        columns and row groups that it needs. Its time zone is UTC from then on."""
        chosen = [find_table(name) for name in (TABLES if tables is None else tables)]
        views = {
            table.name: arrow.dataset(self.location, table, self._pruned(table, [], as_of))
            for table in chosen
        }
        return faces.to_duckdb(connection, views)

    def _pruned(self, table: Table, wanted: list[Condition], as_of: int | None) -> list[LiveFile]:
        version = self.version if as_of is None else self._ledger.version(as_of)
        if table is COMMITS:  # its own rows: those of this version and of all before it
            return [
                file for file in prune(self._ledger.commits.files, wanted)
                if file.partition["lake_version"] <= version.number
            ]  # fmt: skip
        log = self._log(table, version)
        if log is None:
            return []
        if SYSTEM in table.partitions and not any(each.column == SYSTEM for each in wanted):
            there = log.values_of(SYSTEM)
            if self._asked is not None or not there <= {DEFAULT}:  # else there is nothing to choose
                chosen = self._chosen(version) or there
                wanted = [Condition(SYSTEM, "in", tuple(chosen)), *wanted]
        return prune(log.files_where(wanted), wanted)

    def _log(self, table: Table, version: LakeVersion) -> DeltaLog | None:
        """None: this version has no such table."""
        key = table.name, version.delta_version(table.name)
        if key[1] < 0:
            return None
        if key not in self._logs:
            self._logs[key] = whole_table(self.location, table, version)
        return self._logs[key]

    def _systems(self, version: LakeVersion) -> list[str]:
        log = self._log(UNITS, version)
        return [] if log is None else sorted(log.values_of(SYSTEM))

    def _chosen(self, version: LakeVersion) -> frozenset[str]:
        """Empty in a lake without units."""
        if self._asked is not None and ALL_SYSTEMS not in self._asked:
            return self._asked
        there = frozenset(self._systems(version))
        if self._asked is not None or len(there) < 2:
            return there
        if DEFAULT in there:
            return frozenset([DEFAULT])
        raise LakeError(f"{self.location.uri} has several systems, {', '.join(sorted(there))}: say which")

    def _check_asked(self, asked: frozenset[str]) -> None:
        there = self.systems
        unknown = sorted(asked - {ALL_SYSTEMS, *there})
        if unknown and there:
            raise LakeError(
                f"nothing of system {unknown[0]!r} is in lake version {self.version.number};"
                f" there are {', '.join(there)}"
            )

    def _session(self) -> "SparkSession":
        if self._spark is None:
            raise LakeError("this lake was opened without Spark: Lake(path, spark)")
        return self._spark
