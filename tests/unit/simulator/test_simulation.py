"""The parts of a simulation by themselves."""

from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from pregao.captures.decode import CaptureDecoder, DecodedPacket, load_schema
from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.timetable import local_midnight_ns, timetable
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.model.errors import ConfigurationError
from pregao.model.market import Phase
from pregao.model.streams import Feed, Stream
from pregao.simulator import Settings
from pregao.simulator.captures import CaptureFile
from pregao.simulator.dayclock import DayClock
from pregao.simulator.pace import paces, slices, with_bursts
from pregao.simulator.settings import as_date, starts_week
from pregao.simulator.sizes import BOUNDS, REAL, nearness, size_rows
from pregao.simulator.venue import Venue, default_catalogue, fitting

DATE = 20_773  # 2026-11-16


def test_days_in_a_row_leave_weekends_out() -> None:
    settings = Settings(Path(), date=date(2026, 11, 19), days=3)
    assert [as_date(each).isoformat() for each in settings.trade_dates] == [
        "2026-11-19", "2026-11-20", "2026-11-23",
    ]  # fmt: skip
    assert [starts_week(each) for each in settings.trade_dates] == [False, False, True]
    assert as_date(Settings(Path()).day_before) == date(2026, 11, 13)


@pytest.mark.parametrize(
    "wrong", [{"version": 11}, {"date": date(2026, 11, 14)}, {"days": 0}, {"messages": 0}, {"heartbeat_s": 0},
     {"squeeze": 0}, {"loops": 0}, {"checkpoint_events": 0}]
)
def test_settings_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        Settings(Path(), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 12, 60, 193])
def test_a_smaller_catalogue_is_whole(count: int) -> None:
    catalogue = default_catalogue(count)
    assert 0 < len(catalogue.listings) <= count
    for listing in catalogue.listings:
        assert all(leg.security_id in catalogue.by_id for leg in listing.instrument.legs)
    groups = {group.key for group in catalogue.groups}
    assert groups == {(each.instrument.group, each.instrument.exchange) for each in catalogue.listings}
    venue = Venue(catalogue, 1, DATE)
    assert timetable(fitting(venue.script, catalogue), catalogue, DATE)
    for wrong in (0, 2_001):
        with pytest.raises(ConfigurationError, match="instruments"):
            default_catalogue(wrong)


@pytest.mark.parametrize("count", [214, 215, 250, 777, 2_000])
def test_a_larger_catalogue_has_as_many_as_asked_for(count: int) -> None:
    """All of the packaged one and further ones, on every channel, of several classes."""
    catalogue, default = default_catalogue(count), load_default_catalogue()
    assert len(catalogue.listings) == count
    assert {each.symbol for each in default.instruments} <= {each.symbol for each in catalogue.instruments}
    further = [each for each in catalogue.instruments if each.symbol not in default.by_symbol]
    if count >= 777:
        assert {each.channel for each in further} == set(default.channels)
        assert len({each.security_type for each in further}) >= 4
    assert default_catalogue(count) is catalogue


def test_a_day_has_its_phases() -> None:
    commands = Venue(load_default_catalogue(), 1, DATE).day(DATE)
    phases = {getattr(command, "phase", None) for command in commands}
    assert phases >= set(Phase)


def test_slices_follow_each_other() -> None:
    found = slices(DayClock(0))
    assert all(one.end_ns == other.start_ns for one, other in pairwise(found))
    assert all(each.weight > 0 for each in found)


def test_loops_go_faster_on_busy_days() -> None:
    quiet, busy = (
        paces(Settings(Path(), messages=messages), 4).snapshots.pause_ns for messages in (10_000, 50_000_000)
    )
    assert quiet > busy > 0


def test_bursts_are_slices_of_their_own() -> None:
    plain = slices(DayClock(0))
    at_ns = plain[40].start_ns + 7_000_000_000
    found = with_bursts(plain, [(at_ns, 500), (1, 9)])  # nobody orders at midnight
    assert len(found) == len(plain) + 2
    assert sum(each.weight for each in found) == pytest.approx(sum(each.weight for each in plain))
    assert [(each.start_ns, each.orders) for each in found if each.orders] == [(at_ns, 500)]
    assert all(one.end_ns == other.start_ns for one, other in pairwise(found))


def test_a_squeezed_day_keeps_its_order() -> None:
    catalogue = default_catalogue(12)
    regular, short = (Venue(catalogue, 1, DATE).day(DATE, squeeze) for squeeze in (1, 40))
    assert [type(each) for each in regular] == [type(each) for each in short]
    clock = DayClock(local_midnight_ns(DATE), 40)
    assert (clock.ends_ns - clock.starts_ns) // 10**9 == 38_700 // 40
    assert all(clock.starts_ns < each.now_ns < clock.ends_ns for each in short)
    ends = [(a.ends_ns - a.now_ns, b.ends_ns - b.now_ns) for a, b in zip(regular, short, strict=True)
            if getattr(a, "ends_ns", None)]  # fmt: skip
    assert ends
    assert all(abs(long // 40 - shorter) <= 1 for long, shorter in ends)


def test_a_capture_is_read_back(tmp_path: Path) -> None:
    file = CaptureFile(tmp_path, 84, Stream.INCREMENTAL, Feed.A, 1)
    payload = PacketHeader(84, 1, 0, 1).encode() + MessageWriter(load_schema(), 16).sequence(1)
    for number in range(5):
        file.send(payload, 1_794_826_800_000_000_000 + number)
    file.close()
    path = tmp_path / "084_Incremental_FeedA.pcap"
    decoder = CaptureDecoder(load_schema())
    times = [packet.ts_ns for packet in decoder.packets(str(path)) if isinstance(packet, DecodedPacket)]
    assert len(times) == 5
    assert times == sorted(set(times))
    assert all(0 < ts - 1_794_826_800_000_000_000 < 1_000_000 for ts in times)


def test_shares_of_sizes_are_of_a_hundred() -> None:
    rows = list(size_rows(Counter({100: 3, 1400: 1})))
    assert [row.up_to for row in rows] == list(BOUNDS)
    for column in ("ours", "equities", "derivatives"):
        assert sum(getattr(row, column) for row in rows) == pytest.approx(100)
    assert rows[1].ours == pytest.approx(75)


def test_nearness_is_a_share() -> None:
    real = (0, 3, 1, 0, 0, 0, 0, 0, 0)
    assert nearness(Counter({100: 75, 150: 25}), real).distance == pytest.approx(0)
    assert nearness(Counter({76: 75, 150: 25}), real) == (pytest.approx(0), 8)
    assert nearness(Counter({1400: 10}), real).distance == pytest.approx(1)
    assert nearness(Counter({100: 100}), real).distance == pytest.approx(0.25)


@pytest.mark.parametrize("name", ["eqt-084", "drv-072"])
def test_the_real_shapes_are_those_of_the_reference(name: str) -> None:
    path = Path(__file__).parents[4] / "shared" / "reference" / f"{name}-packet-sizes.csv"
    if not path.exists():
        pytest.skip("the reference files are not here")
    rows = [line.split(",") for line in path.read_text().splitlines()]
    counts = {int(bound): int(count) for _, stream, bound, count in rows[1:] if stream == "IncrementalA"}
    assert counts.pop(-1) == 0
    assert tuple(counts) == BOUNDS
    assert tuple(counts.values()) == REAL[int(name[-3:])]
