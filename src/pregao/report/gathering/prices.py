"""The price of one instrument through the day, as bars that a page has room for."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pregao.report.gathering.activity import MINUTE_NS, Traded
from pregao.report.gathering.day import Day

MOST_BARS: Final = 150
_LENGTHS: Final = (1, 2, 5, 10, 15, 30, 60)  # minutes


@dataclass(frozen=True)
class Candle:
    start_ns: int
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    volume: int
    trades: int


@dataclass(frozen=True)
class Prices:
    symbol: str
    length_ns: int
    candles: tuple[Candle, ...]


def prices(day: Day, of: Traded) -> Prices | None:
    names = ["ts_start", "open", "high", "low", "close", "volume", "trades"]
    where = [("interval", "=", MINUTE_NS), ("security_id", "=", of.security_id), ("channel", "=", of.channel)]
    rows = [row for row in day.rows("bars", names, where) if row["open"] is not None]
    if not rows:
        return None
    rows.sort(key=lambda row: row["ts_start"])
    length = _length(rows[-1]["ts_start"] - rows[0]["ts_start"])
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["ts_start"] // length * length, []).append(row)
    return Prices(of.symbol, length, tuple(_candle(start, each) for start, each in groups.items()))


def _length(span_ns: int) -> int:
    for minutes in _LENGTHS:
        if span_ns / (minutes * MINUTE_NS) <= MOST_BARS:
            return minutes * MINUTE_NS
    return _LENGTHS[-1] * MINUTE_NS


def _candle(start: int, rows: Sequence[dict[str, Any]]) -> Candle:
    return Candle(
        start, rows[0]["open"], max(row["high"] for row in rows), min(row["low"] for row in rows),
        rows[-1]["close"], sum(row["volume"] or 0 for row in rows), sum(row["trades"] or 0 for row in rows),
    )  # fmt: skip
