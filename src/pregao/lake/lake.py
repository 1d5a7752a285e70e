"""A lake as people use it.

lake = Lake("lake", spark)                    # or without Spark
lake.table("trades", where={"symbol": "PETR4"})          # a Spark DataFrame
lake.to_pandas("bars", where="symbol = 'PETR4' and interval = 60000000000")
lake.at(3).table("trades")                    # all tables as of lake version 3
"""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pregao.extras import name_missing_extra
from pregao.lake.errors import LakeError, NoLakeError
from pregao.lake.reading import arrow, faces
from pregao.lake.reading.conditions import Condition, Where, conditions
from pregao.lake.reading.pruning import prune
from pregao.lake.store.ledger import LakeVersion, Ledger, whole_table
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import TABLES, find_table
from pregao.lake.tables.ledger import COMMITS
from pregao.lake.tables.table import Table

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession


class Lake:
    """One version of a lake: the newest when it was opened, or `as_of`. Another commit does not change
    what it shows; open it again (or `refresh`) for that."""

    def __init__(
        self, path: str | os.PathLike[str] | Location, spark: "SparkSession | None" = None, *,
        as_of: int | None = None,
    ) -> None:  # fmt: skip
        self.location = path if isinstance(path, Location) else Location(path)
        self._spark = spark
        if spark is not None:
            faces.use_utc(spark)
        self._ledger = Ledger(self.location)
        if not self._ledger.exists:
            raise NoLakeError(f"{self.location.uri}: there is no lake here")
        self.version: LakeVersion = self._ledger.version(as_of)
        self._files: dict[tuple[str, int], list[LiveFile]] = {}

    def at(self, number: int) -> "Lake":
        """The same lake as of another version."""
        return Lake(self.location, self._spark, as_of=number)

    def refresh(self) -> "Lake":
        """The same lake as it is now."""
        return Lake(self.location, self._spark)

    def versions(self) -> list[LakeVersion]:
        return self._ledger.versions()

    def files(self, name: str, where: Where = None, *, as_of: int | None = None) -> list[LiveFile]:
        """Files that can hold such rows, by the partitions and figures of the log."""
        table = find_table(name)
        return self._pruned(table, conditions(table, where), as_of)

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
        number = version.delta_version(table.name)
        if number < 0:
            return []
        key = table.name, number
        if key not in self._files:
            self._files[key] = whole_table(self.location, table, version)
        return prune(self._files[key], wanted)

    def _session(self) -> "SparkSession":
        if self._spark is None:
            raise LakeError("this lake was opened without Spark: Lake(path, spark)")
        return self._spark
