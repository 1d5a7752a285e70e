"""What flows are: streams from what all of a capture has, feeds from sequences and addresses."""

import pytest

from pregao.feeds.binary.flows import FlowFacts, name_feeds, settled_stream
from pregao.model.streams import Destination, Feed, Stream

INC, DEF, SNAP, UNKNOWN = Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT, Stream.UNKNOWN
A, B, C = Feed.A, Feed.B, Feed.C


@pytest.mark.parametrize(
    ("templates", "packets", "stream"),
    [
        ({50}, 1, INC),
        ({30, 71, 3, 15}, 1, SNAP),
        ({12}, 1, DEF),  # a loop without SequenceReset (6.5.9)
        ({1, 2, 4, 12}, 5, DEF),
        ({12, 3}, 1, INC),  # only there both occur
        ({3, 10, 15}, 64, INC),  # a snapshot begins with its header (7.2)
        ({3, 10, 15}, 63, UNKNOWN),  # too few to be sure that none would have come
        ({1, 2}, 10_000, UNKNOWN),
        (set(), 0, UNKNOWN),
        ({30, 50}, 10_000, UNKNOWN),  # several streams to one place
        ({30, 12}, 10_000, UNKNOWN),
    ],
)
def test_streams(templates: set[int], packets: int, stream: Stream) -> None:
    assert settled_stream(templates, packets) is stream


def flow(
    port: int, stream: Stream, *versions: int, feed: Feed = Feed.UNKNOWN, channel: int = 84
) -> FlowFacts:
    return FlowFacts(channel, Destination(4, 1, port), versions=set(versions), stream=stream, feed=feed)


def feeds(*flows: FlowFacts) -> list[Feed]:
    name_feeds(flows)
    return [each.feed for each in flows]


def test_of_one_site_the_lower_address_is_a() -> None:
    assert feeds(flow(9, INC, 46), flow(5, INC, 46, 47)) == [B, A]
    assert feeds(flow(9, INC, 46)) == [A]
    assert feeds(flow(5, INC, 46), flow(5, INC, 47), flow(6, INC, 47)) == [A, A, B]  # of two files


def test_what_is_told_stays_and_the_other_is_the_other() -> None:
    assert feeds(flow(5, INC, 46), flow(9, INC, 46, feed=A)) == [B, A]
    assert feeds(flow(5, INC, 46, feed=B), flow(9, INC, 46)) == [B, A]
    assert feeds(flow(5, INC, 46, feed=B), flow(5, INC, 47), flow(9, INC, 47)) == [B, B, A]


def test_a_sequence_of_its_own_is_the_contingency_site() -> None:
    """6.5.3; the site with more flows is the primary, and loops lie as the incremental streams do."""
    assert feeds(flow(1, INC, 500), flow(2, INC, 46), flow(3, INC, 46)) == [C, A, B]
    assert feeds(
        flow(1, INC, 46), flow(2, INC, 46), flow(3, INC, 500), flow(4, DEF, 1046), flow(5, DEF, 1500),
        flow(6, SNAP, 1046), flow(7, SNAP, 1500),
    ) == [A, B, C, A, C, A, C]  # fmt: skip
    told = flow(1, INC, 500, feed=C)
    assert feeds(flow(3, INC, 46), told, flow(4, DEF, 1), flow(2, DEF, 2)) == [A, C, A, C]


def test_channels_are_apart_and_loops_are_a_s() -> None:
    assert feeds(flow(1, INC, 46), flow(2, INC, 46, channel=78), flow(3, DEF, 9), flow(4, SNAP, 9)) == [
        A, A, A, A,
    ]  # fmt: skip
