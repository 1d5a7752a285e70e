"""Headers that go on where others stopped, in another process: see `feeds.port.Header.mark`."""

import numpy as np
import pytest

from pregao.feeds.fast.chunks import write_chunks
from pregao.feeds.fast.system import FAST, FastInspector
from pregao.feeds.identity import MARKS
from pregao.feeds.port import Header
from pregao.feeds.wire import open_wire
from pregao.model.streams import Stream
from tests.kits.fast_market import MS, FastToy

CHANNEL = 84
Unit = tuple[int, int, int, bytes]


def datagrams(seed: int) -> list[bytes]:
    """With messages in chunks, and a sequence that begins again."""
    toy, found = FastToy(seed, "MBO"), []
    for step in range(60):
        toy.now_ns += 10 * MS
        messages = [toy.step()]
        if step % 20 == 19:
            messages.append(toy.reset())
        for message in messages:
            number = FAST.number_of(message)
            assert number is not None
            found += write_chunks(number, message, size=40)
    return found


def units(header: Header, packets: list[bytes]) -> list[Unit]:
    block = np.frombuffer(b"".join(packets), np.uint8)
    lengths = np.array([len(each) for each in packets], np.uint32)
    offsets = np.cumsum(lengths, dtype=np.int64) - lengths
    read = header.read(block.ctypes.data, offsets.ctypes.data, lengths.ctypes.data, len(packets))
    memory = [block, *header.joined()]
    found = []
    for index in range(read.count):
        at, size = block.ctypes.data + int(read.offset[index]), int(read.length[index])
        owner = next(each for each in memory if 0 <= at - each.ctypes.data <= len(each) - size)
        first = at - owner.ctypes.data
        what = int(read.epoch[index]), int(read.number[index]), int(read.sent_ns[index])
        found.append((*what, owner[first : first + size].tobytes()))
    return found


@pytest.mark.parametrize("size", [1, 3, 7])
def test_pieces_read_by_others_have_the_units_of_the_whole(size: int) -> None:
    packets = datagrams(3)
    whole = units(open_wire(FAST, CHANNEL).headers(Stream.INCREMENTAL), packets)
    assert len({epoch for epoch, *_ in whole}) == 3
    first, mark, found = open_wire(FAST, CHANNEL).headers(Stream.INCREMENTAL), b"", []
    for at in range(0, len(packets), size):
        other = open_wire(FAST, CHANNEL).headers(Stream.INCREMENTAL)
        other.resume(mark)
        piece = units(other, packets[at : at + size])
        found += piece
        first.resume(mark)  # whatever it has read before
        assert units(first, packets[at : at + size]) == piece
        mark = other.mark()
    assert found == whole


def test_what_is_known_of_books_goes_to_others() -> None:
    toy = FastToy(3, "MBP")
    toy.now_ns += MS
    assert toy.step()
    wire, other = open_wire(FAST, CHANNEL), open_wire(FAST, CHANNEL)
    assert wire.learned() == b""
    for message in toy.snapshots():
        wire.reader(Stream.SNAPSHOT).read_unit(message)
    assert wire.learned()
    other.learn(wire.learned())
    assert other.learned() == wire.learned()


def test_the_inspector_sees_what_messages_are() -> None:
    """Marks of all, and which concern a whole day: phases, resets, lists; a message that is none is
    unknown."""
    toy = FastToy(3, "MBO")
    toy.now_ns += MS
    definitions = [(each, True) for each in toy.definitions()]
    messages = [(toy.step(), False), (toy.phase("G0", 21), True), (toy.channel_reset()[0], True),
                *definitions, (toy.snapshots()[0], False), (b"\x80", False)]  # fmt: skip
    block = np.frombuffer(b"".join(message for message, _ in messages), np.uint8)
    lengths = np.array([len(message) for message, _ in messages], np.uint32)
    offsets, seen = np.cumsum(lengths, dtype=np.int64) - lengths, np.zeros(MARKS, np.uint8)
    inspector = FAST.inspector()
    assert isinstance(inspector, FastInspector)
    looked = inspector.look(block.ctypes.data, offsets, lengths, seen)
    assert looked.messages == len(messages)
    assert looked.noted.tolist() == [index for index, (_, noted) in enumerate(messages) if noted]
    assert set(np.flatnonzero(seen).tolist()) == {*b"Xfy4W", MARKS - 1}


def test_lists_that_are_sent_again_are_known() -> None:
    """Whoever asks where they are gets what is the same each time: not their numbers and times."""
    toy, reader = FastToy(3, "MBO"), open_wire(FAST, CHANNEL).reader(Stream.DEFINITION)
    bodies = []
    for _ in range(2):
        toy.now_ns += MS
        message = next(each for each in toy.definitions() if reader.read_unit(each).rows["high"][0] > 0)
        rows = reader.read_unit(message).rows
        places, sizes = reader.messages_at(rows)
        assert reader.definition(rows[0]) is not None
        bodies.append((message[-int(sizes[0]) :], rows["security_id"].tolist(), rows["size"].tolist()))
        assert len(places) == len(rows)
        assert rows["size"][0] == len(message) > sizes[0]
    assert bodies[0] == bodies[1]
