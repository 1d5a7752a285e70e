"""Datagrams of UMDF FIX/FAST cut into smaller chunks, and chunks lost: by one feed, or by both the same."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from pregao.feeds.fast.chunks import HEADER, Chunk, split_datagram, write_chunks
from pregao.model.streams import Stream
from pregao.simulator.memory import CapturedPacket

_SMALLEST: Final = 24  # bytes of a message in a chunk


@dataclass(slots=True)
class ChunkLosses:
    """`cut`: share of messages that come in chunks, the same on both feeds. `both` and `one`: shares of those
    chunks that both feeds lose, or one of them. Loops lose `loops` of that."""

    seed: int
    cut: float = 0.15
    both: float = 0.02
    one: float = 0.05
    loops: float = 0.1
    until_ns: int = 1 << 62  # then all come
    lost: int = 0

    def impair(self, packets: Iterable[CapturedPacket]) -> Iterator[CapturedPacket]:
        for packet in packets:
            chunks = split_datagram(packet.payload).chunks
            if len(chunks) == 1 and not chunks[0].is_whole:
                yield from self._without_lost(packet, chunks[0].number, [packet.payload])
                continue
            whole: list[bytes] = []
            for chunk in chunks:
                pieces = self._cut(packet, chunk)
                if len(pieces) == 1:
                    whole += pieces
                    continue
                if whole:
                    yield packet._replace(payload=b"".join(whole))
                    whole = []
                yield from self._without_lost(packet, chunk.number, pieces)
            if whole:
                yield packet._replace(payload=b"".join(whole))

    def _cut(self, packet: CapturedPacket, chunk: Chunk) -> list[bytes]:
        message = packet.payload[chunk.offset : chunk.offset + chunk.length]
        chance = Random(f"cut/{self.seed}/{packet.channel}/{packet.stream}/{message.hex()}")
        if chance.random() >= self.cut or len(message) <= _SMALLEST:
            return [packet.payload[chunk.offset - HEADER.size : chunk.offset + chunk.length]]
        return write_chunks(chunk.number, message, chance.randrange(_SMALLEST, len(message)))

    def _without_lost(
        self, packet: CapturedPacket, number: int, pieces: list[bytes]
    ) -> Iterator[CapturedPacket]:
        share = 0.0 if packet.ts_ns >= self.until_ns else 1.0
        share *= 1.0 if packet.stream is Stream.INCREMENTAL else self.loops
        for piece in pieces:
            name = f"{self.seed}/{packet.channel}/{packet.stream}/{number}/{piece.hex()}"
            both, one = Random(f"both/{name}"), Random(f"one/{packet.feed}/{name}")
            if both.random() < self.both * share or one.random() < self.one * share:
                self.lost += 1
            else:
                yield packet._replace(payload=piece)
