"""Rows as the libraries that people use have them. Whole numbers stay whole, nulls null, times UTC."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pregao.extras import name_missing_extra
from pregao.feeds.registry import DEFAULT, load_system, ranks_rates_plainly
from pregao.model.errors import ConfigurationError
from pregao.model.fixed_income import RATES
from pregao.model.rows import NULL, ROW, Flag, Kind

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


# Orders of tables as the rows that books are made of.


_BY_POSITION, _IN_RATES = int(Flag.BY_POSITION), int(Flag.IN_RATES)
_RATES = [kind.name for kind in RATES]
Array = np.ndarray[Any, np.dtype[Any]]


def order_rows(
    table: Any, security_id: int | Array, kind: Kind, system: str = DEFAULT, *, exact: bool = False
) -> Any:
    """As the kernels take them. Of a stored book those that tell no order are left out. `exact`: prices and
    sizes as integers of eight places, else of four and none (`has_exact`)."""
    rows = np.zeros(table.num_rows, ROW)
    rows["kind"], rows["security_id"] = kind, security_id
    rows["side"] = _side(table["side"])
    for name, column in (("id", "order_id"), ("inserted_ns", "ts_inserted")):
        rows[name] = pc.fill_null(table[column], NULL).to_numpy()
    rows["price"], rows["size"] = prices_and_sizes(table, exact=exact)
    for name in ("firm", "position"):
        rows[name] = pc.fill_null(table[name], 0).to_numpy()
    rows["flags"] = pc.if_else(pc.fill_null(table["implied"], False), int(Flag.IMPLIED), 0).to_numpy()
    rows["stream"] = _streams(table["md_stream"])
    rows["flags"] |= _order_flags(table, rows["position"], system)
    return rows[rows["side"] > 0] if kind is Kind.SNAPSHOT_ORDER else rows


def has_exact(*tables: Any) -> bool:
    """Whether rows of a table are of a system with exact values."""
    names = ("exact_price", "exact_size")
    return any(table[name].null_count < table.num_rows for table in tables for name in names)


def prices_and_sizes(table: Any, *, exact: bool) -> tuple[Array, Array]:
    """Mantissas: of eight places, or of four and none."""
    if exact:
        return mantissas(table["exact_price"]), mantissas(table["exact_size"])
    return mantissas(table["price"]), pc.fill_null(table["size"], NULL).to_numpy()


def _order_flags(table: Any, positions: Array, system: str) -> Array:
    """What orders a side: by the version of the message where the system has several ways, else by whether
    the order has a position. A lake can be read where its system is not installed: then the latter holds."""
    from pregao.feeds.port import OrderingSystem  # with all kernels: who only reads is not to wait for them

    chosen: object = None
    if "wire_version" in table.schema.names:
        with suppress(ConfigurationError):
            chosen = load_system(system)
    by_position: Array = np.where(positions > 0, _BY_POSITION, 0).astype(np.uint8)
    if "price_kind" in table.schema.names and not ranks_rates_plainly(system):
        in_rates = pc.fill_null(pc.is_in(table["price_kind"].cast(pa.string()), pa.array(_RATES)), False)
        by_position |= np.where(in_rates.to_numpy() & (positions > 0), _IN_RATES, 0).astype(np.uint8)
    if not isinstance(chosen, OrderingSystem):
        return by_position
    versions = table["wire_version"]
    flags = chosen.order_flags(pc.fill_null(versions, 0).to_numpy())
    return np.where(versions.is_valid().to_numpy(), flags, by_position) if versions.null_count else flags


def _side(column: Any) -> Array:
    codes = pc.if_else(pc.equal(column, "BUY"), 1, pc.if_else(pc.equal(column, "SELL"), 2, 0))
    found: Array = pc.fill_null(codes, 0).to_numpy()
    return found


def _streams(column: Any) -> Array:
    """MDStreamID; 0 where there is none."""
    if column.null_count == len(column):
        return np.zeros(len(column), np.uint8)
    return np.array([ord(each) if each else 0 for each in column.to_pylist()], np.uint8)


def mantissas(prices: Any) -> Array:
    """Whole numbers of the last place: the low words of decimal128."""
    whole = prices.combine_chunks() if isinstance(prices, pa.ChunkedArray) else prices
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], prices.type)
    words = np.frombuffer(whole.buffers()[1] or b"", np.int64)[::2][whole.offset : whole.offset + len(whole)]
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, NULL, words)
