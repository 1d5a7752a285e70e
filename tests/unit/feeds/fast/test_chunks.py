"""Technical headers and chunks (UMDF FIX/FAST 5.2.4): sound ones, and every way to be wrong."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.feeds.fast.chunks import HEADER, MAX_AGE_NS, Chunk, ChunkAssembler, split_datagram, write_chunks
from pregao.model.errors import Fault

BODY = bytes(range(200)) * 20  # three chunks


def faults(assembler: ChunkAssembler) -> list[Fault]:
    return [error.fault for error in assembler.take_faults()]


def chunks_of(number: int, message: bytes) -> list[tuple[Chunk, bytes]]:
    found = []
    for datagram in write_chunks(number, message):
        (chunk,) = split_datagram(datagram).chunks
        found.append((chunk, datagram[chunk.offset : chunk.offset + chunk.length]))
    return found


class TestDatagrams:
    def test_the_header_is_big_endian(self) -> None:
        datagram = bytes.fromhex("00000102 0001 0001 0003") + b"abc"
        assert split_datagram(datagram) == ([Chunk(0x102, 1, 1, 10, 3)], [])

    def test_several_messages(self) -> None:
        datagram = b"".join(write_chunks(7, b"abc") + write_chunks(8, b"de"))
        assert [(each.number, each.offset, each.length) for each in split_datagram(datagram).chunks] == [
            (7, 10, 3), (8, 23, 2),
        ]  # fmt: skip

    def test_no_datagram_is_longer_than_1420(self) -> None:
        assert max(map(len, write_chunks(1, BODY))) == 1_420

    @pytest.mark.parametrize(
        ("header", "fault"),
        [
            ((1, 1, 1, 0), Fault.FAST_LENGTH_ZERO),
            ((1, 1, 1, 4), Fault.FAST_LENGTH_PAST_DATAGRAM),
            ((1, 0, 1, 3), Fault.FAST_NO_CHUNKS),
            ((1, 2, 0, 3), Fault.FAST_CHUNK_ZERO),
            ((1, 2, 3, 3), Fault.FAST_CHUNK_BEYOND_LAST),
        ],
    )
    def test_wrong_headers(self, header: tuple[int, ...], fault: Fault) -> None:
        found = split_datagram(write_chunks(9, b"xy")[0] + HEADER.pack(*header) + b"abc")
        assert [each.number for each in found.chunks] == [9]
        assert [(error.fault, error.offset) for error in found.damage] == [(fault, 12)]

    @pytest.mark.parametrize("datagram", [b"", b"\x00" * 9])
    def test_header_cut(self, datagram: bytes) -> None:
        assert [error.fault for error in split_datagram(datagram).damage] == [Fault.FAST_HEADER_TRUNCATED]

    @given(st.binary(max_size=60))
    def test_any_bytes(self, datagram: bytes) -> None:
        found = split_datagram(datagram)
        assert found.chunks or found.damage
        assert all(chunk.offset + chunk.length <= len(datagram) for chunk in found.chunks)


class TestAssembly:
    def test_one_chunk_is_a_message_at_once(self) -> None:
        ((chunk, data),) = chunks_of(5, b"abc")
        assert ChunkAssembler().receive(chunk, data, 0) == b"abc"

    @pytest.mark.parametrize("seed", range(10))
    def test_any_order_and_both_feeds(self, seed: int) -> None:
        arrivals = [*chunks_of(5, BODY), *chunks_of(5, BODY), *chunks_of(6, BODY[::-1])]
        random.Random(seed).shuffle(arrivals)
        assembler = ChunkAssembler()
        found = [assembler.receive(chunk, data, 0) for chunk, data in arrivals]
        assert sorted(filter(None, found)) == sorted((BODY, BODY[::-1]))
        assert assembler.open_messages == 0
        assert not faults(assembler)

    def test_repeated_with_other_bytes(self) -> None:
        assembler, (chunk, data) = ChunkAssembler(), chunks_of(5, BODY)[0]
        assembler.receive(chunk, data, 0)
        assembler.receive(chunk, data[::-1], 0)
        assert faults(assembler) == [Fault.FAST_CHUNK_DIFFERS]

    @pytest.mark.parametrize("is_resumed", [False, True])
    def test_a_message_of_which_two_versions_came_is_none(self, is_resumed: bool) -> None:
        """Nobody can say whose chunks the others are: those of a loop before, or of a stranger."""
        assembler, (first, *others) = ChunkAssembler(), chunks_of(5, BODY)
        assembler.receive(first[0], first[1][::-1], 0)
        assembler.receive(*first, 0)
        if is_resumed:
            mark = assembler.mark()
            assembler.resume(mark)
        assert [assembler.receive(*each, 1) for each in (*others, first, *others)] == [None] * (
            1 + 2 * len(others)
        )
        found = [assembler.receive(*each, MAX_AGE_NS) for each in (first, *others)]
        assert found[-1] == BODY, "told again, later"
        assert Fault.FAST_MESSAGE_INCOMPLETE in faults(assembler)

    def test_another_count(self) -> None:
        assembler, (chunk, data) = ChunkAssembler(), chunks_of(5, BODY)[0]
        assembler.receive(chunk, data, 0)
        assembler.receive(chunk._replace(chunks=4, current=2), data, 0)
        assert faults(assembler) == [Fault.FAST_CHUNK_COUNT_DIFFERS]

    def test_too_large(self) -> None:
        assembler = ChunkAssembler(message_bytes=2_000)
        assert [assembler.receive(chunk, data, 0) for chunk, data in chunks_of(5, BODY)[:2]] == [None, None]
        assert faults(assembler) == [Fault.FAST_MESSAGE_TOO_LARGE]
        assert assembler.open_messages == 0

    def test_never_completed(self) -> None:
        assembler, (chunk, data) = ChunkAssembler(age_ns=10), chunks_of(5, BODY)[0]
        assembler.receive(chunk, data, 100)
        assert assembler.next_timeout() == 110
        assembler.on_timeout(109)
        assert not faults(assembler)
        assembler.on_timeout(110)
        assert faults(assembler) == [Fault.FAST_MESSAGE_INCOMPLETE]
        assert assembler.next_timeout() is None

    @pytest.mark.parametrize("bounds", [{"open_messages": 3}, {"open_bytes": 3 * 1_410}])
    def test_what_is_open_is_bounded(self, bounds: dict[str, int]) -> None:
        assembler = ChunkAssembler(**bounds)
        for number in range(10):
            chunk, data = chunks_of(number, BODY)[0]
            assembler.receive(chunk, data, 0)
        assert assembler.open_messages == 3
        assert faults(assembler) == [Fault.FAST_MESSAGE_INCOMPLETE] * 7

    def test_a_reset_gives_up_what_is_open(self) -> None:
        assembler = ChunkAssembler()
        for chunk, data in [*chunks_of(5, BODY), chunks_of(6, BODY)[0]]:
            assembler.receive(chunk, data, 0)
        assembler.reset()
        assert faults(assembler) == [Fault.FAST_MESSAGE_INCOMPLETE]
        again = [assembler.receive(chunk, data, 0) for chunk, data in chunks_of(5, BODY)]
        assert again == [None, None, BODY]
