"""Payloads back into records: the kernel, the plain version, and the reader of captures agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.framing import HEAD_SIZE, Endpoints, RecordBuffers, record_of, times_of_records
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.pcap.writer import pcap_header
from pregao.model.packets import batch_of

ENDPOINTS = [
    Endpoints(0xC6336407, 5000 + i, 0xE9FC0001 + i, 30_000 + i) for i in range(3)
] + [Endpoints(0xFFFFFFFF, 65_535, 0xEFFFFFFF, 65_535)]  # fmt: skip
PACKETS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, (1 << 32) * 1_000_000_000 - 1), st.binary(max_size=200)),
    max_size=30,
)


@given(PACKETS)
def test_kernel_equals_plain(packets: list[tuple[int, int, bytes]]) -> None:
    buffers = RecordBuffers(ENDPOINTS, 100_000)
    buffers.put(batch_of(packets))
    for index, endpoints in enumerate(ENDPOINTS):
        mine = [(ts, payload) for source, ts, payload in packets if source == index]
        records = b"".join(record_of(endpoints, ts, payload) for ts, payload in mine)
        assert bytes(buffers.records(index)) == records
        if mine:
            assert buffers.times(index) == times_of_records(records)
            times = [ts for ts, _ in mine]
            assert buffers.times(index) == (min(times), max(times), len(times))


def test_records_are_read_as_what_they_were() -> None:
    ts, payload, ends = 1_743_426_900_123_456_789, b"x" * 1400, ENDPOINTS[1]
    capture = pcap_header() + record_of(ends, ts, payload)
    (datagram,) = DatagramReader().outcomes(capture)
    assert isinstance(datagram, Datagram)
    assert (datagram.ts_ns, bytes(datagram.payload)) == (ts, payload)
    assert Endpoints(datagram.src, datagram.src_port, datagram.dst, datagram.dst_port) == ends


def test_batches_follow_each_other_and_another_sender_is_named() -> None:
    buffers = RecordBuffers(ENDPOINTS, 10_000)
    buffers.put(batch_of([(0, 1, b"first")]))
    other = Endpoints(1, 2, 3, 4)
    buffers.address(0, other)
    buffers.put(batch_of([(0, 2, b"second")]))
    assert bytes(buffers.records(0)) == record_of(ENDPOINTS[0], 1, b"first") + record_of(other, 2, b"second")
    buffers.clear(0)
    assert buffers.used.tolist() == [0, 0, 0, 0]


def test_what_has_no_room_is_refused() -> None:
    buffers = RecordBuffers(ENDPOINTS, 2 * HEAD_SIZE)
    with pytest.raises(ValueError, match="buffers"):
        buffers.put(batch_of([(0, 1, b"x" * (HEAD_SIZE + 1))]))
    with pytest.raises(ValueError, match="source"):
        buffers.put(batch_of([(4, 1, b"x")]))


@pytest.mark.parametrize("content", [b"", b"x" * 15, record_of(ENDPOINTS[0], 1, b"abc")[:-1], b"\xff" * 64])
def test_what_is_no_run_of_records_has_no_times(content: bytes) -> None:
    assert times_of_records(content) is None
