"""The parts of a simulation by themselves."""

from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.timetable import timetable
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.streams import Feed, Stream
from pregao.model.errors import ConfigurationError
from pregao.model.market import Phase
from pregao.services.decode import CaptureDecoder, DecodedPacket, load_schema
from pregao.services.simulation import Settings
from pregao.services.simulation.captures import CaptureFile
from pregao.services.simulation.pace import paces, slices
from pregao.services.simulation.settings import as_date, starts_week
from pregao.services.simulation.sizes import BOUNDS, size_rows
from pregao.services.simulation.venue import Venue, default_catalogue, fitting

DATE = 20_773  # 2026-11-16


def test_days_in_a_row_leave_weekends_out() -> None:
    settings = Settings(Path(), date=date(2026, 11, 19), days=3)
    assert [as_date(each).isoformat() for each in settings.trade_dates] == [
        "2026-11-19", "2026-11-20", "2026-11-23",
    ]  # fmt: skip
    assert [starts_week(each) for each in settings.trade_dates] == [False, False, True]
    assert as_date(Settings(Path()).day_before) == date(2026, 11, 13)


@pytest.mark.parametrize(
    "wrong", [{"version": 9}, {"date": date(2026, 11, 14)}, {"days": 0}, {"messages": 0}, {"heartbeat_s": 0}]
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
    with pytest.raises(ConfigurationError, match="instruments"):
        default_catalogue(len(load_default_catalogue().listings) + 1)


def test_a_day_has_its_phases() -> None:
    commands = Venue(load_default_catalogue(), 1, DATE).day(DATE)
    phases = {getattr(command, "phase", None) for command in commands}
    assert phases >= set(Phase)


def test_slices_follow_each_other() -> None:
    found = slices(0)
    assert all(one.end_ns == other.start_ns for one, other in pairwise(found))
    assert all(each.weight > 0 for each in found)


def test_loops_go_faster_on_busy_days() -> None:
    quiet, busy = (paces(messages, 4, 1.0).snapshots.pause_ns for messages in (10_000, 50_000_000))
    assert quiet > busy > 0


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
