"""The compressed stream: ordinary zlib for others, bounded steps for us."""

import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.fix import EncodedBody, Encoder, Framed, Framer, load_builtin_dictionary
from pregao.codecs.fix.bodies import MessageParts
from pregao.codecs.fix.compression import (
    STREAM_HEADER,
    StreamDeflater,
    StreamInflater,
    deflate_body,
    stored_blocks,
)
from pregao.codecs.fix.message import byte_sum
from pregao.model.errors import DecodeError, Fault
from pregao.sessions.fix import FixSession, SessionDirectory, SessionRecord, SessionSettings, SessionState
from pregao.sessions.fix.events import MessageReceived

DICTIONARY = load_builtin_dictionary()
ENCODER = Encoder(DICTIONARY)
NOW = 1_794_916_800_000_000_000


def parts(head: bytes, body: bytes, tail: bytes) -> MessageParts:
    return MessageParts(head, EncodedBody(b"X", body, byte_sum(body)), tail)


messages = st.lists(
    st.builds(parts, st.binary(max_size=80), st.binary(max_size=3000), st.binary(max_size=10))
)


@given(st.lists(messages, max_size=5))
def test_zlibs_own_inflater_reads_every_batch_at_once(batches: list[list[MessageParts]]) -> None:
    deflater, judge = StreamDeflater(), zlib.decompressobj()
    for batch in batches:
        assert judge.decompress(deflater.write(batch)) == b"".join(each.join() for each in batch)
    assert judge.unused_data == b""
    assert not judge.eof


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 200_000])
def test_stored_blocks_of_any_size(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert zlib.decompressobj(-15).decompress(stored_blocks(data)) == data
    assert len(stored_blocks(data)) <= size + 5 * (size // 65_535 + 1)


def test_text_gets_smaller_and_noise_hardly_larger() -> None:
    text = b"279=0\x01269=1\x01270=37.45\x01271=100\x01" * 40
    assert len(deflate_body(text)) < len(text) // 8
    noise = random.Random(1).randbytes(1000)
    assert len(deflate_body(noise)) <= 1005


def test_a_body_is_deflated_once_for_all_sessions() -> None:
    calls: list[bytes] = []

    def deflate(data: bytes) -> bytes:
        calls.append(data)
        return deflate_body(data)

    body = ENCODER.body(b"UTOTP", {262: "x" * 200})
    assert body.deflated(deflate) == body.deflated(deflate)
    assert len(calls) == 1


@given(messages, st.integers(1, 50), st.integers(1, 300))
@settings(deadline=None)
def test_bytes_arrive_in_any_pieces_and_steps_are_bounded(
    batch: list[MessageParts], cut: int, step: int
) -> None:
    data = StreamDeflater().write(batch)
    inflater, found = StreamInflater(step=step), b""
    for at in range(0, len(data), cut):
        for piece in inflater.feed(data[at : at + cut]):
            assert 0 < len(piece) <= step
            found += piece
    assert found == b"".join(each.join() for each in batch)
    assert inflater.inflated == len(found)


def test_streams_of_others_are_read_too() -> None:
    """A compressor of the standard library that flushes now and then."""
    compressor, inflater = zlib.compressobj(), StreamInflater()
    for _ in range(5):
        text = b"8=FIX.4.4\x01" * 100
        data = compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)
        assert b"".join(inflater.feed(data)) == text


@pytest.mark.parametrize("cut", [1, 3, 10_000])
@pytest.mark.parametrize("bits", [9, 15])
def test_streams_that_end_and_begin_again_are_read(cut: int, bits: int) -> None:
    """2.3 says RFC 1950 and no more: a server may end a stream with every batch, or use another window."""
    texts = [b"8=FIX.4.4\x019=%d\x01" % number * 50 for number in range(4)]
    data = b""
    for text in texts:
        compressor = zlib.compressobj(wbits=bits)
        data += compressor.compress(text) + compressor.flush()
    inflater, found = StreamInflater(step=100), b""
    for at in range(0, len(data), cut):
        found += b"".join(inflater.feed(data[at : at + cut]))
    assert found == b"".join(texts)
    assert inflater.is_compressed


def test_a_plain_stream_is_known_by_its_first_byte() -> None:
    inflater = StreamInflater()
    assert inflater.is_compressed is None
    assert list(inflater.feed(b"8=FIX.4.4\x01")) == [b"8=FIX.4.4\x01"]
    assert inflater.is_compressed is False


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"HTTP/1.1", Fault.FIX_DEFLATE),
        (STREAM_HEADER + b"\xff\xff\xff\xff", Fault.FIX_DEFLATE),
        (b"\x78\x00", Fault.FIX_DEFLATE),
        (zlib.compress(b"the end") + b"HTTP/1.1", Fault.FIX_DEFLATE),
        (zlib.compress(bytes(1 << 20)), Fault.FIX_TOO_LARGE),
    ],
)
def test_what_is_no_such_stream_is_a_named_fault(data: bytes, fault: Fault) -> None:
    inflater = StreamInflater(max_inflated=1 << 19)
    with pytest.raises(DecodeError) as caught:
        list(inflater.feed(data))
    assert caught.value.fault is fault


def test_a_bomb_is_stopped_after_its_bound() -> None:
    bomb = zlib.compressobj()
    data = bomb.compress(bytes(50 << 20)) + bomb.flush(zlib.Z_SYNC_FLUSH)
    inflater, taken = StreamInflater(step=1000, max_inflated=100_000), 0

    def inflate() -> int:
        return sum(len(piece) for piece in inflater.feed(data))

    with pytest.raises(DecodeError):
        taken = inflate()
    assert taken == 0
    assert inflater.inflated <= 101_000


def test_a_session_over_a_compressed_stream() -> None:
    directory = SessionDirectory()
    directory.add(SessionRecord("B3", "CLIENT"))
    server = FixSession.acceptor(SessionSettings(), DICTIONARY, directory)
    client = FixSession.initiator(SessionSettings("CLIENT", "B3", reset_on_logon=True), DICTIONARY)
    deflater, inflater, received, sizes = StreamDeflater(), StreamInflater(), [], [0, 0]

    def to_client() -> None:
        sent = server.messages_to_send()
        data = deflater.write(sent)
        sizes[0] += sum(each.size for each in sent)
        sizes[1] += len(data)
        for piece in inflater.feed(data):
            received.extend(client.receive(piece, NOW))

    server.connect(NOW)
    client.connect(NOW)
    server.receive(client.data_to_send(), NOW)
    to_client()
    assert client.state is SessionState.ACTIVE
    entry = {279: "0", 269: "0", 48: "200001234567", 22: "8", 207: "BVMF", 270: b"37.45", 271: b"100"}
    for number in range(10):
        server.send(b"X", {268: [{**entry, 37: str(number + n)} for n in range(10)]}, NOW)
        to_client()
    assert [each.number for each in received if isinstance(each, MessageReceived)] == list(range(2, 12))
    assert sizes[1] < sizes[0] / 2


def test_joined_parts_are_the_message() -> None:
    body = ENCODER.body(b"UTOTP", {262: "1"})
    header = {34: 1, 49: "B3", 52: NOW, 56: "CLIENT"}
    data = ENCODER.parts(body, header).join()
    assert data == ENCODER.frame(body, header)
    assert Framer().feed(data) == [Framed(data, b"FIX.4.4")]
