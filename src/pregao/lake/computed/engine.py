"""DuckDB inside one task: one thread, bounded memory, nothing from anywhere else."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pregao.lake.tables.ledger import CARRIED, PLACE
from pregao.lake.tables.table import Table
from pregao.lake.tables.table import exact as exact_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MEMORY: Final = "1GB"  # what does not fit goes to scratch files
_SHORT_VOLUME: Final = 40_000_000_000_000  # times 100,000 and times 2 it is a number of 64 bits
_SHORT_AMOUNT: Final = 9_000_000_000_000_000_000
# Half away from zero, in whole numbers of any size: floating point has no place in prices.
_MACROS: Final = (
    """CREATE MACRO divided(number, divisor) AS
       sign(number) * (abs(number) // divisor + (2 * (abs(number) % divisor) >= divisor)::HUGEINT)""",
    # Mantissa of eight places of amount (four places) / volume, rounded at fourteen first as Spark does; null
    # where no table could hold it.
    """CREATE MACRO fine_or_null(mantissa) AS
       CASE WHEN abs(mantissa) < 1000000000000000000 THEN mantissa::BIGINT END""",
    # The same in numbers of 64 bits, for dividing larger ones took DuckDB 3 µs a row: whole part, then five
    # and five more places, then rounded twice.
    """CREATE MACRO tens_of_thousands(rest, volume) AS (rest * 100000) // volume""",
    """CREATE MACRO rest_of_them(rest, volume) AS (rest * 100000) % volume""",
    """CREATE MACRO ten_places(rest, volume) AS
       tens_of_thousands(rest, volume) * 100000
       + tens_of_thousands(rest_of_them(rest, volume), volume)
       + (2 * rest_of_them(rest_of_them(rest, volume), volume) >= volume)::BIGINT""",
    """CREATE MACRO short_average(amount, volume) AS
       (amount // volume) * 10000 + (ten_places(amount % volume, volume) + 500000) // 1000000""",
    "CREATE MACRO fine_mantissa(price) AS (price::DECIMAL(28,8) * 100000000::DECIMAL(9,0))::BIGINT",
    """CREATE MACRO fine_text(mantissa) AS
       CASE WHEN mantissa < 0 THEN '-' ELSE '' END || (abs(mantissa) // 100000000)::VARCHAR || '.'
       || lpad((abs(mantissa) % 100000000)::VARCHAR, 8, '0')""",
)
# Prices have four places, sizes are whole numbers, amounts have four places.
_USUAL: Final = (
    f"""CREATE MACRO average(amount, volume) AS CASE
       WHEN volume > 0 AND volume < {_SHORT_VOLUME} AND abs(amount) < {_SHORT_AMOUNT}
           AND abs(amount) < volume::HUGEINT * 1000000000000
       THEN sign(amount) * short_average(abs(amount)::BIGINT, volume::BIGINT)
       WHEN abs(amount) < 10000000000000000000000000000::HUGEINT
       THEN fine_or_null(divided(
           divided(amount * 10000000000::HUGEINT, nullif(volume, 0)::HUGEINT), 1000000::HUGEINT
       )) END""",
    """CREATE MACRO price_mantissa(price) AS
       (price::DECIMAL(18,4)::DECIMAL(24,4) * 10000::DECIMAL(5,0))::BIGINT""",
    "CREATE MACRO as_price(price) AS price::DECIMAL(18,4)",
    "CREATE MACRO as_volume(size) AS size::BIGINT",
    "CREATE MACRO size_text(size) AS size::VARCHAR",
    "CREATE MACRO told_price(price) AS price",
    "CREATE MACRO told_size(size) AS size",
    "CREATE MACRO amount_places() AS 4",
    "CREATE MACRO beside_book(sub_type) AS false",
    "CREATE MACRO vwap_unit() AS 10000",  # B3's VWAP has four places, and no rule of rounding (13.8)
)
# Of a unit with exact values: prices have eight places, sizes are mantissas of eight places, amounts have
# sixteen. `told_` is what columns of four places and of whole numbers hold of them.
_EXACT: Final = (
    """CREATE MACRO average(amount, volume) AS
       fine_or_null(divided(amount::HUGEINT, nullif(volume, 0)::HUGEINT))""",
    "CREATE MACRO price_mantissa(price) AS fine_mantissa(price)",
    "CREATE MACRO as_price(price) AS price::DECIMAL(18,8)",
    "CREATE MACRO as_volume(size) AS fine_or_null(size)",
    "CREATE MACRO size_text(size) AS fine_text(size)",
    """CREATE MACRO told_price(price) AS
       CASE WHEN price::DECIMAL(18,4) = price THEN price::DECIMAL(18,4) END""",
    "CREATE MACRO told_size(size) AS CASE WHEN size % 100000000 = 0 THEN (size // 100000000)::BIGINT END",
    "CREATE MACRO amount_places() AS 16",
    # Of fixed income: in volume and money, in no price and no average.
    "CREATE MACRO beside_book(sub_type) AS coalesce(sub_type IN ('RFQ', 'VOICE'), false)",
    "CREATE MACRO vwap_unit() AS 2",  # one of the last place, whichever way it was rounded
)


@contextmanager
def engine(*, exact: bool = False) -> Iterator["DuckDBPyConnection"]:
    """`exact`: of a unit with exact values."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="pregao-computed-") as scratch:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "threads": 1, "memory_limit": _MEMORY, "temp_directory": scratch,
            "autoinstall_known_extensions": False, "autoload_known_extensions": False,
            "default_null_order": "nulls_first", "preserve_insertion_order": False,
            # DuckDB takes an Arrow dataset for one row, and would join millions of them by nested loops.
            "asof_loop_join_threshold": 0, "nested_loop_join_threshold": 0,
        }  # fmt: skip
        connection = duckdb.connect(config=settings)
        try:
            for macro in (*_MACROS, *(_EXACT if exact else _USUAL)):
                connection.execute(macro)
            yield connection
        finally:
            connection.close()


# Pieces of SQL that several tables share.


LINEAGE: Final = (*PLACE, *CARRIED)
# Nulls come first in every ORDER BY (`engine`): what a snapshot told has no place in a packet.
IN_ORDER: Final = ", ".join(PLACE)
LINEAGE_STRUCT: Final = f"struct_pack({', '.join(f'{name} := {name}' for name in LINEAGE)})"


def columns(names: tuple[str, ...], of: str) -> str:
    return ", ".join(f"{of}.{name}" for name in names)


def place(of: str) -> str:
    """One value that is greater where a row comes later: DuckDB takes null for the greatest, we for the
    least."""
    return f"row({', '.join(f'coalesce({of}.{name}, -1)' for name in PLACE)})"


def sort_key(*names: str) -> str:
    """Bytes that are greater where a row comes later by these columns. For the last of many rows that is much
    cheaper than to number them all, for which a window sorts them."""
    by = ", ".join(f"{name}, 'ASC NULLS FIRST'" for name in names)
    return f"create_sort_key({by})"


def is_one_of(words: tuple[str, ...]) -> str:
    return f"({', '.join(repr(word) for word in words)})"


def exactly(query: str, prices: tuple[str, ...], sizes: tuple[str, ...]) -> str:
    """What a query gives for a unit with exact values, and beside it what other columns hold of that."""
    held = [f"told_price({name}) AS {name}" for name in prices]
    held += [f"told_size({name}) AS {name}" for name in sizes]
    named = ", ".join(f"{name} AS {exact_name(name)}" for name in (*prices, *sizes))
    return f"SELECT * REPLACE ({', '.join(held)}), {named} FROM ({query})"


# What a query gave, as rows of a table of the lake.


_NS_IN_US: Final = 1000
# What `time` says where it is not the time of the event: people ask for bars by their start.
_TIME_OF: Final = {"bars": "ts_start"}


def conform(rows: Any, table: Table, build_id: str) -> Any:
    """Exactly the columns of its files, in their order and of their types; null for what the query lacks, or
    nothing where it is seldom filled. A whole number where the table has a decimal is its mantissa."""
    given = set(rows.column_names)
    arrays, names = [], []
    for column in table.stored:
        if column.seldom and column.name not in given:
            continue
        names.append(column.name)
        type_ = column.type.arrow
        if column.name == "time":
            moments = rows[_TIME_OF.get(table.name, "ts_event")]
            values = pc.divide(moments, _NS_IN_US).cast(pa.int64()).cast(type_)
        elif column.name == "build_id":
            values = pa.repeat(pa.scalar(build_id, type_), rows.num_rows)
        elif column.name in given:
            values = _typed(rows[column.name], type_)
        elif column.name == "quality":
            values = pa.repeat(pa.scalar(0, type_), rows.num_rows)
        else:
            values = pa.nulls(rows.num_rows, type_)
        arrays.append(values)
    return pa.table(arrays, schema=pa.schema([table.stored_schema.field(name) for name in names]))


def _typed(values: Any, type_: Any) -> Any:
    if not pa.types.is_decimal(type_):
        return values.cast(type_)
    whole = pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and values.type.scale == 0)
    if whole and type_.scale:
        mantissas = values.cast(pa.decimal128(38, 0)).combine_chunks()
        return _scaled(mantissas, type_)
    return values.cast(type_)


def _scaled(mantissas: Any, type_: Any) -> Any:
    """The same bytes with another place of the point."""
    wide = pa.decimal128(38, type_.scale)
    plain = mantissas.combine_chunks() if isinstance(mantissas, pa.ChunkedArray) else mantissas
    again = pa.Array.from_buffers(wide, len(plain), plain.buffers(), plain.null_count, plain.offset)
    return again.cast(type_)
