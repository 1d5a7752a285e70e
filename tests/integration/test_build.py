"""Captures to tables: the same however they are cut, equal to the truth, and free when nothing changed."""

import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pregao.lake.book_at import book_at
from pregao.lake.lake import Lake
from pregao.lake.store import committer
from pregao.model.market import Side
from tests.kits.lakes import all_tables, build, make_days, truth

from .lake_truth import LakeBooks, told_orders, truth_books

FAULTS = "loss=1%,both=6,gap=2x5@A,dup=0.5%,reorder=10:4"


@pytest.fixture(scope="module", params=[16, 8], ids=["version16", "version8"])
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    out = tmp_path_factory.mktemp(f"days{request.param}")
    return make_days(out, seed=11, version=request.param, faults=FAULTS, checkpoint_events=20)[
        0
    ], request.param


@pytest.fixture(scope="module")
def lake(day: tuple[Path, int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lakes") / "lake"
    build([day[0]], path, slices=1)
    return path


@pytest.mark.parametrize("slices", [2, 7])
def test_the_result_does_not_depend_on_the_cuts(
    day: tuple[Path, int], lake: Path, slices: int, tmp_path: Path
) -> None:
    report = build([day[0]], tmp_path / "cut", slices=slices)
    assert report.slices > len(report.units)  # it was cut
    expected, found = all_tables(lake), all_tables(tmp_path / "cut")
    for table, rows in expected.items():
        assert found[table] == rows, table
    assert sum(map(len, expected.values())) > 5_000


@pytest.mark.parametrize(("seed", "version"), [(41, 17), (43, 8)])
def test_nor_when_snapshots_tell_of_what_was_lost(seed: int, version: int, tmp_path: Path) -> None:
    """Loops in the middle of gaps, before the first packet of a sequence and after its last."""
    faults = "both=12x3,reset=channel@?,reset=failover@?,reset=book@?"
    day = make_days(tmp_path / "days", seed=seed, version=version, messages=900, faults=faults)[0]
    build([day], tmp_path / "whole", slices=1)
    assert build([day], tmp_path / "cut", slices=40).slices > 40
    expected, found = all_tables(tmp_path / "whole"), all_tables(tmp_path / "cut")
    for table, rows in expected.items():
        assert found[table] == rows, table


def test_books_are_the_exchange_s(day: tuple[Path, int], lake: Path) -> None:
    """At every checkpoint of the truth, wherever the rows say that nothing is in doubt."""
    folder, version = day
    compared = doubtful = 0
    opened = Lake(lake)
    for channel in sorted({int(file.partition["source"]) for file in opened.files("orders")}):
        books = LakeBooks(opened, channel)
        gaps = _gaps(opened, channel)
        for security_id, sides in truth_books(folder, channel).items():
            if security_id not in books.security_ids:
                continue
            walk = books.walk(security_id)
            for row in sides:
                walk.go_to(row["seq_version"], row["seq_num"])
                place = row["seq_version"], row["seq_num"]
                if not walk.clean or _lost_between(gaps, walk.last_place, place):
                    doubtful += 1
                    continue
                compared += 1
                assert walk.orders(Side(row["side"])) == told_orders(row, version), (channel, row["seq_num"])
    assert compared > 200
    assert compared > doubtful


Place = tuple[int, int]


def _gaps(lake: Lake, channel: int) -> list[Place]:
    found = lake.arrow("quality", f"channel = {channel} and finding = 'GAP'").to_pylist()
    return [(row["seq_version"], row["first_seq_num"]) for row in found]


def _lost_between(gaps: list[Place], first: Place, last: Place) -> bool:
    """Packets were lost since the last row of an instrument: nobody can know what they told."""
    return any(first < gap <= last for gap in gaps)


def test_trades_are_the_exchange_s(day: tuple[Path, int], lake: Path) -> None:
    folder, _ = day
    rows = Lake(lake).arrow("trades").to_pylist()
    there = {
        (row["channel"], row["seq_version"], row["seq_num"])
        for row in Lake(lake).arrow("packets").to_pylist()
    }
    expected = {
        (row["channel"], row["seq_version"], row["seq_num"], row["msg_index"]): row
        for row in truth(folder, "events/trade")
        if (row["channel"], row["seq_version"], row["seq_num"]) in there
    }
    ours = {
        (row["channel"], row["seq_version"], row["seq_num"], row["msg_index"]): row
        for row in rows
        if row["action"] == "TRADE"
    }
    assert len(expected) > 50
    assert ours.keys() == expected.keys()
    for key, told in expected.items():
        found = ours[key]
        price = None if told["price"] is None else Decimal(told["price"]).scaleb(-4)
        assert (found["trade_id"], found["price"], found["size"], found["security_id"]) == (
            told["trade_id"], price, told["size"], told["security_id"],
        )  # fmt: skip
        assert (found["buyer"], found["seller"]) == (told["buyer"], told["seller"])


def test_every_clean_book_equals_the_exchange_s_snapshots(lake: Path) -> None:
    rows = Lake(lake).arrow("quality").to_pylist()
    loops = [row for row in rows if row["finding"] == "SNAPSHOT_MATCH"]
    assert len(loops) >= 20
    assert sum(row["count"] for row in loops) > 200
    assert all(row["expected"] == row["found"] for row in loops)
    assert not [row for row in rows if row["finding"] == "SNAPSHOT_MISMATCH"]


def test_what_neither_feed_has_is_a_gap(day: tuple[Path, int], lake: Path) -> None:
    faults = pq.ParquetFile(day[0].parent / "faults.parquet").read().to_pylist()
    lost: dict[tuple[int, int, int], set[str]] = {}
    for row in faults:
        if row["kind"] in ("loss", "gap", "both") and row["stream"] == "incremental" and row["seq_num"]:
            lost.setdefault((row["channel"], row["seq_version"], row["seq_num"]), set()).add(row["feed"])
    both = {place for place, feeds in lost.items() if feeds >= {"A", "B"}}
    told = {
        (row["channel"], row["seq_version"], number)
        for row in Lake(lake).arrow("quality").to_pylist()
        if row["finding"] == "GAP"
        for number in range(row["first_seq_num"], row["last_seq_num"] + 1)
    }
    assert both
    assert told == both
    one_sided = Counter(
        row["feed"] for row in Lake(lake).arrow("quality").to_pylist() if row["finding"] == "ONE_SIDED_LOSS"
    )
    assert one_sided["A"] > 5
    assert one_sided["B"] > 5
    flagged = [row for row in Lake(lake).arrow("orders").to_pylist() if row["quality"] & 2]
    assert flagged


def test_whoever_lost_a_message_is_said_to_be_stale(day: tuple[Path, int], lake: Path) -> None:
    """Also when the next that came of it was a snapshot: its day is not complete."""
    spans: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in Lake(lake).arrow("quality").to_pylist():
        if row["finding"] in ("HEAL", "STALE_SPAN"):
            spans.setdefault((row["channel"], row["security_id"]), []).append(row)
            assert row["ts_from"] <= row["ts_to"]
    there = {
        (row["channel"], row["seq_version"], row["seq_num"])
        for row in Lake(lake).arrow("packets").to_pylist()
    }
    lost = 0
    for name in _OF_ONE_BOOK:
        for row in truth(day[0], f"events/{name}"):
            if row["seq_num"] and (row["channel"], row["seq_version"], row["seq_num"]) not in there:
                told = spans[row["channel"], row["security_id"]]
                assert any(span["last_seq_num"] >= row["seq_num"] for span in told)
                lost += 1
    assert lost > 5


_OF_ONE_BOOK = ("order_update", "trade", "execution_statistics", "high_price", "low_price", "price_band")


def test_the_book_at_any_time(day: tuple[Path, int], lake: Path) -> None:
    """Between two events, from the nearest stored book."""
    folder, version = day
    opened = Lake(lake)
    names = {row["security_id"]: row["symbol"] for row in opened.arrow("instruments").to_pylist()}
    times = {
        (row["channel"], row["seq_version"], row["seq_num"]): row["time_ns"]
        for row in truth(folder, "checkpoints")
    }
    compared = 0
    for channel in sorted({int(file.partition["source"]) for file in opened.files("orders")}):
        for security_id, sides in truth_books(folder, channel).items():
            for row in sides[len(sides) // 3 :: max(1, len(sides) // 4)]:
                if security_id not in names:
                    continue
                at_ns = times[channel, row["seq_version"], row["seq_num"]]
                found = book_at(opened, names[security_id], at_ns)
                here = row["seq_version"], row["seq_num"]
                if found.quality & 3 or not found.known_place or found.known_place > here:
                    continue
                if _lost_between(_gaps(opened, channel), found.known_place, here):
                    continue
                orders = found.bid_orders if row["side"] == 1 else found.offer_orders
                ours = [(o.order_id, o.price, o.size, o.inserted_ns, o.firm, o.implied) for o in orders]
                assert ours == told_orders(row, version)
                compared += 1
    assert compared > 20


# What is built, and when


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("week")
    return make_days(folder, seed=5, days=2, messages=1500, faults="both=2,loss=0.5%")


def test_a_rerun_is_free_and_a_changed_input_replaces_its_unit(days: list[Path], tmp_path: Path) -> None:
    captures, lake = tmp_path / "captures", tmp_path / "lake"
    shutil.copytree(days[0], captures)
    first = build([captures], lake)
    again = build([captures], lake)
    assert (again.units, again.version, again.seconds) == ([], first.version, {})
    assert again.unchanged == sorted(first.units)
    gone = next(captures.glob("*_Incremental_FeedB.pcap"))
    before = all_tables(lake)
    gone.rename(tmp_path / gone.name)
    without = build([captures], lake, replace=True)
    channel = int(gone.name[:3])
    assert [unit.channel for unit in without.units] == [channel]
    changed = Lake(lake).arrow("packets", f"channel = {channel}")
    assert set(changed["state_b"].to_pylist()) == {None}
    (tmp_path / gone.name).rename(gone)
    build([captures], lake)
    assert all_tables(lake) == before
    assert Lake(lake, as_of=without.version).arrow("packets").num_rows  # old versions stay readable


def test_days_in_a_row(days: list[Path], tmp_path: Path) -> None:
    """Together or one after the other; sequence numbers run on and orders stay."""
    together, apart = tmp_path / "together", tmp_path / "apart"
    report = build(days, together)
    assert len({unit.trade_date for unit in report.units}) == 2
    for day in days:
        build([day], apart)
    expected = all_tables(together)
    found = all_tables(apart)
    for table, rows in expected.items():
        assert found[table] == rows, table
    packets = Lake(together).arrow("packets", "trade_date = '2026-11-17' and channel = 84")
    assert min(packets["seq_num"].to_pylist()) > 1
    quality = Lake(together).arrow("quality", "trade_date = '2026-11-17'").to_pylist()
    assert not [row for row in quality if row["finding"] == "SNAPSHOT_MISMATCH"]


class KilledError(BaseException):
    pass


def test_killed_before_the_commit(days: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a build that died mean nothing; the next one ends up as if it had never been."""

    def die(*_: Any, **__: Any) -> None:
        raise KilledError

    plain, lake = tmp_path / "plain", tmp_path / "lake"
    build([days[0]], plain)
    with monkeypatch.context() as patch:
        patch.setattr(committer.Committer, "commit", die)
        with pytest.raises(KilledError):
            build([days[0]], lake)
    build([days[0]], lake)
    assert all_tables(lake) == all_tables(plain)
