"""Rows as the libraries that people use have them. Whole numbers stay whole, nulls null, times UTC."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pregao.extras import name_missing_extra

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    from pyspark.sql import SparkSession

_ZONE: Final = "spark.sql.session.timeZone"


def to_pandas(table: Any, *, floats: bool) -> "pandas.DataFrame":
    """Whole numbers and flags as pandas' nullable types: its plain ones have no null, so that an id beside
    one would become a float, and not the same. The types follow from the columns, never from the rows."""
    with name_missing_extra():
        import pandas

    types = {
        pa.bool_(): pandas.BooleanDtype(), pa.int8(): pandas.Int8Dtype(), pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(), pa.int64(): pandas.Int64Dtype(),
    }  # fmt: skip
    given = _with_floats(table) if floats else table
    frame: pandas.DataFrame = given.to_pandas(types_mapper=types.get, coerce_temporal_nanoseconds=False)
    return frame


def to_polars(table: Any) -> "polars.DataFrame":
    with name_missing_extra():
        import polars

    found = polars.from_arrow(table)
    assert isinstance(found, polars.DataFrame)
    return found


def to_lazy_polars(dataset: Any) -> "polars.LazyFrame":
    """Filters and columns are taken to the files."""
    with name_missing_extra():
        import polars

    return polars.scan_pyarrow_dataset(dataset)


def to_duckdb(
    connection: "duckdb.DuckDBPyConnection | None", views: Mapping[str, Any]
) -> "duckdb.DuckDBPyConnection":
    """A text without a zone is compared with a time in the session's zone, which would be the machine's."""
    with name_missing_extra():
        import duckdb

    opened = duckdb.connect() if connection is None else connection
    opened.execute("SET TimeZone = 'UTC'")
    for name, dataset in views.items():
        opened.register(name, dataset)
    return opened


def use_utc(spark: "SparkSession") -> None:
    """A session has the machine's zone unless somebody said one: then that one is meant."""
    if _ZONE not in spark.conf.getAll:
        spark.conf.set(_ZONE, "UTC")


def _with_floats(table: Any) -> Any:
    fields = [
        pa.field(field.name, pa.float64()) if pa.types.is_decimal(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
