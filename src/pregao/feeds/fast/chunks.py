"""The technical header (5.2.4): datagrams to chunks, and chunks to messages.

A datagram has one or more chunks, each with ten bytes of header; most messages are one chunk. The chunks of a
message may come by either feed and in any order. What is open is bounded in messages, bytes and time: the
oldest is given up, and said so; so is one of which two versions came.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from pregao.feeds.port import UnitPart
from pregao.model.errors import DecodeError, Fault

HEADER: Final = Struct(">IHHH")  # MsgSeqNum, NoChunks, CurrentChunk, MsgLength
# A chunk that waits: epoch, number, NoChunks, CurrentChunk, since, last, length.
_KEPT: Final = Struct("<qqIIqqI")
MAX_MESSAGE: Final = 1 << 20
MAX_OPEN: Final = 256  # messages that lack chunks
MAX_BYTES: Final = 8 << 20  # of all of them
MAX_AGE_NS: Final = 20_000_000  # chunks of a message follow each other; later ones may be of another loop
_FOREVER: Final = 1 << 63
_REMEMBERED: Final = 1_024  # messages that are whole: their chunks may come again
MAX_FAULTS: Final = 1_000  # kept until somebody takes them
Key = tuple[int, int]  # epoch and number


class Chunk(NamedTuple):
    number: int  # MsgSeqNum
    chunks: int
    current: int  # from 1
    offset: int  # of its bytes in the datagram
    length: int

    @property
    def is_whole(self) -> bool:
        return self.chunks == 1


class Split(NamedTuple):
    chunks: list[Chunk]
    damage: list[DecodeError]


def split_datagram(payload: bytes | memoryview) -> Split:
    """All chunks of a datagram up to the first that has no sound length."""
    chunks: list[Chunk] = []
    damage: list[DecodeError] = []
    at, end = 0, len(payload)
    while at < end or not (chunks or damage):
        if end - at < HEADER.size:
            damage.append(DecodeError(Fault.FAST_HEADER_TRUNCATED, at, f"{end - at} bytes"))
            break
        number, count, current, length = HEADER.unpack_from(payload, at)
        body = at + HEADER.size
        if length == 0:
            damage.append(DecodeError(Fault.FAST_LENGTH_ZERO, at, f"MsgSeqNum {number}"))
            break
        if body + length > end:
            damage.append(DecodeError(Fault.FAST_LENGTH_PAST_DATAGRAM, at, f"MsgLength {length}"))
            break
        fault = _fault_of(count, current)
        if fault is Fault.NONE:
            chunks.append(Chunk(number, count, current, body, length))
        else:
            damage.append(DecodeError(fault, at, f"MsgSeqNum {number}, chunk {current} of {count}"))
        at = body + length
    return Split(chunks, damage)


def _fault_of(count: int, current: int) -> Fault:
    if count == 0:
        return Fault.FAST_NO_CHUNKS
    if current == 0:
        return Fault.FAST_CHUNK_ZERO
    return Fault.FAST_CHUNK_BEYOND_LAST if current > count else Fault.NONE


@dataclass(slots=True)
class _Open:
    """A message that lacks chunks."""

    chunks: int
    since_ns: int
    parts: dict[int, bytes] = field(default_factory=dict)
    size: int = 0
    last_ns: int = 0  # when the newest of its chunks came
    is_disputed: bool = False  # two versions of a chunk came: nobody knows whose the others are


class ChunkAssembler:
    """Of one stream: its numbers tell messages apart."""

    def __init__(
        self, *, open_messages: int = MAX_OPEN, open_bytes: int = MAX_BYTES, message_bytes: int = MAX_MESSAGE,
        age_ns: int = MAX_AGE_NS,
    ) -> None:  # fmt: skip
        self._most, self._bytes, self._largest, self._age = open_messages, open_bytes, message_bytes, age_ns
        self._open: OrderedDict[Key, _Open] = OrderedDict()
        self._whole: OrderedDict[Key, int] = OrderedDict()  # how many chunks it had
        self._size = 0
        self.faults: list[DecodeError] = []  # since they were last taken
        self._left: list[UnitPart] | None = None  # chunks of messages that were given up; None: nobody asks
        self._left_size = 0

    @property
    def open_messages(self) -> int:
        return len(self._open)

    def take_faults(self) -> list[DecodeError]:
        found, self.faults = self.faults, []
        return found

    def receive(self, chunk: Chunk, data: bytes, now_ns: int, epoch: int = 0) -> bytes | None:
        """The message, if this chunk makes it whole. `epoch`: in which sequence its number counts."""
        self._give_up_old(now_ns)
        if chunk.is_whole:
            return data
        key = epoch, chunk.number
        if self._whole.get(key) == chunk.chunks:
            return None  # by the other feed
        message = self._open.get(key)
        if message is None:
            message = self._open[key] = _Open(chunk.chunks, now_ns)
        elif message.chunks != chunk.chunks:
            self._fault(Fault.FAST_CHUNK_COUNT_DIFFERS, chunk, f"{chunk.chunks} chunks, not {message.chunks}")
            return None
        known = message.parts.get(chunk.current)
        if known is not None:
            if known != data:
                self._fault(Fault.FAST_CHUNK_DIFFERS, chunk, f"chunk {chunk.current}")
                message.is_disputed = True
            return None
        message.parts[chunk.current] = data
        message.last_ns = now_ns
        message.size += len(data)
        self._size += len(data)
        if message.size > self._largest:
            self._fault(Fault.FAST_MESSAGE_TOO_LARGE, chunk, f"{message.size} bytes")
            self._forget(key)
            return None
        if message.is_disputed or len(message.parts) < message.chunks:
            self._keep_within_bounds()
            return None
        self._forget(key)
        self._whole[key] = chunk.chunks
        if len(self._whole) > _REMEMBERED:
            self._whole.popitem(last=False)
        return b"".join(message.parts[index] for index in range(1, message.chunks + 1))

    def keep_parts(self) -> None:
        """Of files, which others may complete: nothing is given up for its age, and chunks are kept."""
        self._age, self._left = _FOREVER, []

    def left_parts(self) -> list[UnitPart]:
        self.flush()
        found, self._left, self._left_size = self._left or [], [], 0
        return found

    def flush(self) -> None:
        """Nothing more will come."""
        while self._open:
            self._give_up(next(iter(self._open)))

    def mark(self) -> bytes:
        """The messages that lack chunks, for `resume` of another."""
        return b"".join(
            _KEPT.pack(
                *key, each.chunks, index | each.is_disputed << 31, each.since_ns, each.last_ns, len(part)
            )
            + part
            for key, each in self._open.items()
            for index, part in each.parts.items()
        )

    def resume(self, mark: bytes) -> None:
        self._open.clear()
        self._whole.clear()
        self._size = at = 0
        while at < len(mark):
            epoch, number, chunks, index, since_ns, last_ns, size = _KEPT.unpack_from(mark, at)
            part = mark[at + _KEPT.size : at + _KEPT.size + size]
            message = self._open.setdefault((epoch, number), _Open(chunks, since_ns))
            message.is_disputed, message.last_ns = bool(index >> 31), last_ns
            message.parts[index & 0xFFFF] = part
            message.size += size
            self._size += size
            at += _KEPT.size + size

    def reset(self) -> None:
        """The numbers begin again (5.2.8)."""
        self.flush()
        self._whole.clear()

    def next_timeout(self) -> int | None:
        return next(iter(self._open.values())).since_ns + self._age if self._open else None

    def on_timeout(self, now_ns: int) -> None:
        self._give_up_old(now_ns)

    def _give_up_old(self, now_ns: int) -> None:
        while self._open:
            key, message = next(iter(self._open.items()))
            message.since_ns = min(message.since_ns, now_ns)  # a clock that was put back
            if now_ns - message.since_ns < self._age:
                return
            self._give_up(key)

    def _keep_within_bounds(self) -> None:
        while len(self._open) > self._most or self._size > self._bytes:
            self._give_up(next(iter(self._open)))

    def _give_up(self, key: Key) -> None:
        message = self._open[key]
        detail = f"MsgSeqNum {key[1]}: {len(message.parts)} of {message.chunks} chunks"
        self._tell(DecodeError(Fault.FAST_MESSAGE_INCOMPLETE, 0, detail))
        self._keep_left(key, message)
        self._forget(key)

    def _keep_left(self, key: Key, message: _Open) -> None:
        if self._left is None or message.is_disputed or self._left_size + message.size > self._bytes:
            return
        self._left_size += message.size
        self._left += [
            UnitPart(*key, message.chunks, index, message.last_ns, part)
            for index, part in message.parts.items()
        ]

    def _forget(self, key: Key) -> None:
        self._size -= self._open.pop(key).size

    def _fault(self, fault: Fault, chunk: Chunk, detail: str) -> None:
        where = chunk.offset - HEADER.size
        self._tell(DecodeError(fault, where, f"MsgSeqNum {chunk.number}: {detail}"))

    def _tell(self, error: DecodeError) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(error)


def join_chunks(parts: Sequence[UnitPart]) -> bytes:
    """All chunks of one message as a datagram, of whatever size."""
    return b"".join(
        HEADER.pack(each.number, each.parts, each.part, len(each.data)) + each.data for each in parts
    )


def write_chunks(number: int, message: bytes, size: int = 1_410) -> list[bytes]:
    """A message in chunks with their headers, at most 1,420 bytes each (5.2.4)."""
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return [
        HEADER.pack(number, len(parts), index, len(part)) + part for index, part in enumerate(parts, start=1)
    ]
