"""One auction worth looking at."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pregao.report.gathering.day import Day


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
class Auctions:
    shown: Auction | None
    by_kind: dict[str, tuple[int, int]]  # auctions, of which uncrossed
    extended: int


_NAMES = [
    "symbol", "security_id", "kind", "ts_start", "ts_end", "extensions", "path", "uncross_price",
    "uncross_size", "trades", "imbalance_side", "imbalance_size",
]  # fmt: skip


def auctions(day: Day, symbol: str | None) -> Auctions:
    """The one shown: of `symbol` if it had one, uncrossed rather than not, with the longest path."""
    rows = day.rows("auctions", _NAMES)
    by_kind: dict[str, tuple[int, int]] = {}
    for row in rows:
        kind = row["kind"] or "OTHER"
        all_, done = by_kind.get(kind, (0, 0))
        by_kind[kind] = all_ + 1, done + (row["uncross_price"] is not None)
    ranked = sorted(rows, key=lambda row: _interest(row, symbol), reverse=True)
    shown = _auction(ranked[0]) if ranked and len(ranked[0]["path"] or ()) > 1 else None
    return Auctions(shown, by_kind, sum(bool(row["extensions"]) for row in rows))


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
