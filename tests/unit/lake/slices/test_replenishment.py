"""A book that is told again (6.5.12 step 6, 6.5.13), in one event or in many: the lake's rows say of it what
the live handler says after the same packet."""

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest

from pregao.captures.streams import stream_of_file_name
from pregao.feeds.binary.packets import PacketDecoder
from pregao.feeds.binary.publisher import Habits
from pregao.feeds.binary.system import BINARY
from pregao.handler.handler import ChannelHandler
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK
from pregao.lake.slices import buffers as b
from pregao.lake.slices.feeds import merge
from pregao.lake.slices.known import LAKE_ROW
from pregao.lake.slices.machine import SliceMachine
from pregao.lake.tables.analytics import Quality
from pregao.model.rows import Kind
from pregao.recovery.instruments import BookStatus
from tests.kits.captures import read_capture
from tests.kits.lakes import make_days

from .kit import Found, slices_of

# No failover: the handler waits for what may still come of the old sequence, and takes many packets at once.
RESETS = "reset=channel@?,reset=3xbook@?,reset=stream@?"
DAYS = {
    "one event": {"version": 16, "habits": Habits(0)},
    "an event for each order": {"version": 16, "habits": Habits(1)},
    "three orders an event": {"version": 8, "habits": Habits(3)},
}
CHANNEL = 72  # of two futures that trade all day
BOOK_MESSAGES = ("Order_MBO_50", "DeleteOrder_MBO_51", "MassDeleteOrders_MBO_52", "EmptyBook_9")
IN_DOUBT = int(Quality.AFTER_GAP | Quality.BOOK_UNKNOWN)

Place = tuple[int, int, int]  # sequenceVersion, number, securityID


@pytest.fixture(scope="module", params=DAYS)
def captures(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    (day,) = make_days(
        tmp_path_factory.mktemp("day"), seed=23, messages=2_500, faults=RESETS, **DAYS[request.param]
    )
    return sorted(day.glob(f"{CHANNEL:03}_*.pcap"))


def doubts(captures: Iterable[Path]) -> dict[Place, bool]:
    """Whether the lake doubts a book with its last change in a packet."""
    found = dict[Place, bool]()
    for slice_ in slices_of(captures):
        orders = Found(SliceMachine(slice_, merge(slice_))).rows[b.ORDERS].view(LAKE_ROW)
        for row in orders[orders["kind"] <= Kind.EMPTY_BOOK]:
            at = int(row["at"])
            place = slice_.versions[at >> NUMBER_BITS], at & NUMBER_MASK, int(row["security_id"])
            found[place] = bool(int(row["quality"]) & IN_DOUBT)
    return found


def told_in(captures: Iterable[Path]) -> tuple[set[Place], set[Place]]:
    """What the messages themselves say: which packets change a book, and where the last of them is marked
    RecoveryMsg or an EmptyBook."""
    (feed_a,) = [path for path in captures if "Incremental_FeedA" in path.name]
    decoder, told_again = PacketDecoder(BINARY.schema), dict[Place, bool]()
    for packet in read_capture(feed_a):
        header = packet.header
        for placed in decoder.decode(packet.payload).messages:
            fields = placed.message.fields or {}
            if placed.message.name in BOOK_MESSAGES:
                marked = "RecoveryMsg" in cast(list[str], fields["matchEventIndicator"])
                place = header.sequence_version, header.sequence_number, int(str(fields["securityID"]))
                told_again[place] = marked or placed.message.name == "EmptyBook_9"
    return set(told_again), {place for place, marked in told_again.items() if marked}


def live_statuses(captures: Iterable[Path], wanted: Iterable[Place]) -> dict[Place, BookStatus]:
    """What the handler says of a book right after the packet that changed it, be its event over or not."""
    handler = ChannelHandler(CHANNEL, BINARY, whole_events=False)
    found = dict[Place, BookStatus]()
    touched: dict[tuple[int, int], list[int]] = {}
    for version, number, security_id in wanted:
        touched.setdefault((version, number), []).append(security_id)
    streams = {path: stream_of_file_name(str(path)) for path in captures}
    packets = [(each.ts_ns, path, each.payload) for path in captures for each in read_capture(path)]
    for ts_ns, path, payload in sorted(packets, key=lambda each: each[0]):
        due_ns = handler.next_timeout()
        if due_ns is not None and due_ns <= ts_ns:
            handler.on_timeout(ts_ns)
        handler.receive(payload, streams[path].stream, streams[path].feed, ts_ns)
        point = handler.machine.arbiter.version, handler.machine.at & NUMBER_MASK
        for security_id in touched.pop(point, ()):
            found[*point, security_id] = handler.known(handler.book(security_id).index)[0]
    return found


def test_without_snapshots_both_say_the_same(captures: list[Path]) -> None:
    """From the first packet of a week on all of it is in the messages."""
    blind = [path for path in captures if "Snapshot" not in path.name]
    changes, told_again = told_in(blind)
    lake, live = doubts(blind), live_statuses(blind, changes)
    assert lake.keys() == live.keys() == changes
    for place, status in live.items():
        assert lake[place] == (status is not BookStatus.CLEAN), (place, status)
    assert {place for place, doubtful in lake.items() if doubtful} == told_again
    assert len(changes) > 3 * len(told_again) > 0


def test_with_snapshots_the_lake_knows_no_less(captures: list[Path]) -> None:
    """It has each at its place, the handler when it comes."""
    changes, told_again = told_in(captures)
    lake, live = doubts(captures), live_statuses(captures, changes)
    assert lake.keys() == live.keys() == changes
    clean = {place for place, status in live.items() if status is BookStatus.CLEAN}
    doubtful = {place for place, doubtful in lake.items() if doubtful}
    assert not clean & doubtful
    assert doubtful == told_again
    assert len(clean) > len(changes) // 2
