"""Clean trades, bars and totals: small days, the answers worked out by hand."""

from typing import Any

import pytest

from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import MONDAY, SECOND, START, TUESDAY, at
from tests.unit.lake.computed.conftest import Compute
from tests.unit.lake.computed.kit import BUILD, INTERVALS, found

SECOND_NS, MINUTE_NS, DAY_NS = INTERVALS
REGULAR, OUT_OF_SEQUENCE, LEG_BIT = 1 << 13, 1 << 3, 1 << 5


def trade(trade_id: int, price: float, size: int, seconds: float, **other: Any) -> dict[str, Any]:
    given = {
        "action": "TRADE", "trade_id": trade_id, "price": price, "size": size, "of_date": MONDAY,
        "session": "REGULAR", "condition": REGULAR, "ts_event": at(seconds),
    }  # fmt: skip
    return given | other


def bust(trade_id: int, seconds: float, **other: Any) -> dict[str, Any]:
    return trade(trade_id, 1, 1, seconds, action="BUST", condition=None) | other


@pytest.fixture(scope="module")
def clean(compute: Compute) -> Any:
    """Instrument 1: 10 busted the same day, 20 amended at once, 30 busted on Tuesday, 40 amended on
    Tuesday, 50 told again as it was, 60 busted and told again days later, as it was."""
    rows = [
        trade(10, 30, 100, 1), trade(20, 31, 200, 2), bust(10, 3),
        bust(20, 4), trade(20, 31.5, 200, 4),
        trade(30, 32, 300, 5), trade(40, 33, 400, 6), trade(50, 34, 500, 7),
        trade(50, 34, 500, 7, recovery=True, ts_send=at(8)),
        trade(60, 35, 600, 9),
        trade(10, 7, 1, 1, security_id=2, symbol="VALE3"),  # the same number, another instrument
        trade(10, 8, 1, 86_401, of_date=TUESDAY, trade_date=TUESDAY),  # the same number, another date
        bust(30, 86_402, trade_date=TUESDAY),
        bust(40, 86_403, trade_date=TUESDAY), trade(40, 33, 440, 86_403, trade_date=TUESDAY),
        trade(40, 33, 444, 86_404, trade_date=TUESDAY),
        bust(60, 86_405, trade_date=TUESDAY), trade(60, 35, 600, 86_405, trade_date=TUESDAY),
        bust(99, 86_406, trade_date=TUESDAY),  # of a trade nobody saw
    ]  # fmt: skip
    return compute(trades=rows)["trades_clean"]


def test_the_last_word_of_a_trade_counts(clean: Any) -> None:
    rows = found(
        clean, "trade_date", "security_id", "trade_id", "price", "size", "amendments",
        by="trade_date,security_id,trade_id",
    )  # fmt: skip
    assert rows == [
        (MONDAY, 1, 20, 31.5, 200, 1),
        (MONDAY, 1, 40, 33.0, 444, 2),
        (MONDAY, 1, 50, 34.0, 500, 0),
        (MONDAY, 1, 60, 35.0, 600, 0),
        (MONDAY, 2, 10, 7.0, 1, 0),
        (TUESDAY, 1, 10, 8.0, 1, 0),
    ]


def test_an_amended_trade_stays_where_it_was(clean: Any) -> None:
    (amended,) = [row for row in clean if row["trade_id"] == 40]
    assert (amended["ts_event"], amended["seq_num"]) == (at(6), 7)
    assert amended["ts_amended"] == at(86_404)
    assert amended["build_id"] == BUILD
    assert amended["time"].timestamp() * SECOND == at(6)


def test_columns_are_those_of_the_table(clean: Any) -> None:
    assert list(clean[0]) == find_table("trades_clean").schema.names


def test_a_bars_time_is_its_start(compute: Compute) -> None:
    """Whoever reads bars between two times means those that begin there. `ts_event` stays the last trade's:
    before it, the bar was not known."""
    rows = compute(trades=[trade(1, 10, 1, 61.5), trade(2, 11, 1, 65.25)])["bars"]
    minutes = [row for row in rows if row["interval"] == MINUTE_NS]
    assert [(row["time"].timestamp(), row["ts_event"]) for row in minutes] == [(at(60) / SECOND, at(65.25))]
    assert {row["time"].timestamp() * SECOND - row["ts_start"] for row in rows} == {0}


def test_who_sets_the_price(compute: Compute) -> None:
    rows = [
        trade(1, 10, 1, 1), trade(2, 10, 1, 2, condition=REGULAR | OUT_OF_SEQUENCE),
        trade(3, 10, 1, 3, condition=0, sub_type="LEG"), trade(4, 10, 1, 4, condition=LEG_BIT),
        trade(5, 10, 1, 5, condition=1 << 14, sub_type="RFQ"), trade(6, 10, 1, 6, condition=None),
    ]  # fmt: skip
    clean = compute(trades=rows)["trades_clean"]
    assert found(clean, "trade_id", "sets_price", "in_volume", by="trade_id") == [
        (1, True, True), (2, False, True), (3, False, True), (4, False, True), (5, True, True),
        (6, True, True),
    ]  # fmt: skip


def test_bars(compute: Compute) -> None:
    """In the minute 60–120: a leg at 99 and one out of sequence at 1 count in volume only, the order is
    that of the stream and not of the times, 12 came last."""
    rows = [
        trade(1, 10, 100, 61), trade(2, 14, 100, 61.5), trade(3, 99, 50, 62, sub_type="LEG", condition=0),
        trade(4, 1, 50, 63, condition=REGULAR | OUT_OF_SEQUENCE),
        trade(5, 9, 100, 70, ts_send=at(71)), trade(6, 12, 300, 65, ts_send=at(72)),
        trade(7, 20, 10, 120),
        trade(8, 5, 7, 121, sub_type="LEG", condition=0, security_id=2, symbol="X"),
    ]  # fmt: skip
    made = compute(trades=rows)["bars"]
    by_length = {length: [row for row in made if row["interval"] == length] for length in INTERVALS}
    names = ("ts_start", "open", "high", "low", "close", "volume", "amount", "vwap", "trades")
    minutes = found(by_length[MINUTE_NS], *names, by="security_id,ts_start")
    amount = 1000 + 1400 + 4950 + 50 + 900 + 3600
    assert minutes == [
        (at(60), 10.0, 14.0, 9.0, 12.0, 700, amount, 17.0, 6),
        (at(120), 20.0, 20.0, 20.0, 20.0, 10, 200.0, 20.0, 1),
        (at(120), None, None, None, None, 7, 35.0, 5.0, 1),
    ]
    day = found(by_length[DAY_NS], *names)[:1]
    assert day == [(START, 10.0, 20.0, 9.0, 20.0, 710, amount + 200.0, 17.04225352, 7)]
    assert len([row for row in by_length[SECOND_NS] if row["security_id"] == 1]) == 6
    assert list(made[0]) == find_table("bars").schema.names


def test_market_totals(compute: Compute) -> None:
    """An id that goes to another instrument in the day counts in both groups; a contract is worth
    price × multiplier, a lot of a thousand price ÷ divisor."""
    instruments = [
        {"security_group": "01", "valid_from": at(5), "valid_to": at(100)},
        {"symbol": "NEW", "security_group": "02", "valid_from": at(100), "price_divisor": 1000},
        {"security_id": 2, "symbol": "WINZ26", "security_group": "01", "valid_from": 0, "multiplier": 0.2},
    ]  # fmt: skip
    trades = [
        trade(1, 10, 100, 1), trade(2, 10, 100, 50), trade(3, 10, 100, 150, symbol="NEW"),
        trade(1, 130_000, 3, 50, security_id=2, symbol="WINZ26"),
        trade(1, 1, 1, 50, security_id=3, symbol="UNKNOWN"),
    ]  # fmt: skip
    totals = compute(trades=trades, instruments=instruments)["market_totals"]
    assert found(totals, "security_group", "amount", "volume", "trades", by="security_group") == [
        (None, 1.0, 1, 1), ("01", 2000 + 78_000.0, 203, 3), ("02", 1.0, 100, 1),
    ]  # fmt: skip
    assert list(totals[0]) == find_table("market_totals").schema.names
