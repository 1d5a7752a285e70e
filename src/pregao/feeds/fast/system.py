"""UMDF FIX/FAST as a system: see `feeds.port`. Plain Python: headers and rows have no kernels yet."""

from ctypes import c_int64, c_uint32, string_at
from typing import Any, Final

import numpy as np

from pregao.codecs.fast import Templates, load_builtin_templates
from pregao.feeds.fast.chunks import ChunkAssembler, split_datagram
from pregao.feeds.fast.decoding import FastDecoding
from pregao.feeds.fast.definitions import FastNewsDesk
from pregao.feeds.fast.identity import IDENTITY, NO_CHANNEL, NO_EPOCH, mark_of
from pregao.feeds.fast.reader import FastReader
from pregao.feeds.port import Array, Looked, RecoveryPolicy
from pregao.kernels import Kernel
from pregao.model.packets import FOREIGN, NO_NEXT, Unit, Units

_MS_NS: Final = 1_000_000
_SECOND_NS: Final = 1_000_000_000
REPORTS_IN_A_MESSAGE: Final = 1_000  # an entry takes a byte of map and some fields at least; a message 1 MiB
_NOTED: Final = frozenset(b"4yfB")


class FastHeaders:
    """Messages of datagrams. Those in chunks are put together here, in memory of their own: their offsets
    lead out of the batch."""

    def __init__(self) -> None:
        self._units = Units(64)
        self._assembler = ChunkAssembler()
        self._joined: list[Any] = []  # messages of the last reading that came in chunks

    def read(self, base: int, offsets: int, lengths: int, count: int, rows: int = 0) -> Units:
        found: list[tuple[int, int, int, int]] = []  # row, number, offset, length
        self._joined = []
        for index in range(count):
            row = c_uint32.from_address(rows + 4 * index).value if rows else index
            at = c_int64.from_address(offsets + 8 * row).value
            payload = string_at(base + at, c_uint32.from_address(lengths + 4 * row).value)
            found += [(row, *each) for each in self._messages(payload, base, at)]
        units = self._units
        if len(found) > units.room:
            units.make_room(2 * len(found))
        units.count = len(found)
        units.channel[: len(found)], units.epoch[: len(found)] = NO_CHANNEL, NO_EPOCH
        units.sent_ns[: len(found)], units.next_number[: len(found)] = 0, NO_NEXT
        for index, (row, number, at, length) in enumerate(found):
            units.row[index], units.number[index] = row, number
            units.offset[index], units.length[index] = at, length
        return units

    def _messages(self, payload: bytes, base: int, at: int) -> list[tuple[int, int, int]]:
        split = split_datagram(payload)
        if not split.chunks:
            return [(FOREIGN, at, len(payload))]
        found = []
        for chunk in split.chunks:
            if chunk.is_whole:
                found.append((chunk.number, at + chunk.offset, chunk.length))
                continue
            data = payload[chunk.offset : chunk.offset + chunk.length]
            message = self._assembler.receive(chunk, data, 0)
            if message is not None:
                kept = np.frombuffer(message, np.uint8)
                self._joined.append(kept)
                found.append((chunk.number, int(kept.ctypes.data) - base, len(message)))
        return found

    def split(self, payload: bytes | memoryview) -> list[Unit]:
        data = bytes(payload)
        found = self._messages(data, 0, 0)
        units = []
        for number, at, length in found:
            whole = data[at : at + length] if 0 <= at < len(data) else string_at(at, length)
            units.append(Unit(NO_CHANNEL, NO_EPOCH, number, 0, whole))
        return units


class FastInspector:
    def look(self, base: int, offsets: Array, lengths: Array, seen: Array) -> Looked:
        places = zip(offsets.tolist(), lengths.tolist(), strict=True)
        marks = [mark_of(string_at(base + at, min(size, 32))) for at, size in places]
        for mark in set(marks):
            seen[mark] = 1
        noted = [index for index, mark in enumerate(marks) if mark in _NOTED]
        return Looked(len(marks), np.array(noted, np.int64))

    def count(self, addresses: Array, lengths: Array) -> Array:
        return np.ones(len(addresses), np.int64)


class FastUmdf(FastDecoding):
    """`templates` are loaded when they are first needed; None: the packaged ones."""

    name = "fast"
    title = "UMDF FIX/FAST"
    identity = IDENTITY
    policy = RecoveryPolicy(
        own_bytes=0,  # A and B carry the same messages (5.2.3)
        last_epoch=65_534,
        heartbeat_ns=10 * _SECOND_NS,  # 5.2.7
        silent_intervals=3,
        reports_in_a_unit=REPORTS_IN_A_MESSAGE,
        definitions_end_by_count=True,  # 393 and 893 (5.2.5)
        ask_ns=20 * _MS_NS,  # 6: so long a message may only be out of order
        answer_ns=4 * 140 * _MS_NS,  # 6.2: a try, and three more
    )

    def __init__(self, templates: Templates | None = None, *, by_level: bool = False) -> None:
        self._templates, self._by_level = templates, by_level

    @property
    def templates(self) -> Templates:
        return self._templates or load_builtin_templates()

    def headers(self, *, heartbeats: bool = True) -> FastHeaders:
        return FastHeaders()

    def inspector(self) -> FastInspector:
        return FastInspector()

    def reader(self, channel: int) -> FastReader:
        return FastReader(channel, self.templates, by_level=self._by_level)

    def news_desk(self, channel: int) -> FastNewsDesk:
        return FastNewsDesk(self.templates)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return ()


FAST: Final = FastUmdf()
