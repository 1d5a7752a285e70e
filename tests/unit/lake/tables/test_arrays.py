from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pregao.lake.tables.arrays import TooLargeError, decimals, integers, moments, parquet_options, words
from pregao.lake.tables.catalogue import TABLES
from pregao.model.rows import NULL

PRICE = TABLES["orders"].by_name["price"]
SIDE = TABLES["orders"].by_name["side"]


def test_mantissas_are_taken_as_they_are() -> None:
    found = decimals(PRICE, np.array([382550, NULL, -1, 10**18 - 1]))
    assert found.type == PRICE.type.to_write
    found.validate(full=True)
    assert found.to_pylist() == [Decimal("38.2550"), None, Decimal("-0.0001"), Decimal("99999999999999.9999")]
    assert decimals(PRICE, np.array([1, 2])).null_count == 0


@pytest.mark.parametrize("value", [10**18, -(10**18), NULL + 1])
def test_a_mantissa_that_does_not_fit_is_an_error_that_names_its_row(value: int) -> None:
    with pytest.raises(TooLargeError, match=r"row 1: .* too many digits for column price"):
        decimals(PRICE, np.array([0, value]))


def test_words_by_code() -> None:
    assert words(SIDE, np.array([0, 1, -1, 0])).to_pylist() == ["BUY", "SELL", None, "BUY"]


def test_times_and_numbers() -> None:
    at = 1_794_787_275_173_438_811
    assert moments(np.array([at, NULL])).to_pylist() == [datetime(2026, 11, 16, 0, 1, 15, 173438, UTC), None]
    assert integers(np.array([1, NULL, 0])).to_pylist() == [1, None, 0]
    assert integers(np.array([1, 0]), null=0).to_pylist() == [1, None]


def test_slices_and_strides_are_no_trouble() -> None:
    assert integers(np.arange(20)[3:9:2]).to_pylist() == [3, 5, 7]


@pytest.mark.parametrize("name", ["orders", "instruments"])
def test_every_leaf_is_compressed_but_the_times_of_large_tables(name: str) -> None:
    table, sink = TABLES[name], pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.written_schema, **parquet_options(table)) as writer:
        writer.write_table(table.written_schema.empty_table())
    group = pq.ParquetFile(pa.BufferReader(sink.getvalue())).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    bare = {column.path_in_schema for column in columns if column.compression != "ZSTD"}
    times = {"ts_event", "time", "ts_inserted", "ts_send", "ts_recv_a", "ts_recv_b"}
    assert bare == (times if name == "orders" else set())
