"""The book of one instrument through the day, as a grid: time × price, with what rests there."""

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import gcd
from typing import Any, Final

from pregao.lake.tables.instruments import DEPTH_LEVELS
from pregao.report.gathering.activity import Traded
from pregao.report.gathering.built import Day

COLUMNS: Final = 180
ROWS: Final = 64
_SCALE: Final = 10_000


@dataclass(frozen=True)
class DepthColumn:
    """A moment: sizes by row of the grid (0 is the lowest price), and the best of each side."""

    start_ns: int
    bids: dict[int, int]
    offers: dict[int, int]
    bid: Decimal | None
    offer: Decimal | None


@dataclass(frozen=True)
class DepthChart:
    symbol: str
    start_ns: int
    column_ns: int
    lowest: int  # ten-thousandths
    row_height: int  # ten-thousandths
    rows: int
    columns: tuple[DepthColumn | None, ...]  # None: no book then
    stale: tuple[tuple[int, int], ...] = ()  # from, to: messages were missing, so nobody knows the book


Book = dict[str, Any]
_LISTS: Final = {
    f"{side}_{name}": [f"{side}_{name}_{level}" for level in range(1, DEPTH_LEVELS + 1)]
    for side in ("bid", "offer")
    for name in ("price", "size")
}


def _book(row: dict[str, Any]) -> Book:
    """Levels as lists, those that there are."""
    book: Book = {"ts_sample": row["ts_sample"]}
    for side in ("bid", "offer"):
        shown = sum(row[name] is not None for name in _LISTS[f"{side}_size"])
        for name in (f"{side}_price", f"{side}_size"):
            book[name] = [row[level] for level in _LISTS[name][:shown]]
    return book


def depth(day: Day, of: Traded) -> DepthChart | None:
    where = [("security_id", "=", of.security_id), ("source", "=", of.source)]
    names = [name for levels in _LISTS.values() for name in levels]
    sampled = day.exact_rows("depth", ["ts_sample", "md_stream", *names], where)
    books = [_book(row) for row in sampled if row["ts_sample"] and row["md_stream"] in (None, "E")]
    books.sort(key=lambda row: row["ts_sample"])
    if len(books) < 2:
        return None
    start, end = books[0]["ts_sample"], books[-1]["ts_sample"]
    column_ns = max(1, (end - start) // COLUMNS + 1)
    lowest, height, rows = _price_rows(books)
    grid = (lowest, height, rows)
    shown, stale = _at_each(books, start, column_ns), _stale(day, of)
    columns = tuple(
        None if book is None or _within(start + (place + 1) * column_ns, stale)
        else _column(book, start + place * column_ns, *grid)
        for place, book in enumerate(shown)
    )  # fmt: skip
    return DepthChart(of.symbol, start, column_ns, lowest, height, rows, columns, stale)


def _stale(day: Day, of: Traded) -> tuple[tuple[int, int], ...]:
    """While a book is stale it is not sampled: the last sample must not look as if it still stood."""
    where = [
        ("finding", "in", ("HEAL", "STALE_SPAN")), ("security_id", "=", of.security_id),
        ("source", "=", of.source),
    ]  # fmt: skip
    rows = day.rows("quality", ["ts_from", "ts_to"], where)
    return tuple(sorted((row["ts_from"], row["ts_to"]) for row in rows if row["ts_from"] and row["ts_to"]))


def _within(at_ns: int, spans: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= at_ns < end for start, end in spans)


def _at_each(books: list[Book], start: int, column_ns: int) -> list[Book | None]:
    """The last book in each column; a book that did not change was not sampled again and still stands."""
    count = (books[-1]["ts_sample"] - start) // column_ns + 1
    found: list[Book | None] = [None] * count
    for book in books:
        found[(book["ts_sample"] - start) // column_ns] = book
    for place in range(1, count):
        found[place] = found[place] or found[place - 1]
    return found


def _price_rows(books: list[Book]) -> tuple[int, int, int]:
    """Lowest price, height of a row and number of rows: the prices that were near the best ones, for a
    far order at a tenth of the price would make everything else one line."""
    near: list[int] = []
    step = 0
    for book in books:
        for side in ("bid_price", "offer_price"):
            levels = [_mantissa(each) for each in book[side] or () if each is not None]
            near += levels[:8]
            for one, other in pairwise(levels):
                step = gcd(step, abs(one - other))
    near.sort()
    if not near:
        return 0, 1, 1
    edge = len(near) // 200
    lowest, highest = near[edge], near[-1 - edge]
    height = max(step, 1)
    while (highest - lowest) // height + 1 > ROWS:
        height *= 2
    lowest = lowest // height * height
    return lowest, height, (highest - lowest) // height + 1


def _column(book: Book, start_ns: int, lowest: int, height: int, rows: int) -> DepthColumn:
    sides: dict[str, dict[int, int]] = {"bid": {}, "offer": {}}
    for side, sizes in sides.items():
        for level, size in zip(book[f"{side}_price"] or (), book[f"{side}_size"] or (), strict=False):
            place = -1 if level is None else (_mantissa(level) - lowest) // height
            if 0 <= place < rows:
                sizes[place] = sizes.get(place, 0) + (size or 0)
    best = [next(iter(book[f"{side}_price"] or ()), None) for side in sides]
    return DepthColumn(start_ns, sides["bid"], sides["offer"], best[0], best[1])


def _mantissa(value: Decimal) -> int:
    return int(value * _SCALE)


# One auction worth looking at.


@dataclass(frozen=True)
class Point:
    ts: int
    price: Decimal
    size: int


@dataclass(frozen=True)
class Auction:
    symbol: str
    kind: str
    start_ns: int
    end_ns: int | None
    extensions: int
    path: tuple[Point, ...]
    price: Decimal | None
    size: int | None
    trades: int
    imbalance_side: str | None
    imbalance_size: int | None


@dataclass(frozen=True)
class AuctionChart:
    shown: Auction | None
    by_kind: dict[str, tuple[int, int]]  # auctions, of which uncrossed
    extended: int


_NAMES = [
    "symbol", "security_id", "kind", "ts_start", "ts_end", "extensions", "path", "uncross_price",
    "uncross_size", "trades", "imbalance_side", "imbalance_size",
]  # fmt: skip


def auctions(day: Day, symbol: str | None) -> AuctionChart:
    """The one shown: of `symbol` if it had one, uncrossed rather than not, with the longest path."""
    rows = day.rows("auctions", _NAMES)
    by_kind: dict[str, tuple[int, int]] = {}
    for row in rows:
        kind = row["kind"] or "OTHER"
        all_, done = by_kind.get(kind, (0, 0))
        by_kind[kind] = all_ + 1, done + (row["uncross_price"] is not None)
    ranked = sorted(rows, key=lambda row: _interest(row, symbol), reverse=True)
    shown = _auction(ranked[0]) if ranked and len(ranked[0]["path"] or ()) > 1 else None
    return AuctionChart(shown, by_kind, sum(bool(row["extensions"]) for row in rows))


def _interest(row: dict[str, Any], symbol: str | None) -> tuple[bool, bool, bool, int]:
    points = len(row["path"] or ())
    return points > 1, row["uncross_price"] is not None, row["symbol"] == symbol, points


def _auction(row: dict[str, Any]) -> Auction:
    path = tuple(Point(each["ts"], each["price"], each["size"] or 0) for each in row["path"] or ())
    return Auction(
        row["symbol"] or str(row["security_id"]), row["kind"] or "OTHER", row["ts_start"], row["ts_end"],
        row["extensions"] or 0, path, row["uncross_price"], row["uncross_size"], row["trades"] or 0,
        row["imbalance_side"], row["imbalance_size"],
    )  # fmt: skip
