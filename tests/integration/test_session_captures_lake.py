"""The same session in captures of all kinds gives the same rows; what is wrong in one is told, with its
place, and costs nothing else."""

import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.errors import FewerCapturesError
from pregao.lake.lake import Lake
from pregao.lake.plan import sessions
from pregao.lake.plan.scan import ScanSettings
from pregao.lake.plan.stored import look
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.lake.streaming.sessions import SessionStreamer
from pregao.lake.streaming.source import StreamSettings
from pregao.lake.tables.analytics import Quality
from pregao.simulator import Settings, Simulation
from tests.kits.journals import Capture, Said, as_if_by, field_of, on_the_next_day, said_in
from tests.kits.lakes import OF_THE_BUILD, build, rows_of

SYSTEMS = ("conflated",)
TABLES = (
    "packets", "orders", "trades", "statistics", "bands", "states", "news", "instruments", "indices",
    "totals", "quotes", "depth", "quality",
)  # fmt: skip
SOURCE = "SESSION1-B3"


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def said(system: str, tmp_path_factory: pytest.TempPathFactory) -> list[Said]:
    out = tmp_path_factory.mktemp("session-captures") / "day"
    Simulation(Settings(out, messages=600, instruments=8, squeeze=120, seed=3, beside=(system,))).run()
    (journal,) = (out / system).rglob("*.pcap.zst")
    return said_in(journal)


@pytest.fixture(scope="module")
def whole(said: list[Said], system: str, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("session-whole")
    Capture().connection(said).write(folder / "captures" / "one.pcap")
    build([folder / "captures"], folder / "lake", system=system)
    return Lake(folder / "lake")


def _rows(lake: Lake, table: str, source: str = SOURCE, *, without: Sequence[str] = ()) -> list[str]:
    found = lake.arrow(table, {"source": [source]})
    names = [name for name in found.schema.names if name not in (*OF_THE_BUILD, *without)]
    return sorted(map(repr, found.select(names).to_pylist()))


def _same(lake: Lake, whole: Lake, source: str = SOURCE) -> None:
    for table in TABLES:
        mine, theirs = (
            _rows(each, table, of, without=("source",)) for each, of in ((lake, source), (whole, SOURCE))
        )
        assert mine == theirs, table
        assert mine or table == "news", table


def _findings(lake: Lake) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in lake.arrow("quality").to_pylist():
        found.setdefault(row["finding"], []).append(row)
    return found


def test_a_journal_in_several_files_is_one_session(
    said: list[Said], whole: Lake, system: str, tmp_path: Path
) -> None:
    """Files end in the middle of messages."""
    paths = Capture().connection(said).in_files(tmp_path / "captures", 7)
    report = build(paths[::-1], tmp_path / "lake", system=system)
    assert [unit.source for unit in report.units] == [SOURCE]
    _same(Lake(tmp_path / "lake"), whole)


def test_a_dump_of_a_compressed_session_gives_the_same(
    said: list[Said], whole: Lake, system: str, tmp_path: Path
) -> None:
    Capture().connection(said, compress=True, repeat=(3, 40, 41)).write(tmp_path / "dump.pcap")
    build([tmp_path / "dump.pcap"], tmp_path / "lake", system=system)
    _same(Lake(tmp_path / "lake"), whole)


def test_a_capture_of_several_sessions_feeds_several_units(
    said: list[Said], whole: Lake, system: str, tmp_path: Path
) -> None:
    both = Capture().connection(said)
    other = Capture().connection([as_if_by(each, b"DESK/7") for each in said], port=50_001)
    both.records = sorted([*both.records, *other.records], key=lambda record: record[0])
    both.write(tmp_path / "both.pcap")
    report = build([tmp_path / "both.pcap"], tmp_path / "lake", system=system)
    assert sorted(unit.source for unit in report.units) == ["DESK.2F7-B3", SOURCE]
    assert {unit.channel for unit in report.units} == {None}
    lake = Lake(tmp_path / "lake")
    _same(lake, whole)
    for table in ("orders", "trades", "quotes"):
        sizes = ("source", "size", "packets")
        mine, theirs = (_rows(lake, table, of, without=sizes) for of in ("DESK.2F7-B3", SOURCE))
        assert mine == theirs


def test_the_same_session_twice_counts_once(
    said: list[Said], whole: Lake, system: str, tmp_path: Path
) -> None:
    """A journal and a dump of it, which is told."""
    Capture().connection(said).write(tmp_path / "journal.pcap")
    Capture().connection(said, compress=True).write(tmp_path / "dump.pcap")
    build([tmp_path], tmp_path / "lake", system=system)
    lake = Lake(tmp_path / "lake")
    for table in TABLES:
        if table != "quality":
            assert _rows(lake, table) == _rows(whole, table), table
    (told,) = _findings(lake)["DAMAGED_INPUT"]
    assert "captures that overlap" in told["detail"]


def test_a_session_over_midnight_feeds_two_days(
    said: list[Said], whole: Lake, system: str, tmp_path: Path
) -> None:
    """Books go on from the evening: nothing is in doubt in the morning."""
    half = len(said) // 2
    later = [*said[:half], *map(on_the_next_day, said[half:])]
    Capture().connection(later).write(tmp_path / "one.pcap")
    report = build([tmp_path / "one.pcap"], tmp_path / "lake", system=system)
    days = [date(2026, 11, 16), date(2026, 11, 17)]
    assert [(unit.source, unit.trade_date) for unit in report.units] == [(SOURCE, day) for day in days]
    lake = Lake(tmp_path / "lake")
    numbers = {
        day: {row["seq_num"] for row in lake.arrow("packets", {"trade_date": day}).to_pylist()}
        for day in days
    }
    assert max(numbers[days[0]]) < min(numbers[days[1]])
    assert len(numbers[days[0]]) + len(numbers[days[1]]) == whole.arrow("packets").num_rows
    ours = ("trade_date", "ts_send", "ts_recv_a", "build_id", "seq_num", "time", "ts_event", "quality")
    for table in ("orders", "trades", "statistics", "quotes"):
        assert _rows(lake, table, without=ours) == _rows(whole, table, without=ours), table
    morning = lake.arrow("orders", {"trade_date": days[1]}).to_pylist()
    assert {row["quality"] for row in morning} == {0}
    assert {row["symbol"] for row in morning}.isdisjoint({None})


def test_a_day_in_files_goes_on_from_the_file_before(said: list[Said], system: str, tmp_path: Path) -> None:
    half = len(said) // 2
    later = [*said[:half], *map(on_the_next_day, said[half:])]
    paths = Capture().connection(later).in_files(tmp_path / "captures", 4)
    together = Capture().connection(later).write(tmp_path / "one.pcap")
    build(paths, tmp_path / "parts", system=system)
    build([together], tmp_path / "whole", system=system)
    _same(Lake(tmp_path / "parts"), Lake(tmp_path / "whole"))


def test_a_new_logon_begins_numbers_and_books_again(said: list[Said], system: str, tmp_path: Path) -> None:
    """What the session told before is not to be believed until it is told again."""
    begun = next(at for at, each in enumerate(said) if each.by_server and field_of(each.data, 35) == b"X")
    first, again = said[: begun + 200], said[: begun + 200]
    shift = first[-1].ts_ns - again[0].ts_ns + 60_000_000_000
    again = [_later(each, shift) for each in again]
    Capture().connection(first).connection(again, port=50_007).write(tmp_path / "two.pcap")
    build([tmp_path / "two.pcap"], tmp_path / "lake", system=system)
    lake = Lake(tmp_path / "lake")
    packets = Counter(row["seq_version"] for row in lake.arrow("packets").to_pylist())
    assert packets[1] == packets[2] > 0
    (cut,) = _findings(lake)["SESSION_CUT"]
    assert cut["severity"] == "WARNING"
    proven = _findings(lake)["SNAPSHOT_MATCH"][0]["detail"]
    assert "healed" in proven or "equal" in proven


def _later(said: Said, shift_ns: int) -> Said:
    from datetime import datetime, timedelta

    from tests.kits.journals import replace_time

    when = datetime.strptime(field_of(said.data, 52).decode()[:17], "%Y%m%d-%H:%M:%S")
    later = when + timedelta(seconds=shift_ns // 1_000_000_000)
    return replace_time(said, f"{later:%Y%m%d-%H:%M:%S}.000".encode(), said.ts_ns + shift_ns)


def test_lost_segments_are_told_and_leave_books_in_doubt(
    said: list[Said], whole: Lake, system: str, tmp_path: Path
) -> None:
    lost = Capture().connection(said, drop=(400, 401, 700)).write(tmp_path / "lost.pcap")
    other = Capture().connection([as_if_by(each, b"OTHER") for each in said], port=50_001)
    other.write(tmp_path / "other.pcap")
    build([tmp_path], tmp_path / "lake", system=system)
    lake = Lake(tmp_path / "lake")
    gaps = [row for row in _findings(lake)["GAP"] if row["source"] == SOURCE]
    assert any("are missing" in row["detail"] for row in gaps)
    assert all(f"{lost}: packet " in row["detail"] and ", byte " in row["detail"] for row in gaps)
    rows = lake.arrow("orders", {"source": [SOURCE]}).to_pylist()
    assert any(row["quality"] & Quality.AFTER_GAP for row in rows)
    assert {
        row["source"] for rows in _findings(lake).values() for row in rows if row["severity"] == "ERROR"
    } == {SOURCE}
    for table in ("orders", "trades", "quotes", "statistics"):
        size = ("source", "size")
        assert _rows(lake, table, "OTHER-B3", without=size) == _rows(whole, table, without=size), table


def test_a_journal_that_is_cut_is_read_up_to_there(said: list[Said], system: str, tmp_path: Path) -> None:
    path = Capture().connection(said).write(tmp_path / "cut.pcap")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    report = build([path], tmp_path / "lake", system=system)
    assert [unit.source for unit in report.units] == [SOURCE]
    told = [row["detail"] for row in _findings(Lake(tmp_path / "lake"))["DAMAGED_INPUT"]]
    assert any("cut.pcap" in each for each in told)


def test_bad_values_are_told_with_file_and_byte(said: list[Said], system: str, tmp_path: Path) -> None:
    from tests.kits.journals import with_field

    at = [place for place, each in enumerate(said) if each.by_server and b"\x01269=0\x01" in each.data][5]
    spoilt = list(said)
    spoilt[at] = said[at]._replace(data=with_field(said[at].data, 270, b"1e5"))
    path = Capture().connection(spoilt).write(tmp_path / "spoilt.pcap")
    build([path], tmp_path / "lake", system=system)
    told = _findings(Lake(tmp_path / "lake"))["DAMAGED_INPUT"]
    assert any(f"{path}, byte " in row["detail"] for row in told)


# What is built again


def test_the_same_captures_are_left_alone_and_fewer_refused(
    said: list[Said], system: str, tmp_path: Path
) -> None:
    paths = Capture().connection(said).in_files(tmp_path / "captures", 3)
    first = build(paths, tmp_path / "lake", system=system)
    assert len(first.units) == 1
    again = build(paths, tmp_path / "lake", system=system)
    assert (again.units, again.unchanged, again.version) == ([], first.units, first.version)
    with pytest.raises(FewerCapturesError, match=r"02\.pcap"):
        build(paths[:2], tmp_path / "lake", system=system)
    replaced = build(paths[:2], tmp_path / "lake", system=system, replace=True)
    assert replaced.units == first.units


def test_a_capture_without_sessions_says_so(system: str, tmp_path: Path) -> None:
    path = Capture().write(tmp_path / "none.pcap")
    report = build([path], tmp_path / "lake", system=system)
    assert report.units == []
    assert any("no session" in each and "none.pcap" in each for each in report.warnings)


# As a stream


def _stream(folder: Path, system: str) -> SessionStreamer:
    settings = StreamSettings(derive=False, system=system)
    return SessionStreamer(Location(folder / "lake"), InlineRunner(), str(folder / "captures"), settings)


def test_files_that_come_one_after_the_other_become_the_same_unit(
    said: list[Said], whole: Lake, system: str, tmp_path: Path
) -> None:
    """By another process in the middle; a file that is none is left out, and ends nothing."""
    made = Capture().connection(said).in_files(tmp_path / "made", 5)
    (tmp_path / "captures").mkdir()
    stream, rows = _stream(tmp_path, system), list[int]()
    for number, path in enumerate(made):
        here = Path(shutil.copy(path, tmp_path / "captures"))
        report = stream.advance([look(str(here))])
        assert [unit.source for unit in report.units] == [SOURCE]
        assert (report.files, report.left_out) == (1, [])
        rows.append(Lake(tmp_path / "lake").arrow("orders").num_rows)
        if number == 2:
            stream = _stream(tmp_path, system)
            bad = tmp_path / "captures" / "bad.pcap"
            bad.write_bytes(b"no capture at all")
            report = stream.advance([look(str(bad))])
            assert ([each.path for each in report.left_out], report.units) == ([str(bad)], [])
    assert rows == sorted(rows)
    assert rows[0] < rows[-1]
    _same(Lake(tmp_path / "lake"), whole)
    again = stream.advance([look(str(path)) for path in sorted((tmp_path / "captures").iterdir())])
    assert (again.units, again.version) == ([], Lake(tmp_path / "lake").version.number)
    assert stream.advance([], finish=True).units == []


def test_a_file_of_two_days_and_a_second_session_touches_the_units_of_its_dates(
    said: list[Said], system: str, tmp_path: Path
) -> None:
    """Units of other sessions that share a file do not seem to lose captures."""
    folder = tmp_path / "captures"
    Capture().connection(said).write(folder / "1.pcap")
    other = [as_if_by(each, b"SESSION2") for each in said]
    later = [on_the_next_day(each) for each in said]
    stream = _stream(tmp_path, system)
    first = stream.advance([look(str(folder / "1.pcap"))])
    Capture().connection(other).connection(later).write(folder / "2.pcap")
    second = stream.advance([look(str(folder / "2.pcap"))])
    assert len(first.units) == 1
    assert (len(second.units), second.left_out) == (2, [])
    build([folder], tmp_path / "built", system=system)
    for table in TABLES:
        assert rows_of(Lake(tmp_path / "lake"), table) == rows_of(Lake(tmp_path / "built"), table), table


def test_a_batch_plans_the_days_that_it_concerns(
    said: list[Said], system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many days the folder has."""
    planned: list[Any] = []
    does = sessions.LakeUnit

    def unit(*given: Any, **named: Any) -> Any:
        planned.append(given)
        return does(*given, **named)

    monkeypatch.setattr(sessions, "LakeUnit", unit)
    folder, stream, spoken = tmp_path / "captures", _stream(tmp_path, system), said
    counts = []
    for number in range(4):
        Capture().connection(spoken).write(folder / f"{number}.pcap")
        planned.clear()
        report = stream.advance([look(str(folder / f"{number}.pcap"))])
        assert len(report.units) == 1
        counts.append(len(planned))
        spoken = [on_the_next_day(each) for each in spoken]
    assert len(set(counts)) == 1, counts
    build([folder], tmp_path / "built", system=system)
    for table in TABLES:
        assert rows_of(Lake(tmp_path / "lake"), table) == rows_of(Lake(tmp_path / "built"), table), table


def test_the_days_that_a_file_concerns_are_those_whose_units_are_made_from_it(
    said: list[Said], system: str, tmp_path: Path
) -> None:
    """Also of a connection over midnight, whose second day is read behind the files of the first."""
    both = [*said, *(on_the_next_day(each) for each in said)]
    paths = Capture().connection(both).in_files(tmp_path / "captures", 7)
    Capture().connection([as_if_by(each, b"SESSION2") for each in said]).write(tmp_path / "other.pcap")
    every = [*paths, tmp_path / "other.pcap"]
    files = [sessions.scan_sessions(str(path), ScanSettings(system=system)) for path in every]
    units, concerned = sessions.find_session_units(files), set()
    for number, path in enumerate(every):
        expected = {unit.key for unit in units if number in unit.files}
        days = sessions.days_concerned(files, {str(path)})
        some = sessions.find_session_units(files, days)
        assert {unit.key for unit in some if number in unit.files} == expected
        assert {unit.trade_date for unit in some} == {key.trade_date for key in expected}
        concerned.add(len(days))
    assert concerned == {1, 2}


def test_a_late_file_of_a_unit_whose_captures_are_gone_is_left_out(
    said: list[Said], system: str, tmp_path: Path
) -> None:
    paths = Capture().connection(said).in_files(tmp_path / "captures", 3)
    late = tmp_path / "late"
    paths[2].rename(late)
    stream = _stream(tmp_path, system)
    stream.advance([look(str(path)) for path in paths[:2]])
    rows = Lake(tmp_path / "lake").arrow("orders").num_rows
    paths[0].unlink()
    late.rename(paths[2])
    report = stream.advance([look(str(paths[2]))])
    assert report.units == []
    assert str(paths[0]) in report.left_out[0].reason
    assert Lake(tmp_path / "lake").arrow("orders").num_rows == rows > 0
