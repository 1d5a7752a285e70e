"""How our Parquet files are written: measured for an order table, see the design's traps."""

from typing import Any, Final

from pregao.lake.tables.table import Table
from pregao.lake.tables.types import Encoding

ROW_GROUP_ROWS: Final = 1 << 20  # a million rows: big enough to encode well, small enough to skip


def parquet_options(table: Table) -> dict[str, Any]:
    """For `pyarrow.parquet.ParquetWriter`. Without the Arrow schema in the file, so that decimals and
    words read as what they are."""
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": table.encoded(Encoding.DICTIONARY),
        "column_encoding": dict.fromkeys(table.encoded(Encoding.DELTA), "DELTA_BINARY_PACKED"),
        "store_decimal_as_integer": True,
        "store_schema": False,
        "version": "2.6",
        "write_statistics": True,
        "coerce_timestamps": "us",
    }
