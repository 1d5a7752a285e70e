"""Captures as people have them: one feed, no snapshots, both feeds in one file, clocks and bytes that differ,
a few channels or dates of many, inputs that come, change and go."""

import os
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.pcap.writer import pcap_header, pcap_record
from pregao.jobs.build import unreadable_captures
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.errors import FewerCapturesError
from pregao.lake.lake import Lake
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.table import UnitKey
from pregao.model.market import Side
from tests.kits.captures import Captured, copy_capture, read_capture, write_capture
from tests.kits.lake_rows import unit_key
from tests.kits.lakes import all_tables, build, make_days
from tests.kits.streams import KilledError

from .lake_truth import DOUBTS, told_orders, truth_books

CHANNEL = 72
MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)
BOOKS = ("orders", "trades", "executions", "statistics", "bands", "imbalances", "states", "quotes", "depth")
_OF_FEEDS = frozenset(("build_id", "ts_recv_a", "ts_recv_b"))


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_days(tmp_path_factory.mktemp("days"), seed=9, days=2, messages=1_200)


@pytest.fixture(scope="module")
def monday(days: list[Path]) -> dict[str, Path]:
    """The captures of one channel by what they are."""
    found = {path.stem[4:]: path for path in days[0].glob(f"{CHANNEL:03}_*.pcap")}
    names = ("Incremental_FeedA", "Incremental_FeedB", "InstrumentDefinition", "SnapshotRecovery")
    return {
        word: found[name] for word, name in zip(("a", "b", "definitions", "snapshots"), names, strict=True)
    }


@pytest.fixture(scope="module")
def whole(monday: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("whole") / "lake"
    build(monday.values(), path)
    return Lake(path)


def _rows(lake: Lake, table: str, without: frozenset[str] = _OF_FEEDS) -> list[str]:
    rows = lake.arrow(table).to_pylist()
    return sorted(repr({name: row[name] for name in row if name not in without}) for row in rows)


def _told_by_stream(lake: Lake, table: str, without: frozenset[str]) -> list[str]:
    """Without what only the first snapshots tell."""
    rows = [row for row in lake.arrow(table).to_pylist() if not row["quality"] & Quality.FROM_SNAPSHOT]
    return sorted(repr({name: row[name] for name in row if name not in without}) for row in rows)


def _same_books(lake: Lake, expected: Lake) -> None:
    """All that messages tell, whoever brought them."""
    for table in BOOKS:
        assert _rows(lake, table) == _rows(expected, table), table


def _findings(lake: Lake) -> Counter[str]:
    return Counter(lake.arrow("quality")["finding"].to_pylist())


def test_a_capture_of_an_unknown_link_type_beside_others(
    monday: dict[str, Path], whole: Lake, tmp_path: Path
) -> None:
    """It is said (`tests/unit/cli/test_unreadable.py`), and all that is fine beside it is used."""
    strange = tmp_path / f"{CHANNEL:03}_Incremental_FeedC.pcap"
    strange.write_bytes(pcap_header(linktype=147) + pcap_record(1, b"what is this"))
    captures = [*monday.values(), strange]
    (line,) = unreadable_captures([str(path) for path in captures])
    assert line == f"{strange}: link type 147 is unknown: none of its packets can be read"
    build(captures, tmp_path / "lake")
    _same_books(Lake(tmp_path / "lake"), whole)


# Feeds


@pytest.mark.parametrize("feed", ["a", "b"])
def test_one_feed_only(feed: str, monday: dict[str, Path], whole: Lake, tmp_path: Path) -> None:
    build([monday[feed], monday["definitions"], monday["snapshots"]], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    _same_books(lake, whole)
    packets = lake.arrow("packets").to_pylist()
    other = "b" if feed == "a" else "a"
    assert {(row[f"state_{feed}"], row[f"state_{other}"]) for row in packets} == {("FIRST", None)}
    assert {row[f"ts_recv_{other}"] for row in packets} == {None}
    assert not {"GAP", "ONE_SIDED_LOSS"} & set(_findings(lake))  # nobody lost what nobody captured


def test_both_feeds_in_one_file(monday: dict[str, Path], whole: Lake, tmp_path: Path) -> None:
    """One clock: there it is known who came first."""
    packets = sorted(read_capture(monday["a"]) + read_capture(monday["b"]), key=lambda each: each.ts_ns)
    capture = write_capture(tmp_path / f"{CHANNEL:03}_Incremental.pcap", packets)
    build([capture, monday["definitions"], monday["snapshots"]], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    _same_books(lake, whole)
    states: Counter[tuple[str, str]] = Counter()
    for row in lake.arrow("packets").to_pylist():
        first, second = ("a", "b") if row["ts_recv_a"] <= row["ts_recv_b"] else ("b", "a")
        states[first, second] += 1
        assert (row[f"state_{first}"], row[f"state_{second}"]) == ("FIRST", "DUPLICATE")
    assert len(states) == 2  # each was first sometimes


def test_feeds_with_clocks_of_their_own(monday: dict[str, Path], whole: Lake, tmp_path: Path) -> None:
    """B's clock is an hour behind: by it B would always be first, and nobody believes it."""

    def behind(packets: list[Captured]) -> list[Captured]:
        return [each._replace(ts_ns=each.ts_ns - 3_600 * 10**9) for each in packets]

    skewed = copy_capture(monday["b"], tmp_path / "captures", behind)
    build([monday["a"], skewed, monday["definitions"], monday["snapshots"]], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    _same_books(lake, whole)
    packets = lake.arrow("packets").to_pylist()
    assert {(row["state_a"], row["state_b"]) for row in packets} == {("FIRST", "DUPLICATE")}
    assert all(row["ts_recv_b"] < row["ts_recv_a"] for row in packets)


def test_news_have_the_times_of_both_feeds(days: list[Path], tmp_path: Path) -> None:
    build([days[0]], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    news = lake.arrow("news").to_pylist()
    assert news
    packets = {
        (row["channel"], row["seq_version"], row["seq_num"]): (row["ts_recv_a"], row["ts_recv_b"])
        for row in lake.arrow("packets").to_pylist()
    }
    for row in news:
        received = packets[row["channel"], row["seq_version"], row["seq_num"]]
        assert (row["ts_recv_a"], row["ts_recv_b"]) == received
        assert None not in received


def test_a_feed_with_headers_of_its_own(monday: dict[str, Path], whole: Lake, tmp_path: Path) -> None:
    """6.1, 6.5.3: B's SendingTime and Reserved are no difference; a row has A's where A has the packet."""
    (day,) = make_days(tmp_path / "days", seed=9, messages=1_200, faults="header=B")
    own = day / monday["b"].name
    mine, theirs = read_capture(own), read_capture(monday["b"])
    differing = [
        each.header != other.header and each.payload[16:] == other.payload[16:]
        for each, other in zip(mine, theirs, strict=True)
    ]
    assert all(differing)
    assert len(differing) > 50
    build([monday["a"], own, monday["definitions"], monday["snapshots"]], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    _same_books(lake, whole)
    assert _findings(lake) == _findings(whole)
    build([own, monday["definitions"], monday["snapshots"]], tmp_path / "alone")
    headers = [each.header for each in mine]
    sent = {(each.sequence_version, each.sequence_number): each.sending_time_ns for each in headers}
    alone = Lake(tmp_path / "alone").arrow("packets").to_pylist()
    assert all(row["ts_send"] == sent[row["seq_version"], row["seq_num"]] for row in alone)


def test_the_same_number_with_other_bytes(monday: dict[str, Path], whole: Lake, tmp_path: Path) -> None:
    """A finding; A's bytes are taken, and what hangs on them is in doubt until a snapshot has told it."""
    orders = whole.arrow("orders", "action = 'ADD'").to_pylist()
    place = sorted(row["seq_num"] for row in orders)[len(orders) // 2]

    def forge(packets: list[Captured]) -> list[Captured]:
        return [
            each.with_payload(each.payload[:-1] + bytes([each.payload[-1] ^ 1]))
            if each.header.sequence_number == place
            else each
            for each in packets
        ]

    forged = copy_capture(monday["b"], tmp_path / "captures", forge)
    build([monday["a"], forged, monday["definitions"], monday["snapshots"]], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    (found,) = lake.arrow("quality", "finding = 'FEEDS_DIFFER'").to_pylist()
    assert (found["seq_num"], found["severity"]) == (place, "ERROR")
    without = _OF_FEEDS | {"quality"}
    assert _rows(lake, "orders", without) == _rows(whole, "orders", without)
    before = {row["seq_num"] for row in whole.arrow("orders").to_pylist() if row["quality"]}
    assert before == {row["seq_num"] for row in whole.arrow("orders").to_pylist() if _tells_again(row)}
    flagged = {row["seq_num"]: row["quality"] for row in lake.arrow("orders").to_pylist() if row["quality"]}
    flagged = {number: quality for number, quality in flagged.items() if number not in before}
    assert flagged[place] & Quality.FEEDS_DIFFER
    assert min(flagged) == place
    later = [row["quality"] for row in lake.arrow("orders").to_pylist() if row["seq_num"] > max(flagged)]
    assert later  # healed long before the end
    assert not any(later)


def _evening_orders(lake: Lake, day: Path) -> tuple[int, int]:
    """How many orders are in the books that a day ends with: those of books without doubt, which are the
    exchange's after the last packet that was captured, and the others."""
    where = f"trade_date = '{day.name}' and anchor = 'STORED' and security_id is not null"
    books: dict[tuple[int, int], list[dict[str, Any]]] = {}
    stored = lake.arrow("book_checkpoints", where).sort_by("entry").to_pylist()
    for row in stored:
        if not row["quality"] & DOUBTS:
            books.setdefault((row["channel"], row["security_id"]), []).append(row)
    orders = 0
    for (channel, security_id), rows in books.items():
        last = rows[0]["seq_version"], rows[0]["seq_num"]
        sides = truth_books(day, channel)[security_id]
        for side in Side:
            before = [row for row in sides if (row["seq_version"], row["seq_num"]) <= last]
            told = [row for row in before if row["side"] == side]
            found = [
                (row["order_id"], None if row["price"] is None else int(row["price"].scaleb(4)), row["size"],
                 row["ts_inserted"], row["firm"], row["implied"])
                for row in rows if row["side"] == side.name
            ]  # fmt: skip
            assert found == (told_orders(told[-1], 16) if told else []), security_id
            orders += len(found)
    return orders, sum(row["quality"] & DOUBTS > 0 for row in stored)


def _tells_again(row: dict[str, Any]) -> bool:
    """Of a book, or that all will be (6.5.12)."""
    return bool(row["recovery"]) or row["action"] == "EMPTY"


def _last_change(orders: list[dict[str, Any]], sample: dict[str, Any]) -> dict[str, Any]:
    mine = [row for row in orders if row["security_id"] == sample["security_id"]]
    before = [row for row in mine if row["seq_num"] <= sample["seq_num"]]
    return max(before, key=lambda row: (row["seq_num"], row["msg_index"]))


# Snapshots


def test_every_clean_book_matches_at_every_loop(whole: Lake) -> None:
    """Matches are said by loop, with how many could have been."""
    loops = whole.arrow("quality", "finding = 'SNAPSHOT_MATCH'").to_pylist()
    assert len(loops) >= 20
    expected, found = (sum(int(row[name]) for row in loops) for name in ("expected", "found"))
    assert found == expected == sum(row["count"] for row in loops) > 40
    assert "SNAPSHOT_MISMATCH" not in _findings(whole)


def test_captures_without_snapshots(monday: dict[str, Path], whole: Lake, tmp_path: Path) -> None:
    """On a Monday the channel's reset tells that books are empty, and those with orders are told again, so
    they are known. What statistics were before is not; but nothing is missing, and no row says so."""
    build([monday["a"], monday["b"], monday["definitions"]], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    for table in BOOKS:
        of_books = table in ("orders", "quotes", "depth")
        without = _OF_FEEDS if table in ("orders", "quotes") else _OF_FEEDS | {"quality"}
        assert _rows(lake, table, without) == _told_by_stream(whole, table, without), table
        of_others = {0, int(Quality.AFTER_GAP if of_books else Quality.BOOK_UNKNOWN)}
        assert set(lake.arrow(table)["quality"].to_pylist()) <= of_others, table
    orders = lake.arrow("orders").to_pylist()
    assert [row for row in orders if row["quality"]] == [row for row in orders if _tells_again(row)]
    for row in lake.arrow("depth").to_pylist():
        assert bool(row["quality"]) == _tells_again(_last_change(orders, row))  # no snapshot has proven it
    assert set(lake.arrow("book_checkpoints")["anchor"].to_pylist()) == {"STORED"}  # for the day after
    assert not _findings(lake)


def test_days_without_snapshots_are_the_same_however_instruments_are_shared_out(tmp_path: Path) -> None:
    """With losses and resets, and a Tuesday that begins with the books that Monday's shards ended with."""
    faults = "loss=1%,both=2x2,dup=0.5%,reset=channel@?,reset=2xbook@?"
    days = make_days(tmp_path / "days", seed=9, days=2, messages=900, faults=faults, checkpoint_events=1)
    captures = [path for day in days for path in day.glob("0[78]*.pcap") if "Snapshot" not in path.name]
    tables = []
    for ways in (1, 2, 3):
        lake = tmp_path / f"{ways} ways"
        report = build(captures, lake, slices=ways)
        tables.append(all_tables(lake))
        assert report.slices == ways * len(report.units)
        assert len({Path(file.path).name[:10] for file in Lake(lake).files("orders")}) > ways / 2
        again = build(captures, lake, slices=ways)
        assert (again.units, len(again.unchanged)) == ([], len(report.units))
    assert tables[0] == tables[1] == tables[2]
    assert any("SEAM" in row for row in tables[0]["quality"])
    for day in days:
        orders, doubtful = _evening_orders(Lake(lake), day)
        assert min(orders, doubtful) > 0
    assert sum(row["trades"] for row in Lake(lake).arrow("executions").to_pylist()) > 20


# Which units, and when again


def _files(lake: Path) -> dict[UnitKey, set[str]]:
    """Live files of each unit, of all tables."""
    opened, found = Lake(lake), dict[UnitKey, set[str]]()
    for table in DATA_TABLES:
        for file in opened.files(table):
            key = UnitKey.of_row(file.partition)
            found.setdefault(key, set()).add(f"{table}/{file.path}")
    return found


def test_only_some_channels_and_dates(days: list[Path], tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first = build(days, lake, channels=frozenset((68, CHANNEL)), dates=frozenset((MONDAY,)))
    assert first.units == [unit_key(MONDAY, 68), unit_key(MONDAY, CHANNEL)]
    assert set(_files(lake)) == set(first.units)
    before = _files(lake)
    rest = build(days, lake)
    assert set(rest.unchanged) == set(first.units)
    assert {unit.trade_date for unit in rest.units} == {MONDAY, TUESDAY}
    after = _files(lake)
    assert {key: after[key] for key in before} == before
    assert set(after) == set(first.units) | set(rest.units)


def test_inputs_that_come_change_and_go(days: list[Path], tmp_path: Path) -> None:
    """Each time the unit it concerns is replaced, all of it, and no other is touched."""
    channels = (68, CHANNEL)
    captures, lake = tmp_path / "captures", tmp_path / "lake"
    for channel in channels:
        for path in days[0].glob(f"{channel:03}_*.pcap"):
            copy_capture(path, captures)
    snapshots = captures / f"{CHANNEL:03}_SnapshotRecovery.pcap"
    kept = snapshots.read_bytes()
    snapshots.unlink()
    concerned, other = unit_key(MONDAY, CHANNEL), unit_key(MONDAY, 68)

    def again() -> dict[str, Any]:
        before = _files(lake)
        report = build([captures], lake, replace=True)
        after = _files(lake)
        assert (report.units, report.unchanged) == ([concerned], [other])
        assert after[other] == before[other]
        assert not after[concerned] & before[concerned]
        return all_tables(lake)

    build([captures], lake)
    without = all_tables(lake)
    snapshots.write_bytes(kept)  # new
    complete = again()
    assert len(complete["book_checkpoints"]) > len(without["book_checkpoints"])
    half = read_capture(snapshots)[: len(read_capture(snapshots)) // 2]
    write_capture(snapshots, half)  # changed
    assert len(without["quality"]) < len(again()["quality"]) < len(complete["quality"])
    snapshots.unlink()  # missing
    assert again() == without
    snapshots.write_bytes(kept)
    assert again() == complete


@pytest.fixture
def two_channels(days: list[Path], tmp_path: Path) -> Path:
    """Captures of two channels, and a lake of them beside."""
    captures = tmp_path / "captures"
    for channel in (68, CHANNEL):
        for path in days[0].glob(f"{channel:03}_*.pcap"):
            copy_capture(path, captures)
    build([captures], tmp_path / "lake")
    return captures


def test_a_unit_is_not_replaced_by_one_of_fewer_captures(two_channels: Path, tmp_path: Path) -> None:
    lake, feed_b = tmp_path / "lake", two_channels / f"{CHANNEL:03}_Incremental_FeedB.pcap"
    before = all_tables(lake)
    content = feed_b.read_bytes()
    feed_b.unlink()
    with pytest.raises(FewerCapturesError, match=r"072_Incremental_FeedB\.pcap") as error:
        build(sorted(two_channels.glob(f"{CHANNEL:03}_*")), lake)
    assert f"{len(content):,} bytes" in str(error.value)
    report = build([two_channels], lake, rebuild=True)  # the other channel is built
    assert [str(unit) for unit in report.units] == [f"binary channel 68 of {MONDAY}"]
    assert [each.key for each in report.refused] == [unit_key(MONDAY, CHANNEL)]
    assert all_tables(lake) == before
    assert build([two_channels], lake, replace=True).units == [unit_key(MONDAY, CHANNEL)]
    assert all_tables(lake) != before


def test_what_is_missing_is_known_by_content(two_channels: Path, tmp_path: Path) -> None:
    """Captures may move, and a recorder may go on with its file; a file that became shorter is missing."""
    lake, moved = tmp_path / "lake", tmp_path / "moved"
    before = all_tables(lake)
    two_channels.rename(moved)
    assert len(build([moved], lake).units) == 2
    assert all_tables(lake) == before
    feed_a = moved / f"{CHANNEL:03}_Incremental_FeedA.pcap"
    content = feed_a.read_bytes()
    feed_a.write_bytes(content[: 3 * len(content) // 4])
    with pytest.raises(FewerCapturesError, match="FeedA"):
        build(sorted(moved.glob(f"{CHANNEL:03}_*")), lake)
    build([moved], lake, replace=True)
    feed_a.write_bytes(content)  # and grows again
    assert build([moved], lake).units == [unit_key(MONDAY, CHANNEL)]
    assert all_tables(lake) == before


# A date after the other


class Dying(InlineRunner):
    """Dies in the slices of the second date; a scan comes first."""

    def __init__(self) -> None:
        self._stages = 0

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        self._stages += 1
        if self._stages == 3:
            raise KilledError
        return super().run(task, items, progress)


def test_each_date_is_committed_and_a_build_goes_on_from_there(days: list[Path], tmp_path: Path) -> None:
    lake, captures = tmp_path / "lake", [path for day in days for path in day.glob(f"{CHANNEL:03}_*.pcap")]
    settings = BuildSettings(piece_packets=16, derive=False)
    with pytest.raises(KilledError):
        Builder(Location(lake), Dying(), settings).build([str(path) for path in captures])
    assert [unit.trade_date for unit in _files(lake)] == [MONDAY]
    report = build(captures, lake)
    assert (report.unchanged, report.units) == ([unit_key(MONDAY, CHANNEL)], [unit_key(TUESDAY, CHANNEL)])
    at_once = build(captures, tmp_path / "at once")
    assert at_once.version == 2  # a commit for each date
    assert at_once.units == [unit_key(MONDAY, CHANNEL), unit_key(TUESDAY, CHANNEL)]
    assert all_tables(lake) == all_tables(tmp_path / "at once")


class Truncating(InlineRunner):
    """A capture becomes shorter between the scan and the slices."""

    def __init__(self, file: Path) -> None:
        self._file, self._stages = file, 0

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        self._stages += 1
        if self._stages == 2:
            os.truncate(self._file, self._file.stat().st_size // 3)
        return super().run(task, items, progress)


def test_an_unreadable_capture_costs_its_unit(two_channels: Path, tmp_path: Path) -> None:
    feed_a = two_channels / f"{CHANNEL:03}_Incremental_FeedA.pcap"
    settings = BuildSettings(piece_packets=16, derive=False)
    report = Builder(Location(tmp_path / "new"), Truncating(feed_a), settings).build([str(two_channels)])
    assert report.units == [unit_key(MONDAY, 68)]
    assert [each.key for each in report.failed] == [unit_key(MONDAY, CHANNEL)]
    assert str(feed_a) in str(report.failed[0])
    feed_a.write_text("a letter")
    report = build([two_channels], tmp_path / "lake", rebuild=True)  # its unit is there, and stays
    assert (report.units, [each.key for each in report.refused]) == (
        [unit_key(MONDAY, 68)], [unit_key(MONDAY, CHANNEL)],
    )  # fmt: skip
    assert [each.file for each in report.unreadable] == [str(feed_a)]
