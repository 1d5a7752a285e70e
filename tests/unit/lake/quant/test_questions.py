"""What quants ask: symbols and trades, bars, quotes before trades, futures, adjusted prices, hftbacktest."""

from bisect import bisect_left
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.lake.quant import hftbacktest
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import write_file
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import rows_as_arrow
from tests.unit.lake.quant.test_depth import busiest, twin

MON, TUE, WED, THU = (date(2026, 11, day) for day in (23, 24, 25, 26))
NS = 10**9


def made(folder: Path, days: dict[date, dict[str, list[dict[str, Any]]]], system: str = "binary") -> Lake:
    """A lake of one channel, of rows as they are given; what is there already stays."""
    location, adds = Location(folder / "lake"), []
    for day, tables in days.items():
        units = [{"fingerprint": "f", "built_ns": 1, "inputs": "[]", "code_version": "1"}]
        for name, rows in {**tables, "units": units}.items():
            table = find_table(name)
            known = {"trade_date": day.isoformat(), "channel": "84", "source": "84", "system": system}
            partition = {each: known[each] for each in table.partitions}
            whole = rows_as_arrow(name, [{**row, "trade_date": day} for row in rows])
            adds.append(write_file(location, table, partition, whole))
    Committer(location).commit(Change(tuple(adds)), Label("build", "b"))
    return Lake(location)


def listed(symbol: str, security_id: int = 1, **more: Any) -> dict[str, Any]:
    return {"symbol": symbol, "security_id": security_id, "valid_from": 0, **more}


# Symbols and trades.


def test_dates_and_symbols(lake: Lake) -> None:
    days = lake.dates()
    assert days == sorted(set(lake.arrow("trades")["trade_date"].to_pylist()))
    every = lake.symbols()
    assert every == sorted(set(lake.arrow("instruments", {"trade_date": days[-1]})["symbol"].to_pylist()))
    first = lake.symbols(days[0])
    assert lake.symbols(days[0], like="PETR%") == [each for each in first if each.startswith("PETR")]
    short = [each for each in first if each.startswith("PETR") and len(each) == 5]
    assert lake.symbols(str(days[0]), like="PETR_") == short
    assert "PETR4" in short
    assert lake.symbols(date(2020, 1, 2)) == []
    assert lake.symbols(like="p.*") == []


def test_trades_of_a_time(lake: Lake) -> None:
    for symbol in busiest(lake, 3):
        whole = lake.arrow("trades_clean", {"symbol": symbol}).to_pylist()
        found = lake.trades(symbol).to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, whole))
        assert [row["seq_num"] for row in found] == sorted(row["seq_num"] for row in found)
        times = sorted(row["ts_event"] for row in whole)
        if len(times) > 4:
            part = lake.trades(symbol, times[1], times[-2]).to_pylist()
            assert sorted(row["ts_event"] for row in part) == [t for t in times if times[1] <= t <= times[-2]]
        sent = lake.trades(symbol, clean=False)
        assert sent.num_rows == lake.arrow("trades", {"symbol": symbol}).num_rows
    with pytest.raises(LakeError, match="no instrument"):
        lake.trades("NOBODY3")


def test_a_symbol_that_moves_to_another_instrument(tmp_path: Path) -> None:
    """At 100 of Tuesday; before and after it the rows of the right one are found."""
    trade = {"action": "TRADE", "price": 10, "size": 1}
    lake = made(tmp_path, {
        MON: {"instruments": [listed("AAAA3", 1)],
              "trades": [{**trade, "security_id": 1, "trade_id": 1, "ts_event": 50, "symbol": "AAAA3"}]},
        TUE: {"instruments": [listed("AAAA3", 1, valid_to=100), listed("AAAA3", 2, valid_from=100),
                              listed("BBBB3", 1, valid_from=100)],
              "trades": [{**trade, "security_id": 1, "trade_id": 2, "ts_event": 99, "symbol": "AAAA3"},
                         {**trade, "security_id": 1, "trade_id": 3, "ts_event": 100, "symbol": "BBBB3"},
                         {**trade, "security_id": 2, "trade_id": 4, "ts_event": 101, "symbol": "AAAA3"}]},
    })  # fmt: skip
    assert lake.trades("AAAA3", clean=False)["trade_id"].to_pylist() == [1, 2, 4]
    assert lake.trades("BBBB3", clean=False)["trade_id"].to_pylist() == [2, 3]  # also before it
    history = lake.symbology("AAAA3").to_pylist()
    assert [(row["security_id"], row["first_date"], row["last_date"]) for row in history] == [
        (1, MON, TUE), (2, TUE, TUE),
    ]  # fmt: skip
    assert [row["symbol"] for row in lake.symbology(security_id=1).to_pylist()] == ["AAAA3", "BBBB3"]
    with pytest.raises(LakeError, match="whose history"):
        lake.symbology()


def test_each_question_is_of_one_system(tmp_path: Path) -> None:
    """Two systems tell of the same trade, at other prices."""
    trade = {"trade_id": 1, "size": 100, "sets_price": True, "in_volume": True, "ts_event": 50}
    order = {"action": "ADD", "side": "BUY", "order_id": 1, "size": 5, "ts_event": 40, "wire_version": 16}
    for system, price in (("binary", 10), ("toy", 20)):
        lake = made(tmp_path, {
            MON: {"instruments": [listed("PETR4")], "trades_clean": [{**trade, "price": price}],
                  "orders": [{**order, "price": price}]},
        }, system)  # fmt: skip
    assert lake.systems == ["binary", "toy"]
    for asked, price in ((None, 10), ("binary", 10), ("toy", 20)):
        assert lake.trades("PETR4", system=asked)["price"].to_pylist() == [price]
        assert lake.bars("PETR4", "1m", system=asked)["close"].to_pylist() == [price]
        assert lake.depth("PETR4", levels=1, system=asked)["bid_price_1"].to_pylist() == [price]
        noon = datetime(2026, 11, 23, 15, tzinfo=UTC)
        assert [level.price for level in lake.book("PETR4", noon, system=asked).bids] == [price * 10_000]
        assert (lake.dates(system=asked), lake.symbols(system=asked)) == ([MON], ["PETR4"])
        assert lake.symbology("PETR4", system=asked).num_rows == 1
        assert len(lake.hftbacktest("PETR4", system=asked)) == 1
    for question in (lake.trades, lake.bars, lake.depth, lake.hftbacktest):
        with pytest.raises(LakeError, match="choose one of binary, toy"):
            question("PETR4", system="all")


# Bars.


def plain_bars(rows: list[dict[str, Any]], ends: Iterable[int]) -> list[tuple[Any, ...]]:
    """Cut before each of `ends`; the figures by the definition."""
    bars, begun = [], 0
    for end in ends:
        part, begun = rows[begun:end], end
        priced = [row["price"] for row in part if row["sets_price"]]
        counted = [row for row in part if row["in_volume"]]
        bars.append((
            priced[0] if priced else None, max(priced, default=None), min(priced, default=None),
            priced[-1] if priced else None, sum(row["size"] for row in counted),
            sum((row["price"] * row["size"] for row in counted), Decimal(0)), len(counted),
        ))  # fmt: skip
    return bars


FIGURES = ("open", "high", "low", "close", "volume", "amount", "trades")


def figures(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in FIGURES) for row in table.to_pylist()]


@pytest.mark.parametrize("every", ["1s", "1m", "1d"])
def test_bars_by_time_are_the_stored_ones(lake: Lake, every: str) -> None:
    from pregao.lake.quant.calendar import interval_ns

    compared = 0
    for symbol in busiest(lake, 6):
        where = {"symbol": symbol, "interval": interval_ns(every)}
        stored = lake.arrow("bars", where).sort_by([("trade_date", "ascending"), ("ts_start", "ascending")])
        found = lake.bars(symbol, every)
        assert figures(found) == figures(stored)
        for column in ("vwap", "ts_start", "phase", "state", "auction_trades"):
            assert found[column].to_pylist() == stored[column].to_pylist(), column
        assert set(found["bar"].to_pylist()) <= {every}
        compared += found.num_rows
    assert compared > 5


def test_stored_bars_are_found_by_the_name_of_their_length(lake: Lake) -> None:
    by_number = lake.arrow("bars", {"interval": 60 * NS})
    for where in ({"interval": "1m"}, "interval = '1m'", [("interval", "=", "60s")], {"interval": ["1m"]}):
        assert lake.arrow("bars", where).equals(by_number)
    assert 0 < by_number.num_rows < lake.arrow("bars", {"interval": ["1s", "1m"]}).num_rows
    with pytest.raises(LakeError, match="is not a length"):
        lake.arrow("bars", {"interval": "soon"})


@pytest.mark.parametrize(("by", "size"), [("tick", 3), ("volume", 500), ("money", "20000.5")])
def test_bars_by_trades_volume_and_money(lake: Lake, by: Any, size: Any) -> None:
    made_bars = 0
    for symbol in busiest(lake, 6):
        found = lake.bars(symbol, size, by=by)
        expected: list[tuple[Any, ...]] = []
        for day in lake.dates():
            rows = [row for row in lake.trades(symbol).to_pylist() if row["trade_date"] == day]
            ends, reached = [], Decimal(0)
            for place, row in enumerate(rows, 1):
                more = {"tick": 1, "volume": row["size"], "money": row["size"] * row["price"]}[by]
                reached += more if row["in_volume"] else 0
                if reached >= Decimal(size):
                    ends.append(place)
                    reached = Decimal(0)
            ends += [len(rows)] if rows and (not ends or ends[-1] != len(rows)) else []
            expected += plain_bars(rows, ends)
        assert figures(found) == expected
        made_bars += found.num_rows
    assert made_bars > 10
    assert lake.bars(busiest(lake, 1)[0], size, by=by)["bar"][0].as_py().startswith(str(size))


def test_bars_that_cannot_be(lake: Lake) -> None:
    for every, by in (("1m", "tick"), (0, "volume"), (-1, "money"), (1.5, "tick"), ("1m", "moon")):
        with pytest.raises(LakeError, match=r"bars (of|by)"):
            lake.bars("PETR4", every, by=by)  # type: ignore[arg-type]


# Quotes before trades.


def test_each_trade_has_the_quote_before_it(lake: Lake) -> None:
    trades, quotes = lake.arrow("trades_clean"), lake.arrow("quotes")
    found = lake.asof(trades, quotes).to_pylist()
    assert [row["trade_id"] for row in found] == trades["trade_id"].to_pylist()
    by_id: dict[int, list[dict[str, Any]]] = {}
    for row in quotes.to_pylist():
        by_id.setdefault(row["security_id"], []).append(row)
    seen = 0
    for row in found:
        own = by_id.get(row["security_id"], [])
        own = sorted(own, key=lambda q: (q["ts_event"], q["ts_send"], q["seq_version"], q["seq_num"],
                                         -1 if q["msg_index"] is None else q["msg_index"]))  # fmt: skip
        place = bisect_left([each["ts_event"] for each in own], row["ts_event"])
        before = own[place - 1] if place else dict.fromkeys(("ts_event", "bid_price", "offer_price"))
        told = row["ts_quote"], row["bid_price"], row["offer_price"]
        assert told == (before["ts_event"], before["bid_price"], before["offer_price"])
        seen += place > 0
    assert seen > 20
    frames = lake.asof(trades.to_pandas(), pa.Table.to_pandas(quotes))
    assert frames.num_rows == trades.num_rows


# Futures and adjusted prices.


def test_futures_follow_each_other(tmp_path: Path) -> None:
    """Volume moves to the later contract on Tuesday, which is known on Wednesday."""

    def contract(symbol: str, number: int, matures: date) -> dict[str, Any]:
        return listed(symbol, number, asset="WIN", security_type="FUT", maturity_date=matures)

    near, far = contract("WINX26", 1, WED), contract("WING27", 2, date(2027, 2, 17))
    spot = listed("WIN11", 3, asset="WIN", security_type="CS")
    volumes = {MON: (90, 10), TUE: (40, 60), WED: (1, 99), THU: (0, 5)}
    lake = made(tmp_path, {
        day: {
            "instruments": [far, spot, *([near] if day <= WED else [])],
            "daily": [{"security_id": 1, "symbol": "WINX26", "volume": volumes[day][0]},
                      {"security_id": 2, "symbol": "WING27", "volume": volumes[day][1]}],
        }
        for day in (MON, TUE, WED, THU)
    })  # fmt: skip
    by_volume = lake.continuous("WIN", "volume").to_pylist()
    assert [row["symbol"] for row in by_volume] == ["WINX26", "WINX26", "WING27", "WING27"]
    assert [row["rolled"] for row in by_volume] == [False, False, True, False]
    found = {days: lake.continuous("WIN", "calendar", roll_days=days)["symbol"] for days in (0, 1, 2)}
    assert {days: symbols.to_pylist() for days, symbols in found.items()} == {
        0: ["WINX26", "WINX26", "WINX26", "WING27"], 1: ["WINX26", "WINX26", "WING27", "WING27"],
        2: ["WINX26", "WING27", "WING27", "WING27"],
    }  # fmt: skip
    with pytest.raises(LakeError, match="no future of asset 'DOL'"):
        lake.continuous("DOL")
    with pytest.raises(LakeError, match="by 'volume' or by 'calendar'"):
        lake.continuous("WIN", "moon")  # type: ignore[arg-type]


def closings(own: Any, before: Any) -> list[dict[str, Any]]:
    rows = [{"kind": "CLOSING", "origin": "DAILY", "price": own}]
    return [{"kind": "CLOSING", "origin": "PREVIOUS_DAY", "price": before}, *rows] if before else rows


def test_prices_are_adjusted_by_what_b3_says_of_the_day_before(tmp_path: Path) -> None:
    """A dividend of 1 on Tuesday, a split in two on Thursday."""
    trade = {"price": 20, "size": 100, "trade_id": 1, "sets_price": True, "in_volume": True}
    told = {MON: (20, None), TUE: (19, 19), WED: (18, 19), THU: (9, 9)}
    lake = made(tmp_path, {
        day: {"instruments": [listed("PETR4")], "statistics": closings(*told[day]),
              "trades_clean": [{**trade, "price": told[day][0]}]}
        for day in told
    })  # fmt: skip
    rows = lake.factors("PETR4").to_pylist()
    assert [row["factor"] for row in rows] == [None, Decimal("0.95"), Decimal(1), Decimal("0.5")]
    assert [float(row["to_newest"]) for row in rows] == [0.475, 0.5, 0.5, 1]
    raw, adjusted = lake.trades("PETR4"), lake.trades("PETR4", adjusted=True)
    assert [float(price) for price in raw["price"].to_pylist()] == [20, 19, 18, 9]
    assert [float(price) for price in adjusted["price"].to_pylist()] == [9.5, 9.5, 9, 9]
    assert adjusted["size"].to_pylist() == raw["size"].to_pylist()
    bars = lake.bars("PETR4", "1d", adjusted=True).to_pylist()
    assert [float(row["close"]) for row in bars] == [9.5, 9.5, 9, 9]


def test_prices_are_not_adjusted_over_what_is_not_known(tmp_path: Path) -> None:
    gap = made(tmp_path / "gap", {
        MON: {"instruments": [listed("PETR4")], "statistics": closings(20, None)},
        WED: {"instruments": [listed("PETR4")], "statistics": closings(20, 20)},
    })  # fmt: skip
    with pytest.raises(LakeError, match="no trading day of the lake between 2026-11-23 and 2026-11-25"):
        gap.factors("PETR4")
    unsaid = made(tmp_path / "unsaid", {
        MON: {"instruments": [listed("PETR4")]},
        TUE: {"instruments": [listed("PETR4")], "statistics": closings(20, 20)},
    })  # fmt: skip
    with pytest.raises(LakeError, match="no closing price of 2026-11-23"):
        unsaid.factors("PETR4")


# hftbacktest.


def test_events_for_hftbacktest_lead_to_the_book(lake: Lake) -> None:
    for symbol in busiest(lake, 4):
        events = lake.hftbacktest(symbol)
        assert events.dtype == hftbacktest.EVENT
        assert events.dtype.itemsize == 64
        for name in ("exch_ts", "local_ts"):
            assert (np.diff(events[name]) >= 0).all()
        assert (events["local_ts"] >= events["exch_ts"]).all()
        _, book = twin(lake, symbol, lake.dates()[-1])[-1]
        expected: tuple[dict[float, float], dict[float, float]] = ({}, {})
        for (side, _), (price, size) in book.items():
            level = expected[side == "SELL"]
            at = 0.0 if price is None else float(price)
            level[at] = level.get(at, 0.0) + size
        assert hftbacktest.levels(events) == expected
        trades = events[events["ev"] & 0xFF == hftbacktest.TRADE]
        assert len(trades) == lake.arrow("trades", {"symbol": symbol, "action": "TRADE"}).num_rows
