"""Which packet ends an event of the exchange, against packets whose events the test made itself."""

import numpy as np

from pregao.model import events as e
from pregao.model.market import Phase, Session, TradeCondition
from pregao.model.streams import Stream
from tests.benchmarks.live_day import LiveDay
from tests.benchmarks.live_events import OTHER, QUOTE, ROW, ends_of, event_ends
from tests.unit.feeds.binary.publisher.desk import DATE, NOW, A, order, phase, publisher

CHANNEL = 84 << 32


def trade(number: int) -> e.Trade:
    return e.Trade(A, number, 100_000, 100, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW)


def day(*events: tuple[e.Update, ...]) -> LiveDay:
    """Each update is long enough in orders that an event fills packets of its own."""
    one = publisher()
    for event in events:
        one.publish(e.Event(event), NOW)
        one.flush(NOW)
    payloads = [packet.payload for packet in one.take() if packet.stream is Stream.INCREMENTAL]
    length = np.array(list(map(len, payloads)), np.uint32)
    return LiveDay(
        np.frombuffer(b"".join(payloads), np.uint8), np.cumsum(length, dtype=np.int64) - length, length,
        np.full(len(payloads), 84, np.uint8), np.full(len(payloads), int(Stream.INCREMENTAL), np.uint8),
    )  # fmt: skip


def test_a_trade_of_a_long_event_ends_with_its_last_packet() -> None:
    long = (trade(1), *(order(A, number) for number in range(100)), trade(2))
    ends = event_ends(day((trade(7),), long, (phase("01", Phase.OPEN),)))
    first, *others = sorted(ends)
    assert ends[first] == [first]  # an event in one packet
    begins, last, told = others
    assert (last - begins > 1, told - last) == (True, 1)  # orders between them are no events by default
    assert (ends[begins], ends[last], ends[told]) == ([last], [last], [told])


def test_events_heard_are_matched_in_order() -> None:
    ends = {CHANNEL | 5: [CHANNEL | 5, CHANNEL | 9], CHANNEL | 6: [CHANNEL | 9]}
    keys = np.array([5, 5, 5, 6, 7, 6], np.int64) | CHANNEL
    made_of = np.array([ROW, QUOTE, ROW, ROW, OTHER, QUOTE])
    assert (ends_of(keys, made_of, ends) & 0xFFFFFFFF).tolist()[:4] == [5, 5, 9, 9]
    assert ends_of(keys, made_of, ends)[4] == -1
    assert ends_of(keys, made_of, ends)[5] == CHANNEL | 6


def test_a_packet_that_was_heard_by_half_is_left_out() -> None:
    ends = {CHANNEL | 5: [CHANNEL | 5, CHANNEL | 9]}
    assert ends_of(np.array([CHANNEL | 5]), np.array([ROW]), ends).tolist() == [-1]
