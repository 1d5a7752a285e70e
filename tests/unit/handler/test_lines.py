"""Packets of a batch, sorted by what their source is to a channel; the plain way beside the kernel."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.handler.instruments import LineTable
from pregao.model.packets import batch_of
from pregao.model.streams import Feed, Stream, StreamId

LINES = [
    StreamId(channel, stream, feed)
    for channel in (84, 72, None)
    for stream in Stream
    for feed in (Feed.UNKNOWN, Feed.A, Feed.B, Feed.C)
]
RECOVERY = (Stream.DEFINITION, Stream.SNAPSHOT)
PRIMARY, CONTINGENCY = (1, 2), (3,)


def feed_of(source: int) -> int:
    return int(LINES[source].feed or Feed.A)


@given(
    st.lists(st.integers(0, len(LINES) - 1), max_size=60),
    st.sampled_from((PRIMARY, CONTINGENCY)),
    st.sampled_from((84, 72)),
)
def test_every_packet_goes_where_its_source_says(
    sources: list[int], site: tuple[int, ...], channel: int
) -> None:
    batch = batch_of((source, 1_000 + row, b"?") for row, source in enumerate(sources))
    found = LineTable(LINES).sort(batch, channel, site)
    ours = [(row, source) for row, source in enumerate(sources) if LINES[source].channel == channel]
    incremental = [(row, source) for row, source in ours if LINES[source].stream is Stream.INCREMENTAL]
    assert found.followed.tolist() == [row for row, source in incremental if feed_of(source) in site]
    assert found.recovery.tolist() == [row for row, source in ours if LINES[source].stream in RECOVERY]
    assert found.standby is not None
    for feed in (1, 2, 3):
        heard = [1_000 + row for row, source in incremental if feed_of(source) == feed and feed not in site]
        assert found.standby[feed].tolist() == [heard[-1] if heard else 0, len(heard)]


def test_without_another_site_there_is_none_to_listen_for() -> None:
    lines = [StreamId(84, Stream.INCREMENTAL, feed) for feed in (Feed.A, Feed.B)]
    batch = batch_of([(0, 1_000, b"?"), (1, 1_001, b"?")])
    found = LineTable(lines).sort(batch, 84, PRIMARY)
    assert found.followed.tolist() == [0, 1]
    assert found.standby is None


def test_a_larger_batch_than_before() -> None:
    table = LineTable(LINES)
    for size in (1, 3, 500):
        batch = batch_of(
            (LINES.index(StreamId(84, Stream.INCREMENTAL, Feed.A)), 1, b"?") for _ in range(size)
        )
        assert np.array_equal(table.sort(batch, 84, PRIMARY).followed, np.arange(size))
