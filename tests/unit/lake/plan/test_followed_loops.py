"""Loops of snapshots that A and B have in part each: what is the same loop, and what is not."""

import numpy as np
import pytest

from pregao.lake.plan.followed_loops import FollowedLoop, follow
from pregao.lake.plan.index import LOOP, NUMBER_BITS, RUN, SNAPSHOT, Array, StreamIndex
from pregao.lake.plan.presence import runs_of, union
from pregao.model.rows import NULL
from pregao.model.streams import Feed, Stream

Numbers = list[int]


def stream(feed: Feed, *loops: tuple[int, Numbers, int, int]) -> StreamIndex:
    """Loops of one snapshot a packet: when each began, the numbers that were heard, the number that ends it,
    0 if that was not heard, and how many snapshots it has. Packets follow each other by a nanosecond."""
    index = StreamIndex(184, Stream.SNAPSHOT, feed, int(feed), [*range(1, len(loops) + 1)])
    rows, snapshots, runs = np.zeros(len(loops), LOOP), [], [np.zeros(0, RUN)]
    for loop, (begins_ns, numbers, ends, listed) in enumerate(loops):
        sent: Array = np.array(numbers) + begins_ns - 1
        rows[loop] = loop, sent[0], sent[-1], numbers[0], numbers[-1], ends, listed, NULL, 0, 0, 0
        runs.append(runs_of((loop << NUMBER_BITS) + np.array(numbers), sent))
        mine = np.zeros(len([each for each in numbers if each != ends]), SNAPSHOT)
        mine["loop"], mine["unit"] = loop, [each for each in numbers if each != ends]
        mine["security_id"], mine["in_first"] = mine["unit"] + 1_000, mine["unit"] == 1
        snapshots.append(mine)
    index.loops, index.snapshots, index.runs = rows, np.concatenate(snapshots), union(runs)
    return index


def followed(*streams: StreamIndex) -> list[FollowedLoop]:
    found = list(follow(list(enumerate(streams))))
    return sorted(found, key=lambda loop: (loop.sent_ns, loop.ended_ns))


@pytest.mark.parametrize(
    ("ours", "theirs"), [([1, 3, 5], [2, 4]), ([1, 2], [2, 3, 4, 5]), ([2, 3, 4], [1, 5])]
)
def test_what_both_have_is_a_whole_loop(ours: Numbers, theirs: Numbers) -> None:
    ends = [5 if 5 in numbers else 0 for numbers in (ours, theirs)]
    (loop,) = followed(stream(Feed.A, (100, ours, ends[0], 4)), stream(Feed.B, (100, theirs, ends[1], 4)))
    assert loop.complete
    assert loop.snapshots["security_id"].tolist() == [1_001, 1_002, 1_003, 1_004]
    assert (loop.sent_ns, loop.ended_ns) == (100, 104)
    assert [place.stream.feed for place in loop.places] == [Feed.A, Feed.B]


def test_a_packet_that_nobody_has_leaves_it_incomplete() -> None:
    (loop,) = followed(stream(Feed.A, (100, [1, 3, 5], 5, 4)), stream(Feed.B, (100, [3, 4], 0, 4)))
    assert not loop.complete
    assert loop.snapshots["unit"].tolist() == [1, 3, 4]


def test_a_loop_that_one_feed_has_whole_is_that_feeds() -> None:
    found = followed(stream(Feed.A, (100, [1, 2, 3], 3, 2)), stream(Feed.B, (100, [2, 3], 3, 2)))
    assert sorted((loop.complete, loop.places[0].stream.feed) for loop in found) == [
        (False, Feed.B),
        (True, Feed.A),
    ]


@pytest.mark.parametrize(
    "other",
    [
        (100, [1], 1, 0),  # a reset broke it off in the same moment
        (100, [2, 3], 3, 2),  # it ends elsewhere
        (100, [2, 4], 0, 5),  # it lists more
        (200, [2, 4], 0, 4),  # it was sent later
        (103, [2, 4], 0, 4),  # it begins when the other ends
    ],
)
def test_other_loops_are_never_put_together(other: tuple[int, Numbers, int, int]) -> None:
    found = followed(stream(Feed.A, (100, [1, 3, 5], 5, 4)), stream(Feed.B, other))
    assert [loop.complete for loop in found] == [False, False]


def test_other_contents_of_one_number_are_of_other_loops() -> None:
    ours, theirs = stream(Feed.A, (100, [1, 3, 5], 5, 4)), stream(Feed.B, (100, [2, 3, 4], 0, 4))
    theirs.snapshots["rpt_seq"][1] += 1
    assert [loop.complete for loop in followed(ours, theirs)] == [False, False]


def test_the_contingency_site_numbers_by_itself() -> None:
    found = followed(stream(Feed.A, (100, [1, 3, 5], 5, 4)), stream(Feed.C, (100, [2, 4], 0, 4)))
    assert [loop.complete for loop in found] == [False, False]
