"""A channel of FIX/FAST, chunks to books, both feeds: distinct messages a second, beside columns of the same.

The messages are of a small market of its own (`tests.kits.fast_market`): 400 instruments, orders one by one,
sides of thirty orders and more. All that the handler does is in the time: technical headers of A and B,
every repetition compared by its hash, epochs, decoding, rows, rptSeq, books by position, statistics. The
opening is not.
"""

from functools import cache

import numpy as np

from pregao.codecs.fast import load_builtin_templates
from pregao.codecs.fast.columns import FastColumnDecoder
from pregao.codecs.fast.plan import make_plan
from pregao.feeds.fast.system import FAST
from pregao.handler.handler import ChannelHandler
from pregao.handler.instruments import LineTable
from pregao.model.packets import PacketBatch, batch_of
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.instruments import BookStatus
from tests.kits.fast_market import CHANNEL, MS, FastToy, datagrams

from .handler_feeds import believe_opening
from .harness import ROUNDS, Row, best_of

INSTRUMENTS, OPENING, MESSAGES = 400, 24_000, 40_000
IN_A_BATCH = 8_192  # datagrams of both feeds
HANDLER, COLUMNS = "FAST handler, chunks to books", "FAST to columns, the same messages"
BAR = 0.4
_LINES = LineTable([StreamId(CHANNEL, Stream.INCREMENTAL, feed) for feed in (Feed.A, Feed.B)])


def measure(opening: int = OPENING, messages: int = MESSAGES) -> list[Row]:
    toy, first, rest = market(opening, messages)
    ready = [_opened(toy, first) for _ in range(ROUNDS + 1)]
    last = ready[0]
    batches = _batches(rest, opening + 1)

    def handle() -> None:
        nonlocal last
        last = ready.pop()
        _receive(last, batches)

    decoder = FastColumnDecoder(make_plan(load_builtin_templates()))
    data = np.frombuffer(b"".join(rest), np.uint8)
    lengths = np.array([len(raw) for raw in rest], np.int64)
    offsets = np.cumsum(lengths) - lengths
    seconds = best_of({HANDLER: handle, COLUMNS: lambda: decoder.decode(data, offsets, lengths)})
    check(toy, last)
    rate, columns = (len(rest) / seconds[name] / 1e6 for name in (HANDLER, COLUMNS))
    unit = "M messages/s"
    return [Row(COLUMNS, columns, unit), Row(f"{HANDLER} / {COLUMNS}", rate, unit, columns, BAR)]


def check(toy: FastToy, handler: ChannelHandler) -> None:
    """Every book is clean and the market's."""
    for security_id, one in toy.instruments.items():
        book = handler.book(security_id)
        assert book.status is BookStatus.CLEAN
        for side, told in ((book.bids, one.bids), (book.offers, one.offers)):
            levels = [(each.price, each.size, each.orders) for each in side]
            assert levels == [(price * 100, size, orders) for price, size, orders in told.levels()]


@cache
def market(opening: int, messages: int) -> tuple[FastToy, list[bytes], list[bytes]]:
    toy = FastToy(14, instruments=INSTRUMENTS, groups=8)
    toy.least_orders = 30
    told = []
    for _ in range(opening + messages):
        toy.now_ns += MS
        told.append(toy.step())
    return toy, told[:opening], told[opening:]


def _opened(toy: FastToy, first: list[bytes]) -> ChannelHandler:
    handler = ChannelHandler(CHANNEL, FAST)
    for number, message in enumerate(toy.definitions(), 1):
        for datagram in datagrams(number, message):
            handler.receive(datagram, Stream.DEFINITION, Feed.A, toy.now_ns)
    _receive(handler, _batches(first, 1))
    believe_opening(handler)
    return handler


def _batches(messages: list[bytes], first: int) -> list[PacketBatch]:
    packets = [
        (source, 1_381_928_400_000_000_000 + number * MS, datagram)
        for number, message in enumerate(messages, first)
        for datagram in datagrams(number, message)
        for source in (0, 1)
    ]
    return [batch_of(packets[at : at + IN_A_BATCH]) for at in range(0, len(packets), IN_A_BATCH)]


def _receive(handler: ChannelHandler, batches: list[PacketBatch]) -> None:
    for batch in batches:
        handler.receive_batch(batch, _LINES, int(batch.arrival_ns[batch.count - 1]))
