"""Record batches are the events of the iterator, row by row and column by column."""

from dataclasses import fields
from datetime import date
from enum import IntEnum, IntFlag
from typing import Any

import pyarrow as pa
import pytest

from pregao import BookStatus, Market, MarketEvent, PriceBand, Quote, Trade
from pregao.market import making
from pregao.market.batches import BATCH_SCHEMA, RowBatches
from pregao.model import events as model
from pregao.simulator.memory import MemoryDay
from tests.unit.books.making import row_of
from tests.unit.market.kit import MemoryPackets, day, market

WANTED = {"orders": True, "statistics": True}
CLEAN = {"seed": 3, "messages": 1_500}
LOSSY = {"seed": 4, "messages": 1_500, "faults": "loss=3%,both=3x5"}
DAYS = ("trade_date", "last_trade_date", "settlement_date")
NOT_IN_EVENTS = ("kind", "message_index", "rpt_seq")


@pytest.fixture(scope="module")
def clean_day() -> MemoryDay:
    return day(**CLEAN)


@pytest.fixture(scope="module")
def table(clean_day: MemoryDay) -> pa.Table:
    return pa.Table.from_batches(market(clean_day, **WANTED).batches(rows=300))


def columns_of(event: MarketEvent) -> dict[str, Any]:
    """An event as a row of the schema says it."""
    found: dict[str, Any] = {}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in ("bid", "offer"):
            for figure in ("price", "size", "orders"):
                found[f"{field.name}_{figure}"] = None if value is None else getattr(value, figure)
        elif field.name in DAYS and value is not None:
            found[field.name] = date.fromordinal(date(1970, 1, 1).toordinal() + value)
        elif isinstance(value, IntEnum) or (isinstance(value, IntFlag) and field.name != "condition"):
            found[field.name] = value.name
        else:
            found[field.name] = value
    return {"kind": type(event).__name__} | found


@pytest.mark.parametrize("settings", [CLEAN, LOSSY], ids=["clean", "lossy"])
def test_every_column_of_every_row_is_that_of_the_event(settings: dict[str, Any]) -> None:
    simulated = day(**settings)
    rows = pa.Table.from_batches(market(simulated, **WANTED).batches(rows=300)).to_pylist()
    kinds = {row["kind"] for row in rows}
    events = [each for each in market(simulated, exact=False, **WANTED) if type(each).__name__ in kinds]
    assert len(kinds) > 15
    assert len(rows) == len(events)
    for row, event in zip(rows, sorted_as(events, rows), strict=True):
        expected = dict.fromkeys(BATCH_SCHEMA.names) | columns_of(event)
        for name in NOT_IN_EVENTS[1:]:
            del row[name], expected[name]
        assert row == expected


def sorted_as(events: list[MarketEvent], rows: list[dict[str, Any]]) -> list[MarketEvent]:
    """Channels take turns in both; within one the order must be the same."""
    by_channel = {row["channel"]: iter([e for e in events if e.channel == row["channel"]]) for row in rows}
    return [next(by_channel[row["channel"]]) for row in rows]


def test_places_are_those_of_the_messages(clean_day: MemoryDay, table: pa.Table) -> None:
    """A trade that was amended is sent again."""
    sent = {(p.update.security_id, p.update.trade_id, p.seq_num, p.msg_index) for p in clean_day.updates
            if isinstance(p.update, model.Trade)}  # fmt: skip
    trades = [row for row in table.to_pylist() if row["kind"] == "Trade"]
    assert len(trades) > 30
    for row in trades:
        place = row["stream_position"] & 0xFFFF_FFFF, row["message_index"]
        assert (row["security_id"], row["trade_id"], *place) in sent
        assert row["rpt_seq"] > 0


def test_batches_are_as_long_as_was_asked_for(clean_day: MemoryDay) -> None:
    seen = Market(MemoryPackets(clean_day.packets, at_once=50), **WANTED)
    lengths = [batch.num_rows for batch in seen.batches(rows=200)]
    assert all(length >= 200 for length in lengths[:-1])
    assert max(lengths) < 600
    assert sum(lengths) == sum(batch.num_rows for batch in market(clean_day, **WANTED).batches())


def test_a_live_market_gives_what_came_in_time(clean_day: MemoryDay) -> None:
    packets = MemoryPackets(clean_day.packets)
    packets.speed = None
    batches = list(Market(packets, **WANTED).batches(wait_s=0.0))
    assert len(batches) > 5
    assert all(batch.num_rows for batch in batches)
    assert all(batch.schema == BATCH_SCHEMA for batch in batches)


def test_events_go_on_where_batches_stopped(clean_day: MemoryDay) -> None:
    seen = market(clean_day)
    first = next(batches := seen.batches(rows=1))
    batches.close()
    rest = [event for event in seen if isinstance(event, Trade | Quote)]
    whole = [event for event in market(clean_day) if isinstance(event, Trade | Quote)]
    told = sum(kind in ("Trade", "Quote") for kind in first.column("kind").to_pylist())
    assert len(rest) + told == len(whole)


def test_only_the_symbols_that_were_chosen(clean_day: MemoryDay, table: pa.Table) -> None:
    chosen = pa.Table.from_batches(market(clean_day, symbols=["PETR4"], **WANTED).batches())
    assert set(chosen.column("symbol").to_pylist()) == {"PETR4", None}
    assert "PhaseChanged" in chosen.column("kind").to_pylist()


def test_what_is_null_is_null_and_what_is_unknown_is_a_number() -> None:
    scene, gathered = making.Scene(84, making.Symbols(), now_ns=7), RowBatches()
    rows = row_of(model.PriceBand(5, None, 9))
    rows["type"], rows["detail"], rows["time_ns"] = 200, 0, -(1 << 63)
    gathered.take(rows, _no_quotes(), [], [], scene)
    (row,) = gathered.record_batch().to_pylist()
    (event,) = [making.MAKERS[int(rows["kind"][0])](scene, rows.tobytes(), 0)]
    assert isinstance(event, PriceBand)
    assert (event.band, event.limit_type, event.low, event.time_ns) == (200, None, None, 7)
    assert (row["band"], row["limit_type"], row["low"], row["time_ns"]) == ("200", None, None, 7)
    assert row["symbol"] == event.symbol == "5"
    assert BookStatus.CLEAN.name not in row.values()


def _no_quotes() -> Any:
    from pregao.books.store import BookStore

    return BookStore().take_quotes()


def test_exponents_say_what_the_integers_count() -> None:
    exponents = {field.name: int(field.metadata[b"exponent"]) for field in BATCH_SCHEMA if field.metadata}
    assert exponents["price"] == exponents["bid_price"] == -4
    assert exponents["price_fine"] == -8
    assert "size" not in exponents


def test_polars_duckdb_and_pandas_read_them(table: pa.Table) -> None:
    import duckdb
    import polars

    trades = table.column("kind").to_pylist().count("Trade")
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    assert frame.filter(polars.col("kind") == "Trade").height == trades
    market_rows = table  # by its name in the query
    counted = duckdb.sql("select count(*) from market_rows where kind = 'Trade'").fetchall()
    assert counted == [(trades,)]
    assert market_rows.to_pandas(types_mapper=_nullable).kind.eq("Trade").sum() == trades


def _nullable(kind: pa.DataType) -> Any:
    import pandas

    return pandas.Int64Dtype() if kind == pa.int64() else None
