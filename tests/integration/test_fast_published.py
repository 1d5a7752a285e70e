"""What UMDF FIX/FAST says of a simulated day is what happened: books by position, by level and of the best
level that a plain twin rebuilds from the published bytes equal the exchange's own at every checkpoint, and so
do trades and figures."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pregao.model import events as e
from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import BooksCheckpoint, MemoryDay, short_day, simulate_in_memory
from pregao.simulator.venue import Resting
from tests.twins.position_books import ChannelBooks, decoded, ten_thousandths

RESETS = "reset=channel@11:00,reset=2xbook@?,reset=stream@14:00"
DEPTH = 5


@pytest.fixture(scope="module")
def day() -> MemoryDay:
    settings = short_day(
        seed=11, messages=1_200, instruments=8, loops=6, trading=12.0, beside=("fast",), faults=RESETS,
        relistings=3,
    )  # fmt: skip
    return next(iter(simulate_in_memory(settings)))


def _kind(channel: int) -> str:
    return "binary" if channel < 100 else "mbo" if channel < 196 else "mbp" if channel < 226 else "tob"


def _channels(day: MemoryDay, kind: str) -> list[int]:
    found = sorted({packet.channel for packet in day.packets if packet.channel not in (61, 62, 63)})
    return [channel for channel in found if _kind(channel) == kind]


def _payloads(day: MemoryDay, channel: int, stream: Stream, feed: Feed = Feed.A) -> list[bytes]:
    return [
        packet.payload
        for packet in day.packets
        if (packet.channel, packet.stream, packet.feed) == (channel, stream, feed)
    ]


def _levels(orders: list[Resting]) -> list[tuple[int | None, int, int]]:
    levels: list[tuple[int | None, int, int]] = []
    for order in orders:
        if levels and levels[-1][0] == order.price:
            price, size, count = levels.pop()
            levels.append((price, size + order.size, count + 1))
        else:
            levels.append((order.price, order.size, 1))
    return levels


class Follower:
    """The messages of one channel up to each checkpoint, one after the other."""

    def __init__(self, day: MemoryDay, channel: int, depth: int | None) -> None:
        self.books = ChannelBooks(depth)
        self.entries: list[Mapping[str, Any]] = []
        self._messages = decoded(_payloads(day, channel, Stream.INCREMENTAL))
        self._version, self._number = 0, 0

    def advance(self, version: int, number: int) -> None:
        while (self._version, self._number) < (version, number):
            self._number, kind, fields = next(self._messages)
            if kind == "4":
                self._version, self._number = self._version + 1, 0
            elif kind == "X":
                for entry in fields["MDEntries"]:
                    self.books.apply(entry)
                    self.entries.append(entry)
            elif kind == "y":
                for each in fields["RelatedSym"]:
                    if each["SecurityUpdateAction"] == "D":
                        self.books.delete(each["SecurityID"])

    def start(self, checkpoint: BooksCheckpoint) -> None:
        """The day goes on from the one before: its books are as the first checkpoint has them."""
        self._version, self._number = checkpoint.seq_version, checkpoint.seq_num


def _checkpoints(day: MemoryDay, channel: int) -> list[BooksCheckpoint]:
    return [each for each in day.checkpoints if each.channel == channel]


def _compared(day: MemoryDay, channel: int, depth: int | None) -> Iterator[tuple[Any, Any]]:
    first, *others = _checkpoints(day, channel)
    follower = Follower(day, channel, depth)
    follower.start(first)
    begun = False
    for checkpoint in others:
        follower.advance(checkpoint.seq_version, checkpoint.seq_num)
        begun = begun or checkpoint.seq_version > first.seq_version  # the week's start tells every book
        for security_id, truth in checkpoint.instruments.items():
            if not begun:
                continue
            book = follower.books.of(security_id)
            for side, orders in ((0, truth.bids), (1, truth.offers)):
                yield _rows(book, side, depth), _wanted(list(orders), depth)
            if truth.rpt_seq is not None:
                yield follower.books.rpt_seqs.get(security_id, 0), truth.rpt_seq


def _rows(book: Any, side: int, depth: int | None) -> list[tuple[Any, ...]]:
    name = "OrderID" if depth is None else "NumberOfOrders"
    extra = [row[name] for row in book.sides[side]]
    return [(*pair, other) for pair, other in zip(book.prices_and_sizes(side), extra, strict=True)]


def _wanted(orders: list[Resting], depth: int | None) -> list[tuple[Any, ...]]:
    if depth is None:
        return [(each.price, each.size, str(each.order_id)) for each in orders]
    return list(_levels(orders)[:depth])


@pytest.mark.parametrize(("kind", "depth"), [("mbo", None), ("mbp", DEPTH), ("tob", 1)])
def test_books_rebuilt_from_the_bytes_are_those_of_the_exchange(
    day: MemoryDay, kind: str, depth: int | None
) -> None:
    compared = full = 0
    for channel in _channels(day, kind):
        for seen, wanted in _compared(day, channel, depth):
            assert seen == wanted
            compared += 1
            full += bool(seen)
    assert compared > 300
    assert full > 150


def test_a_and_b_carry_the_same_datagrams_on_all_streams(day: MemoryDay) -> None:
    for channel in _channels(day, "mbo"):
        for stream in (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT):
            sent = _payloads(day, channel, stream)
            assert sent
            assert sent == _payloads(day, channel, stream, Feed.B)
            assert max(map(len, sent)) <= 1_420


def test_numbers_follow_each_other_heartbeats_too(day: MemoryDay) -> None:
    for channel in _channels(day, "mbp"):
        heartbeats, last = 0, None
        for number, kind, fields in decoded(_payloads(day, channel, Stream.INCREMENTAL)):
            assert last is None or number == last + 1
            heartbeats += kind == "0"
            last = fields["NewSeqNo"] - 1 if kind == "4" else number
        assert heartbeats


class Figures:
    """What a listener knows of trades, statistics and phases of a channel, from its incremental stream."""

    def __init__(self) -> None:
        self.trades: dict[tuple[int, str], tuple[int | None, int]] = {}
        self.busted: set[tuple[int, str]] = set()
        self.known: dict[int, dict[str, Any]] = {}  # from an instrument's change of session on
        self.volumes: dict[int, int] = {}
        self.phases: dict[str, str] = {}

    def take(self, kind: str, fields: Mapping[str, Any]) -> None:
        if kind == "f" and fields["SecurityID"] is None:
            self.phases[fields["SecurityGroup"]] = fields["TradingSessionSubID"]
        elif kind == "f" and fields["SecurityTradingEvent"] == 4:
            self.known[fields["SecurityID"]] = {}
            self.volumes.pop(fields["SecurityID"], None)
        elif kind == "X":
            for entry in fields["MDEntries"]:
                self._entry(entry)

    def _entry(self, entry: Mapping[str, Any]) -> None:
        security_id, kind = entry.get("SecurityID"), entry["MDEntryType"]
        if kind == "2" and entry["TradeID"] is not None:
            key = security_id, entry["TradeID"]
            if entry["MDUpdateAction"] == 2:
                self.busted.add(key)
                self.volumes.pop(security_id, None)  # the next trade, or B, tells it again
                return
            self.trades[key] = ten_thousandths(entry["MDEntryPx"]), entry["MDEntrySize"]
            if security_id in self.known:
                self.volumes[security_id] = entry["TradeVolume"]
        elif security_id in self.known:
            name = kind + str(entry["OpenCloseSettlFlag"] or "") if kind in "4" else kind
            value = (entry["MDEntryPx"] and ten_thousandths(entry["MDEntryPx"]), entry["MDEntrySize"])
            gone = entry["MDUpdateAction"] == 2 and kind not in "01"
            self.known[security_id][name] = None if gone else value


def _told(statistic: e.Update) -> tuple[str, tuple[Any, Any]] | None:
    """As the listener has it."""
    if isinstance(statistic, e.OpeningPrice):
        return "4", (statistic.price, None)
    if isinstance(statistic, e.HighPrice | e.LowPrice):
        return "7" if isinstance(statistic, e.HighPrice) else "8", (statistic.price, None)
    if isinstance(statistic, e.ExecutionStatistics):
        return "9", (statistic.vwap, None)
    if isinstance(statistic, e.TheoreticalPrice):
        return "45", (statistic.price, statistic.size)
    if isinstance(statistic, e.Imbalance):
        return "A", (None, statistic.size or 0)
    return ("C", (None, statistic.size)) if isinstance(statistic, e.OpenInterest) else None


def test_trades_statistics_and_phases_are_those_of_the_exchange(day: MemoryDay) -> None:
    compared: Counter[str] = Counter()
    for channel in _channels(day, "mbo"):
        figures = Figures()
        first, *others = _checkpoints(day, channel)
        messages = decoded(_payloads(day, channel, Stream.INCREMENTAL))
        at = (first.seq_version, first.seq_num)
        for checkpoint in others:
            while at < (checkpoint.seq_version, checkpoint.seq_num):
                number, kind, fields = next(messages)
                at = (at[0] + 1, 0) if kind == "4" else (at[0], number)
                figures.take(kind, fields)
            for security_id, truth in checkpoint.instruments.items():
                for name, wanted in filter(None, map(_told, truth.statistics)):
                    if name in figures.known.get(security_id, {}):
                        assert figures.known[security_id][name] == wanted
                        compared[name] += 1
                for statistic in truth.statistics:
                    if isinstance(statistic, e.ExecutionStatistics) and security_id in figures.volumes:
                        assert figures.volumes[security_id] == statistic.volume
                        compared["volume"] += 1
            for phase in checkpoint.phases:
                if phase.group in figures.phases:
                    assert figures.phases[phase.group] == str(int(phase.phase))
                    compared["phase"] += 1
        traded = [each.update for each in day.updates if each.channel == channel]
        wanted = {
            (t.security_id, str(t.trade_id)): (t.price, t.size) for t in traded if isinstance(t, e.Trade)
        }
        busts = {(t.security_id, str(t.trade_id)) for t in traded if isinstance(t, e.TradeBusted)}
        assert figures.trades == wanted
        assert figures.busted == busts
        compared["trade"] += len(wanted)
    assert min(compared[name] for name in ("4", "7", "8", "9", "volume", "phase", "trade")) > 5
    assert compared["45"]


def test_the_truth_says_where_each_trade_is(day: MemoryDay) -> None:
    channel = _channels(day, "mbo")[-1]
    sent: dict[tuple[int, int], Mapping[str, Any]] = {}
    version = _checkpoints(day, channel)[0].seq_version
    for number, kind, fields in decoded(_payloads(day, channel, Stream.INCREMENTAL)):
        version += kind == "4"
        sent[version, 0 if kind == "4" else number] = fields
    trades = [each for each in day.updates if each.channel == channel and isinstance(each.update, e.Trade)]
    assert len(trades) > 20
    for each in trades:
        assert isinstance(each.update, e.Trade)
        assert each.seq_version is not None
        assert each.seq_num is not None
        assert each.msg_index is not None
        entry = sent[each.seq_version, each.seq_num]["MDEntries"][each.msg_index]
        assert entry["TradeID"] == str(each.update.trade_id)


def test_binary_says_the_same_bytes_with_fast_beside_it() -> None:
    settings = {"seed": 5, "messages": 400, "instruments": 6, "loops": 3, "faults": "loss=1%,header=B"}
    alone = next(iter(simulate_in_memory(short_day(**settings))))
    beside = next(iter(simulate_in_memory(short_day(**settings, beside=("fast",)))))
    assert alone.packets == [packet for packet in beside.packets if _is_binary(packet.channel)]
    assert alone.updates == [each for each in beside.updates if _is_binary(each.channel)]
    assert len(beside.packets) > len(alone.packets) + 5_000


def _is_binary(channel: int) -> bool:
    return 66 <= channel <= 95
