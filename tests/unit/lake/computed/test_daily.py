"""A day beside B3's own figures, and what is said where they differ."""

from pathlib import Path
from typing import Any

import pytest

from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import MONDAY, TUESDAY, at, rows_as_arrow
from tests.unit.lake.computed.conftest import Compute
from tests.unit.lake.computed.kit import Computed, by_tasks, found

# Two trades in the regular session, one after hours: 100 at 10, 200 at 13; 100 at 9.
TRADES = [
    {"trade_id": 1, "price": 10, "size": 100, "ts_event": at(10)},
    {"trade_id": 2, "price": 13, "size": 200, "ts_event": at(20)},
    {"trade_id": 3, "price": 9, "size": 100, "ts_event": at(90), "session": "NON_REGULAR"},
]


def trades(security_id: int, symbol: str, rows: list[dict[str, Any]] = TRADES) -> list[dict[str, Any]]:
    common = {"security_id": security_id, "symbol": symbol, "action": "TRADE", "of_date": MONDAY}
    return [{**common, **row} for row in rows]


def told(kind: str, seconds: float, **other: Any) -> dict[str, Any]:
    given = {"kind": kind, "action": "NEW", "of_date": MONDAY, "ts_event": at(seconds)}
    return given | {"seq_num": round(seconds)} | other


def totals(seconds: float, volume: int, vwap: float, trades: int, **other: Any) -> list[dict[str, Any]]:
    """One ExecutionStatistics, as three rows."""
    common = {"session": "REGULAR", "msg_index": 1} | other
    return [
        told("VOLUME", seconds, size=volume, entry=0, **common),
        told("VWAP", seconds, price=vwap, entry=1, **common),
        told("TRADES", seconds, size=trades, entry=2, **common),
    ]


def whole_day(volume: int = 300) -> list[dict[str, Any]]:
    return [
        told("CLOSING", 1, price=8, origin="PREVIOUS_DAY", of_date=None),
        told("SETTLEMENT", 2, price=8.5, origin="PREVIOUS_DAY"),
        told("OPENING", 10, price=10, origin="DAILY"), told("HIGH", 10, price=10), told("LOW", 10, price=10),
        *totals(10, 100, 10, 1, net_change=2),
        told("HIGH", 20, price=13), *totals(20, volume, 12, 2, net_change=5),
        told("CLOSING", 50, price=13, origin="DAILY"), told("SETTLEMENT", 51, price=12.5, origin="DAILY"),
        told("OPEN_INTEREST", 52, size=77),
        # The after-market starts over: these are of its one trade, told before its totals.
        told("OPENING", 90, price=9, origin="SESSION"), told("HIGH", 90, price=9), told("LOW", 90, price=9),
        *totals(90, 100, 9, 1, net_change=1, session="NON_REGULAR"),
        # A snapshot repeats what was true before; it is not the last word.
        *totals(91, 100, 10, 1, net_change=2, quality=int(Quality.FROM_SNAPSHOT)),
    ]  # fmt: skip


def of(security_id: int, symbol: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "security_id": security_id, "symbol": symbol} for row in rows]


@pytest.fixture(scope="module")
def made(compute: Compute) -> Any:
    """1 agrees; 2 lost a trade while it was stale; 3 is wrong without excuse; 4 was busted on Tuesday; 5
    has a block before its opening and its only other trade was busted: B3 deleted the prices; 6 has no
    word of B3; 7 no trade of ours."""
    block = {"trade_id": 1, "price": 50, "size": 5, "ts_event": at(5), "sub_type": "RFQ"}
    deleted = [
        told("HIGH", 5, price=60), told("HIGH", 6, price=60, action="DELETE"),
        told("OPENING", 6, price=60, action="DELETE", origin="DAILY"), *totals(6, 5, 50, 1),
    ]  # fmt: skip
    busted = {"action": "BUST", "trade_date": TUESDAY, "ts_event": at(86_410)}
    told_trades = [
        *trades(1, "A"), *trades(2, "B", TRADES[1:]), *trades(3, "C", TRADES), *trades(4, "D", TRADES),
        *trades(5, "E", [block]), *trades(6, "F", TRADES[:1]),
        *trades(4, "D", [{"trade_id": 2, **busted}, {"trade_id": 3, **busted}]),
    ]  # fmt: skip
    statistics = [
        *of(1, "A", whole_day()), *of(2, "B", whole_day()), *of(3, "C", whole_day(301)),
        *of(4, "D", whole_day()), *of(5, "E", deleted), *of(7, "G", totals(5, 10, 1, 1)),
    ]  # fmt: skip
    stale = [{"security_id": 2, "finding": "STALE_SPAN"}]
    return compute(trades=told_trades, statistics=statistics, quality=stale)


def test_ours_and_theirs(made: Any) -> None:
    names = ("open", "high", "low", "last", "vwap", "volume", "trades")
    ours = found(made["daily"], "security_id", *names, "agrees")
    theirs = found(made["daily"], "security_id", *(f"b3_{name}" for name in names))
    assert ours[0] == (1, 10.0, 13.0, 9.0, 9.0, 11.25, 400, 3, True)
    assert theirs[0] == (1, 10.0, 13.0, 9.0, 9.0, 11.25, 400, 3)
    assert ours[4] == (5, None, 50.0, 50.0, 50.0, 50.0, 5, 1, True)
    assert theirs[4] == (5, None, None, None, None, 50.0, 5, 1)
    assert ours[5][-1] is None  # nothing to compare with
    assert ours[6] == (7, None, None, None, None, None, 0, 0, False)
    assert [row[-1] for row in ours] == [True, False, False, False, True, None, False]
    assert list(made["daily"][0]) == find_table("daily").schema.names


def test_the_amount_is_money_in_one_currency(compute: Compute) -> None:
    """1: a contract is worth price × multiplier, and its definition changes. 2: a lot of a thousand.
    3: no definition. 4: dollars, then reais: there is no sum of both."""
    instruments = [
        {"symbol": "A", "valid_from": at(1), "multiplier": 0.2, "currency": "BRL"},
        {"symbol": "A", "valid_from": at(15), "multiplier": 10, "currency": "BRL"},
        {"symbol": "B", "security_id": 2, "valid_from": at(1), "price_divisor": 1000, "currency": "USD"},
        {"symbol": "D", "security_id": 4, "valid_from": at(1), "currency": "USD"},
        {"symbol": "D", "security_id": 4, "valid_from": at(15), "currency": "BRL"},
    ]  # fmt: skip
    told_trades = [*trades(1, "A"), *trades(2, "B"), *trades(3, "C"), *trades(4, "D")]
    days = compute(trades=told_trades, instruments=instruments)["daily"]
    assert found(days, "amount", "currency", "vwap") == [
        (200.0 + 26_000 + 9_000, "BRL", 11.25), (4.5, "USD", 11.25), (4_500.0, None, 11.25),
        (None, None, 11.25),
    ]  # fmt: skip


def test_what_only_b3_says(made: Any) -> None:
    names = ("b3_close", "b3_settlement", "b3_open_interest")
    assert found(made["daily"], *names)[0] == (13.0, 12.5, 77)


def test_differences_are_findings(made: Any) -> None:
    rows = found(
        made["quality"], "security_id", "finding", "severity", "expected", "found", "detail",
        by="security_id,detail",
    )  # fmt: skip
    assert list(made["quality"][0]) == find_table("quality").schema.names
    wrong = "STATISTIC_DIFFERS"
    assert [row for row in rows if row[0] == 3] == [
        (3, wrong, "ERROR", "401", "400", "volume"),
        (3, wrong, "ERROR", "11.25187032", "11.25000000", "vwap"),
    ]
    stale = [row for row in rows if row[0] == 2]
    assert ("open: messages are missing", "10.0000", "13.0000") in [(r[5], r[3], r[4]) for r in stale]
    assert {row[2] for row in stale} == {"WARNING"}
    late = [row for row in rows if row[0] == 4]
    assert {row[2] for row in late} == {"INFO"}
    assert "later date" in late[0][5]
    assert {row[0] for row in rows} == {2, 3, 4, 7}


def test_a_stale_instrument_is_marked(made: Any) -> None:
    quality = found(made["daily"], "security_id", "quality")
    assert [number for number, bits in quality if bits & Quality.INCOMPLETE] == [2]


# Systems with streams: totals say no session, and trades not what may open. Only the tasks know these.


def _by_tasks(folder: Path, statistics: list[dict[str, Any]], first: int = 0) -> Computed:
    rows = {"trades": trades(1, "A", TRADES[first:2]), "statistics": of(1, "A", statistics)}
    return by_tasks(folder, {name: rows_as_arrow(name, each) for name, each in rows.items()})


def _streamed(seconds: float, volume: int, trades: int, **other: Any) -> list[dict[str, Any]]:
    common = {"md_stream": "E", "msg_index": 1} | other
    return [
        told("VOLUME", seconds, size=volume, entry=0, **common),
        told("TRADES", seconds, size=trades, entry=1, **common),
    ]


_SNAPSHOT = int(Quality.FROM_SNAPSHOT)


@pytest.mark.parametrize(
    ("statistics", "first", "is_right"),
    [
        # The totals of the day before stand until the session changes (11.3 of FIX/FAST).
        ([*_streamed(1, 50, 7, quality=_SNAPSHOT), *_streamed(5, 0, 0), *_streamed(30, 300, 2)], 0, True),
        ([*_streamed(1, 50, 7, quality=_SNAPSHOT), *_streamed(5, 0, 0), *_streamed(30, 301, 2)], 0, False),
        # Captures begin between the two trades.
        ([*_streamed(15, 100, 1, quality=_SNAPSHOT), *_streamed(30, 300, 2)], 1, True),
        ([*_streamed(15, 100, 1, quality=_SNAPSHOT), *_streamed(30, 300, 3)], 1, False),
        # And the after-market has none: it begins at 0 and says nothing of the day's beginning.
        (
            [
                *_streamed(15, 100, 1, quality=_SNAPSHOT), *_streamed(30, 300, 2),
                *_streamed(60, 0, 0, session="NON_REGULAR"),
            ],
            1, True,
        ),
    ],
)  # fmt: skip
def test_a_day_begins_where_totals_are_0(
    tmp_path: Path, statistics: list[dict[str, Any]], first: int, is_right: bool
) -> None:
    made = _by_tasks(tmp_path, statistics, first)
    assert [row["agrees"] for row in made["daily"]] == [is_right]
    assert bool(made["quality"]) is not is_right


@pytest.mark.parametrize(("price", "is_right"), [(10, True), (13, True), (12, False)])
def test_an_opening_price_is_that_of_some_trade(tmp_path: Path, price: int, is_right: bool) -> None:
    """The first may have been a block: this system does not say."""
    opening = told("OPENING", 20, price=price, origin="DAILY", md_stream="E")
    made = _by_tasks(tmp_path, [opening, *_streamed(30, 300, 2)])
    assert [row["agrees"] for row in made["daily"]] == [is_right]
    assert [row["detail"] for row in made["quality"]] == ([] if is_right else ["open"])
