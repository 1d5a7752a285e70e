"""Both feeds of a channel in batches, ready in memory before any clock starts."""

import numpy as np

from pregao.handler.handler import ChannelHandler
from pregao.handler.instruments import LineTable
from pregao.model.packets import PacketBatch
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.instruments import BookStatus

from .market_packets import CHANNEL, SEED, MarketPackets

BATCH = 4_096
LINES = LineTable([StreamId(CHANNEL, Stream.INCREMENTAL, feed) for feed in (Feed.A, Feed.B)])
_START_NS = 1_800_000_000_000_000_000
_STEP_NS = 1_000
_SPREAD = 4.0  # packets by which a feed is behind at most: now A is first, now B


def both_feeds(packets: MarketPackets, first: int, last: int) -> list[PacketBatch]:
    """Packets `first` to `last` of A and of B, in the order of their arrival. Every packet is in memory
    twice, as it is when two sockets are read."""
    draw = np.random.default_rng(SEED)
    count = last - first
    arrivals = [np.maximum.accumulate(np.arange(count) + draw.uniform(0, _SPREAD, count)) for _ in range(2)]
    order = np.argsort(np.concatenate(arrivals), kind="stable")
    source, packet = np.divmod(order, count)
    return [
        _batch(packets, first + packet[at : at + BATCH], source[at : at + BATCH], at)
        for at in range(0, len(order), BATCH)
    ]


def _batch(packets: MarketPackets, chosen: np.ndarray, source: np.ndarray, at: int) -> PacketBatch:
    length = packets.length[chosen]
    offset = np.cumsum(length, dtype=np.int64) - length
    where = np.repeat(packets.offset[chosen] - offset, length) + np.arange(int(length.sum()))
    return PacketBatch(
        packets.data[where], len(chosen), offset, length, source.astype(np.uint16),
        _START_NS + (at + np.arange(len(chosen), dtype=np.int64)) * _STEP_NS,
    )  # fmt: skip


def receive_all(handler: ChannelHandler, batches: list[PacketBatch]) -> None:
    for batch in batches:
        handler.receive_batch(batch, LINES, int(batch.arrival_ns[-1]))


def believe_opening(handler: ChannelHandler) -> None:
    """After the opening: that these are all instruments is what a definition loop would say; that there are
    no statistics yet, and no books but those that were told, a snapshot loop."""
    handler.machine.definitions.complete = True
    table = handler.machine.table
    for index in table.unclean():
        if table.sync[index]["book"] == BookStatus.CLEAN:
            table.sync[index]["statistics"] = BookStatus.CLEAN
        else:
            table.begin_again(index, 0, clean=True)
    table.recount_all()


def unclean(handler: ChannelHandler) -> int:
    """Instruments of which something is not known to be right."""
    return sum(min(handler.known(book.index)) is not BookStatus.CLEAN for book in handler.books())
