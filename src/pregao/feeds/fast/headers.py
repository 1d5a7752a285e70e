"""Datagrams of one stream to its messages, over its feeds: chunks put together, sequences told apart.

Whole messages of the epoch that is known go through a kernel; `_messages` is its plain twin, and does the
rest. A message that came in chunks is kept here: its offset leads out of the batch.
"""

from ctypes import c_int64, c_uint8, c_uint16, c_uint32, string_at
from typing import Any, Final

import numpy as np

from pregao.feeds.fast.chunks import MAX_FAULTS, Chunk, ChunkAssembler, split_datagram
from pregao.feeds.fast.epochs import FEEDS, Epochs
from pregao.feeds.fast.heads import HEARTBEAT, RESET, Head, Heads
from pregao.feeds.fast.identity import NO_CHANNEL, NO_EPOCH
from pregao.feeds.fast.kernels.headers import CONTEXT_FIELDS, most_units, read_datagrams
from pregao.feeds.port import Came, UnitPart
from pregao.kernels import Context
from pregao.model.errors import DecodeError, Fault
from pregao.model.packets import FOREIGN, NO_NEXT, Unit, Units
from pregao.model.streams import Feed


class FastHeaders:
    """`epochs` are those of the stream."""

    def __init__(self, heads: Heads, epochs: Epochs | None = None, channel: int = NO_CHANNEL) -> None:
        self._heads, self._epochs, self._channel = heads, epochs or Epochs(), channel
        self._assembler = ChunkAssembler()
        self._units = Units(64)
        self._joined: list[Any] = []  # messages of the last reading that came in chunks
        self._faults: list[DecodeError] = []
        self._context = Context(CONTEXT_FIELDS)
        self._context.set(shapes=heads.shapes, epochs=self._epochs.state, channel=channel)
        self._address = self._context.address

    # Packets

    def read(
        self, base: int, offsets: int, lengths: int, count: int, rows: int = 0, came: Came | None = None
    ) -> Units:
        units, made, done = self._units, 0, 0
        most = most_units(lengths, rows, count)
        if most > units.room:
            units.make_room(2 * most)
        self._joined = []
        sources, feeds = (came.sources, came.feeds) if came is not None else (0, 0)
        while True:
            done, made = read_datagrams(
                self._address, base, offsets, lengths, rows, sources, feeds, done, count, made,
                *units.addresses,
            )  # fmt: skip
            if done == count:
                break
            row = c_uint32.from_address(rows + 4 * done).value if rows else done
            made = self._read_odd(row, base, offsets, lengths, made, came)
            done += 1
        units.count = made
        return units

    def _read_odd(self, row: int, base: int, offsets: int, lengths: int, made: int, came: Came | None) -> int:
        at = c_int64.from_address(offsets + 8 * row).value
        payload = string_at(base + at, c_uint32.from_address(lengths + 4 * row).value)
        feed, now_ns = _line_of(row, came)
        units = self._units
        for unit, place in self._messages(payload, feed, now_ns):
            if place < 0:
                kept = np.frombuffer(unit.payload, np.uint8)
                self._joined.append(kept)
                place = int(kept.ctypes.data) - base - at
            units.row[made], units.channel[made], units.epoch[made] = row, unit.channel, unit.epoch
            units.number[made], units.offset[made] = unit.number, at + place
            units.length[made], units.sent_ns[made] = len(unit.payload), unit.sent_ns
            units.next_number[made] = unit.next_number
            made += 1
        return made

    def split(self, payload: bytes | memoryview, feed: int = Feed.A, now_ns: int = 0) -> list[Unit]:
        return [unit for unit, _ in self._messages(bytes(payload), feed, now_ns)]

    def _messages(self, payload: bytes, feed: int, now_ns: int) -> list[tuple[Unit, int]]:
        """Messages, and where each begins in the datagram; below 0: it was put together from several."""
        found = split_datagram(payload)
        for error in found.damage:
            self._tell(error)
        if not found.chunks:
            return [(Unit(NO_CHANNEL - 1, NO_EPOCH, FOREIGN, 0, payload), 0)]
        units = []
        for chunk in found.chunks:
            data = payload[chunk.offset : chunk.offset + chunk.length]
            message: bytes | None = data
            epoch = None
            if not chunk.is_whole:
                epoch = self._epoch_of_chunk(chunk, data, feed)
                message = self._assembler.receive(chunk, data, now_ns, epoch)
            if message is not None:
                unit = self._unit(chunk, message, feed, epoch)
                if unit is not None:
                    units.append((unit, chunk.offset if chunk.is_whole else -1))
        return units

    def _epoch_of_chunk(self, chunk: Chunk, data: bytes, feed: int) -> int:
        """Chunks of different sequences are never of one message; the first tells which it is of. A reset is
        none until it is whole."""
        if chunk.current == 1:
            try:
                head = self._heads.of(data, whole=False)
                if head.mark != RESET:
                    return self._epoch(head, feed)
            except DecodeError:
                pass  # said when the message is whole
        return self._epochs.of_feed(feed)

    def _unit(self, chunk: Chunk, message: bytes, feed: int, epoch: int | None) -> Unit | None:
        """`epoch`: that of its chunks. None: it is not what its header says, and as good as lost."""
        try:
            head = self._heads.of(message)
        except DecodeError as error:
            # Its turn comes all the same: whoever reads it says what is wrong. It does not say when it was
            # sent: not before what was heard last.
            self._tell(DecodeError(error.fault, chunk.offset + error.offset, error.detail))
            sent_ns = self._epochs.heard_ns(feed)
            epoch = self._epochs.of_feed(feed) if epoch is None else epoch
            return Unit(self._channel, epoch, chunk.number, sent_ns, message)
        if head.number != chunk.number:
            detail = f"MsgSeqNum {chunk.number} in the header, {head.number} in the message"
            self._tell(DecodeError(Fault.FAST_NUMBER_DIFFERS, chunk.offset, detail))
            return None
        following = head.number + 1 if head.mark == HEARTBEAT else NO_NEXT
        if epoch is None or head.mark == RESET:
            epoch = self._epoch(head, feed)
        return Unit(self._channel, epoch, head.number, head.sent_ns, message, following)

    def _epoch(self, head: Head, feed: int) -> int:
        feed = feed if 0 <= feed < FEEDS else int(Feed.A)
        if head.mark == RESET:
            return self._epochs.of_reset(feed, head.number, head.sent_ns)
        return self._epochs.of_message(feed, head.number, head.sent_ns)

    def unit_of(self, payload: bytes) -> Unit | None:
        try:
            head = self._heads.of(payload)
        except DecodeError:
            return None
        return Unit(self._channel, self._epochs.at(head.sent_ns), head.number, head.sent_ns, payload)

    # Faults and time

    def take_faults(self) -> list[DecodeError]:
        for error in self._assembler.take_faults():
            self._tell(error)
        found, self._faults = self._faults, []
        return found

    def next_timeout(self) -> int | None:
        return self._assembler.next_timeout()

    def on_timeout(self, now_ns: int) -> None:
        self._assembler.on_timeout(now_ns)

    def flush(self) -> None:
        """Nothing more will come."""
        self._assembler.flush()

    # Parts that other files may complete

    def keep_parts(self) -> None:
        self._assembler.keep_parts()

    def left_parts(self) -> list[UnitPart]:
        return self._assembler.left_parts()

    # Going on elsewhere

    def joined(self) -> list[Any]:
        return self._joined

    def mark(self) -> bytes:
        return _mark_of(self._epochs) + self._assembler.mark()

    def resume(self, mark: bytes) -> None:
        """An empty mark is that of the beginning."""
        if not mark:
            mark = _BEGINNING
        end = 4 + int.from_bytes(mark[:4], "little")
        self._epochs.resume(mark[4:end])
        self._assembler.resume(mark[end:])
        self._faults = []

    def _tell(self, error: DecodeError) -> None:
        if len(self._faults) < MAX_FAULTS:
            self._faults.append(error)


def _mark_of(epochs: Epochs) -> bytes:
    words = epochs.mark()
    return len(words).to_bytes(4, "little") + words


def mark_within(epoch: int) -> bytes:
    """For `resume` of who reads messages of a sequence that others have found."""
    return _mark_of(Epochs.within(epoch))


_BEGINNING: Final = _mark_of(Epochs())


def _line_of(row: int, came: Came | None) -> tuple[int, int]:
    """The feed of a datagram, and when it came."""
    if came is None:
        return int(Feed.A), 0
    source = c_uint16.from_address(came.sources + 2 * row).value
    feed = c_uint8.from_address(came.feeds + source).value
    return feed, c_int64.from_address(came.arrivals + 8 * row).value
