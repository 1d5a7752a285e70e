"""Which stream a packet belongs to, from names and from contents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.feeds.binary.streams import Feed, Stream, StreamGuesser, stream_of_file_name, stream_of_templates

INC, DEF, SNAP, UNKNOWN = Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT, Stream.UNKNOWN


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("084_Incremental_FeedA.pcap", (84, INC, Feed.A)),
        ("84_Incremental_feedB.pcap.gz", (84, INC, Feed.B)),
        ("84_INCREMENTAL_FEEDC.PCAP", (84, INC, Feed.C)),
        ("84-IncrementalFeedA.pcap", (84, INC, Feed.A)),
        ("20240101_Channel_084_InstrumentDefinition.pcap", (84, DEF, Feed.A)),
        ("72_SnapshotRecovery.pcap.zst", (72, SNAP, Feed.A)),
        ("72_SnapshotRecovery_FeedC.pcap", (72, SNAP, Feed.C)),
        ("20250331_MBO_084_EQT_Incremental_FeedA.pcapng", (84, INC, Feed.A)),
        ("20250929_MBO_072_DRV_SnapshotRecovery.pcap", (72, SNAP, Feed.A)),
        ("78_Instrument.pcap", (78, DEF, Feed.A)),
        ("78_Snapshot.pcap", (78, SNAP, Feed.A)),
        ("072_mbo_security_definition.pcap", (72, DEF, Feed.A)),
        ("/captures/2024/12/99/084_Incremental_FeedA.pcap", (84, INC, Feed.A)),
        ("C:\\x\\12\\084_Incremental_FeedA.pcap", (84, INC, Feed.A)),
        ("Incremental_FeedA_channel-7.pcap", (7, INC, Feed.A)),
        # No channel that could be told without guessing.
        ("MBO_EQT_Incremental_FeedB.pcap", (None, INC, Feed.B)),
        ("20240101_Incremental_FeedA.pcap", (None, INC, Feed.A)),
        ("2024-01-02_Incremental_FeedA.pcap", (None, INC, Feed.A)),
        ("02.01.2024_Incremental_FeedA.pcap", (None, INC, Feed.A)),
        ("24_01_02_Incremental_FeedA.pcap", (None, INC, Feed.A)),
        ("2024-01-02T10-00-00_Incremental_FeedA.pcap", (None, INC, Feed.A)),
        ("2024-01-02_84_Incremental_FeedA.pcap", (84, INC, Feed.A)),
        ("Incremental_FeedA_001.pcap", (None, INC, Feed.A)),
        ("300_Incremental_FeedA.pcap", (None, INC, Feed.A)),
        ("channel_1_channel_2_Incremental.pcap", (None, INC, Feed.UNKNOWN)),
        # No feed, no stream, or too many.
        ("084_Incremental.pcap", (84, INC, Feed.UNKNOWN)),
        ("084_Incremental_FeedA_FeedB.pcap", (84, INC, Feed.UNKNOWN)),
        ("084_Incremental_Snapshot.pcap", (None, UNKNOWN, Feed.UNKNOWN)),
        ("Channel84_FeedB.pcap", (84, UNKNOWN, Feed.B)),
        ("nonincremental_feedaway.pcap", (None, UNKNOWN, Feed.UNKNOWN)),
        ("84.pcap", (None, UNKNOWN, Feed.UNKNOWN)),
        ("", (None, UNKNOWN, Feed.UNKNOWN)),
    ],
)
def test_file_names(name: str, expected: tuple[int | None, Stream, Feed]) -> None:
    assert stream_of_file_name(name) == expected


@given(st.text())
def test_any_file_name_gives_an_answer(name: str) -> None:
    channel, _, _ = stream_of_file_name(name)
    assert channel is None or 0 <= channel <= 255


@pytest.mark.parametrize(
    ("templates", "stream"),
    [
        ({30}, SNAP),
        ({1, 2, 10, 71, 3, 27}, SNAP),
        ({50}, INC),
        ({2, 5}, INC),
        ({11}, INC),
        ({9, 3}, INC),
        ({4, 3}, INC),  # definitions are not in the snapshots, states not in the definitions
        ({12, 56}, INC),
        ({50, 999}, INC),
        ({12}, UNKNOWN),
        ({4, 1, 2}, UNKNOWN),
        ({10, 15, 16, 17, 19, 20, 21, 22, 24, 25, 27, 28, 29, 56, 3}, UNKNOWN),
        ({1, 2}, UNKNOWN),
        ({999}, UNKNOWN),
        (set(), UNKNOWN),
        ({30, 50}, UNKNOWN),
        ({30, 12}, UNKNOWN),
    ],
)
def test_templates(templates: set[int], stream: Stream) -> None:
    assert stream_of_templates(templates) is stream


Packet = tuple[int, int, list[int]]


def guess(packets: list[Packet]) -> Stream:
    guesser = StreamGuesser()
    for packet in packets:
        guesser.observe(*packet)
    assert guesser.packets == len(packets)
    return guesser.stream


LOOP_END: list[Packet] = [(8, 41, [12, 12]), (8, 42, [1])]


@pytest.mark.parametrize(
    ("packets", "stream"),
    [
        ([], UNKNOWN),
        (LOOP_END, UNKNOWN),
        ([*LOOP_END, (9, 1, [12])], DEF),
        ([*LOOP_END, (0, 0, [2]), (9, 1, [12])], DEF),  # a heartbeat in between says nothing
        ([(8, 41, [4]), (9, 1, [4, 4])], DEF),  # the end of the loop was lost
        ([(8, 41, [12]), (8, 42, [1]), (8, 1, [12])], DEF),  # a version that does not change
        ([*LOOP_END, (9, 2, [12])], UNKNOWN),  # the first packet was lost: wait for the next loop
        ([*LOOP_END, (9, 2, [12]), (10, 1, [12])], DEF),
        ([(8, 42, [1]), (9, 1, [12])], UNKNOWN),
        ([(8, 1, [12]), (8, 2, [12]), (8, 1, [12])], UNKNOWN),  # a repeated packet is no restart
        ([*LOOP_END, (9, 1, [11, 12]), (9, 2, [12])], INC),  # system initialization (6.5.12)
        ([*LOOP_END, (9, 1, [12]), (9, 2, [50])], INC),  # a template overrules the loop
        ([(1, 1, [10]), (1, 2, [10, 10])], UNKNOWN),
        ([(1, 1, [10]), (1, 2, [30]), (1, 3, [71, 56])], SNAP),
        ([(1, 5, [12]), (1, 6, [3])], INC),
        ([(0, 0, [2])] * 5, UNKNOWN),
        ([(1, 1, [])], UNKNOWN),
    ],
)
def test_guesser(packets: list[Packet], stream: Stream) -> None:
    assert guess(packets) is stream


def test_guesser_says_when_it_is_done() -> None:
    guesser = StreamGuesser()
    assert not guesser.decided
    assert guesser.observe(1, 1, [50]) is INC
    assert guesser.decided
    assert not guesser.contradictory
    assert guesser.observe(1, 2, [71]) is UNKNOWN
    assert guesser.decided
    assert guesser.contradictory
