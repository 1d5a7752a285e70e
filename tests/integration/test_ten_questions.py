"""The ten questions of docs/lake.md, as they stand there, against slow twins over plain rows."""

import re
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.lake import Lake
from pregao.lake.verbs.query import DuckQuery
from pregao.model.local_time import local_datetime
from tests.kits.lakes import build, make_days
from tests.twins.lake.plain_depth import books_after
from tests.twins.lake.plain_depth import levels as plain_levels

PAGE = Path(__file__).parents[2] / "docs" / "lake.md"
MINUTE, HALT_NS = 60_000_000_000, 300_000_000_000
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two days with losses, halts, auctions, busts."""
    days = make_days(
        tmp_path_factory.mktemp("days"), seed=21, faults="loss=1%,both=2", loops=8, messages=4_000, days=2
    )
    path = tmp_path_factory.mktemp("lakes") / "lake"
    build(days, path, derive=True)
    return Lake(path)


def code(number: int) -> str:
    part = re.split(r"\n### \d+\. ", PAGE.read_text(encoding="utf-8"))[number]
    found = re.search(r"```(?:sql|py)\n(.*?)```", part, re.DOTALL)
    assert found is not None, number
    return found[1]


def ask(lake: Lake, number: int) -> Rows:
    rows: Rows = DuckQuery(lake.location.uri).run(code(number)).to_pylist()
    return rows


def function(number: int, name: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(code(number), names)
    return names[name]  # type: ignore[no-any-return]


def near(one: Any, other: Any) -> bool:
    return one == other or abs(float(one) - float(other)) < 1e-9 * max(1.0, abs(float(other)))


def test_there_are_ten() -> None:
    assert re.findall(r"\n### (\d+)\. ", PAGE.read_text(encoding="utf-8")) == [str(n) for n in range(1, 11)]


def test_1_spread_by_minute(lake: Lake) -> None:
    spreads: dict[int, list[Decimal]] = defaultdict(list)
    for row in lake.arrow("quotes").to_pylist():
        bid, offer = row["bid_price"], row["offer_price"]
        sure = row["symbol"] == "PETR4" and row["quality"] == 0 and bid is not None and offer is not None
        if sure and bid < offer:
            spreads[row["ts_event"] // MINUTE].append(offer - bid)
    found = ask(lake, 1)
    assert len(found) == len(spreads) > 5
    for row, (minute, each) in zip(found, sorted(spreads.items()), strict=True):
        assert row["minute"] == datetime.fromtimestamp(minute * 60, UTC)
        assert (row["widest"], row["quotes"]) == (max(each), len(each))
        assert near(row["spread"], sum(each) / len(each))


def test_2_vwap(lake: Lake) -> None:
    sums: dict[Any, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    for row in lake.arrow("trades_clean").to_pylist():
        if row["in_volume"]:
            of = sums[row["trade_date"], row["symbol"]]
            of[0] += row["price"] * row["size"]
            of[1] += row["size"]
    daily = {(row["trade_date"], row["symbol"]): row for row in lake.arrow("daily").to_pylist()}
    found = ask(lake, 2)
    assert [(row["trade_date"], row["symbol"]) for row in found] == sorted(sums)
    for row in found:
        key = row["trade_date"], row["symbol"]
        assert near(row["vwap"], sums[key][0] / sums[key][1])
        assert row["b3_vwap"] == daily[key]["b3_vwap"]
    sure = [row for row in found if daily[row["trade_date"], row["symbol"]]["agrees"]]
    assert sure
    assert all(abs(float(row["vwap"]) - float(row["b3_vwap"])) < 0.0001 for row in sure if row["b3_vwap"])


def rows_of_book(lake: Lake, symbol: str, day: Any) -> Rows:
    mine = lake.arrow("orders", {"symbol": symbol, "trade_date": day}).to_pylist()
    channel = mine[0]["channel"]
    resets = {"trade_date": day, "channel": channel, "action": "RESET"}
    return [*mine, *lake.arrow("orders", resets).to_pylist()]


def test_3_queue_position(lake: Lake) -> None:
    """Behind whoever has the same price and a smaller id (12.1)."""
    position, compared, behind = function(3, "queue_position"), 0, 0
    day = lake.dates()[0]
    told = list(books_after(rows_of_book(lake, "PETR4", day)))
    for row, book in told[10::25]:
        at = row["ts_event"]
        after = [each for each, _ in told if each["ts_event"] <= at]
        if after[-1] is not row:
            continue  # not the last of its instant
        for (side, order_id), (price, _) in list(book.items())[:5]:
            ahead = [size for (other, number), (at_price, size) in book.items()
                     if (other, at_price) == (side, price) and number < order_id]  # fmt: skip
            assert position(lake, "PETR4", order_id, at) == (len(ahead), sum(ahead))
            compared += 1
            behind += bool(ahead)
    assert compared > 10
    assert behind
    assert position(lake, "PETR4", 1, told[-1][0]["ts_event"]) is None


def test_4_imbalance_path(lake: Lake) -> None:
    def place(row: dict[str, Any]) -> tuple[int, int]:
        return row["seq_num"], row["msg_index"]

    theoretical = lake.arrow("statistics", {"symbol": "PETR4", "kind": "THEORETICAL"}).to_pylist()
    expected = []
    imbalances = lake.arrow("imbalances", {"symbol": "PETR4"}).to_pylist()
    for row in sorted(imbalances, key=lambda row: (row["ts_event"], row["seq_num"], row["msg_index"])):
        own = [each for each in theoretical if each["trade_date"] == row["trade_date"]
               and each["seq_version"] == row["seq_version"] and place(each) <= place(row)]  # fmt: skip
        last = max(own, key=place, default={"price": None, "size": None})
        expected.append((row["time"], row["side"], row["size"], last["price"], last["size"]))
    found = [tuple(row.values()) for row in ask(lake, 4)]
    assert found == expected
    assert len(found) > 5
    assert any(row[3] is not None for row in found)


def test_5_trades_around_a_halt(lake: Lake) -> None:
    trades = lake.arrow("trades_clean").to_pylist()
    expected = []
    for state in lake.arrow("states").to_pylist():
        if state["scope"] != "INSTRUMENT" or state["state"] not in ("PAUSE", "RESERVED", "FORBIDDEN"):
            continue
        for trade in trades:
            same = (state["trade_date"], state["security_id"]) == (trade["trade_date"], trade["security_id"])
            after = trade["ts_event"] - state["ts_event"]
            if same and -HALT_NS <= after <= HALT_NS:
                expected.append((state["symbol"], state["state"], state["ts_event"], trade["trade_id"], after,
                                 trade["price"], trade["size"]))  # fmt: skip
    found = [tuple(row.values()) for row in ask(lake, 5)]
    assert sorted(found) == sorted(expected)
    assert found == sorted(found, key=lambda row: (row[2], row[4], row[3]))
    assert found


def test_6_feed_a_against_feed_b(lake: Lake) -> None:
    of: dict[int, Rows] = defaultdict(list)
    for row in lake.arrow("packets", {"stream": "INCREMENTAL"}).to_pylist():
        of[row["channel"]].append(row)
    found = ask(lake, 6)
    assert [row["channel"] for row in found] == sorted(of)
    for row in found:
        packets = of[row["channel"]]
        both = [each for each in packets if each["ts_recv_a"] is not None and each["ts_recv_b"] is not None]
        behind = [each["ts_recv_b"] - each["ts_recv_a"] for each in both]
        assert row["packets"] == len(packets)
        assert row["lost_on_a"] == sum(each["state_a"] == "MISSING" for each in packets)
        assert row["lost_on_b"] == sum(each["state_b"] == "MISSING" for each in packets)
        assert row["b_was_first"] == sum(each < 0 for each in behind)
        assert near(row["ns_b_behind"], sum(behind) / len(behind))
    assert sum(row["lost_on_a"] for row in found) > 0


def counted(rows: Rows, key: str = "symbol") -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[row[key]] += 1
    return counts


def test_7_order_to_trade_ratio(lake: Lake) -> None:
    orders = [row for row in lake.arrow("orders").to_pylist() if row["action"] in ("ADD", "CHANGE", "DELETE")]
    messages, trades = counted(orders), counted(lake.arrow("trades_clean").to_pylist())
    found = {row["symbol"]: row for row in ask(lake, 7)}
    assert set(found) == set(messages)
    for symbol, row in found.items():
        assert (row["messages"], row["trades"]) == (messages[symbol], trades.get(symbol, 0))
        ratio = None if not trades.get(symbol) else messages[symbol] / trades[symbol]
        assert row["ratio"] is None if ratio is None else near(row["ratio"], ratio)


def test_8_share_of_implied_orders(lake: Lake) -> None:
    added = [row for row in lake.arrow("orders").to_pylist() if row["action"] == "ADD"]
    trades = lake.arrow("trades_clean").to_pylist()
    found = {row["symbol"]: row for row in ask(lake, 8)}
    assert set(found) == {row["symbol"] for row in added}
    for symbol, row in found.items():
        own = [each for each in added if each["symbol"] == symbol]
        assert near(row["of_orders"], sum(bool(each["implied"]) for each in own) / len(own))
        sizes = [(each["size"], bool(each["implied"])) for each in trades if each["symbol"] == symbol]
        volume = sum(size for size, _ in sizes)
        share = sum(size for size, implied in sizes if implied) / volume if volume else None
        assert row["of_volume"] is None if share is None else near(row["of_volume"], share)


def test_9_busts(lake: Lake) -> None:
    rows = lake.arrow("trades").to_pylist()
    expected = []
    for bust in (row for row in rows if row["action"] == "BUST"):
        key = [bust[name] for name in ("security_id", "of_date", "trade_id")]
        sent = [row for row in rows if row["action"] == "TRADE" and row["ts_send"] <= bust["ts_send"]
                and [row[name] for name in ("security_id", "of_date", "trade_id")] == key]  # fmt: skip
        last = max(sent, key=lambda row: row["ts_send"], default={"price": None, "size": None})
        about = bust["symbol"], bust["of_date"], bust["trade_id"], bust["ts_event"]
        expected.append((*about, last["price"], last["size"]))
    found = [tuple(row.values()) for row in ask(lake, 9)]
    assert found == sorted(set(expected), key=lambda row: (row[1], row[0], row[2]))
    assert len(found) > 3


def test_10_book_at_a_nanosecond(lake: Lake) -> None:
    look, compared = function(10, "levels"), 0
    for day in lake.dates():
        told = list(books_after(rows_of_book(lake, "PETR4", day)))
        for place in range(5, len(told), 30):
            row, book = told[place]
            later = any(each["ts_event"] <= row["ts_event"] for each, _ in told[place + 1 :])
            if later or local_datetime(row["ts_event"]).date() != day:
                continue  # carried from the day before
            expected = [
                [(price and int(price * 10_000), *rest) for price, *rest in plain_levels(book, side, 1_000)]
                for side in ("BUY", "SELL")
            ]
            assert look(lake, "PETR4", row["ts_event"]) == expected
            compared += 1
    assert compared > 5
