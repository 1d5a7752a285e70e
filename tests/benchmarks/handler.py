"""The whole handler: packets received a second, both feeds counted, from memory to books on one core.

The packets are those of `market_packets`, in batches of `handler_feeds`, ready before the clock starts. All
that the handler does is in the time: both feeds read and every repetition compared byte by byte (its hash),
whole events, rptSeq of every instrument, orders with all they have, levels, tops, statistics, bands, phases
of groups, definitions and news. The opening is not: it is over in the first second of a week.

The plain handler gets the same packets in the same order as bytes, fewer of them, and does less: see
`baseline_handler`. Its tops must be the handler's.
"""

from pregao.feeds.binary.system import BINARY
from pregao.handler.handler import ChannelHandler
from pregao.model.packets import PacketBatch

from .baseline_book import UNPRICED, Book
from .baseline_handler import PlainHandler
from .handler_feeds import believe_opening, both_feeds, receive_all, unclean
from .harness import ROUNDS, Row, best_of
from .market_packets import CHANNEL, MarketPackets, market_packets

COPIES = 8
PLAIN_PACKETS = 60_000
HANDLER, PLAIN = "handler, packets to books", "plain Python handler"
BAR = 2.0


def measure(copies: int = COPIES) -> list[Row]:
    packets = market_packets(copies)
    opening = both_feeds(packets, 0, packets.opening)
    rest = both_feeds(packets, packets.opening, len(packets))
    whole = Runner(packets, opening, rest)
    few = both_feeds(packets, packets.opening, packets.opening + PLAIN_PACKETS)
    plain = PlainRunner(opening, few)
    check_equal(packets, opening, few)
    seconds = best_of({HANDLER: whole.run, PLAIN: plain.run})
    assert not unclean(whole.last)
    rate = 2 * (len(packets) - packets.opening) / seconds[HANDLER] / 1e6
    plain_rate = 2 * PLAIN_PACKETS / seconds[PLAIN] / 1e6
    messages = packets.messages / seconds[HANDLER] / 1e6
    unit = "M packets/s"
    return [
        Row(PLAIN, plain_rate, unit),
        Row(f"{HANDLER} / {PLAIN}", rate, unit, plain_rate),
        Row(HANDLER, rate, unit, bar=BAR),
        Row(f"{HANDLER}, messages applied", messages, "M messages/s"),
    ]


class Runner:
    """A handler for each round, past the opening before the clock starts."""

    def __init__(self, packets: MarketPackets, opening: list[PacketBatch], rest: list[PacketBatch]) -> None:
        self._rest = rest
        self._ready = [opened(opening) for _ in range(ROUNDS + 1)]
        self.last = self._ready[0]

    def run(self) -> None:
        self.last = self._ready.pop()
        receive_all(self.last, self._rest)


class PlainRunner:
    def __init__(self, opening: list[PacketBatch], batches: list[PacketBatch]) -> None:
        self._payloads = payloads(batches)
        self._ready = [plain_opened(opening) for _ in range(ROUNDS + 1)]

    def run(self) -> None:
        self._ready.pop().run(self._payloads)


def opened(opening: list[PacketBatch]) -> ChannelHandler:
    handler = ChannelHandler(CHANNEL, BINARY)
    receive_all(handler, opening)
    believe_opening(handler)
    return handler


def plain_opened(opening: list[PacketBatch]) -> PlainHandler:
    plain = PlainHandler()
    plain.run(payloads(opening))
    return plain


def payloads(batches: list[PacketBatch]) -> list[bytes]:
    return [bytes(payload) for batch in batches for _, _, payload in batch]


def check_equal(packets: MarketPackets, opening: list[PacketBatch], batches: list[PacketBatch]) -> None:
    """The same tops after the same packets."""
    handler, plain = opened(opening), plain_opened(opening)
    receive_all(handler, batches)
    handler.incremental.catch_up()
    plain.run(payloads(batches))
    for book in handler.books():
        theirs = plain.books.get(book.security_id, Book())
        ours = [level and (level.price, level.size, level.orders) for level in (book.top.bid, book.top.offer)]
        assert ours == [_told(theirs.bids.best(), 1), _told(theirs.offers.best(), -1)], book.symbol


def _told(best: tuple[int, int, int] | None, sign: int) -> tuple[int | None, int, int] | None:
    if best is None:
        return None
    key, size, orders = best
    return None if key == UNPRICED else key * sign, size, orders
