"""Stylised facts of simulated days: inside their ranges, the same whatever the number of messages."""

import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pregao.cli import simulate as command
from pregao.cli.main import main
from pregao.simulator import Settings, facts, simulate
from pregao.simulator.day_truth import DayTruth, class_of
from pregao.simulator.facts import Fact, facts_text
from pregao.simulator.settings import days_since_1970

FEW, MANY = 20_000, 60_000


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> dict[int, DayTruth]:
    found = {}
    for messages in (FEW, MANY):
        settings = Settings(tmp_path_factory.mktemp("facts"), seed=3, messages=messages, heartbeat_s=600)
        (folder,) = simulate(settings).folders
        found[messages] = DayTruth(folder / "truth", days_since_1970(settings.date))
    return found


def test_a_day_is_like_a_market(days: dict[int, DayTruth]) -> None:
    found = facts.facts([days[MANY]])
    assert not [fact for fact in found if not fact.holds]
    assert sum(math.isnan(fact.value) for fact in found) <= 1


def test_volatility_does_not_depend_on_messages(days: dict[int, DayTruth]) -> None:
    """Three times as many messages, the same day: ranges of the middles of the same books. That of a single
    book with few orders is off by its spread; all together must not be wider or narrower."""
    few, many = days[FEW], days[MANY]
    edges = np.array(facts.bin_edges(few, 900))
    ratios = []
    for row, trades in many.traded(1):
        if class_of(row) is None or len(trades.price) < 25:
            continue
        one, other = (day.middles(row["security_id"], edges, 0.02) for day in (few, many))
        both = np.isfinite(one) & np.isfinite(other)
        if both.sum() < 20:
            continue
        wide, narrow = (float(np.ptp(each[both]) / each[both][0]) for each in (one, other))
        assert 0.6 < wide / narrow < 1.6, row["symbol"]
        assert 0.007 < narrow < 0.04, row["symbol"]
        ratios.append(wide / narrow)
    assert len(ratios) >= 5
    assert np.mean(np.log(ratios)) == pytest.approx(0, abs=0.15)


def test_rare_operations_do_not_depend_on_messages(days: dict[int, DayTruth]) -> None:
    few, many = (facts.rare_operations(days[messages]) for messages in (FEW, MANY))
    for name in ("busts and amendments", "block book", "midpoint", "RFQ", "TAC", "TAA"):
        assert 0 < many[name] < 15
        assert abs(few[name] - many[name]) <= 3, name


def test_the_middle_of_a_book_is_that_of_the_checkpoints(days: dict[int, DayTruth]) -> None:
    """The last one of the day beside the books that the exchange itself wrote down."""
    day = days[MANY]
    last: dict[tuple[int, int], list[dict[str, int]]] = {}
    for row in pq.read_table(day.folder / "books.parquet").to_pylist():
        orders = zip(row["price"], row["inserted_ns"], strict=True)
        last[row["security_id"], row["side"]] = [{"price": p, "ns": ns} for p, ns in orders if p is not None]
    compared = 0
    for security_id, row in day.instruments.items():
        if row["legs"]:
            continue  # facts are of prices with a logarithm, and that of a strategy may be zero or below
        sides = [last.get((security_id, side), []) for side in (1, 2)]
        if not all(sides) or any(each["ns"] < day.clock.starts_ns for side in sides for each in side):
            continue  # orders of another day are told by no update of this one
        bid, offer = max(each["price"] for each in sides[0]), min(each["price"] for each in sides[1])
        assert bid > 0
        if bid < offer:
            (middle,) = day.middles(security_id, np.array([day.clock.ends_ns]))
            assert middle == (bid + offer) / 2
            compared += 1
    assert compared >= 3


def test_a_fact_outside_is_said_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "FEWEST_MESSAGES", 1_000)
    monkeypatch.setattr("pregao.simulator.coverage.FEWEST_MESSAGES", 1_000)
    arguments = ["simulate", "--out", str(tmp_path), "--messages", "2000", "--heartbeat", "600", "--coverage"]
    code = main([*arguments, "--instruments", "30"])
    out, err = capsys.readouterr()
    assert "cancelled orders: median life" in out
    assert (code == command.FACTS_OUTSIDE) == ("OUTSIDE" in out) == ("not like a market" in err)


def test_facts_as_text() -> None:
    lines = list(facts_text([Fact("one", 2.0, 1, 3), Fact("other", 4.0, 1, 3), Fact("none", math.nan, 1, 3)]))
    assert "OUTSIDE" not in lines[1]
    assert lines[2].endswith("OUTSIDE")
    assert "too few" in lines[3]
