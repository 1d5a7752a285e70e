"""Captures that begin in the middle of the session: what their first snapshots tell is in the tables."""

from pathlib import Path

import pytest

from pregao.lake.lake import Lake
from pregao.lake.tables.analytics import Quality
from tests.kits.lakes import build


@pytest.fixture(scope="module")
def lake(midday_captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("midday-lake") / "lake"
    build(midday_captures.values(), path, derive=True)
    return Lake(path)


@pytest.fixture(scope="module")
def quiet(
    channel_captures: dict[str, Path],
    midday_captures: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Lake:
    """Its snapshots tell what held before the first packet that was captured."""
    path = tmp_path_factory.mktemp("quiet") / "lake"
    build([*midday_captures.values(), channel_captures["snapshots"]], path)
    return Lake(path)


@pytest.mark.parametrize("table", ["orders", "quotes"])
def test_rows_of_the_first_snapshots_have_a_time(
    table: str, quiet: Lake, midday_captures: dict[str, Path]
) -> None:
    """A filter from the first packet on must find them."""
    rows = quiet.arrow(table).to_pylist()
    begins = min(row["ts_send"] for row in quiet.arrow("packets").to_pylist())
    before = [row for row in rows if row["ts_send"] is None]
    assert before
    assert {row["quality"] for row in before} == {int(Quality.FROM_SNAPSHOT)}
    assert {row["ts_event"] for row in before} == {begins}
    assert None not in {row["time"] for row in rows}


def test_what_the_first_snapshots_tell_is_in_the_tables(lake: Lake) -> None:
    """Open, high, low, bands and states were told before the capture began: no message tells them again."""
    told = {
        table: [row for row in lake.arrow(table).to_pylist() if row["quality"] & Quality.FROM_SNAPSHOT]
        for table in ("statistics", "bands", "states")
    }
    ids = {row["security_id"] for row in lake.arrow("orders").to_pylist()} - {None}
    for security_id in ids:
        kinds = {row["kind"] for row in told["statistics"] if row["security_id"] == security_id}
        assert {"OPENING", "HIGH", "LOW", "VOLUME", "VWAP", "TRADES", "CLOSING"} <= kinds
        assert [row for row in told["bands"] if row["security_id"] == security_id]
    assert {row["scope"] for row in told["states"]} >= {"GROUP"}
    for rows in told.values():
        keys = {
            (row["security_id"], row["seq_version"], row["seq_num"], row["msg_index"], row["entry"])
            for row in rows
        }
        assert len(keys) == len(rows)
        assert None not in {row["ts_event"] for row in rows}


def test_the_days_figures_of_b3_are_those_of_the_whole_day(
    lake: Lake, channel_captures: dict[str, Path], tmp_path: Path
) -> None:
    build(channel_captures.values(), tmp_path / "lake", derive=True)
    figures = ["security_id", *(f"b3_{name}" for name in ("open", "high", "low", "last", "volume", "trades"))]
    whole = Lake(tmp_path / "lake").arrow("daily", columns=figures).to_pylist()
    assert lake.arrow("daily", columns=figures).to_pylist() == whole


def test_totals_are_compared_from_the_first_snapshot_on(lake: Lake) -> None:
    days = lake.arrow("daily").to_pylist()
    assert {row["agrees"] for row in days} == {True}
    assert all(row["volume"] < row["b3_volume"] for row in days)
    assert {bool(row["quality"] & Quality.INCOMPLETE) for row in days} == {True}
    assert lake.arrow("quality", "finding = 'STATISTIC_DIFFERS'").num_rows == 0
