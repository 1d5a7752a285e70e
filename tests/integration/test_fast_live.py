"""UMDF FIX/FAST live: a market over multicast and TCP of loopback, against the exchange's own books. Both
feeds lose the same datagrams; what they lost comes from the replayer, or else from snapshots."""

from collections.abc import Collection, Iterator
from pathlib import Path
from time import monotonic
from zlib import crc32

import pytest

from pregao.captures.subscriptions import load_subscriptions
from pregao.handler.views import HandledBook
from pregao.market.live import LivePackets
from pregao.market.market import Market
from pregao.market.replaying import open_replayer
from pregao.model.events import HighPrice, LowPrice, OpeningPrice
from pregao.model.market import Side
from pregao.model.streams import Stream, StreamId
from pregao.recovery.progress import ChannelState
from pregao.simulator.venue import BookView
from tests.kits.fast_exchange import (
    INDICES,
    LENDING,
    LEVELS,
    ORDERS,
    TOPS,
    FastExchange,
    fast_exchange,
)
from tests.kits.loopback import need_multicast
from tests.kits.lossy_packets import LossyPackets

KINDS = {ORDERS: ("MBO", None), LEVELS: ("MBP", 5), TOPS: ("TOB", 1)}
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def _multicast() -> None:
    need_multicast("a live market of UMDF FIX/FAST")


def some(line: StreamId, payload: bytes) -> bool:
    """One of ten datagrams of the incremental streams, on either feed."""
    return line.stream is Stream.INCREMENTAL and crc32(payload) % 10 == 0


class Listener:
    def __init__(
        self, exchange: FastExchange, *, replayer: bool = True, channels: Collection[int] = tuple(KINDS)
    ) -> None:
        config = str(exchange.channels_file)
        asked = open_replayer(config, "fast") if replayer else None
        live = LivePackets(load_subscriptions(config, channels, None, "fast"), replayer=asked)
        self.losing = False
        self.packets = LossyPackets(live, lambda line, payload: self.losing and some(line, payload))
        self.exchange, self.market = exchange, Market(self.packets, system="fast", quotes=False)

    def run(self, turns: int) -> None:
        for _ in range(turns):
            self.exchange.turn()
            self.market.poll(0.01)

    def until_whole(self) -> None:
        """Everything that was sent was heard, and every book is clean."""
        end = monotonic() + PATIENCE_S
        while not self.is_whole:
            assert monotonic() < end, self.market.health()
            self.exchange.turn()  # heartbeats tell of the last that was lost
            for _ in range(5):
                self.market.poll(0.02)

    @property
    def is_whole(self) -> bool:
        health = self.market.health()
        points = {each.channel: each.number for each in health.channels}
        return health.whole and points == {channel: self.exchange.point(channel) for channel in points}

    def compare(self) -> None:
        for book in self.market.books():
            kind, depth = KINDS[book.channel]
            truth = self.exchange.book(book.channel, book.security_id)
            assert book.kind == kind
            assert list(_shown(book, depth)) == list(_wanted(truth, depth)), book.symbol

    def counted(self, name: str) -> int:
        return sum(channel.counters[name] for channel in self.market.health().channels)


def _shown(book: HandledBook, depth: int | None) -> Iterator[object]:
    for side in Side:
        if depth is None:
            yield [(each.order_id, each.price, each.size) for each in book.orders(side)]
        else:
            yield [(each.price, each.size, each.orders) for each in book.side_levels(side)]


def _wanted(truth: BookView, depth: int | None) -> Iterator[object]:
    for orders in (truth.bids, truth.offers):
        if depth is None:
            yield [(each.order_id, each.price, each.size) for each in orders]
            continue
        levels: dict[int | None, tuple[int, int]] = {}
        for each in orders:
            size, count = levels.get(each.price, (0, 0))
            levels[each.price] = size + each.size, count + 1
        yield [(price, *rest) for price, rest in levels.items()][:depth]


def test_what_both_feeds_lost_comes_from_the_replayer(tmp_path: Path) -> None:
    with fast_exchange(tmp_path, seed=3) as exchange:
        listener = Listener(exchange)
        with listener.market:
            listener.until_whole()
            for most in (6, 12, 18):
                listener.losing = True
                for _ in range(50):  # how much comes in a turn is a matter of time
                    listener.run(40)
                    if listener.packets.lost >= most:
                        break
                listener.losing = False
                listener.until_whole()
                listener.compare()
            replayer = listener.market.health().reception.replayer
            metrics = listener.market.metrics()
        assert listener.packets.lost > 10
        # A machine that is too busy may be too late for a gap, or for an answer: snapshots have it then.
        healed, asked = listener.counted("healed_by_replay"), listener.counted("asked_units")
        assert 0 < healed <= listener.counted("replayed_units") <= asked
        assert replayer is not None
        assert replayer.connections > 0
        assert 0 < replayer.requests <= replayer.tries
        assert healed <= replayer.replayed <= asked
        assert replayer.failed <= listener.counted("gaps")
        assert f"pregao_replayer_requests_total {replayer.requests}\n" in metrics
        assert 'pregao_channel_healed_by_replay_total{channel="184"}' in metrics


@pytest.mark.parametrize("replayer", [True, False])
def test_what_no_replayer_has_comes_from_snapshots(tmp_path: Path, replayer: bool) -> None:
    """One that has messages too late to be of use, or none at all."""
    with fast_exchange(tmp_path, seed=5, delay_ms=60_000) as exchange:
        listener = Listener(exchange, replayer=replayer)
        with listener.market:
            listener.until_whole()
            listener.losing = True
            listener.run(40)
            listener.losing = False
            listener.until_whole()
            listener.compare()
        assert listener.counted("gaps") > 0
        assert listener.counted("healed_by_replay") == 0
        assert (listener.counted("asked_units") > 0) is replayer


def test_lending_and_indices_are_told_live(tmp_path: Path) -> None:
    """Channels 61 and 62, by desks that stand beside the engine."""
    with fast_exchange(tmp_path, seed=7, desks_ms=100) as exchange:
        listener = Listener(exchange, channels=(LENDING, INDICES))
        with listener.market as market:
            listener.until_whole()
            listener.run(150)
            listener.until_whole()
            lent, offers = exchange.market.clearing.lent, 0
            for security_id, truth in lent.items():
                book = market.book(security_id, LENDING)
                for side in Side:
                    shown = [(each.order_id, each.size) for each in book.orders(side)]
                    assert shown == [(each.order_id, each.size) for each in truth.sides[side]]
                    offers += len(shown)
            assert offers > 10
            names, figures = {OpeningPrice: "opening", HighPrice: "high", LowPrice: "low"}, 0
            for security_id in exchange.market.clearing.indices:
                shown_figures = market.book(security_id, INDICES).statistics_of("N")
                for update in exchange.market.clearing.newest[security_id].values():
                    if type(update) in names:
                        assert getattr(shown_figures, names[type(update)]).price == update.price
                        figures += 1
            assert figures > 2
            assert {channel.state for channel in market.health().channels} == {ChannelState.LIVE}
