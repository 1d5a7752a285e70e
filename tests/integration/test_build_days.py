"""Several days in a row: numbers and orders run on, later days change earlier ones, names are of a time."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.book_at import NoBookError, book_at
from pregao.lake.build import USUAL_BARS, Builder, BuildReport, BuildSettings
from pregao.lake.computed.latency import PacketFiles
from pregao.lake.computed.unit import ComputedPart
from pregao.lake.lake import Lake
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.model.market import TradeCondition, TradeSubType
from tests.kits.captures import Messages, copy_capture, read_capture
from tests.kits.lake_rows import unit_key
from tests.kits.lakes import all_tables, build, make_days, rows_of, truth

CHANNEL = 72  # of two futures that trade all day
MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)
SECONDS_5 = 5_000_000_000
MONEY_A_POINT = Decimal("0.2")  # of the index future that is busted: its contract multiplier


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> list[list[Path]]:
    """The captures of one channel on Monday and on Tuesday."""
    days = make_days(tmp_path_factory.mktemp("week"), seed=8, days=2, messages=3_000)
    return [sorted(day.glob(f"{CHANNEL:03}_*.pcap")) for day in days]


@pytest.fixture(scope="module")
def both(week: list[list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("both") / "lake"
    build([*week[0], *week[1]], lake)
    return lake


def _seq_nums(lake: Path, day: date) -> list[int]:
    found: list[int] = Lake(lake).arrow("packets", f"trade_date = '{day}'")["seq_num"].to_pylist()
    return found


def test_numbers_run_on_and_orders_stay(both: Path) -> None:
    """Tuesday's first loop tells the books as Monday left them, at Monday's last packet."""
    last = max(_seq_nums(both, MONDAY))
    assert min(_seq_nums(both, TUESDAY)) == last + 1
    lake = Lake(both)
    carried = lake.arrow("orders", f"trade_date = '{TUESDAY}' and action = 'SNAPSHOT'").to_pylist()
    entered = set(lake.arrow("orders", f"trade_date = '{MONDAY}'")["order_id"].to_pylist())
    assert len(carried) > 2
    assert {row["seq_num"] for row in carried} == {last}
    assert {row["order_id"] for row in carried} <= entered
    rest = lake.arrow("orders", f"trade_date = '{TUESDAY}' and action <> 'SNAPSHOT'").to_pylist()
    assert {row["quality"] for row in rest} == {0}
    assert {row["order_id"] for row in carried} & {row["order_id"] for row in rest}


def test_a_capture_of_two_dates_feeds_two_units(week: list[list[Path]], both: Path, tmp_path: Path) -> None:
    """A recorder that was never stopped: one file of each stream."""
    captures = [
        copy_capture(
            monday, tmp_path / "captures", lambda packets, after=tuesday: packets + read_capture(after)
        )
        for monday, tuesday in zip(*week, strict=True)
    ]
    report = build(captures, tmp_path / "lake")
    assert report.units == [unit_key(MONDAY, CHANNEL), unit_key(TUESDAY, CHANNEL)]
    expected, found = all_tables(both), all_tables(tmp_path / "lake")
    assert {name: rows for name, rows in found.items() if rows != expected[name]} == {}


# Busts


_FROM_TRADES = ("trades_clean", "bars", "daily", "market_totals")


class Busted:
    """Tuesday with one more packet on both feeds, that busts Monday's largest trade."""

    def __init__(self, week: list[list[Path]], folder: Path) -> None:
        messages = Messages()
        feeds = [path for path in week[0] if "Incremental" in path.name]
        self.trade = max(messages.decoded(feeds[0], "Trade_53"), key=lambda fields: fields["mDEntrySize"])
        told = self.trade | {"matchEventIndicator": ("EndOfEvent",), "rptSeq": 60_000}
        bust = "TradeBust_57", {name: told[name] for name in _BUST}
        self.monday, self.tuesday = week[0], week[1]
        self.busting = [
            messages.append(path, folder, bust) if "Incremental" in path.name else path for path in week[1]
        ]


_BUST = (
    "securityID", "matchEventIndicator", "tradingSessionID", "mDEntryPx", "mDEntrySize", "tradeID",
    "tradeDate", "transactTime", "rptSeq",
)  # fmt: skip


@pytest.fixture(scope="module")
def busted(week: list[list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Busted:
    return Busted(week, tmp_path_factory.mktemp("busting"))


@pytest.fixture(scope="module")
def derive() -> Callable[..., BuildReport]:
    def run(captures: list[Path], lake: Path, *, rebuild: bool = False) -> BuildReport:
        settings = BuildSettings(bars=(*USUAL_BARS, SECONDS_5), rebuild=rebuild, replace=True)
        builder = Builder(Location(lake), InlineRunner(), settings)
        return builder.build([str(path) for path in captures])

    return run


@pytest.fixture(scope="module")
def lakes(
    busted: Busted, derive: Callable[..., BuildReport], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[int]]:
    """A lake of Monday; then Tuesday with the bust; Monday once more; Tuesday without the bust."""
    lake = tmp_path_factory.mktemp("busts") / "lake"
    steps = ((busted.monday, False), (busted.busting, False), (busted.monday, True), (busted.tuesday, False))
    return lake, [derive(captures, lake, rebuild=again).version for captures, again in steps]


def _monday(lake: Path, version: int) -> dict[str, list[dict[str, Any]]]:
    opened = Lake(lake, as_of=version)
    return {name: opened.arrow(name, f"trade_date = '{MONDAY}'").to_pylist() for name in _FROM_TRADES}


def _of(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    return {
        table: sorted(repr({name: row[name] for name in row if name != "build_id"}) for row in rows)
        for table, rows in tables.items()
    }


def test_a_bust_on_tuesday_rewrites_monday(busted: Busted, lakes: tuple[Path, list[int]]) -> None:
    """Also when Monday is built again; and when the captures with the bust are replaced, back again."""
    before, after, again, back = (_monday(lakes[0], version) for version in lakes[1])
    _check_bust(busted.trade, before, after)
    assert _of(again) == _of(after)
    assert _of(back) == _of(before)


def test_days_with_a_bust_built_together(
    busted: Busted, lakes: tuple[Path, list[int]], derive: Callable[..., BuildReport], tmp_path: Path
) -> None:
    derive([*busted.monday, *busted.busting], tmp_path / "lake")
    apart, together = Lake(lakes[0], as_of=lakes[1][1]), Lake(tmp_path / "lake")
    for table in (*_FROM_TRADES, "trades", "auctions", "latency", "quality"):
        assert rows_of(together, table) == rows_of(apart, table), table


class Interrupted(InlineRunner):
    """Another build begins and ends while the tables of this one are computed."""

    def __init__(self, other: Callable[[], Any]) -> None:
        self._others = [other]

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        done = super().run(task, items, progress)
        if self._others and items and isinstance(items[0], ComputedPart | PacketFiles):
            self._others.pop()()
        return done


@pytest.mark.parametrize("is_monday_last", [True, False])
def test_two_builders_with_a_day_each(
    busted: Busted, lakes: tuple[Path, list[int]], derive: Callable[..., BuildReport], tmp_path: Path,
    is_monday_last: bool,
) -> None:  # fmt: skip
    """Whoever is last has not seen the other's day when it begins: Monday must not keep its busted trade, and
    Tuesday must begin with Monday's books."""
    lake = tmp_path / "lake"
    first, last = busted.busting, busted.monday
    if not is_monday_last:
        first, last = last, first
    settings = BuildSettings(bars=(*USUAL_BARS, SECONDS_5))
    runner = Interrupted(lambda: derive(first, lake))
    report = Builder(Location(lake), runner, settings).build([str(path) for path in last])
    assert _of(_monday(lake, report.version)) == _of(_monday(lakes[0], lakes[1][1]))
    if is_monday_last:  # Tuesday was built without the books of a Monday that was not there
        derive([*busted.monday, *busted.busting], lake)
    apart, together = Lake(lakes[0], as_of=lakes[1][1]), Lake(lake)
    for table in (*_FROM_TRADES, "trades", "auctions", "latency", "quality"):
        assert rows_of(together, table) == rows_of(apart, table), table
    assert derive([*busted.monday, *busted.busting], lake).units == []


def _check_bust(trade: dict[str, Any], before: Any, after: Any) -> None:
    size, security_id, trade_id = trade["mDEntrySize"], trade["securityID"], trade["tradeID"]
    gone = set(_of(before)["trades_clean"]) - set(_of(after)["trades_clean"])
    assert len(gone) == 1
    assert f"'trade_id': {trade_id}," in gone.pop()
    assert len(after["trades_clean"]) == len(before["trades_clean"]) - 1

    def mine(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if row["security_id"] == security_id]

    (daily_before,), (daily_after,) = mine(before["daily"]), mine(after["daily"])
    assert daily_after["volume"] == daily_before["volume"] - size
    assert daily_after["trades"] == daily_before["trades"] - 1
    assert daily_after["amount"] == daily_before["amount"] - size * trade["mDEntryPx"] * MONEY_A_POINT
    assert daily_after["b3_volume"] == daily_before["b3_volume"]  # as it was told on the day
    for interval in (*USUAL_BARS, SECONDS_5):
        volumes = [
            sum(row["volume"] for row in mine(tables["bars"]) if row["interval"] == interval)
            for tables in (before, after)
        ]
        assert volumes == [daily_before["volume"], daily_before["volume"] - size]
    totals = [sum(row["volume"] for row in tables["market_totals"]) for tables in (before, after)]
    assert totals[1] == totals[0] - size


@pytest.mark.parametrize("interval", [SECONDS_5, *USUAL_BARS[:2]])
def test_bars_are_the_exchange_s(
    week: list[list[Path]], lakes: tuple[Path, list[int]], interval: int
) -> None:
    """Of every interval with a trade that was not busted; some trades form no price (13.3)."""
    bars = _monday(lakes[0], lakes[1][0])["bars"]
    found = {
        (row["security_id"], row["ts_start"]): (
            *(None if row[name] is None else int(row[name].scaleb(4)) for name in _PRICES),
            row["volume"], row["trades"],
        )
        for row in bars
        if row["interval"] == interval
    }  # fmt: skip
    trades = _trades(week[0][0].parent)
    expected: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for trade in trades:
        start_ns = trade["transact_ns"] - trade["transact_ns"] % interval
        expected.setdefault((trade["security_id"], start_ns), []).append(trade)
    assert found == {key: _bar(each) for key, each in expected.items()}
    assert len(trades) > len(_priced(trades)) > 0


_PRICES = ("open", "high", "low", "close")


def _trades(day: Path) -> list[dict[str, Any]]:
    """As the exchange itself has them in the end, in order. One that was busted and told again (13.4) has the
    time at which it was told first; a bust may also be of a trade of an earlier day."""

    def place(row: dict[str, Any]) -> tuple[int, int, int]:
        return row["seq_version"], row["seq_num"], row["msg_index"]

    told = [row for row in truth(day, "events/trade") if row["channel"] == CHANNEL]
    busts = [row | {"size": None} for row in truth(day, "events/trade_busted") if row["channel"] == CHANNEL]
    found: dict[tuple[int, int, int], dict[str, Any]] = {}
    for row in sorted([*told, *busts], key=place):
        key = row["security_id"], row["trade_date"], row["trade_id"]
        found[key] = row | {"transact_ns": found.get(key, row)["transact_ns"]}
    return [row for row in found.values() if row["size"] is not None]


def _priced(trades: list[dict[str, Any]]) -> list[int]:
    """Not of legs, and not out of sequence."""
    return [
        row["price"]
        for row in trades
        if row["sub_type"] != TradeSubType.LEG and not row["condition"] & TradeCondition.OUT_OF_SEQUENCE
    ]


def _bar(trades: list[dict[str, Any]]) -> tuple[int | None, ...]:
    prices = _priced(trades)
    four = (prices[0], max(prices), min(prices), prices[-1]) if prices else (None,) * 4
    return (*four, sum(row["size"] for row in trades), len(trades))


# Names


def test_an_id_reused_for_another_symbol_is_two_instruments(week: list[list[Path]], tmp_path: Path) -> None:
    """Deleted, and defined again under another name with a book of its own, after all else of the day."""
    messages = Messages()
    feeds = [path for path in week[0] if "Incremental" in path.name]
    definitions = next(path for path in week[0] if "Definition" in path.name)
    old = messages.decoded(definitions, "SecurityDefinition_12")[0]
    order = messages.decoded(feeds[0], "Order_MBO_50")[0]
    security_id = old["securityID"]
    new_order = order | {
        "securityID": security_id, "mDUpdateAction": "NEW", "rptSeq": 1, "secondaryOrderID": 77,
        "matchEventIndicator": ("EndOfEvent",), "mDEntryPrevSize": None, "transactTime": _later(feeds[0]),
    }  # fmt: skip
    told = (
        ("SecurityDefinition_12", old | {"securityUpdateAction": "DELETE"}),
        ("SecurityDefinition_12", old | {"securityUpdateAction": "ADD", "symbol": "OUTRO3"}),
        ("Order_MBO_50", new_order),
    )
    captures = [
        messages.append(path, tmp_path / "captures", *told) if path in feeds else path for path in week[0]
    ]
    build(captures, tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    where = f"security_id = {security_id}"
    names = [row["symbol"] for row in _in_order(lake.arrow("orders", where).to_pylist())]
    assert names[-2:] == ["OUTRO3", "OUTRO3"]  # its book is gone; the order
    assert set(names[:-2]) == {old["symbol"]}
    versions = {row["symbol"]: row for row in lake.arrow("instruments", where).to_pylist()}
    assert versions[old["symbol"]]["valid_to"] == versions["OUTRO3"]["valid_from"]
    assert versions["OUTRO3"]["valid_to"] is None
    quotes = _in_order(lake.arrow("quotes", where).to_pylist())
    assert [row["symbol"] for row in quotes].count("OUTRO3") == 2  # what was there is gone; then the order
    book = book_at(lake, "OUTRO3", 1 << 62)
    assert [each.order_id for each in (*book.bid_orders, *book.offer_orders)] == [77]
    changed_ns = versions["OUTRO3"]["valid_from"]
    assert book_at(lake, old["symbol"], changed_ns - 1).bids
    with pytest.raises(NoBookError, match=old["symbol"]):
        book_at(lake, old["symbol"], changed_ns)


def _later(path: Path) -> int:
    return max(each.header.sending_time_ns for each in read_capture(path)) + 10**9


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["seq_version"], row["seq_num"], row["msg_index"] or 0))
