"""A day begins with the books that the one before it ended with, if its sequence runs on."""

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder, PacketHeader
from pregao.lake.book_at import book_at
from pregao.lake.lake import Lake
from pregao.lake.maintenance.compact import compact
from pregao.lake.tables.analytics import Quality
from pregao.model.market import Side
from tests.kits.captures import Captured, copy_capture, read_capture
from tests.kits.lake_rows import unit_key
from tests.kits.lakes import all_tables, build, make_days, rows_of
from tests.kits.streams import feed, rotate, streamer

from .lake_truth import LakeBooks, told_orders, truth_books

CHANNEL = 72  # of two futures that trade all day
SEEDS = {16: 3, 8: 14}  # by wire version
MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)
ON_TUESDAY = f"trade_date = '{TUESDAY}'"
BY_MESSAGES = (
    "orders",
    "trades",
    "executions",
    "statistics",
    "bands",
    "states",
    "quotes",
    "depth",
    "packets",
)


class Week:
    """Monday and Tuesday of one channel; Tuesday's captures without snapshots too. In Monday's evening one
    book has orders and one has none: `evening` has them as the exchange does."""

    def __init__(self, folder: Path, version: int) -> None:
        self.version = version
        settings: dict[str, Any] = {"seed": SEEDS[version], "messages": 1_500, "version": version}
        self.days = make_days(folder, days=2, checkpoint_events=20, **settings)
        self.monday, self.tuesday = (sorted(day.glob(f"{CHANNEL:03}_*.pcap")) for day in self.days)
        self.blind = [path for path in self.tuesday if "Snapshot" not in path.name]
        self.evening = {
            (security_id, side): next(
                (told_orders(row, version) for row in reversed(sides) if row["side"] == side), []
            )
            for security_id, sides in truth_books(self.days[0], CHANNEL).items()
            for side in Side
        }
        counts = {
            security_id: sum(len(self.evening[security_id, side]) for side in Side)
            for security_id, _ in self.evening
        }
        (self.emptied,) = [security_id for security_id, count in counts.items() if not count]
        assert sum(counts.values()) > 2


@pytest.fixture(scope="module", params=[16, 8], ids=["version16", "version8"])
def week(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Week:
    return Week(tmp_path_factory.mktemp(f"week{request.param}"), request.param)


@pytest.fixture(scope="module")
def blind(week: Week, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built together: Monday, and Tuesday without a snapshot."""
    lake = tmp_path_factory.mktemp("blind") / "lake"
    build([*week.monday, *week.blind], lake)
    return lake


def _seams(lake: Path) -> list[tuple[str, int]]:
    rows = Lake(lake).arrow("quality", "finding = 'SEAM'").to_pylist()
    return [(row["severity"], row["count"]) for row in rows if row["trade_date"] == TUESDAY]


def _compare(week: Week, lake: Path, *, moved: int = 0) -> None:
    """All sides of Tuesday's books are without doubt, and the exchange's. `moved`: by how much packets have
    greater numbers than in truth."""
    books = LakeBooks(Lake(lake), CHANNEL, TUESDAY)
    compared = truth_books(week.days[1], CHANNEL)
    for security_id, sides in compared.items():
        walk = books.walk(security_id)
        for row in sides:
            walk.go_to(row["seq_version"], row["seq_num"] + moved)
            assert walk.clean, row["seq_num"]
            assert walk.orders(Side(row["side"])) == told_orders(row, week.version), row["seq_num"]
    assert compared.keys() == {security_id for security_id, _ in week.evening}
    assert all(len(sides) > 20 for sides in compared.values())


def test_a_tuesday_without_snapshots_has_the_exchange_s_books(week: Week, blind: Path) -> None:
    _compare(week, blind)
    assert _seams(blind) == [("INFO", 0)]
    lake = Lake(blind)
    for table in ("trades", "statistics", "quotes", "depth"):
        qualities = set(lake.arrow(table, ON_TUESDAY)["quality"].to_pylist())
        assert qualities <= {0, int(Quality.FROM_SNAPSHOT)}, table


def test_orders_that_are_good_till_cancelled_stay(week: Week, blind: Path) -> None:
    lake = Lake(blind)
    rows = lake.arrow("orders", ON_TUESDAY).to_pylist()
    carried = {row["order_id"] for row in rows if row["action"] == "SNAPSHOT"}
    assert carried == {order[0] for orders in week.evening.values() for order in orders}
    entered = set(lake.arrow("orders", f"trade_date = '{MONDAY}'")["order_id"].to_pylist())
    assert carried <= entered
    assert carried & {row["order_id"] for row in rows if row["action"] in ("CHANGE", "DELETE")}


def test_tuesday_s_own_loops_prove_it(week: Week, blind: Path, tmp_path: Path) -> None:
    """They tell nothing that was not known, so all but their own account is the same; and but for phases,
    which a day does not take over from the one before."""
    build([*week.monday, *week.tuesday], tmp_path / "lake")
    proven, guessed = Lake(tmp_path / "lake"), Lake(blind)
    for table in BY_MESSAGES:
        without = () if table == "states" else ("phase", "state")
        told = [rows_of(lake, table, without=without) for lake in (proven, guessed)]
        assert told[0] == told[1], table
    loops = proven.arrow("quality", f"{ON_TUESDAY} and finding = 'SNAPSHOT_MATCH'").to_pylist()
    assert sum(row["count"] for row in loops) > 20
    assert not [row for row in loops if "unknown" in row["detail"] or "healed" in row["detail"]]
    assert not proven.arrow("quality", "finding = 'SNAPSHOT_MISMATCH'").num_rows


@pytest.mark.parametrize("slices", [None, 7])
def test_together_or_one_after_the_other(week: Week, blind: Path, slices: int | None, tmp_path: Path) -> None:
    build(week.monday, tmp_path / "apart", slices=slices)
    report = build(week.blind, tmp_path / "apart", slices=slices)
    assert report.units == [unit_key(TUESDAY, CHANNEL)]
    assert all_tables(tmp_path / "apart") == all_tables(blind)
    build([*week.monday, *week.blind], tmp_path / "together", slices=slices)
    assert all_tables(tmp_path / "together") == all_tables(blind)
    for again in (week.blind, [*week.monday, *week.blind]):
        assert not build(again, tmp_path / "apart").units  # and what is there is found to be so


def test_from_files_that_were_joined(week: Week, blind: Path, tmp_path: Path) -> None:
    build(week.monday, tmp_path / "lake", slices=7)
    assert compact(Lake(tmp_path / "lake")).version
    build(week.blind, tmp_path / "lake")
    assert all_tables(tmp_path / "lake") == all_tables(blind)


def test_a_tuesday_without_a_monday_is_unknown_and_nothing_is_invented(week: Week, tmp_path: Path) -> None:
    build(week.blind, tmp_path / "lake")
    _check_unknown(tmp_path / "lake")
    build([*week.monday, *week.blind], tmp_path / "lake")  # Monday comes: Tuesday is another
    assert _seams(tmp_path / "lake") == [("INFO", 0)]


def _check_unknown(path: Path) -> None:
    lake = Lake(path)
    for table in ("orders", "trades", "statistics"):
        assert set(lake.arrow(table, ON_TUESDAY)["quality"].to_pylist()) == {int(Quality.BOOK_UNKNOWN)}
    assert not lake.arrow("quotes", ON_TUESDAY).num_rows
    assert not lake.arrow("quality", ON_TUESDAY).num_rows


def _changed(
    paths: list[Path], folder: Path, change: Callable[[list[Captured]], list[Captured]]
) -> list[Path]:
    return [copy_capture(path, folder, change) if "Incremental" in path.name else path for path in paths]


def test_a_tuesday_of_another_sequence_is_unknown(week: Week, tmp_path: Path) -> None:
    def renumber(packets: list[Captured]) -> list[Captured]:
        return [_numbered(each, version=1) for each in packets]

    tuesday = _changed(week.blind, tmp_path / "captures", renumber)
    build([*week.monday, *tuesday], tmp_path / "lake")
    _check_unknown(tmp_path / "lake")


def _numbered(packet: Captured, *, version: int = 0, more: int = 0) -> Captured:
    """The same with other numbers; heartbeats have none."""
    header = packet.header
    number = header.sequence_number + more if header.sequence_number else 0
    changed = PacketHeader(header.channel, header.sequence_version + version, number, header.sending_time_ns)
    return packet.with_payload(changed.encode() + packet.payload[len(changed.encode()) :])


def _numbers(path: Path) -> list[int]:
    return [each.header.sequence_number for each in read_capture(path) if each.header.sequence_number]


def _first_told_of(path: Path, security_ids: set[int]) -> int:
    """Number of the packet with which each of them has been told something."""
    decoder, missing = PacketDecoder(load_builtin_schema()), set(security_ids)
    for packet in read_capture(path):
        for placed in decoder.decode(packet.payload).messages:
            missing.discard(int(str((placed.message.fields or {}).get("securityID") or 0)))
        if not missing:
            return packet.header.sequence_number
    raise AssertionError(f"nothing of {missing}")


def _without(first: int, last: int) -> Callable[[list[Captured]], list[Captured]]:
    def change(packets: list[Captured]) -> list[Captured]:
        return [each for each in packets if not first <= each.header.sequence_number <= last]

    return change


def test_after_a_gap_between_the_days_books_are_in_doubt_until_proven(week: Week, tmp_path: Path) -> None:
    """Two numbers are missing, but no rptSeq."""

    def renumber(packets: list[Captured]) -> list[Captured]:
        return [_numbered(each, more=2) for each in packets]

    tuesday = _changed(week.blind, tmp_path / "captures", renumber)
    build([*week.monday, *tuesday], tmp_path / "lake")
    assert _seams(tmp_path / "lake") == [("WARNING", 2)]
    _compare(week, tmp_path / "lake", moved=2)
    lake = Lake(tmp_path / "lake")
    told = [row for row in lake.arrow("orders", ON_TUESDAY).to_pylist() if row["action"] != "SNAPSHOT"]
    assert {row["quality"] for row in told} == {0}  # the first update of each book proves it
    proven = min(row["seq_num"] for row in told)
    depth = lake.arrow("depth", ON_TUESDAY).to_pylist()
    assert {row["quality"] for row in depth if row["seq_num"] < proven} == {int(Quality.AFTER_GAP)}
    assert depth[-1]["quality"] == 0


def test_what_was_lost_between_the_days_stays_in_doubt(week: Week, tmp_path: Path) -> None:
    (feed_a,) = [path for path in week.blind if "Incremental_FeedA" in path.name]
    lost = {200000200011, 200000202007}
    first = min(_numbers(feed_a))
    last = _first_told_of(feed_a, lost)
    tuesday = _changed(week.blind, tmp_path / "captures", _without(first, last))
    build([*week.monday, *tuesday], tmp_path / "lake")
    assert _seams(tmp_path / "lake") == [("WARNING", last - first + 1)]
    rows = Lake(tmp_path / "lake").arrow("orders", ON_TUESDAY).to_pylist()
    told = [row for row in rows if row["security_id"] in lost and row["action"] != "SNAPSHOT"]
    assert len(told) > 50
    assert {row["quality"] for row in told} == {int(Quality.AFTER_GAP)}
    spans = Lake(tmp_path / "lake").arrow("quality", "finding = 'STALE_SPAN'").to_pylist()
    assert {row["security_id"] for row in spans} == lost


def test_another_monday_is_another_tuesday(week: Week, blind: Path, tmp_path: Path) -> None:
    """But only if it ends otherwise."""
    lake, captures = tmp_path / "lake", tmp_path / "captures"
    shutil.copytree(blind, lake)
    without_b = [path for path in week.monday if "FeedB" not in path.name]
    assert build([*without_b, *week.blind], lake, replace=True).units == [unit_key(MONDAY, CHANNEL)]
    (feed_a,) = [path for path in week.monday if "Incremental_FeedA" in path.name]
    last = max(_numbers(feed_a))
    cut = _changed(week.monday, captures, _without(last - 3, last))
    both = build([*cut, *week.blind], lake, replace=True).units
    assert both == [unit_key(MONDAY, CHANNEL), unit_key(TUESDAY, CHANNEL)]
    assert _seams(lake) == [("WARNING", 4)]
    build(week.monday, lake, replace=True)  # alone: Tuesday is told by its captures, when they come again
    assert _seams(lake) == [("WARNING", 4)]
    assert build(week.blind, lake).units == [unit_key(TUESDAY, CHANNEL)]
    assert all_tables(lake) == all_tables(blind)


def test_the_book_before_the_first_loop(week: Week, blind: Path) -> None:
    """Of any time between the days, of both dates."""
    lake = Lake(blind)
    packets = lake.arrow("packets").to_pylist()
    ended = max(row["ts_send"] for row in packets if row["trade_date"] == MONDAY)
    begun = min(row["ts_send"] for row in packets if row["trade_date"] == TUESDAY)
    names = _names(lake)
    assert names.keys() == {security_id for security_id, _ in week.evening}
    for (security_id, side), expected in week.evening.items():
        for at_ns in (ended, begun - 1):
            book = book_at(lake, names[security_id], at_ns)
            assert not book.quality & (Quality.BOOK_UNKNOWN | Quality.AFTER_GAP)
            assert book.known_ns == ended
            orders: Any = book.bid_orders if side is Side.BUY else book.offer_orders
            found = [(o.order_id, o.price, o.size, o.inserted_ns, o.firm, o.implied) for o in orders]
            assert found == expected


def _before_first_order(lake: Lake, security_id: int) -> int:
    orders = lake.arrow("orders", f"{ON_TUESDAY} and security_id = {security_id}")["ts_event"].to_pylist()
    return int(min(orders)) - 1


def test_an_empty_book_is_not_an_unknown_one(week: Week, blind: Path, tmp_path: Path) -> None:
    """Carried over without an order: it is known to be empty, and without the day before it is not."""
    lake = Lake(blind)
    (symbol,) = set(lake.arrow("instruments", f"security_id = {week.emptied}")["symbol"].to_pylist())
    stored = lake.arrow("book_checkpoints", f"{ON_TUESDAY} and anchor = 'CARRIED'").to_pylist()
    assert {row["security_id"] for row in stored} == {week.emptied, None}
    assert {(row["order_id"], row["quality"]) for row in stored} == {(None, int(Quality.FROM_SNAPSHOT))}
    at_ns = _before_first_order(lake, week.emptied)
    book = book_at(lake, symbol, at_ns)
    assert (book.bids, book.offers, book.last_ns) == ([], [], None)
    assert book.quality == Quality.FROM_SNAPSHOT
    build(week.blind, tmp_path / "lake")
    unknown = book_at(Lake(tmp_path / "lake"), symbol, at_ns)
    assert (unknown.known_ns, unknown.quality) == (None, Quality.BOOK_UNKNOWN)


def test_a_loop_tells_by_silence_who_is_empty(week: Week, tmp_path: Path) -> None:
    """Whoever is not in a complete loop has nothing (6.3)."""
    build(week.days[0].glob("078_*.pcap"), tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    told = lake.arrow("book_checkpoints", "anchor = 'SNAPSHOT'").to_pylist()
    others = [row for row in told if row["security_id"] is None]
    assert {(row["order_id"], row["quality"]) for row in others} == {(None, int(Quality.FROM_SNAPSHOT))}
    first_ns = min(row["ts_checkpoint"] for row in others)
    heard = {row["security_id"] for row in told if row["ts_checkpoint"] <= first_ns}
    heard |= {row["security_id"] for row in lake.arrow("orders").to_pylist()}
    silent = {symbol for security_id, symbol in _names(lake).items() if security_id not in heard}
    assert silent
    for symbol in silent:
        book = book_at(lake, symbol, first_ns)
        assert (book.bids, book.offers, book.known_ns) == ([], [], first_ns)
        assert book.quality == Quality.FROM_SNAPSHOT


def _names(lake: Lake) -> dict[int, str]:
    return {row["security_id"]: row["symbol"] for row in lake.arrow("instruments").to_pylist()}


def test_streamed_it_is_the_same(week: Week, blind: Path, tmp_path: Path) -> None:
    """Tuesday comes before Monday is finished, file by file."""
    stream, lake = streamer(tmp_path / "lake", tmp_path / "checkpoint"), tmp_path / "lake"
    feed(stream, week.monday)
    for path in week.blind:
        feed(stream, [path])
    assert feed(stream, [], finish=True).finished
    assert all_tables(lake) == all_tables(blind)
    assert not build([*week.monday, *week.blind], lake).units  # the build takes it for its own
    assert not feed(stream, [*week.monday, *week.blind], finish=True).units


def test_a_late_file_of_monday_changes_a_streamed_tuesday(week: Week, tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    periods = [files for day in week.days for files in rotate(day, captures, 240, f"{CHANNEL:03}")]
    for path in captures.glob(f"*Snapshot*{TUESDAY:%Y%m%d}*"):
        path.unlink()
    files = [[path for path in period if path.exists()] for period in periods]
    monday = [period for period in files if any(f"{MONDAY:%Y%m%d}" in path.name for path in period)]
    late = [path for period in monday[-3:] for path in period if "Incremental" in path.name]
    stream, lake = streamer(tmp_path / "lake", tmp_path / "checkpoint"), tmp_path / "lake"
    for period in files:
        feed(stream, [path for path in period if path not in late])
    feed(stream, [], finish=True)
    assert ("INFO", 0) not in _seams(lake)
    assert [unit.trade_date for unit in feed(stream, late, finish=True).units] == [MONDAY, TUESDAY]
    build([captures], tmp_path / "built")
    assert all_tables(lake) == all_tables(tmp_path / "built")
    assert _seams(lake) == [("INFO", 0)]
