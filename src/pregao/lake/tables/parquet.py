"""How our Parquet files are written: measured for an order table, see the design's traps."""

from typing import Any, Final

from pregao.lake.tables.table import Table
from pregao.lake.tables.types import Encoding

# One instrument of a slice is looked for more often than all of them: a file of a million rows in one group
# must be unpacked whole for it, in eight of these an eighth, for 4 % more time to write.
ROW_GROUP_ROWS: Final = 1 << 17
PART_ROWS: Final = 4 * ROW_GROUP_ROWS  # of a large table at once, for its columns are as large as its rows

_MORE: Final = ("time", "price", "size", "trade_id", "order_id", "ts_sample", "ts_start")


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
        "max_rows_per_page": ROW_GROUP_ROWS,  # not 20,000: each page costs a compressor of its own
        # Of what people look for: figures of columns that nobody skips by cost a sixth of writing.
        "write_statistics": [*table.skip_columns, *(name for name in _MORE if name in table.by_name)],
        "write_page_checksum": True,  # zstd itself does not notice a flipped bit
        "coerce_timestamps": "us",
    }
