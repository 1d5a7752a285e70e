"""DuckDB inside one task: one thread, bounded memory, nothing from anywhere else."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

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
    "CREATE MACRO fine_mantissa(price) AS (price::DECIMAL(28,8) * 100000000::DECIMAL(9,0))::BIGINT",
)


@contextmanager
def engine() -> Iterator["DuckDBPyConnection"]:
    import duckdb

    with tempfile.TemporaryDirectory(prefix="pregao-computed-") as scratch:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "threads": 1, "memory_limit": _MEMORY, "temp_directory": scratch,
            "autoinstall_known_extensions": False, "autoload_known_extensions": False,
            "default_null_order": "nulls_first", "preserve_insertion_order": False,
        }  # fmt: skip
        connection = duckdb.connect(config=settings)
        try:
            for macro in _MACROS:
                connection.execute(macro)
            yield connection
        finally:
            connection.close()
