"""A lake of bonds: exponents of −8 and others, rates below nothing, fractions. Every exact value is compared
with the lines that a toy exchange sent, by Python's decimals (`twins.scales`). Nothing above `feeds` knows
it."""

import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pregao.cli.main import main
from pregao.lake.bars import bars as spark_bars
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.maintenance.compact import compact
from pregao.lake.quant.hftbacktest import levels
from pregao.lake.runners import SparkRunner
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.model.streams import Stream
from tests.integration.test_toy_lake import Line, Recorder, lines_of
from tests.kits.lakes import SMALL_PIECES, all_tables, build, make_days, rows_of
from tests.toy.bonds import SCALES, ToyBondExchange
from tests.twins import scales as twin

NAME: Final = "tests.toy.system:BONDS"
STEPS: Final = 500
Row = dict[str, Any]


class Day(NamedTuple):
    folder: Path
    lines: list[Line]
    exchange: ToyBondExchange
    ends_ns: int


def _record(seed: int, folder: Path) -> Day:
    exchange, recorder, lines, last = ToyBondExchange(seed), Recorder(folder), [], 0
    for packet in exchange.day(STEPS):
        for feed in packet.feeds:
            recorder.take(packet, feed)
        if packet.stream is Stream.INCREMENTAL:
            lines += lines_of(packet)
            last = packet.ts_ns
    recorder.close()
    return Day(folder, lines, exchange, last)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    return _record(3, tmp_path_factory.mktemp("bonds") / "captures")


@pytest.fixture(scope="module")
def path(day: Day) -> Path:
    build([day.folder], day.folder.parent / "lake", system=NAME, slices=3, derive=True)
    return day.folder.parent / "lake"


@pytest.fixture(scope="module")
def lake(path: Path) -> Lake:
    return Lake(path)


def _told(day: Day, letter: str) -> dict[int, list[int]]:
    """The numbers of such lines, by their place."""
    return {
        number: [int(word) for word in line.split()[1:] if not word.isalpha()]
        for number, line in day.lines if line.startswith(f"{letter} ")
    }  # fmt: skip


def _price(security_id: int, mantissa: int | None) -> Decimal | None:
    return twin.exact(mantissa, SCALES[security_id].price_exponent)


def _size(security_id: int, mantissa: int | None) -> Decimal | None:
    return twin.exact(mantissa, SCALES[security_id].size_exponent)


def _check(row: Row, name: str, right: Decimal | None, places: int) -> None:
    assert row[f"exact_{name}"] == right, (name, row)
    assert row[name] == twin.held(right, places), (name, row)


def _kind(security_id: int) -> str | None:
    return getattr(SCALES[security_id].price_kind, "name", None)


def test_orders_and_trades_are_what_was_sent(lake: Lake, day: Day) -> None:
    entered, left, trades = (_told(day, letter) for letter in "OXT")
    rows = [row for row in lake.arrow("orders").to_pylist() if row["action"] != "SNAPSHOT"]
    assert {row["seq_num"] for row in rows} == entered.keys() | left.keys()
    lost = 0
    for row in rows:
        security_id, _, _, _, price, *size = (entered | left)[row["seq_num"]]
        _check(row, "price", _price(security_id, price), 4)
        if size:
            _check(row, "size", _size(security_id, size[0]), 0)
        assert row["price_kind"] == _kind(security_id)
        lost += row["price"] is None
    assert 0 < lost < len(rows)
    for table in ("trades", "trades_clean"):
        found = lake.arrow(table).to_pylist()
        assert {row["seq_num"] for row in found} == trades.keys()
        for row in found:
            security_id, _, trade_id, price, size = trades[row["seq_num"]]
            assert (row["security_id"], row["trade_id"]) == (security_id, trade_id)
            _check(row, "price", _price(security_id, price), 4)
            _check(row, "size", _size(security_id, size), 0)
            assert row["price_kind"] == _kind(security_id)
        assert any(row["exact_price"] < 0 for row in found)
        assert any(row["size"] is None for row in found)


def test_statistics_and_bands_are_what_was_sent(lake: Lake, day: Day) -> None:
    high, totals, bands = (_told(day, letter) for letter in "HVG")
    for row in lake.arrow("statistics").to_pylist():
        security_id, _, price, *counts = (high | totals)[row["seq_num"]]
        expected: dict[str, tuple[Decimal | None, Decimal | None]] = {
            "HIGH": (_price(security_id, price), None),
            "VWAP": (_price(security_id, price), None),
            "VOLUME": (None, _size(security_id, counts[0]) if counts else None),
            "TRADES": (None, Decimal(counts[1]) if counts else None),
        }
        price_told, size_told = expected[row["kind"]]
        assert row["price"] == row["exact_price"] == price_told
        _check(row, "size", size_told, 0)
        assert row["price_kind"] == (None if price_told is None else _kind(security_id))
    found = lake.arrow("bands").to_pylist()
    assert {row["seq_num"] for row in found} == bands.keys()
    for row in found:
        security_id, _, low, upper = bands[row["seq_num"]]
        _check(row, "low_price", _price(security_id, low), 4)
        _check(row, "high_price", _price(security_id, upper), 4)


def test_the_law_of_all_tables(lake: Lake) -> None:
    """What is beside an exact value is that value, or nothing where it would lose a digit; where there is an
    exact one, nothing else is made up."""
    compared = 0
    for name, table in DATA_TABLES.items():
        exact = [column.name for column in table.columns if column.name.startswith("exact_")]
        for row in lake.arrow(name).to_pylist() if exact else ():
            for column in exact:
                beside = column.removeprefix("exact_")
                places = getattr(table.by_name[beside].type.arrow, "scale", 0)
                value = None if row[column] is None else twin.held(row[column], places)
                assert row[beside] == value, (name, beside, row)
                compared += value is not None
    assert compared > 4_000


def _levels(orders: dict[int, tuple[int, int, int]], security_id: int, side: int) -> dict[Decimal, Decimal]:
    found: dict[Decimal, Decimal] = defaultdict(Decimal)
    for mine, price, size in orders.values():
        if mine == side:
            found[_price(security_id, price) or Decimal()] += _size(security_id, size) or Decimal()
    return dict(found)


def test_books_depth_and_quotes_are_the_exchange_s(lake: Lake, day: Day) -> None:
    for security_id, orders in day.exchange.books.items():
        symbol = day.exchange.symbol(security_id)
        book = lake.book(symbol, at=day.ends_ns)
        assert book.scale.price_kind == SCALES[security_id].price_kind
        quote = lake.arrow("quotes", {"symbol": symbol}).sort_by("seq_num").to_pylist()[-1]
        sample = lake.arrow("depth", {"symbol": symbol}).sort_by("seq_num").to_pylist()[-1]
        asked = lake.depth(symbol, levels=10).to_pylist()[-1]
        ours = levels(lake.hftbacktest(symbol))
        assert quote["price_kind"] == _kind(security_id)
        for side, name, told, best in ((1, "bid", book.bids, max), (2, "offer", book.offers, min)):
            right = _levels(orders, security_id, side)
            shown = {Decimal(each.price or 0).scaleb(-8): Decimal(each.size).scaleb(-8) for each in told}
            assert shown == right
            top = best(right)
            assert (quote[f"exact_{name}_price"], quote[f"exact_{name}_size"]) == (top, right[top])
            ten = sorted(right, reverse=side == 1)[:10]
            for row in (sample, asked):
                found = {
                    row[f"exact_{name}_price_{level}"]: row[f"exact_{name}_size_{level}"]
                    for level in range(1, len(ten) + 1)
                }
                assert found == {price: right[price] for price in ten}
                assert row[f"{name}_price_1"] == twin.held(top, 4)
            assert ours[side - 1].keys() == {float(price) for price in right}
            for price, size in right.items():
                assert ours[side - 1][float(price)] == pytest.approx(float(size))


def _rounded(value: Decimal, places: int) -> Decimal:
    """Half away from zero."""
    unit = Decimal(1).scaleb(-places)
    return (abs(value) + unit / 2) // unit * unit * (-1 if value < 0 else 1)


class Sold(NamedTuple):
    price: Decimal
    size: Decimal
    is_of_book: bool

    @property
    def amount(self) -> Decimal:
        return self.price * self.size


def _figures(trades: list[Sold]) -> dict[str, Decimal]:
    """Voice trades and requests for quotes are in volume and money only."""
    booked = [each for each in trades if each.is_of_book]
    prices = [each.price for each in booked]
    volume, amount = sum(each.size for each in booked), sum(each.amount for each in booked)
    return {
        "open": prices[0], "high": max(prices), "low": min(prices), "last": prices[-1],
        "volume": sum((each.size for each in trades), Decimal()),
        "amount": sum((each.amount for each in trades), Decimal()), "vwap": _rounded(amount / volume, 8),
    }  # fmt: skip


def _trades_of(day: Day, security_id: int) -> list[Sold]:
    found = []
    for _, line in day.lines:
        letter, of, *words = line.split()
        if letter == "T" and int(of) == security_id:
            price, size = _price(security_id, int(words[2])), _size(security_id, int(words[3]))
            found.append(Sold(price or Decimal(), size or Decimal(), len(words) == 4))
    assert len({each.is_of_book for each in found}) == 2
    return found


def test_daily_and_bars_are_sums_of_exact_trades(lake: Lake, day: Day) -> None:
    for security_id in SCALES:
        right, symbol = _figures(_trades_of(day, security_id)), day.exchange.symbol(security_id)
        (row,) = lake.arrow("daily", {"symbol": symbol}).to_pylist()
        for name in ("open", "high", "low", "last"):
            _check(row, name, right[name], 4)
        _check(row, "volume", right["volume"], 0)
        assert row["vwap"] == right["vwap"]
        is_money = _kind(security_id) in (None, "PER_UNIT")
        assert row["amount"] == (_rounded(_rounded(right["amount"], 6), 4) if is_money else None)
        _, _, average, volume, trades = [each for _, each in sorted(_told(day, "V").items())
                                         if each[0] == security_id][-1]  # fmt: skip
        assert row["b3_vwap"] == _price(security_id, average)
        _check(row, "b3_volume", _size(security_id, volume), 0)
        assert row["b3_trades"] == trades
        whole = lake.arrow("bars", {"symbol": symbol, "interval": 86_400_000_000_000}).to_pylist()
        asked = lake.bars(symbol, "1d").to_pylist()
        for (bar,) in (whole, asked):
            assert bar["exact_close"] == right["last"]
            assert (bar["exact_open"], bar["exact_high"], bar["exact_low"]) == (
                right["open"], right["high"], right["low"],
            )  # fmt: skip
            _check(bar, "volume", right["volume"], 0)
            assert (bar["vwap"], bar["amount"]) == (right["vwap"], _rounded(right["amount"], 4))
        by_volume = lake.bars(symbol, Decimal("1000.5"), by="volume").to_pylist()
        assert sum(bar["exact_volume"] for bar in by_volume) == right["volume"]
        assert all(bar["exact_volume"] >= Decimal("1000.5") for bar in by_volume[:-1])


def test_what_differs_is_told_exactly(lake: Lake, day: Day) -> None:
    """The toy's exchange tells averages that are none: they differ, and the finding says by what."""
    found = lake.arrow("quality", {"finding": "STATISTIC_DIFFERS"}).to_pylist()
    told = {(row["security_id"], row["detail"]): (row["expected"], row["found"]) for row in found}
    assert {detail for _, detail in told} >= {"vwap", "volume"}
    for (security_id, detail), (theirs, ours) in told.items():
        if detail not in ("vwap", "volume"):
            continue
        last = [each for _, each in sorted(_told(day, "V").items()) if each[0] == security_id][-1]
        right = _figures(_trades_of(day, security_id))
        scale = _price if detail == "vwap" else _size
        assert Decimal(theirs) == scale(security_id, last[2 if detail == "vwap" else 3])
        assert Decimal(ours) == right[detail]


def test_trades_beside_the_quotes_before_them(lake: Lake, day: Day) -> None:
    found = lake.asof(lake.trades("BOND2"), lake.arrow("quotes", {"symbol": "BOND2"})).to_pylist()
    assert any(row["exact_bid_price"] is not None for row in found)
    for row in found:
        if row["exact_bid_price"] is not None:
            assert row["bid_price"] == twin.held(row["exact_bid_price"], 4)


def test_what_a_day_ends_with_is_stored_exactly(day: Day, tmp_path: Path) -> None:
    build([day.folder], tmp_path / "lake", system=NAME, slices=1)
    rows = Lake(tmp_path / "lake").arrow("book_checkpoints", {"anchor": "STORED"}).to_pylist()
    orders = {row["order_id"]: row for row in rows if row["order_id"] is not None}
    right = {
        order: (security_id, each)
        for security_id, book in day.exchange.books.items()
        for order, each in book.items()
    }
    assert orders.keys() == right.keys()
    for order, (security_id, (_, price, size)) in right.items():
        _check(orders[order], "price", _price(security_id, price), 4)
        _check(orders[order], "size", _size(security_id, size), 0)


def test_a_day_that_begins_with_the_books_of_the_one_before(tmp_path: Path) -> None:
    """The second day has no snapshots: its books are those that were stored, in the exponents of each
    instrument again."""
    exchange, second, ends = ToyBondExchange(11), set[int](), 0
    for number in range(2):
        recorder = Recorder(tmp_path / f"day{number}")
        exchange.sleep(number * 86_400 * 10**9)
        for packet in exchange.day(120):
            if number and packet.stream is Stream.SNAPSHOT:
                continue
            for feed in packet.feeds:
                recorder.take(packet, feed)
            if number and packet.stream is Stream.INCREMENTAL:
                second |= {int(line.split()[4]) for _, line in lines_of(packet) if line.startswith("O ")}
            ends = packet.ts_ns
        recorder.close()
    report = build([tmp_path / "day0", tmp_path / "day1"], tmp_path / "lake", system=NAME, slices=1)
    assert len(report.units) == 2
    lake, older = Lake(tmp_path / "lake"), 0
    for security_id, orders in exchange.books.items():
        book = lake.book(exchange.symbol(security_id), at=ends)
        assert not book.quality & ~Quality.FROM_SNAPSHOT
        for side, told in ((1, book.bids), (2, book.offers)):
            shown = {Decimal(each.price or 0).scaleb(-8): Decimal(each.size).scaleb(-8) for each in told}
            assert shown == _levels(orders, security_id, side)
        older += len(orders.keys() - second)
    assert older > 10  # orders of the first day that are still there


def test_the_same_on_spark(spark: Any, day: Day, path: Path, tmp_path: Path) -> None:
    settings = BuildSettings(system=NAME, slices=4, piece_packets=SMALL_PIECES)
    Builder(Location(tmp_path / "there"), SparkRunner(spark), settings).build([str(day.folder)])
    here, there = all_tables(path), all_tables(tmp_path / "there")
    for table, rows in here.items():
        assert there[table] == rows, table
    opened = Lake(tmp_path / "there", spark)
    frame = opened.table("trades_clean", where={"symbol": "BOND2"})
    made = sorted(spark_bars(frame, ["1d"], "x").toArrow().to_pylist(), key=str)
    (stored,) = opened.arrow("bars", {"symbol": "BOND2", "interval": 86_400_000_000_000}).to_pylist()
    assert [row["exact_volume"] for row in made] == [stored["exact_volume"]]
    assert [row["exact_close"] for row in made] == [stored["exact_close"]]
    assert frame.where("exact_price < 0").count() == sum(
        row["exact_price"] < 0 for row in opened.trades("BOND2").to_pylist()
    )


def test_the_faces_say_the_same(spark: Any, lake: Lake, path: Path) -> None:
    """Arrow, pandas, Polars, DuckDB and Spark."""
    wanted = ["seq_num", "exact_price", "exact_size", "price_kind"]
    right = sorted((tuple(row.values()) for row in lake.arrow("trades", columns=wanted).to_pylist()), key=str)
    assert {row[3] for row in right} == {_kind(each) for each in SCALES}
    frame = lake.to_pandas("trades")[wanted].astype(object)
    pandas_rows = frame.where(frame.notna(), None).itertuples(index=False, name=None)
    assert sorted(pandas_rows, key=str) == right
    assert sorted(lake.to_polars("trades").select(wanted).rows(), key=str) == right
    found = lake.to_duckdb().execute(f"SELECT {', '.join(wanted)} FROM trades").fetchall()
    assert sorted(found, key=str) == right
    rows = Lake(path, spark).table("trades").select(*wanted).collect()
    assert sorted((tuple(row) for row in rows), key=str) == right


def test_beside_a_system_without_exact_values(path: Path, day: Day, tmp_path: Path) -> None:
    """Files of one system have the columns, those of the other do not: every reader sees one table, before
    and after files are joined."""
    both = tmp_path / "lake"
    build([day.folder], both, system=NAME, slices=6)
    build(make_days(tmp_path / "days", messages=400, seed=2), both, channels={84}, slices=2)
    systems, joined = ["binary", "toy-bonds"], ["orders", "depth", "trades"]
    before = {name: rows_of(Lake(both, system=systems), name) for name in joined}
    opened = DeltaTable(str(both / "orders"))
    comments = {field.name: field.metadata.get("comment", "") for field in opened.schema().fields}
    assert "eight places" in comments["exact_price"]
    assert "what its prices are" in comments["price_kind"]
    table = opened.to_pyarrow_table()
    kinds = {(row["system"], row["exact_size"] is not None) for row in table.to_pylist() if row["size"]}
    assert kinds == {("binary", False), ("toy-bonds", True)}
    assert compact(Lake(both, system=systems), tables=joined).version is not None
    assert {name: rows_of(Lake(both, system=systems), name) for name in joined} == before
    written = {
        file.partition["system"]: set(pq.read_schema(both / "orders" / file.path).names)
        for file in Lake(both, system=systems).files("orders")
    }
    assert "exact_price" in written["toy-bonds"]
    assert not {"exact_price", "price_kind"} & written["binary"]


def test_people_see_rates_as_rates(path: Path, day: Day, capsys: pytest.CaptureFixture[str]) -> None:
    at = str(day.ends_ns)
    assert main(["book", "BOND1", "--at", at, "--lake", str(path)]) == 0
    assert " % " in capsys.readouterr().out
    assert main(["book", "BOND2", "--at", at, "--lake", str(path), "--format", "json", "--depth", "99"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["price_kind"] == "PER_UNIT"
    right = _levels(day.exchange.books[2], 2, 1)
    assert {Decimal(each["price"]): Decimal(each["size"]) for each in shown["bids"]} == right
    query = "select min(exact_price) as low from trades where symbol = 'BOND1'"
    assert main(["query", query, "--lake", str(path)]) == 0
    low = min(each.price for each in _trades_of(day, 1))
    assert f"{low:.8f}" in capsys.readouterr().out


def test_the_page_shows_rates_as_rates(path: Path, day: Day, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert main(["report", "--lake", str(path), "--out", str(out), "--symbol", "BOND1"]) == 0
    page = out.read_text()
    right = _figures(_trades_of(day, 1))
    for name in ("open", "last"):
        whole, _, places = f"{right[name]:f}".partition(".")
        text = f"{whole}.{places.rstrip('0').ljust(2, '0')} %".replace("-", "−")
        assert f'<td class="r">{text}</td>' in page or f">{text}<" in page, text
    unit = _figures(_trades_of(day, 2))["last"]
    assert f"{unit:.8f}".rstrip("0").replace("-", "−") + " %" not in page  # a price is none


def test_a_price_that_no_column_holds_names_its_message(tmp_path: Path) -> None:
    exchange, recorder, spoilt = ToyBondExchange(5), Recorder(tmp_path / "captures"), None
    for packet in exchange.day(60):
        if spoilt is None and packet.stream is Stream.INCREMENTAL:
            trade = next((line for _, line in lines_of(packet) if line.startswith("T 3 ")), None)
            if trade is not None:
                words = trade.split()
                words[4] = str(10**15)  # of 10⁻⁴: with eight places it has nineteen digits
                payload = packet.payload.replace(trade.encode(), " ".join(words).encode())
                packet = packet._replace(payload=payload)
                spoilt = next(number for number, line in lines_of(packet) if line == " ".join(words))
        for feed in packet.feeds:
            recorder.take(packet, feed)
    recorder.close()
    assert spoilt is not None
    with pytest.raises(Exception, match=rf"table trades: row \d+, packet {spoilt}, .*{10**15} has too many"):
        build([tmp_path / "captures"], tmp_path / "lake", system=NAME)
