"""Which stream a packet belongs to, from names and from contents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.captures.streams import stream_of_file_name
from pregao.feeds.binary.identity import stream_of_templates
from pregao.model.streams import Feed, Stream

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
