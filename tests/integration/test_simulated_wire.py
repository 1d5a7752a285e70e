"""Books rebuilt from the wire the plainest way equal the truth and every snapshot: in each wire version,
after every kind of reset, and at the contingency site."""

from collections import Counter
from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from pregao.feeds.publishing import PublishingSite
from pregao.model import events as e
from pregao.model.streams import Feed, Stream
from pregao.simulator.faults import RESETS
from pregao.simulator.memory import MemoryDay, short_day, simulate_in_memory
from tests.twins.naive_wire import rebuild, wire

MONDAY, WEDNESDAY = date(2026, 11, 16), date(2026, 11, 18)
CHANNELS = (68, 72, 78, 84)


def play(**settings: Any) -> MemoryDay:
    (day,) = simulate_in_memory(short_day(**settings))
    return day


@pytest.mark.parametrize(
    ("version", "start"),
    [
        (7, WEDNESDAY), (8, WEDNESDAY), (8, MONDAY), (9, MONDAY), (10, WEDNESDAY), (15, MONDAY),
        (16, WEDNESDAY), (17, MONDAY),
    ],
)  # fmt: skip
def test_books_of_each_wire_version(version: int, start: date) -> None:
    day = play(version=version, messages=8_000, date=start)
    seen = Counter[str]()
    for channel in CHANNELS:
        books, of_truth, of_snapshots = rebuild(day, channel, version=version)
        assert of_truth > 20
        assert of_snapshots > 200
        seen += books.seen
    assert seen["Order_MBO_50 NEW"] > 1000
    assert seen["Order_MBO_50 CHANGE"] > 100
    assert (seen["MassDeleteOrders_MBO_52 DELETE_FROM"] > 20) == (version < 15)


@pytest.mark.parametrize(("moment", "version"), [("?", 8), ("?", 16), ("loop", 16)])
@pytest.mark.parametrize("kind", RESETS)
def test_books_after_resets(kind: str, moment: str, version: int) -> None:
    day = play(version=version, seed=3, faults=f"reset=2x{kind}@{moment}")
    resets = Counter(each.channel for each in day.faults)
    for channel in CHANNELS:
        # Two each; of two loops the later one may begin after the day.
        assert resets[channel] == 2 if moment == "?" else 1 <= resets[channel] <= 2
        rebuild(day, channel, version=version)


def test_resets_on_top_of_each_other() -> None:
    together = ",".join(f"reset={kind}@14:00" for kind in RESETS)
    day = play(seed=2, checkpoint_events=1, faults=f"{together},burst=2x300@?")
    for channel in CHANNELS:
        rebuild(day, channel)


def test_books_come_back_one_by_one() -> None:
    """Between the reset and the last book there are packets of other instants, one a millisecond."""
    day = play(instruments=60, seed=1, faults="reset=channel@14:00")
    slowly = [each for each in day.faults if each.detail == "channel gradually"]
    assert slowly
    for deed in slowly:
        times = {
            each.header.sending_time_ns
            for each in wire(day.packets, deed.channel, Stream.INCREMENTAL, Feed.A)
            if each.name == "EmptyBook_9" and 0 <= each.header.sending_time_ns - deed.sending_ns < 10**9
        }
        assert len(times) > 5
        assert max(times) - deed.sending_ns < 200_000_000


def test_the_contingency_site_takes_over() -> None:
    day = play(seed=4, faults="contingency=14:00")
    for channel in CHANNELS:
        rebuild(day, channel, Feed.C)
        mine = [each for each in day.faults if each.channel == channel]
        (takes_over,) = [each for each in mine if each.kind == "reset" and each.feed == "C"]
        silent_ns = min(each.sending_ns for each in mine if each.kind == "site")
        assert takes_over.sending_ns >= silent_ns
        times = {feed: [0] for feed in Feed}
        for packet in day.packets:
            if packet.channel == channel:
                times[packet.feed].append(packet.ts_ns)
        assert max(times[Feed.A] + times[Feed.B]) < takes_over.sending_ns < max(times[Feed.C])
        after = [
            each
            for each in wire(day.packets, channel, Stream.INCREMENTAL, Feed.C)
            if each.header.sequence_version == takes_over.seq_version
        ]
        assert next(each.point[1] for each in after if each.point[1]) == 1
        names = {each.name for each in after}
        assert {"EmptyBook_9", "Order_MBO_50"} <= names
    last = [each.update for each in day.updates if each.site is PublishingSite.CONTINGENCY]
    assert any(isinstance(update, e.LastTrade) for update in last)


def test_the_primary_site_comes_back() -> None:
    day = play(seed=4, faults="contingency=14:00+30s")
    for channel in CHANNELS:
        mine = [each for each in day.faults if each.channel == channel and each.kind == "reset"]
        assert [each.feed for each in mine] == ["C", "A"]
        assert mine[1].sending_ns - mine[0].sending_ns < 29 * 10**9
        rebuild(day, channel, Feed.C)
        versions = [
            each.header.sequence_version for each in wire(day.packets, channel, Stream.INCREMENTAL, Feed.A)
        ]
        assert versions[-1] == mine[1].seq_version


def test_sites_count_apart() -> None:
    day = play(contingency=True, faults="reset=stream@14:00")
    for channel in CHANNELS:
        versions = {
            feed: {each.point[0] for each in wire(day.packets, channel, Stream.INCREMENTAL, feed)}
            for feed in (Feed.A, Feed.C)
        }
        assert versions[Feed.A].isdisjoint(versions[Feed.C])
        assert len(versions[Feed.A]) == len(versions[Feed.C]) + 1  # the reset was the primary's alone


def test_every_update_has_the_place_of_its_message() -> None:
    day = play(contingency=True)
    for site, feed in ((PublishingSite.PRIMARY, Feed.A), (PublishingSite.CONTINGENCY, Feed.C)):
        placed = {
            (each.channel, each.seq_version, each.seq_num, each.msg_index)
            for each in day.updates
            if each.site is site and each.seq_num is not None
        }
        for channel in CHANNELS:
            sent = {
                (channel, *each.point, each.index)
                for each in wire(day.packets, channel, Stream.INCREMENTAL, feed)
                if each.point[1] and each.name not in ("News_5", "SequenceReset_1")
            }
            assert sent <= placed


def test_a_checkpoint_after_every_command() -> None:
    day = play(checkpoint_events=1)
    points = {(each.channel, each.seq_version, each.seq_num) for each in day.checkpoints}
    told = {(each.channel, each.seq_version, each.seq_num) for each in day.updates if each.seq_num}
    assert len(told & points) > 0.8 * len(told)


def test_no_more_than_a_thousand_events_between_checkpoints() -> None:
    day = play(messages=20_000)
    for channel in CHANNELS:
        events = [each.event for each in day.checkpoints if each.channel == channel]
        assert max(after - before for before, after in pairwise(events)) <= 1_000 + 50
        phases = {each.event for each in day.updates
                  if each.channel == channel and isinstance(each.update, e.PhaseChanged)}  # fmt: skip
        assert phases
        assert all(any(event <= taken <= event + 30 for taken in events) for event in phases)
