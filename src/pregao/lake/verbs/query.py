"""Spark SQL over one lake version: each table is a view.

with Query("lake", as_of=3) as query:
    table = query.run("select symbol, count(*) from trades group by symbol")   # a pyarrow.Table
"""

import re
from types import TracebackType
from typing import Any, Self

from pregao.lake.errors import QueryError
from pregao.lake.lake import Lake
from pregao.lake.reading.arrow import find_damage
from pregao.lake.spark.session import LOCAL, local_session
from pregao.lake.tables.catalogue import TABLES


class Query:
    """Opens the lake before Spark: a wrong path must not cost the start of a Java."""

    def __init__(
        self, lake: str, *, as_of: int | None = None, master: str = LOCAL, archive: str | None = None
    ) -> None:
        self._lake = Lake(lake, as_of=as_of)
        self._master, self._archive = master, archive
        self._spark: Any = None

    @property
    def version(self) -> int:
        return self._lake.version.number

    def run(self, sql: str) -> Any:
        spark = self._session()
        mentioned = tables_in(sql)
        lake = Lake(self._lake.location, spark, as_of=self.version or None)
        for name in mentioned:
            lake.table(name).createOrReplaceTempView(name)
        try:
            return spark.sql(sql).toArrow()
        except Exception as error:  # Spark's errors have no common base
            for name in mentioned:
                find_damage(self._lake.location, TABLES[name], self._lake.files(name))
            raise QueryError(_reason(error)) from error

    def _session(self) -> Any:
        if self._spark is None:
            self._spark = local_session(master=self._master, archive=self._archive)
        return self._spark

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spark is not None:
            self._spark.stop()


def tables_in(sql: str) -> list[str]:
    """Tables whose names occur in the text: more than are meant, perhaps, but never fewer."""
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    return [name for name in TABLES if name in words]


def _reason(error: Exception) -> str:
    """Spark's own sentence, without the plan and the Java stack below it."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    kept: list[str] = []
    for line in lines:
        if not line or line.startswith(("JVM stacktrace", "at ", "'", "+-")) or "SQLSTATE" in line:
            kept += [line.split(" SQLSTATE")[0]] if "SQLSTATE" in line else []
            break
        kept.append(line)
    return " ".join(kept) or type(error).__name__
