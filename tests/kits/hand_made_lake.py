"""A small lake without any capture: an invented morning of one channel, with everything a report shows."""

from math import sin
from pathlib import Path
from random import Random
from typing import Any

from pregao.lake.store.committer import Committer
from pregao.lake.store.files import write_file
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import PARTITION, at, rows_as_arrow

MINUTE = 60
OPENS = 13 * 3600  # 10:00 in São Paulo
MINUTES = 120
HOSTILE = "<script>alert(1)</script>\"'&"


def hand_made_lake(folder: Path, *, symbol: str = "PETR4", healthy: bool = False, empty: bool = False) -> str:
    """`healthy`: nothing was lost; `empty`: tables with no rows but one packet."""
    location = Location(folder / "lake")
    tables = {"packets": _packets(True)[:1]} if empty else _tables(symbol, healthy)
    adds = []
    for name, rows in tables.items():
        made = rows_as_arrow(name, rows)
        adds.append(write_file(location, find_table(name), PARTITION, made))
    Committer(location).commit(Change(tuple(adds)), Label("build", "b-1"))
    return location.uri


def _tables(symbol: str, healthy: bool) -> dict[str, list[dict[str, Any]]]:
    closes = _walk()
    return {
        "packets": _packets(healthy), "bars": _bars(symbol, closes), "daily": _daily(symbol),
        "depth": _depth(symbol, closes), "auctions": _auctions(symbol), "latency": _latency(),
        "quality": _quality(symbol, healthy), "units": _units(),
    }  # fmt: skip


def _walk() -> list[float]:
    random, price, prices = Random(5), 38.20, []
    for minute in range(MINUTES):
        price += random.gauss(0, 0.025) + 0.01 * sin(minute / 14)
        prices.append(round(price, 2))
    return prices


def _bars(symbol: str, closes: list[float]) -> list[dict[str, Any]]:
    random, rows = Random(6), []
    for minute, close in enumerate(closes):
        start = closes[minute - 1] if minute else close
        high, low = max(start, close) + random.choice((0, 0.01, 0.03)), min(start, close) - 0.01
        volume = 100 * random.randrange(20, 900)
        rows.append({
            "symbol": symbol, "interval": MINUTE * 10**9, "ts_start": at(OPENS + MINUTE * minute),
            "open": start, "high": round(high, 2), "low": round(low, 2), "close": close, "volume": volume,
            "trades": volume // 300, "amount": round(volume * close, 2),
        })  # fmt: skip
    return rows


def _daily(symbol: str) -> list[dict[str, Any]]:
    names = (symbol, "VALE3", "ITUB4", "WINZ26", "BBDC4")
    return [
        {
            "security_id": number + 1, "symbol": name, "open": 38.2, "high": 39, "low": 37.5,
            "last": 38.4 - number,
            "vwap": 38.31, "volume": 5_000_000 // (number + 1), "trades": 9_000 // (number + 1),
            "amount": 190_000_000 // (number + 1), "agrees": (True, True, False, None, True)[number],
            "currency": (*["BRL"] * 4, "USD")[number],
        }
        for number, name in enumerate(names)
    ]  # fmt: skip


def _depth(symbol: str, closes: list[float]) -> list[dict[str, Any]]:
    random, rows = Random(7), []
    for second in range(0, MINUTES * MINUTE, 20):
        middle = closes[second // MINUTE]
        sizes = [[100 * random.randrange(1, 60) * (level + 1) for level in range(10)] for _ in range(2)]
        row = {"symbol": symbol, "ts_sample": at(OPENS + second), "ts_event": at(OPENS + second)}
        for level in range(10):
            row[f"bid_price_{level + 1}"] = round(middle - 0.01 * (level + 1), 2)
            row[f"offer_price_{level + 1}"] = round(middle + 0.01 * (level + 1), 2)
            row[f"bid_size_{level + 1}"], row[f"offer_size_{level + 1}"] = sizes[0][level], sizes[1][level]
        rows.append(row)
    return rows


def _auctions(symbol: str) -> list[dict[str, Any]]:
    start, random = OPENS - 900, Random(8)
    prices = [38.0 + 0.2 * step / 40 + random.gauss(0, 0.03) for step in range(40)]
    path = [
        {"ts": at(start + 22 * step), "price": round(price, 2), "size": 1000 * (step + 1)}
        for step, price in enumerate(prices)
    ]
    common = {"symbol": symbol, "ts_start": at(start), "ts_end": at(OPENS), "extensions": 1}
    shown = common | {
        "kind": "OPENING", "path": path, "uncross_price": path[-1]["price"], "uncross_size": 40_000,
        "trades": 87, "imbalance_side": "MORE_BUYERS", "imbalance_size": 1_200,
    }  # fmt: skip
    return [shown, common | {"kind": "CLOSING", "security_id": 2, "symbol": "VALE3", "path": []}]


def _latency() -> list[dict[str, Any]]:
    random, rows = Random(9), []
    for minute in range(MINUTES):
        for feed, way in (("A", 82_000), ("B", 117_000)):
            median = way + round(random.gauss(0, 2_500))
            behind = 35_000 if feed == "B" else -35_000
            rows.append({
                "ts_minute": at(OPENS + MINUTE * minute), "feed": feed, "packets": 900, "skew": behind,
                "event_to_send_p50": 41_000 + random.randrange(3_000), "event_to_send_p99": 88_000,
                "event_to_send_max": 190_000, "send_to_receive_p50": median,
                "send_to_receive_p99": median + random.randrange(15_000, 60_000),
                "send_to_receive_max": median + 400_000, "behind_other_feed_p50": behind,
                "behind_other_feed_p99": behind + 12_000, "behind_other_feed_max": behind + 50_000,
            })  # fmt: skip
    return rows


def _packets(healthy: bool) -> list[dict[str, Any]]:
    random, rows = Random(10), []
    for number in range(1, 4 * MINUTES * 10):
        second = OPENS - 600 + (number * 1.6)
        lost_a, lost_b = (not healthy and random.random() < share for share in (0.004, 0.011))
        if not healthy and 1_500 <= number < 1_520:
            continue  # what neither feed has is no row: the gap tells it
        lost_b = lost_b and not lost_a
        busy = 1 + round(20 * abs(sin(number / 500)) ** 3)
        rows.append({
            "stream": "INCREMENTAL", "seq_num": number, "ts_send": at(second), "ts_event": at(second),
            "messages": random.randrange(1, 4) * busy, "state_a": "MISSING" if lost_a else "FIRST",
            "state_b": "MISSING" if lost_b else "DUPLICATE",
        })  # fmt: skip
    return rows


def _quality(symbol: str, healthy: bool) -> list[dict[str, Any]]:
    matches = [
        {"finding": "SNAPSHOT_MATCH", "severity": "INFO", "count": 12, "security_id": None, "symbol": None}
        for _ in range(22)
    ]
    if healthy:
        return matches
    gap = at(OPENS + 1_800)
    return [
        *matches,
        {
            "finding": "GAP", "severity": "ERROR", "count": 20, "ts_from": gap, "ts_to": gap + 32 * 10**9,
            "first_seq_num": 1_500, "last_seq_num": 1_519, "security_id": None, "symbol": None,
        },
        {
            "finding": "HEAL", "severity": "WARNING", "symbol": symbol, "ts_from": gap + 32 * 10**9,
            "ts_to": gap + 400 * 10**9, "count": 1, "detail": "snapshot",
        },
        {
            "finding": "STALE_SPAN", "severity": "WARNING", "symbol": "BBDC4", "security_id": 5,
            "ts_from": gap + 32 * 10**9, "ts_to": gap + 5_000 * 10**9, "count": 1, "detail": "until the end",
        },
        {
            "finding": "STATISTIC_DIFFERS", "severity": "WARNING", "symbol": "ITUB4", "expected": "1000",
            "found": "900", "detail": "volume: messages are missing",
        },
    ]  # fmt: skip


def _units() -> list[dict[str, Any]]:
    inputs = '[{"path": "day/084_Incremental_FeedA.pcap", "size": 81234567, "hash": "x"}, ["b.pcap", 7]]'
    return [{"fingerprint": "f", "inputs": inputs, "built_ns": at(86_000), "code_version": "0.1.0"}]
