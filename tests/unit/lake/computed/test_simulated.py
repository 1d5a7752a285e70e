"""Analytics against the exchange that made the day: its totals are our recount of its trades."""

from collections import defaultdict
from typing import Any

import pytest

from pregao.feeds.publishing import PublishingSite
from pregao.lake.tables.catalogue import find_table
from pregao.model.market import PRICE_SCALE
from pregao.simulator.memory import MemoryDay
from tests.kits.simulated_rows import simulated_day, tables_of
from tests.unit.lake.computed.conftest import Compute


@pytest.fixture(scope="module")
def day() -> MemoryDay:
    return simulated_day(seed=11, messages=6_000, trading=8.0)


@pytest.fixture(scope="module")
def made(compute_tables: Compute, day: MemoryDay) -> dict[str, Any]:
    return compute_tables(tables_of(day))


def test_every_table_has_its_schema_and_rows(made: dict[str, Any]) -> None:
    for name in ("trades_clean", "bars", "daily", "market_totals", "auctions", "latency"):
        assert list(made[name][0]) == find_table(name).schema.names, name


def test_our_figures_are_the_exchanges(made: dict[str, Any]) -> None:
    days = made["daily"]
    compared = [row for row in days if row["agrees"] is not None]
    assert len(compared) >= 8
    assert [row for row in compared if not row["agrees"]] == []
    assert made["quality"] == []
    for name in ("high", "low", "last", "vwap", "volume", "trades"):
        assert any(row[name] is not None and row[f"b3_{name}"] is not None for row in compared), name


def test_truth_of_the_last_checkpoint(day: MemoryDay, made: dict[str, Any]) -> None:
    """What the exchange itself holds at the end, not what it told."""
    last: dict[int, Any] = {}
    for checkpoint in day.checkpoints:
        if checkpoint.site is PublishingSite.PRIMARY:
            last.update(checkpoint.instruments)
    days = {row["security_id"]: row for row in made["daily"]}
    compared = 0
    for security_id, truth in last.items():
        told = {type(update).__name__: update for update in truth.statistics}
        totals = told.get("ExecutionStatistics")
        if totals is None or security_id not in days or totals.session.name != "REGULAR":
            continue
        ours = days[security_id]
        assert (ours["volume"], ours["trades"]) == (totals.volume, totals.trades)
        assert ours["high"] * PRICE_SCALE == told["HighPrice"].price
        assert ours["last"] * PRICE_SCALE == told["LastTrade"].price
        compared += 1
    assert compared >= 3


def test_auctions_uncross_at_their_last_theoretical_price(made: dict[str, Any]) -> None:
    uncrossed = [row for row in made["auctions"] if row["uncross_price"] is not None]
    assert uncrossed
    kinds = defaultdict(int)
    for row in uncrossed:
        assert (row["uncross_price"], row["uncross_size"]) == (
            row["path"][-1]["price"], row["path"][-1]["size"],
        ), row  # fmt: skip
        kinds[row["kind"]] += 1
    assert kinds["OPENING"]


def test_bars_add_up_to_the_day(made: dict[str, Any]) -> None:
    volumes: dict[tuple[int, int], int] = defaultdict(int)
    for row in made["bars"]:
        volumes[row["interval"], row["security_id"]] += row["volume"]
    for row in made["daily"]:
        if row["trades"]:
            for interval in {interval for interval, _ in volumes}:
                assert volumes[interval, row["security_id"]] == row["volume"]


def test_the_feeds_are_as_far_apart_as_they_were_made(made: dict[str, Any]) -> None:
    for row in made["latency"]:
        if row["feed"] == "B" and row["packets"] > 20:
            assert row["skew"] == pytest.approx(row["behind_other_feed_p50"], abs=20_000)
            assert row["event_to_send_p50"] == pytest.approx(40_000, rel=0.01)
