"""Captures that begin in the middle of the session: what their first snapshots tell is in the tables."""

from pathlib import Path

import pytest

from pregao.lake.lake import Lake
from pregao.lake.tables.quality import Quality
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
