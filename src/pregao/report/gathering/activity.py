"""How much happened, minute by minute, and where most was traded."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np

from pregao.lake.tables.analytics import Quality
from pregao.model.scales import PERCENT_KINDS as _PERCENT
from pregao.report.gathering.built import Day, told_once

MINUTE_NS: Final = 60_000_000_000
MOST: Final = 12
PERCENT_KINDS: Final = tuple(kind.name for kind in _PERCENT)


@dataclass(frozen=True)
class Traded:
    """An instrument's day."""

    symbol: str
    security_id: int
    source: str
    trades: int
    volume: int | Decimal
    amount: Decimal | None  # money in `currency`
    currency: str | None
    incomplete: bool  # messages of this instrument are missing
    open: Decimal | None
    high: Decimal | None
    low: Decimal | None
    last: Decimal | None
    vwap: Decimal | None
    agrees: bool | None
    unit: str = ""  # behind its prices, where they are rates


@dataclass(frozen=True)
class Activity:
    """By minute: nanoseconds of its start and a number."""

    messages: tuple[tuple[int, int], ...]
    trades: tuple[tuple[int, int], ...]
    most_traded: tuple[Traded, ...]
    instruments: int  # that traded
    all_messages: int
    all_packets: int
    all_trades: int
    amounts: tuple[tuple[str | None, Decimal], ...]  # by currency, the largest first


def activity(day: Day) -> Activity:
    messages, packets = _messages(day)
    traded = _traded(day)
    return Activity(
        _filled(messages), _filled(_trades(day)), tuple(traded[:MOST]), len(traded),
        sum(messages.values()), packets, sum(each.trades for each in traded),
        _amounts(traded),
    )  # fmt: skip


def _messages(day: Day) -> tuple[Counter[int], int]:
    found: Counter[int] = Counter()
    packets = 0
    where = [("stream", "=", "INCREMENTAL"), ("ts_send", "is not null", None)]
    for batch in day.batches("packets", ["ts_send", "messages"], where):
        packets += batch.num_rows
        minutes = batch.column(0).to_numpy(zero_copy_only=False) // MINUTE_NS
        # A packet that does not say how many messages it holds counts as one.
        held = batch.column(1).fill_null(1).to_numpy(zero_copy_only=False)
        values, places = np.unique(minutes, return_inverse=True)
        for minute, number in zip(values, np.bincount(places, weights=held), strict=True):
            found[int(minute) * MINUTE_NS] += int(number)
    return found, packets


def _trades(day: Day) -> Counter[int]:
    found: Counter[int] = Counter()
    names = ["security_id", "source", "ts_start", "trades"]
    for row in told_once(day.rows("bars", names, [("interval", "=", MINUTE_NS)])):
        found[row["ts_start"]] += row["trades"] or 0
    return found


def _filled(found: Counter[int]) -> tuple[tuple[int, int], ...]:
    """With the minutes in which nothing happened."""
    if not found:
        return ()
    return tuple((at, found[at]) for at in range(min(found), max(found) + 1, MINUTE_NS))


def _traded(day: Day) -> list[Traded]:
    figures = ["open", "high", "low", "last", "vwap", "agrees"]
    names = ["symbol", "security_id", "source", "trades", "volume", "amount", "currency", "quality"]
    rows, units = told_once(day.exact_rows("daily", [*names, *figures])), _units(day)
    made = [
        Traded(
            row["symbol"] or str(row["security_id"]), row["security_id"], row["source"], row["trades"],
            row["volume"] or 0, row["amount"], row["currency"],
            bool((row["quality"] or 0) & Quality.INCOMPLETE), unit=units.get(row["security_id"], ""),
            **{name: row[name] for name in figures},
        )
        for row in rows
        if row["trades"]
    ]  # fmt: skip
    return sorted(made, key=lambda each: (-(each.amount or 0), each.symbol))


def _units(day: Day) -> dict[int, str]:
    """Of instruments whose prices are percentages, yields or spreads, in systems that tell prices apart."""
    kinds = [("price_kind", "in", PERCENT_KINDS)]
    if not day.rows("trades_clean", ["security_id"], kinds):
        return {}
    return {row["security_id"]: " %" for row in day.rows("instruments", ["security_id"], kinds)}


def _amounts(traded: list[Traded]) -> tuple[tuple[str | None, Decimal], ...]:
    """Dollars are not added to reais."""
    sums: dict[str | None, Decimal] = {}
    for each in traded:
        if each.amount is not None:
            sums[each.currency] = sums.get(each.currency, Decimal(0)) + each.amount
    return tuple(sorted(sums.items(), key=lambda each: -each[1]))


# The price of one instrument through the day, as bars that a page has room for.


MOST_BARS: Final = 150
_LENGTHS: Final = (1, 2, 5, 10, 15, 30, 60)  # minutes


@dataclass(frozen=True)
class Candle:
    start_ns: int
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    volume: float  # a whole number, unless fractions are traded
    trades: int


@dataclass(frozen=True)
class PriceChart:
    symbol: str
    length_ns: int
    candles: tuple[Candle, ...]
    unit: str = ""  # as `Traded` has it


def prices(day: Day, of: Traded) -> PriceChart | None:
    names = ["ts_start", "open", "high", "low", "close", "volume", "trades"]
    where = [("interval", "=", MINUTE_NS), ("security_id", "=", of.security_id), ("source", "=", of.source)]
    rows = [row for row in day.exact_rows("bars", names, where) if row["open"] is not None]
    if not rows:
        return None
    rows.sort(key=lambda row: row["ts_start"])
    length = _length(rows[-1]["ts_start"] - rows[0]["ts_start"])
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["ts_start"] // length * length, []).append(row)
    candles = tuple(_candle(start, each) for start, each in groups.items())
    return PriceChart(of.symbol, length, candles, of.unit)


def _length(span_ns: int) -> int:
    for minutes in _LENGTHS:
        if span_ns / (minutes * MINUTE_NS) <= MOST_BARS:
            return minutes * MINUTE_NS
    return _LENGTHS[-1] * MINUTE_NS


def _number(volume: int | Decimal) -> float:
    return int(volume) if volume == int(volume) else float(volume)


def _candle(start: int, rows: Sequence[dict[str, Any]]) -> Candle:
    return Candle(
        start, rows[0]["open"], max(row["high"] for row in rows), min(row["low"] for row in rows),
        rows[-1]["close"], _number(sum(row["volume"] or 0 for row in rows)),
        sum(row["trades"] or 0 for row in rows),
    )  # fmt: skip
