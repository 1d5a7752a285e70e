"""A lake of journals, through the port of session systems: units by session and day, and the same figures as
a lake of Binary UMDF of the same day."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest

from pregao.jobs.stream import StreamRequest, stream_lake
from pregao.lake.book_at import book_at
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import SparkRunner
from pregao.lake.store.location import Location
from pregao.lake.streaming.source import BatchReport
from pregao.lake.tables.analytics import Quality
from pregao.simulator import Settings, Simulation
from tests.kits.lakes import OF_THE_BUILD, build, rows_of

MS = 1_000_000
SYSTEMS = ("conflated",)  # of sessions that the simulator serves
TOLD_TABLES = (
    "packets", "orders", "trades", "trades_clean", "statistics", "bands", "imbalances", "states", "news",
    "instruments", "indices", "volatilities", "totals", "quotes", "depth", "bars", "daily", "auctions",
    "market_totals", "latency", "quality",
)  # fmt: skip


class Day(NamedTuple):
    """One day on Binary UMDF and, by two sessions, on another system."""

    system: str
    binary: Path
    journals: Path

    @property
    def sources(self) -> list[str]:
        return ["SESSION1-B3", "SESSION2-B3"]


@pytest.fixture(scope="module", params=SYSTEMS)
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Day:
    out = tmp_path_factory.mktemp("session-lake") / "day"
    Simulation(
        Settings(
            out, messages=2_500, instruments=20, squeeze=60, seed=11, beside=(request.param,), sessions=2
        )
    ).run()
    return Day(request.param, out / "2026-11-16", out / request.param / "2026-11-16")


@pytest.fixture(scope="module")
def lake(day: Day, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("session-lake-built")
    report = build([day.journals], path, system=day.system, derive=True)
    assert not report.warnings
    return Lake(path)


@pytest.fixture(scope="module")
def binary(day: Day, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("session-binary-built")
    build([day.binary], path, piece_packets=4096, derive=True)
    return Lake(path)


def _rows(lake: Lake, table: str, source: str | None = None) -> list[dict[str, Any]]:
    where = None if source is None else {"source": [source]}
    found: list[dict[str, Any]] = lake.arrow(table, where).to_pylist()
    return found


def _text(lake: Lake, table: str, *, without: Sequence[str] = ()) -> list[str]:
    found = lake.arrow(table)
    names = [name for name in found.schema.names if name not in (*OF_THE_BUILD, *without)]
    return sorted(map(repr, found.select(names).to_pylist()))


def test_a_unit_is_a_session_of_a_day(day: Day, lake: Lake) -> None:
    assert lake.shown == [day.system]
    for table in TOLD_TABLES:
        found = {(row["system"], row["source"], str(row["trade_date"]), row["channel"])
                 for row in _rows(lake, table)}  # fmt: skip
        assert found == {(day.system, source, "2026-11-16", None) for source in day.sources}, table


def test_every_row_says_where_it_came_from(lake: Lake) -> None:
    """Session, logon, number of the message and entry in it: no two rows of a table have the same."""
    for table in ("orders", "trades", "statistics", "bands", "imbalances", "states", "totals", "packets"):
        rows = _rows(lake, table)
        told = Counter(
            (row["source"], row["seq_version"], row["seq_num"], row.get("msg_index"), row.get("entry"),
             row["security_id"] if row.get("msg_index") is None and table == "orders" else 0)
            for row in rows
        )  # fmt: skip
        assert [place for place, times in told.items() if times > 1] == [], table
        assert {row["seq_version"] for row in rows} == {1}
        assert all(row["ts_recv_a"] and row["ts_recv_b"] is None for row in rows), table


def test_sessions_of_a_day_tell_the_same(day: Day, lake: Lake) -> None:
    one, two = day.sources
    for table in (
        "orders",
        "trades_clean",
        "statistics",
        "states",
        "quotes",
        "depth",
        "daily",
        "instruments",
    ):
        ours = ("source", "build_id", "seq_num", "ts_recv_a", "ts_send")
        mine, other = ([{name: value for name, value in row.items() if name not in ours}
                        for row in _rows(lake, table, source)] for source in (one, two))  # fmt: skip
        assert mine == other, table


# Beside Binary UMDF


def _in_ms(ns: int) -> int:
    return ns // MS * MS


def test_trades_are_those_of_binary(day: Day, lake: Lake, binary: Lake) -> None:
    names = ("security_id", "symbol", "action", "trade_id", "price", "size", "buyer", "seller")
    compared = 0
    for table in ("trades", "trades_clean"):
        mine, other = (
            [(*(row.get(name) for name in names), _in_ms(row["ts_event"])) for row in rows]
            for rows in (
                _rows(binary, table),
                [row for row in _rows(lake, table, day.sources[0]) if row["md_stream"] != "L"],
            )
        )
        assert sorted(other, key=repr) == sorted(mine, key=repr)
        compared += len(mine)
    assert compared > 40


def test_statistics_are_those_of_binary(day: Day, lake: Lake, binary: Lake) -> None:
    """Prices of each kind that were told and not taken back."""
    kinds = ("OPENING", "HIGH", "LOW", "CLOSING", "THEORETICAL", "SETTLEMENT", "OPEN_INTEREST")
    mine, other = _rows(binary, "statistics"), _rows(lake, "statistics", day.sources[0])
    listed = {row["security_id"] for row in _rows(binary, "instruments")}
    for kind in kinds:
        told = [
            {(row["security_id"], row["price"], row["size"]) for row in rows
             if row["kind"] == kind and row["action"] != "DELETE" and row["md_stream"] in (None, "E", "A")
             and row["security_id"] in listed}
            for rows in (mine, other)
        ]  # fmt: skip
        # Open interest is told more often here, as the clearing house finds it.
        assert told[0] <= told[1] if kind == "OPEN_INTEREST" else told[0] == told[1], kind
        assert told[0] or kind == "THEORETICAL"


def test_states_are_those_of_binary(day: Day, lake: Lake, binary: Lake) -> None:
    names = ("scope", "security_group", "security_id", "state", "event")
    mine, other = (
        Counter((*(row[name] for name in names), _in_ms(row["ts_event"])) for row in rows
                if not row["quality"] & Quality.FROM_SNAPSHOT)
        for rows in (_rows(binary, "states"), _rows(lake, "states", day.sources[0]))
    )  # fmt: skip
    assert mine == other
    assert len(mine) > 20


# What 35=y has no field or word for (7.4.2), or wire version 16 of Binary has not: what prices are, crosses
# among the trade types, no governance, options settled in cash, letters beyond ASCII.
UNLIKE = ("price_kind", "attributes", "governance", "payout", "description")


def test_definitions_are_those_of_binary(day: Day, lake: Lake, binary: Lake) -> None:
    """Every column but where and when a definition was told."""
    rows = [_rows(binary, "instruments"), _rows(lake, "instruments", day.sources[0])]
    told = {
        "system", "source", "channel", "ts_event", "time", "ts_send", "seq_version", "seq_num", "msg_index",
        "valid_from", "valid_to", "action", "build_id", *UNLIKE,
    }  # fmt: skip
    mine, other = (
        {row["security_id"]: {name: row[name] for name in row if name not in told} for row in some}
        for some in rows
    )
    assert {each: other[each] for each in mine} == mine
    assert len(mine) >= 20
    assert len(mine[next(iter(mine))]) > 25


Levels = dict[tuple[str, Any], list[int]]


class _Book:
    """Orders by id, from rows of `orders` in the order of the stream."""

    def __init__(self) -> None:
        self.orders: dict[Any, tuple[str, Any, int]] = {}

    def take(self, row: dict[str, Any]) -> None:
        action = row["action"]
        if action in ("EMPTY", "RESET") or (action == "SNAPSHOT" and not row["entry"]):
            self.orders.clear()
        if action in ("ADD", "CHANGE", "OVERLAY") or (action == "SNAPSHOT" and row["order_id"] is not None):
            self.orders[row["order_id"]] = row["side"], row["price"], row["size"]
        elif action == "DELETE":
            self.orders.pop(row["order_id"], None)
        elif action.startswith("DELETE_"):
            self.orders = {key: each for key, each in self.orders.items() if each[0] != row["side"]}

    def levels(self) -> Levels:
        found: Levels = {}
        for side, price, size in self.orders.values():
            level = found.setdefault((side, price), [0, 0])
            level[0] += size
            level[1] += 1
        return found


def _by_time(rows: list[dict[str, Any]]) -> dict[int, list[tuple[int, list[dict[str, Any]]]]]:
    """By instrument: rows of each message, with when it was sent."""
    found: dict[int, list[tuple[int, list[dict[str, Any]]]]] = {}
    order = sorted(
        rows, key=lambda row: (row["seq_version"], row["seq_num"], row["msg_index"] or 0, row["entry"])
    )
    for row in order:
        messages = found.setdefault(row["security_id"], [])
        if not messages or messages[-1][0] != row["ts_send"]:
            messages.append((row["ts_send"], []))
        messages[-1][1].append(row)
    return found


def _every_tick(lake: Lake, binary: Lake, source: str) -> Iterator[tuple[int, int, Levels, Levels]]:
    """Instrument, time, the session's book after a message and Binary's of that moment."""
    theirs = _by_time([row for row in _rows(binary, "orders") if row["security_id"] is not None])
    for security_id, messages in _by_time(_rows(lake, "orders", source)).items():
        if security_id not in theirs:
            continue
        ours, other, waiting = _Book(), _Book(), iter(theirs[security_id])
        following = next(waiting, None)
        for sent_ns, rows in messages:
            for row in rows:
                ours.take(row)
            while following is not None and following[0] <= sent_ns:
                for row in following[1]:
                    other.take(row)
                following = next(waiting, None)
            if following is not theirs[security_id][0]:  # Binary has told its book
                yield security_id, sent_ns, ours.levels(), other.levels()


def test_books_are_those_of_binary_at_every_tick(day: Day, lake: Lake, binary: Lake) -> None:
    compared = 0
    for security_id, sent_ns, ours, theirs in _every_tick(lake, binary, day.sources[0]):
        assert ours == theirs, (security_id, sent_ns)
        compared += bool(ours)
    assert compared > 300
    assert {row["finding"] for row in _rows(lake, "quality")} == {"SNAPSHOT_MATCH"}


# Who builds, and who asks


def test_workers_of_spark_build_the_same(day: Day, lake: Lake, spark: Any, tmp_path: Path) -> None:
    settings = BuildSettings(system=day.system, derive=False)
    report = Builder(Location(tmp_path), SparkRunner(spark), settings).build([str(day.journals)])
    assert [unit.source for unit in report.units] == day.sources
    assert report.slices == 2  # a session has no place at which a second slice could begin
    there = Lake(tmp_path)
    for table in ("packets", "orders", "trades", "statistics", "states", "quotes", "depth", "instruments"):
        assert _text(there, table) == _text(lake, table), table


def _levels(levels: Sequence[Any]) -> list[tuple[Any, int]]:
    return [(each.price, each.size) for each in levels]


def test_people_ask_of_a_session_as_of_a_channel(day: Day, lake: Lake, binary: Lake) -> None:
    """The book at an instant, and a query: by symbol."""
    listed = set.intersection(*(
        {row["symbol"] for row in _rows(each, "instruments") if row["valid_to"] is None}
        for each in (lake, binary)
    ))  # fmt: skip
    rows = [row for row in _rows(lake, "quotes", day.sources[0])
            if row["bid_price"] and row["offer_price"] and row["symbol"] in listed]  # fmt: skip
    chosen = sorted(rows, key=lambda row: row["ts_send"])[-20:]
    assert len({row["symbol"] for row in chosen}) > 1
    for row in chosen:
        mine, other = (book_at(each, row["symbol"], row["ts_send"]) for each in (lake, binary))
        assert _levels(mine.bids) == _levels(other.bids)
        assert _levels(mine.offers) == _levels(other.offers)
        assert (mine.source in day.sources, mine.channel) == (True, None)


def test_a_stream_of_journals_is_what_a_build_makes_of_them(
    day: Day, lake: Lake, spark: Any, tmp_path: Path
) -> None:
    told: list[BatchReport] = []
    settings = {"system": day.system}
    request = StreamRequest(str(day.journals), str(tmp_path / "lake"), every_s=None, settings=settings)
    stream_lake(request, Event(), told.append, spark=spark)
    found = Lake(tmp_path / "lake")
    assert {key.source for batch in told for key in batch.units} == set(day.sources)
    for table in ("orders", "trades", "quotes", "states", "instruments", "quality"):
        assert rows_of(found, table) == rows_of(lake, table), table
    stream_lake(request, Event(), told.append, spark=spark)
    assert Lake(tmp_path / "lake").version.number == found.version.number
