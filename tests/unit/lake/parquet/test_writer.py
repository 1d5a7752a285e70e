"""Files of our own writer are those of Arrow's: schema, figures and values, for every reader that we have."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.parquet.writer import FlatWriter, can_write
from pregao.lake.store import files
from pregao.lake.store.files import FileWriter
from pregao.lake.store.location import Location
from pregao.lake.tables.arrays import parquet_options
from pregao.lake.tables.messages import TRADES

GROUP = 64
PARTITION = {"system": "binary", "trade_date": "2026-11-16", "source": "84"}
# Columns of one table, of every type and encoding that rows of slices have.
_NUMBERS = {
    "security_id": pa.int64(), "time": pa.timestamp("us", tz="UTC"), "entry": pa.int32(),
    "rpt_seq": pa.int64(), "price": pa.decimal64(18, 4), "size": pa.int64(), "of_date": pa.date32(),
    "condition": pa.int32(), "wire_version": pa.int16(), "ts_send": pa.int64(),
}  # fmt: skip
_BOUNDS = {"entry": 31, "of_date": 19, "condition": 31, "wire_version": 15, "price": 59, "time": 50}
_WORDS = {"symbol": pa.int32(), "aggressor": pa.int8()}
_FLAGS = ("implied", "auction")


def _column(name: str, values: list[int | None]) -> Any:
    """Numbers, as the column has them."""
    if name in _FLAGS:
        return pa.array([None if each is None else bool(each & 1) for each in values], pa.bool_())
    if name in _WORDS:
        codes = pa.array([None if each is None else each % 5 for each in values], _WORDS[name])
        return pa.DictionaryArray.from_arrays(codes, pa.array(["PETR4", "", "ação", "Z", "WINZ26"]))
    bits = _BOUNDS.get(name, 63)
    kept = [None if each is None else (each + (1 << bits)) % (1 << bits + 1) - (1 << bits) for each in values]
    if name != "price":
        whole = pa.int32() if name == "of_date" else pa.int64()
        return pa.array(kept, whole).cast(_NUMBERS[name])
    plain = pa.array([each or 0 for each in kept], pa.int64())
    mask = pa.array([each is not None for each in kept])
    bitmap = mask.buffers()[1] if None in kept else None
    return pa.Array.from_buffers(_NUMBERS[name], len(kept), [bitmap, plain.buffers()[1]])


def _table(columns: dict[str, list[int | None]]) -> Any:
    arrays = {name: _column(name, values) for name, values in columns.items()}
    fields = [pa.field(name, each.type, each.null_count > 0) for name, each in arrays.items()]
    return pa.table(list(arrays.values()), schema=pa.schema(fields))


def _written(table: Any, group: int = GROUP) -> Any:
    sink = pa.BufferOutputStream()
    writer = FlatWriter(sink, table.schema, TRADES, set(parquet_options(TRADES)["write_statistics"]))
    writer.write_table(table, group)
    writer.close()
    return sink.getvalue()


def _by_arrow(table: Any) -> Any:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **parquet_options(TRADES)) as writer:
        writer.write_table(table, row_group_size=GROUP)
    return sink.getvalue()


def _read(data: Any) -> Any:
    return pq.read_table(pa.BufferReader(data), page_checksum_verification=True)


def _figures(data: Any) -> list[Any]:
    """Of each column of each row group: how many rows, least, greatest, nulls."""
    meta = pq.read_metadata(pa.BufferReader(data))
    found = []
    for group in range(meta.num_row_groups):
        for index in range(meta.num_columns):
            column = meta.row_group(group).column(index)
            told = column.statistics
            figures = None if told is None else (told.has_min_max and (told.min, told.max), told.null_count)
            found.append((column.path_in_schema, column.num_values, figures))
    return found


_NAMES = (*_NUMBERS, *_WORDS, *_FLAGS)
_VALUE = st.one_of(st.none(), st.integers(0, 3), st.integers(-(1 << 63), (1 << 63) - 1))
_RUNS = st.lists(st.tuples(_VALUE, st.sampled_from((1, 3, 20, 70))), min_size=1, max_size=8)


@st.composite
def tables(draw: Any) -> Any:
    made = {
        name: [value for value, times in draw(_RUNS) for _ in range(times)]
        for name in draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=5, unique=True))
    }
    rows = min(map(len, made.values()))
    return _table({name: values[:rows] for name, values in made.items()})


@given(tables())
def test_what_arrow_reads_is_what_arrows_own_writer_wrote(table: Any) -> None:
    ours, theirs = _written(table), _by_arrow(table)
    assert _read(ours).equals(_read(theirs))
    assert pq.read_metadata(pa.BufferReader(ours)).schema.equals(
        pq.read_metadata(pa.BufferReader(theirs)).schema
    )
    assert _figures(ours) == _figures(theirs)


@given(tables(), st.integers(1, 9))
def test_rows_that_begin_within_a_byte_of_bits(table: Any, first: int) -> None:
    assert _read(_written(table.slice(first))).equals(_read(_by_arrow(table.slice(first))))


def _large() -> Any:
    draw = np.random.default_rng(5)
    return _table({
        name: [None if gap else int(value) for value, gap in zip(values, gaps, strict=True)]
        for name in _NAMES
        for values, gaps in [(draw.integers(0, 50, 700).cumsum(), draw.random(700) < 0.1)]
    })  # fmt: skip


def test_more_different_values_than_a_dictionary_is_made_of() -> None:
    count = 6_000
    codes, texts = pa.array(np.arange(count, dtype=np.int32)), pa.array([f"S{i}" for i in range(count)])
    symbols = pa.DictionaryArray.from_arrays(codes, texts)
    table = pa.table({"symbol": symbols, "size": pa.array(np.arange(count) * 7 % count)})
    read = _read(_written(table, group=8192))
    assert read["symbol"].to_pylist() == texts.to_pylist()
    assert read["size"].equals(table["size"])


def test_other_readers_read_the_same(tmp_path: Path) -> None:
    table = _large()
    path = tmp_path / "ours.parquet"
    path.write_bytes(_written(table))
    expected = _read(_by_arrow(table)).to_pylist()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.sql(f"SELECT * FROM '{path}'").to_arrow_table()
    assert found.cast(_read(path.read_bytes()).schema).to_pylist() == expected
    assert pl.read_parquet(path).to_arrow().to_pylist() == expected


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_spark_reads_the_same(spark: Any, tmp_path: Path, vectorized: str) -> None:
    table = _large()
    (tmp_path / "ours.parquet").write_bytes(_written(table))
    (tmp_path / "theirs.parquet").write_bytes(_by_arrow(table))
    key = "spark.sql.parquet.enableVectorizedReader"
    before = spark.conf.get(key)
    spark.conf.set(key, vectorized)
    try:
        ours, theirs = (spark.read.parquet(str(tmp_path / f"{name}.parquet")) for name in ("ours", "theirs"))
        assert ours.schema == theirs.schema
        assert ours.collect() == theirs.collect()
        assert ours.count() == table.num_rows
    finally:
        spark.conf.set(key, before)


def test_a_flipped_bit_is_noticed() -> None:
    data = bytearray(_written(_large()))
    data[len(data) // 3] ^= 4
    with pytest.raises((OSError, pa.ArrowInvalid)):
        _read(pa.py_buffer(bytes(data)))


def test_text_and_lists_are_left_to_arrow() -> None:
    assert can_write(_large().schema)
    for type_ in (pa.string(), pa.list_(pa.int64()), pa.decimal128(18, 4), pa.float64()):
        assert not can_write(pa.schema([("any", type_)]))


def test_a_large_file_of_a_lake_is_ours_and_tells_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, location = _large().drop_columns(["auction"]), Location(tmp_path)

    def written() -> Any:
        rows = table.num_rows
        with FileWriter(location, TRADES, PARTITION, schema=table.schema, expected_rows=rows) as writer:
            writer.write(table)
        return writer.file

    small = written()
    monkeypatch.setattr(files, "LARGE_ROWS", table.num_rows)
    large = written()
    assert large.statistics == small.statistics
    assert large.rows == small.rows == 700
    made_by = [
        pq.read_metadata(tmp_path / "trades" / file.path).created_by.split()[0] for file in (small, large)
    ]
    assert made_by == ["parquet-cpp-arrow", "pregao"]
