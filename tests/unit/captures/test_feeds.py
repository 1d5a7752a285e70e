"""Which feeds flows are, from sequences and addresses."""

from pregao.captures.glance import FlowFacts, name_feeds
from pregao.model.streams import Destination, Feed, Stream

INC, DEF, SNAP = Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT
A, B, C = Feed.A, Feed.B, Feed.C


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
