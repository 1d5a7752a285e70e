"""The truth's tables: what `docs/truth.md` says of them, and equal to the truth of the same day in memory."""

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pregao.feeds.publishing import PublishingSite
from pregao.model import events as e
from pregao.model.market import PriceOrigin
from pregao.simulator import simulate
from pregao.simulator.line import PublishingLine
from pregao.simulator.memory import BooksCheckpoint, MemoryDay, short_day, simulate_in_memory
from pregao.simulator.tables import table_name

DAY = "2026-11-16"
PREVIOUS = PriceOrigin.PREVIOUS_DAY
OPTIONS: dict[str, Any] = {"messages": 5_000, "contingency": True, "faults": "reset=channel@14:00"}
LISTS = ("order_id", "price", "size", "inserted_ns", "firm", "implied")
FOLDERS = {PublishingSite.PRIMARY: "truth", PublishingSite.CONTINGENCY: "truth-contingency"}
DOCUMENT = Path(__file__).parents[2] / "docs" / "truth.md"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MemoryDay]:
    out = tmp_path_factory.mktemp("truth")
    simulate(short_day(out=out, **OPTIONS))
    (day,) = simulate_in_memory(short_day(**OPTIONS))
    return out / DAY, day


def rows(folder: Path, site: PublishingSite, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / FOLDERS[site] / f"{name}.parquet").to_pylist()
    return found


def at(row: dict[str, Any]) -> tuple[int, ...]:
    return row["channel"], row["seq_version"], row["seq_num"], row["event"]


def place(checkpoint: BooksCheckpoint) -> tuple[int, ...]:
    return checkpoint.channel, checkpoint.seq_version, checkpoint.seq_num, checkpoint.event


@pytest.mark.parametrize("site", PublishingSite)
def test_checkpoints_are_the_same_in_memory(both: tuple[Path, MemoryDay], site: PublishingSite) -> None:
    folder, day = both
    taken = [each for each in day.checkpoints if each.site is site]
    assert [at(row) for row in rows(folder, site, "checkpoints")] == [place(each) for each in taken]
    books = iter(rows(folder, site, "books"))
    figures = iter(rows(folder, site, "statistics"))
    for checkpoint in taken:
        for security_id, truth in checkpoint.instruments.items():
            for number, orders in ((1, truth.bids), (2, truth.offers)):
                row = next(books)
                assert (at(row), row["security_id"], row["side"]) == (place(checkpoint), security_id, number)
                lists = [row[name] for name in LISTS]
                assert list(zip(*lists, strict=True)) == [
                    (one.order_id, one.price, one.size, one.inserted_ns, one.firm, one.implied)
                    for one in orders
                ]
            row = next(figures)
            assert (at(row), row["security_id"]) == (place(checkpoint), security_id)
            check_figures(row, truth.statistics)
            assert (row["state"], row["rpt_seq"]) == (truth.trading_state, truth.rpt_seq)
            assert truth.state is not None
            assert (row["own_state"], row["own_ends_ns"]) == (truth.state.state, truth.state.ends_ns)
    assert next(books, None) is None
    assert next(figures, None) is None


def check_figures(row: dict[str, Any], statistics: Any) -> None:
    told = {type(each): each for each in statistics}
    for kind, column, name in (
        (e.OpeningPrice, "opening", "price"), (e.HighPrice, "high", "price"), (e.LowPrice, "low", "price"),
        (e.LastTrade, "last", "price"), (e.LastTrade, "last_trade_id", "trade_id"),
        (e.ExecutionStatistics, "volume", "volume"), (e.ExecutionStatistics, "vwap", "vwap"),
        (e.TheoreticalPrice, "theoretical", "price"), (e.TheoreticalPrice, "theoretical_size", "size"),
        (e.Imbalance, "imbalance", "side"), (e.Imbalance, "imbalance_size", "size"),
    ):  # fmt: skip
        if kind in told:
            assert row[column] == getattr(told[kind], name), column
        else:
            assert row[column] in (None, 0), column


def test_what_changes_seldom_is_there(both: tuple[Path, MemoryDay]) -> None:
    folder, day = both
    last: dict[int, dict[Any, Any]] = {}
    for row in rows(folder, PublishingSite.PRIMARY, "bands"):
        known = last.setdefault(row["security_id"], {})
        if known.get("at") != at(row):
            known.clear()
            known["at"] = at(row)
        known[row["type"]] = (row["low"], row["high"], row["reference_fine"])
    figures = {row["security_id"]: row for row in rows(folder, PublishingSite.PRIMARY, "figures")}
    newest = {}
    for checkpoint in day.checkpoints:
        if checkpoint.site is PublishingSite.PRIMARY:
            newest |= checkpoint.instruments
    for security_id, truth in newest.items():
        bands = [each for each in truth.statistics if isinstance(each, e.PriceBand)]
        assert len(bands) == len(last.get(security_id, {"at": 0})) - 1
        for band in bands:
            assert last[security_id][band.type] == (band.low, band.high, band.reference_fine)
        told = {(type(each), getattr(each, "origin", None) is PREVIOUS): each for each in truth.statistics}
        for kind, previous, column, name in (
            (e.ClosingPrice, False, "closing_fine", "price_fine"),
            (e.ClosingPrice, True, "previous_closing_fine", "price_fine"),
            (e.SettlementPrice, False, "settlement", "price"),
            (e.SettlementPrice, True, "previous_settlement", "price"),
            (e.OpenInterest, False, "open_interest", "size"),
            (e.QuantityBand, False, "largest_order", "largest_order"),
        ):
            expected = getattr(told[kind, previous], name) if (kind, previous) in told else None
            assert figures[security_id][column] == expected, column


def test_phases_are_there_at_every_change(both: tuple[Path, MemoryDay]) -> None:
    folder, day = both
    told = [each for each in day.updates if isinstance(each.update, e.PhaseChanged)]
    phases = {
        (row["channel"], row["group"], row["phase"]) for row in rows(folder, PublishingSite.PRIMARY, "phases")
    }
    for each in told:
        assert isinstance(each.update, e.PhaseChanged)
        assert (each.channel, each.update.group, each.update.phase) in phases


def test_every_update_is_in_its_table(both: tuple[Path, MemoryDay]) -> None:
    folder, day = both
    by_kind: dict[str, list[tuple[Any, ...]]] = {}
    for each in day.updates:
        if each.site is PublishingSite.PRIMARY:
            where = (each.channel, each.event, each.seq_version, each.seq_num, each.msg_index)
            by_kind.setdefault(table_name(type(each.update)), []).append(where)
    for name, expected in by_kind.items():
        found = rows(folder, PublishingSite.PRIMARY, f"events/{name}")
        columns = ("channel", "event", "seq_version", "seq_num", "msg_index")
        assert [tuple(row[column] for column in columns) for row in found] == expected


def test_tables_and_columns_are_those_of_the_document(both: tuple[Path, MemoryDay]) -> None:
    """No two columns of a table have one name, and each has its word in the document."""
    words = set(re.findall(r"[a-z_]+", DOCUMENT.read_text("utf-8")))
    for path in (both[0] / "truth").rglob("*.parquet"):
        names = pq.read_schema(path).names
        assert len(names) == len(set(names)), path
        assert path.stem in words
        if path.parent.name == "truth" and path.stem != "instruments":
            assert set(names) <= words, path


def test_a_day_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flush, calls = PublishingLine.flush, 0

    def failing(line: PublishingLine) -> None:
        nonlocal calls
        calls += 1
        if calls > 2_000:
            raise MemoryError
        flush(line)

    monkeypatch.setattr(PublishingLine, "flush", failing)
    with pytest.raises(MemoryError):
        simulate(short_day(out=tmp_path, messages=200_000, checkpoint_events=1, faults="loss=20%"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
