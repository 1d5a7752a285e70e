"""A day of Trademate in a lake, held to what the market of bonds really did (`truth/`): by Python's decimals
and by books that are kept by position, one order at a time."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from pregao.cli.main import main
from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.catalogue import load_default_bonds
from pregao.lake.book_at import book_at
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import SparkRunner
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import Quality
from pregao.model.market import Action, BandType, PriceKind, Side, State, TradeSubType
from pregao.simulator.bond_days import BondDaySettings, simulate_bonds
from tests.kits.lakes import build, rows_of, truth

MS: Final = 1_000_000
MINUTE: Final = 60_000 * MS
SOURCE: Final = "SESSION1-B3"
Row = dict[str, Any]
BONDS: Final = {number: bond.instrument for number, bond in load_default_bonds().bonds.items()}


class Day(NamedTuple):
    folder: Path
    lake: Lake


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    out = tmp_path_factory.mktemp("bond-lake")
    folder = simulate_bonds(BondDaySettings(out / "days", messages=900, seed=5, sessions=2)).folders[0]
    report = build([folder], out / "lake", system="trademate", derive=True)
    assert not report.warnings
    return Day(folder, Lake(out / "lake"))


def _rows(day: Day, table: str) -> list[Row]:
    """Of the first session, in the order of its messages, without what a snapshot repeats."""
    found = day.lake.arrow(table, {"source": [SOURCE]}).to_pylist()
    told = [row for row in found if not row["quality"] & Quality.FROM_SNAPSHOT]
    return sorted(told, key=lambda row: (row["seq_num"] or 0, row["msg_index"] or 0, row["entry"] or 0))


def _events(day: Day, kind: str) -> list[Row]:
    return truth(day.folder, f"events/{kind}")


def _price(row: Row, name: str = "price") -> Decimal | None:
    return None if row[name] is None else Decimal(row[name]).scaleb(BONDS[row["security_id"]].price_exponent)


def _size(row: Row, name: str = "size") -> Decimal | None:
    return None if row[name] is None else Decimal(row[name]).scaleb(BONDS[row["security_id"]].size_exponent)


def _ms(ns: int) -> int:
    return ns // MS * MS


# What was told


def test_orders_are_those_of_the_market(day: Day) -> None:
    words = {Action.NEW: "ADD", Action.CHANGE: "CHANGE", Action.DELETE: "DELETE"}
    right = [
        (row["security_id"], words[Action(row["action"])], Side(row["side"]).name, row["order_id"],
         _price(row), None if row["action"] == Action.DELETE else _size(row), row["position"],
         _ms(row["transact_ns"]))
        for row in _events(day, "order_update")
    ]  # fmt: skip
    names = ("security_id", "action", "side", "order_id", "exact_price", "exact_size", "position", "ts_event")
    mine = [tuple(row[name] for name in names) for row in _rows(day, "orders")]
    assert _by_instrument(mine) == _by_instrument(right)
    assert min(row[4] for row in right if row[4] is not None) < 0  # rates below nothing, and fractions
    assert any(row[5] is not None and row[5] % 1 for row in right)


def _by_instrument(rows: list[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    """Within a message instruments are told one after the other: order is that of each."""
    found = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)
    return found


def test_plain_values_are_there_where_nothing_is_lost(day: Day) -> None:
    seen = Counter[tuple[str, bool]]()
    for table, names in (("orders", ("price", "size")), ("trades", ("price", "size")),
                         ("quotes", ("bid_price", "bid_size", "offer_price", "offer_size"))):  # fmt: skip
        for row in _rows(day, table):
            assert row["price_kind"] == BONDS[row["security_id"]].price_kind.name
            for name in names:
                exact, plain = row[f"exact_{name}"], row[name]
                places = 0 if name.endswith("size") else 4
                is_whole = exact is not None and exact == round(exact, places)
                assert plain == (exact if is_whole else None)
                seen[name, is_whole] += exact is not None
    assert all(seen[name, True] and seen[name, False] for name in ("price", "size"))


def test_trades_and_those_that_stand(day: Day) -> None:
    told, taken_back = _events(day, "trade"), _events(day, "trade_busted")
    names = ("security_id", "action", "trade_id", "exact_price", "exact_size", "ts_event")
    right = [
        (row["security_id"], word, row["trade_id"], _price(row), _size(row), _ms(row["transact_ns"]))
        for word, rows in (("TRADE", told), ("BUST", taken_back))
        for row in rows
    ]
    mine = [tuple(row[name] for name in names) for row in _rows(day, "trades")]
    assert sorted(mine) == sorted(right)
    gone = {(row["security_id"], row["trade_id"]) for row in taken_back}
    assert gone
    standing = {
        (row["security_id"], row["trade_id"], _price(row), _size(row),
         None if row["sub_type"] is None else TradeSubType(row["sub_type"]).name)
        for row in told
        if (row["security_id"], row["trade_id"]) not in gone
    }  # fmt: skip
    clean = _rows(day, "trades_clean")
    names = ("security_id", "trade_id", "exact_price", "exact_size", "sub_type")
    assert {tuple(row[name] for name in names) for row in clean} == standing
    assert len(clean) == len(standing)
    assert {row["sub_type"] for row in clean} == {None, "RFQ", "VOICE"}
    assert {row["price_kind"] for row in clean} == {"YIELD", "SPREAD", "PERCENTAGE", "PER_UNIT"}


def test_statistics_are_those_of_the_market(day: Day) -> None:
    right: list[tuple[Any, ...]] = []
    for kind, name in (("OPENING", "opening_price"), ("HIGH", "high_price"), ("LOW", "low_price"),
                       ("THEORETICAL", "theoretical_price")):  # fmt: skip
        for row in _events(day, name):
            price = None if row["action"] == Action.DELETE else _price(row)
            right.append((kind, row["security_id"], Action(row["action"]).name, price))
    right += [("CLOSING", row["security_id"], None, _price(row, "price_fine"))
              for row in _events(day, "closing_price")]  # fmt: skip
    kinds = {row[0] for row in right}
    told = _rows(day, "statistics")
    mine = [(row["kind"], row["security_id"], row["action"], row["exact_price"]) for row in told]
    assert Counter(row for row in mine if row[0] in kinds) == Counter(right)
    figures = _events(day, "execution_statistics")
    for kind, name in (("VOLUME", "volume"), ("TRADES", "trades"), ("VWAP", "vwap")):
        rows = [(row["security_id"], row["exact_price"] if kind == "VWAP" else row["exact_size"])
                for row in told if row["kind"] == kind and row["action"] != "DELETE"]  # fmt: skip
        scaled = {"VOLUME": _size, "VWAP": _price}.get(kind, lambda row, name: Decimal(row[name]))
        wanted = [(row["security_id"], scaled(row, name)) for row in figures if row[name] is not None]
        assert Counter(rows) == Counter(wanted), kind
    assert kinds == {"OPENING", "HIGH", "LOW", "THEORETICAL", "CLOSING"}


def test_money_is_that_of_the_market(day: Day) -> None:
    """As it was told each time, and at the end of the day: of rates too, whose price times size is none."""
    figures = _events(day, "execution_statistics")
    right = [(row["security_id"], Decimal(row["value"]).scaleb(-8), row["trades"]) for row in figures]
    mine = [(row["security_id"], row["money"], row["trades"]) for row in _rows(day, "totals")]
    assert _by_instrument(mine) == _by_instrument(right)
    last = {number: money for number, money, _ in right}
    daily = _rows(day, "daily")
    amounts = {row["security_id"]: row["amount"] for row in daily if row["amount"] is not None}
    assert amounts.keys() == {number for number, money in last.items() if money}
    for number, amount in amounts.items():
        if BONDS[number].price_kind is PriceKind.PER_UNIT:  # ours is not cut at cents, trade by trade
            assert abs(amount - last[number]) < Decimal("0.01") * 100
        else:
            assert amount == last[number]


def test_states_and_bands_are_those_of_the_market(day: Day) -> None:
    right = [(row["security_id"], State(row["state"]).name, _ms(row["transact_ns"]))
             for row in _events(day, "state_changed")]  # fmt: skip
    told = _rows(day, "states")
    mine = [(row["security_id"], row["state"], row["ts_event"]) for row in told]
    assert Counter(mine) == Counter(right + right)  # by 35=f and by 269=c
    assert {row[1] for row in right} == {"PAUSE", "OPEN", "RESERVED"}
    bands = [(row["security_id"], BandType(row["type"]).name, _price(row, "low"), _price(row, "high"))
             for row in _events(day, "price_band")]  # fmt: skip
    names = ("security_id", "band", "exact_low_price", "exact_high_price")
    assert Counter(tuple(row[name] for name in names) for row in _rows(day, "bands")) == Counter(bands)


# What was made of it


class _Side:
    """Orders by position, as they are told."""

    def __init__(self) -> None:
        self.orders: list[tuple[Decimal, Decimal]] = []

    def take(self, row: Row) -> None:
        place, order = row["position"] - 1, (row["exact_price"], row["exact_size"])
        if row["action"] == "ADD":
            self.orders.insert(place, order)
        elif row["action"] == "CHANGE":
            self.orders[place] = order
        else:
            del self.orders[place]

    def levels(self) -> list[tuple[Decimal, Decimal, int]]:
        found: list[tuple[Decimal, Decimal, int]] = []
        for price, size in self.orders:
            if found and found[-1][0] == price:
                found[-1] = price, found[-1][1] + size, found[-1][2] + 1
            else:
                found.append((price, size, 1))
        return found


Books = dict[tuple[int, str], _Side]


def _messages(day: Day) -> Iterator[tuple[int, int, set[int], Books]]:
    """Number and time of each message with orders, whose books it changed, and all books behind it."""
    books: Books = defaultdict(_Side)
    rows = _rows(day, "orders")
    for place, row in enumerate(rows):
        books[row["security_id"], row["side"]].take(row)
        if place + 1 == len(rows) or rows[place + 1]["seq_num"] != row["seq_num"]:
            of = {each["security_id"] for each in rows[: place + 1] if each["seq_num"] == row["seq_num"]}
            yield row["seq_num"], row["ts_send"], of, books


def _top(levels: list[tuple[Decimal, Decimal, int]]) -> tuple[Any, ...]:
    return levels[0] if levels else (None, None, None)


def test_quotes_are_best_levels_by_position(day: Day) -> None:
    last = {(row["security_id"], row["seq_num"]): row for row in _rows(day, "quotes")}
    shown: dict[int, tuple[Any, ...]] = {}
    compared = 0
    for number, _, changed, books in _messages(day):
        for security_id in changed:
            row = last.get((security_id, number))
            if row is not None:
                shown[security_id] = tuple(
                    row[name] or None
                    for side in ("bid", "offer")
                    for name in (f"exact_{side}_price", f"exact_{side}_size", f"{side}_orders")
                )
            right = (*_top(books[security_id, "BUY"].levels()), *_top(books[security_id, "SELL"].levels()))
            assert shown.get(security_id, (None,) * 6) == right, (security_id, number)
            compared += right != (None,) * 6
    assert compared > 300


def test_depth_is_that_of_the_book_at_the_end_of_an_interval(day: Day) -> None:
    """Of each bond the last sample of each second; prices come as they rank."""
    samples = defaultdict[int, list[Row]](list)
    for row in _rows(day, "depth"):
        samples[row["security_id"]].append(row)
    states: dict[int, list[tuple[int, list[Any]]]] = defaultdict(list)
    for _, sent_ns, changed, books in _messages(day):
        for security_id in changed:
            levels = [books[security_id, side].levels() for side in ("BUY", "SELL")]
            states[security_id].append((sent_ns, levels))
    compared = 0
    for security_id, rows in samples.items():
        for row in rows:
            right = [levels for sent_ns, levels in states[security_id] if sent_ns < row["ts_sample"]]
            bids, offers = right[-1] if right else ([], [])
            for side, levels in (("bid", bids), ("offer", offers)):
                mine = [
                    (row[f"exact_{side}_price_{place}"], row[f"exact_{side}_size_{place}"],
                     row[f"{side}_orders_{place}"])
                    for place in range(1, 11)
                    if row[f"{side}_orders_{place}"]
                ]  # fmt: skip
                assert mine == levels[:10], (security_id, row["ts_sample"])
                compared += len(mine)
    assert compared > 300


def test_the_book_at_any_time(day: Day) -> None:
    compared = 0
    for place, (_, sent_ns, changed, books) in enumerate(_messages(day)):
        if place % 60:
            continue
        for security_id in changed:
            found = book_at(day.lake, BONDS[security_id].symbol, sent_ns)
            for side, levels in (("BUY", found.bids), ("SELL", found.offers)):
                scale = found.scale
                mine = [(scale.price(each.price or 0), scale.size(each.size), each.orders) for each in levels]
                assert mine == books[security_id, side].levels()
                compared += len(mine)
    assert compared > 20


def _figures(rows: list[Row]) -> dict[str, Any]:
    """Open, high, low and last of the book's trades; volume and number of all."""
    booked = [row["exact_price"] for row in rows if row["sub_type"] is None]
    prices = (booked[0], max(booked), min(booked), booked[-1]) if booked else (None,) * 4
    volume = sum((row["exact_size"] for row in rows), Decimal())
    return dict(zip(("open", "high", "low", "last"), prices, strict=True)) | {
        "volume": volume, "trades": len(rows)
    }  # fmt: skip


def test_trades_beside_the_book_count_in_volume_and_not_in_prices(day: Day) -> None:
    clean = _rows(day, "trades_clean")
    days, minutes = defaultdict[Any, list[Row]](list), defaultdict[Any, list[Row]](list)
    for row in clean:
        days[row["security_id"]].append(row)
        minutes[row["security_id"], row["ts_event"] // MINUTE * MINUTE].append(row)
    for row in _rows(day, "daily"):
        right = _figures(days[row["security_id"]])
        for name in ("open", "high", "low", "last", "volume"):
            mine = row[f"exact_{name}"]
            assert mine == right[name] or (name == "volume" and not mine and not right[name]), row["symbol"]
        assert (row["trades"] or 0) == right["trades"]
        assert row["agrees"] is not False, row["symbol"]  # with what the exchange itself said
    bars = [row for row in _rows(day, "bars") if row["interval"] == MINUTE]
    assert {(row["security_id"], row["ts_start"]) for row in bars} == minutes.keys()
    for row in bars:
        right = _figures(minutes[row["security_id"], row["ts_start"]])
        mine = [row[f"exact_{name}"] for name in ("open", "high", "low", "close", "volume")] + [row["trades"]]
        assert mine == list(right.values())
    apart = [each for each in days.values() if any(row["sub_type"] for row in each)]
    assert any(_figures(each)["high"] != max(row["exact_price"] for row in each) for each in apart)


def test_instruments_have_all_that_a_bond_tells(day: Day) -> None:
    bonds = load_default_bonds()
    rows = _rows(day, "instruments")
    listed = {row["security_id"]: row for row in rows if row["security_id"] in bonds.bonds}
    assert listed.keys() == bonds.bonds.keys()
    announced = [row for row in rows if row["security_id"] not in bonds.bonds]  # and withdrawn
    assert [(row["action"], row["description"]) for row in announced] == [
        ("ADD", "ANNOUNCED"), ("MODIFY", "ANNOUNCED, CORRECTED"),
    ]  # fmt: skip
    assert {row["valid_to"] - row["valid_from"] for row in announced} == {10 * MINUTE}
    for number, bond in bonds.bonds.items():
        row = listed[number]
        assert (row["symbol"], row["bond_kind"]) == (bond.instrument.symbol, bond.kind.name)
        assert row["coupon"] == (None if bond.coupon_fine is None else Decimal(bond.coupon_fine).scaleb(-8))
        assert row["coupon_type"] == bond.coupon_type.name
        factor = None if bond.factor_fine is None else Decimal(bond.factor_fine).scaleb(-8)
        assert (row["hedge_factor"], row["trading_sector"]) == (factor, bond.sector)
        legs = [{"security_id": leg.security_id, "symbol": leg.symbol} for leg in bond.instrument.underlyings]
        assert row["underlyings"] == legs
        told = [{"type": kind, "value": text} for kind, text in bond.attributes]
        assert row["bond_attributes"] == told
        assert row["exact_lot"] == Decimal(bond.instrument.lot).scaleb(bond.instrument.size_exponent)
        assert row["price_kind"] == bond.price_kind.name


def test_nothing_is_found_wrong(day: Day) -> None:
    """A bid below an offer in a yield is no crossed book: the lower rate is the better bid."""
    assert {row["finding"] for row in day.lake.arrow("quality").to_pylist()} == {"SNAPSHOT_MATCH"}


# Who builds, and who asks


def test_rates_that_rank_as_prices(tmp_path: Path) -> None:
    """`rate_order = "plain"`: quotes, depth and books come as that exchange ranks, and none is crossed."""
    settings = BondDaySettings(tmp_path / "days", messages=900, seed=5, rate_order=RateOrder.PLAIN)
    folder = simulate_bonds(settings).folders[0]
    assert not build([folder], tmp_path / "lake", system="trademate-plain", derive=True).warnings
    plain = Day(folder, Lake(tmp_path / "lake"))
    test_quotes_are_best_levels_by_position(plain)
    test_depth_is_that_of_the_book_at_the_end_of_an_interval(plain)
    test_the_book_at_any_time(plain)
    test_nothing_is_found_wrong(plain)


def test_sessions_of_a_day_tell_the_same(day: Day) -> None:
    ours = {"source", "build_id", "seq_num", "ts_recv_a", "ts_send"}
    for table in ("orders", "trades_clean", "statistics", "totals", "quotes", "daily", "instruments"):
        one, two = ([{name: value for name, value in row.items() if name not in ours}
                     for row in day.lake.arrow(table, {"source": [source]}).to_pylist()]
                    for source in (SOURCE, "SESSION2-B3"))  # fmt: skip
        assert one == two, table


def test_workers_of_spark_build_the_same(day: Day, spark: Any, tmp_path: Path) -> None:
    settings = BuildSettings(system="trademate")
    Builder(Location(tmp_path), SparkRunner(spark), settings).build([str(day.folder)])
    for table in (
        "orders",
        "trades",
        "statistics",
        "quotes",
        "depth",
        "instruments",
        "daily",
        "bars",
        "totals",
    ):
        assert rows_of(Lake(tmp_path), table) == rows_of(day.lake, table), table


def test_people_ask(day: Day, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rate is shown as a rate, and a day of two sessions is one day."""
    path = day.lake.location.uri
    row = next(row for row in _rows(day, "quotes") if row["bid_orders"] and row["price_kind"] == "YIELD")
    assert main(["book", row["symbol"], "--at", str(row["ts_send"]), "--lake", path]) == 0
    assert f"{row['exact_bid_price'].normalize():f} %" in capsys.readouterr().out
    question = "select symbol, exact_price, price_kind from trades_clean where sub_type = 'RFQ'"
    assert main(["query", question, "--lake", path, "--format", "csv"]) == 0
    assert ",SPREAD" in capsys.readouterr().out
    assert main(["report", "--lake", path, "--out", str(tmp_path / "day.html")]) == 0
    said, page = capsys.readouterr().out, (tmp_path / "day.html").read_text()
    assert "on 2 sessions" in said
    traded = {row["security_id"] for row in _rows(day, "trades_clean")}
    assert f"instruments traded, amount                    {len(traded)}, BRL" in said
    assert "sessions SESSION1-B3, SESSION2-B3" in page
