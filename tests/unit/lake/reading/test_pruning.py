"""Files that cannot hold wanted rows are not read; files that might are."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.lake import Lake
from pregao.lake.reading.arrow import may_hold
from pregao.lake.reading.conditions import OPERATORS, Condition
from pregao.lake.store.livefile import LiveFile
from tests.unit.lake.kit import TUESDAY, Kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    """Files of orders: instruments 1 to 3 on Monday at 10 to 30, instrument 1 on Tuesday."""
    kit = Kit(tmp_path)
    monday = [
        kit.file(
            "orders", security=n, ts_event=[n * 10, n * 10 + 1, n * 10 + 9], symbol=f"S{n}", firm=[n, None, 9]
        )
        for n in (1, 2, 3)
    ]
    kit.commit(*monday, kit.file("orders", security=1, partition=TUESDAY, symbol="S1"))
    return kit


@pytest.mark.parametrize(
    ("where", "files", "rows"),
    [
        (None, 4, 12),
        ({"security_id": 2}, 1, 3),
        ({"security_id": [1, 3]}, 3, 9),
        ({"security_id": 1, "trade_date": "2026-11-17"}, 1, 3),
        ({"channel": 85}, 0, 0),
        ({"ts_event": (25, 31)}, 2, 3),
        ("ts_event > 39", 0, 0),
        ("ts_event >= 39", 1, 1),
        ("ts_event < 11", 1, 1),
        ("ts_event is null", 1, 3),
        ("ts_event is not null and ts_event != 10", 3, 8),
        ("symbol = 'S2'", 1, 3),
        ("symbol >= 'S3'", 1, 3),
        ("trade_date > '2026-11-16'", 1, 3),
        ("trade_date in ('2026-11-16')", 3, 9),
        ("trade_date is null", 0, 0),
        ({"firm": 9}, 4, 3),  # no figures of this column: every file is read
        ({"price": "1.5"}, 4, 0),
    ],
)
def test_which_files_are_read(kit: Kit, where: Any, files: int, rows: int) -> None:
    lake = kit.lake()
    assert len(lake.files("orders", where)) == files
    assert lake.arrow("orders", where).num_rows == rows


def test_spark_reads_the_same_files_and_rows(kit: Kit, spark: Any) -> None:
    lake = Lake(kit.location, spark)
    found = lake.table("orders", "security_id = 2 and ts_event >= 21", columns=["ts_event", "trade_date"])
    wanted = [lake.location.full("orders", file.path) for file in lake.files("orders", {"security_id": 2})]
    assert [path.removeprefix("file://") for path in found.inputFiles()] == wanted
    assert sorted(row.ts_event for row in found.collect()) == [21, 29]
    for where in (
        {"firm": None},
        {"firm": [9]},
        "symbol != 'S1' and firm is not null",
        {"trade_date": "2026-11-17"},
    ):
        assert lake.table("orders", where).count() == lake.arrow("orders", where).num_rows
    assert lake.table("quotes").count() == 0
    assert lake.table("orders", {"channel": 1}).count() == 0


def test_spark_reads_through_our_file_systems_where_it_has_no_connector(
    kit: Kit, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pregao.lake.reading import sparkframes

    lake = Lake(kit.location, spark)
    monkeypatch.setattr(lake.location, "is_local", False)
    monkeypatch.setattr(sparkframes, "spark_knows", lambda spark, uri: False)
    found = lake.table("orders", {"security_id": [1, 2]})
    assert found.count() == 9
    assert {row.symbol for row in found.select("symbol").collect()} == {"S1", "S2"}
    monkeypatch.undo()
    assert not sparkframes.spark_knows(spark, "nothing://bucket/lake")
    assert sparkframes.spark_knows(spark, "file:///tmp")


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=5),
    st.sampled_from(OPERATORS),
    st.integers(-4, 4),
    st.booleans(),
)
def test_a_file_with_a_wanted_row_is_never_left_out(
    values: list[int | None], operator: str, value: int, with_figures: bool
) -> None:
    filled = [each for each in values if each is not None]
    least = {"x": min(filled)} if filled and with_figures else {}
    greatest = {"x": max(filled)} if filled and with_figures else {}
    nulls = {"x": len(values) - len(filled)} if with_figures else {}
    file = LiveFile("t", "p", 1, len(values), {}, least, greatest, nulls)
    condition = Condition("x", operator, (value, value + 1) if operator == "in" else value)
    assert may_hold(file, condition) or not any(_holds(each, condition) for each in values)


def _holds(each: int | None, condition: Condition) -> bool:
    if each is None or condition.operator.startswith("is "):
        return (each is None) == (condition.operator == "is null") and condition.operator.startswith("is ")
    answers: dict[str, Any] = {
        "=": lambda: each == condition.value, "!=": lambda: each != condition.value,
        "<": lambda: each < condition.value, "<=": lambda: each <= condition.value,
        ">": lambda: each > condition.value, ">=": lambda: each >= condition.value,
        "in": lambda: each in condition.value,
    }  # fmt: skip
    return bool(answers[condition.operator]())


def test_decimals_with_more_places_than_the_column_are_not_rounded(tmp_path: Path) -> None:
    from decimal import Decimal

    kit = Kit(tmp_path)
    kit.commit(kit.file("orders", price=[Decimal("1.0000"), Decimal("1.0001"), None]))
    assert kit.lake().arrow("orders", "price > 1.00005").num_rows == 1
    assert kit.lake().arrow("orders", {"price": [Decimal("1.00005"), Decimal("1")]}).num_rows == 1


def test_the_rows_of_a_file_and_its_figures_agree(kit: Kit) -> None:
    for file in kit.lake().files("orders"):
        assert file.rows == 3
        assert file.least["security_id"] == file.greatest["security_id"]
        assert file.nulls["security_id"] == 0
