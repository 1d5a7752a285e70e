"""Whatever happens comes out as it went in: in order, gapless, in packets that fit, both ways alike."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.sbe import SbeMessageDecoder
from pregao.feeds.binary.publisher import SequencePoint
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.publisher.packets import following_version
from pregao.model import events as e
from pregao.model.market import (
    Action,
    Aggressor,
    BandType,
    ImbalanceSide,
    LimitType,
    Midpoint,
    Phase,
    PriceOrigin,
    Session,
    Side,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from tests.unit.feeds.binary.publisher.desk import DATE, NOW, SCHEMA, VERSIONS, A, B, C, decoded, publisher

ids = st.sampled_from((A, B, C))
prices = st.integers(-(10**15), 10**15)
sizes = st.integers(0, 2**63 - 1)
times = st.integers(1, 2**64 - 1)
dates = st.integers(0, 65_535)
firms = st.none() | st.integers(1, 2**32 - 1)
sides, sessions = st.sampled_from(Side), st.sampled_from(Session)
conditions = st.integers(0, 127).map(
    lambda n: TradeCondition(sum(flag for k, flag in enumerate(TradeCondition) if n >> k & 1))
)
sub_types = st.none() | st.sampled_from([each for each in TradeSubType if each is not TradeSubType.VOICE])
actions = st.sampled_from((Action.NEW, Action.CHANGE, Action.DELETE))

orders = st.builds(
    e.OrderUpdate,
    ids,
    actions,
    sides,
    st.integers(0, 2**64 - 1),
    st.none() | prices,
    sizes,
    st.integers(1, 2**32 - 1),
    times,
    times,
    st.none() | sizes,
    firms,
    st.booleans(),
    st.booleans(),
)
trades = st.builds(
    e.Trade,
    ids,
    st.integers(0, 2**32 - 1),
    prices,
    sizes,
    dates,
    sessions,
    conditions,
    times,
    sub_types,
    firms,
    firms,
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(1, 999),
    st.none() | st.integers(1, 10**6),
)
summaries = st.builds(
    e.ExecutionSummary, ids, st.sampled_from(Aggressor), prices, sizes, sizes, sizes, times, times
)
statistics = st.one_of(
    st.builds(
        e.ExecutionStatistics,
        ids,
        sessions,
        dates,
        sizes,
        st.none() | prices,
        st.none() | prices,
        st.integers(0, 2**32 - 1),
        times,
    ),
    st.builds(
        e.OpeningPrice, ids, prices, st.none() | prices, dates, times, st.sampled_from(PriceOrigin), actions
    ),
    st.builds(e.TheoreticalPrice, ids, st.none() | prices, st.none() | sizes, dates, times, actions),
    st.builds(e.HighPrice, ids, prices, dates, times, actions),
    st.builds(e.LowPrice, ids, prices, dates, times, actions),
)
bands = st.builds(
    e.PriceBand,
    ids,
    st.none() | st.sampled_from(BandType),
    times,
    st.none() | st.sampled_from(LimitType),
    st.none() | prices,
    st.none() | prices,
    st.none() | st.sampled_from(Midpoint),
    st.none() | prices,
)
states = st.builds(
    e.StateChanged,
    ids,
    sessions,
    st.none() | st.sampled_from(State),
    st.none() | st.sampled_from(StateEvent),
    dates,
    times,
    st.none() | times,
)
FREQUENT = st.one_of(orders, trades, summaries, statistics, bands, states)
others = st.one_of(
    st.builds(e.BookEmptied, ids, times),
    st.builds(e.SideDeleted, ids, st.just(Action.DELETE_THRU), sides, times),
    st.builds(e.TradeBusted, ids, st.integers(0, 99), prices, sizes, dates, sessions, times, st.booleans()),
    st.builds(e.ClosingPrice, ids, prices, dates, times, st.sampled_from(PriceOrigin)),
    st.builds(e.OpenInterest, ids, sizes, dates, times),
    st.builds(e.Imbalance, ids, st.sampled_from(ImbalanceSide), st.none() | sizes, times, actions),
    st.builds(e.QuantityBand, ids, st.none() | sizes, st.none() | sizes, times),
    st.builds(
        e.PhaseChanged,
        st.just("01"),
        st.just("BVMF"),
        sessions,
        st.sampled_from(Phase),
        st.none(),
        dates,
        times,
    ),
    st.builds(e.IndexValue, ids, prices, times, st.just(1)),
)
# The last of an event is an order or statistic: an ExecutionSummary cannot be.
events = st.builds(
    lambda first, last: e.Event((*first, last)),
    st.lists(FREQUENT | others, max_size=30),
    orders | trades | statistics | others,
)
BOOK = (e.OrderUpdate, e.SideDeleted, e.BookEmptied, e.Trade, e.TradeBusted, e.ExecutionSummary)
NO_RPT_SEQ = (e.BookEmptied, e.PhaseChanged)
WRITERS = {version: MessageWriter(SCHEMA, version) for version in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
@given(update=FREQUENT, indicator=st.sampled_from((0, 128)), rpt_seq=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=250)
def test_the_packers_write_what_the_encoder_writes(
    version: int, update: Any, indicator: int, rpt_seq: int
) -> None:
    writer = WRITERS[version]
    assert writer.packers[type(update)] != writer.encode_slowly
    assert writer.encode(update, indicator, rpt_seq) == writer.encode_slowly(update, indicator, rpt_seq)


def expected(version: int, published: list[e.Event]) -> list[bytes]:
    """The messages by the obvious rules, one update after the other."""
    writer, said, rpt_seqs = WRITERS[version], list[bytes](), dict[int, int]()
    for event in published:
        updates: list[Any] = [u for u in event.updates if type(u) in writer.packers]
        is_event = any(isinstance(update, BOOK) for update in updates)
        for index, update in enumerate(updates):
            mark = 128 if not is_event or index == len(updates) - 1 else 0
            number = 0
            if isinstance(update, e.BookEmptied):
                rpt_seqs[update.security_id] = 0
            elif not isinstance(update, NO_RPT_SEQ):
                number = rpt_seqs[update.security_id] = rpt_seqs.get(update.security_id, 0) + 1
            said.append(writer.encode_slowly(update, mark, number))
    return said


def ends_well(event: e.Event) -> bool:
    """Whether something after the last ExecutionSummary is sent by every version."""
    sent = [u for u in event.updates if not isinstance(u, e.IndexValue | e.OpenInterest)]
    return not sent or not isinstance(sent[-1], e.ExecutionSummary)


@pytest.mark.parametrize("version", [16, 17])
@given(
    published=st.lists(events.filter(ends_well), max_size=12),
    instants=st.lists(st.integers(0, 2), min_size=12),
)
@settings(deadline=None, max_examples=120)
def test_events_come_back_in_order_and_gapless(
    version: int, published: list[e.Event], instants: list[int]
) -> None:
    one = publisher(version=version, start=SequencePoint(9, 1000))
    now_ns = NOW
    for event, wait in zip(published, instants, strict=False):
        now_ns += wait
        one.publish(event, now_ns)
    one.flush(now_ns)
    packets = decoded(one.take())
    decoder = SbeMessageDecoder(SCHEMA)
    assert [p.header.sequence_number for p in packets] == list(range(1000, 1000 + len(packets)))
    assert all(packet.messages for packet in packets)
    read = [m.message for packet in packets for m in packet.messages]
    assert read == [decoder.decode(message, 4) for message in expected(version, published)]


@given(published=st.lists(events.filter(ends_well), max_size=8))
@settings(deadline=None, max_examples=60)
def test_by_position_nothing_is_lost_either(published: list[e.Event]) -> None:
    one = publisher(version=8)
    for event in published:
        one.publish(event, NOW)
    one.flush(NOW)
    messages = [m.message for packet in decoded(one.take()) for m in packet.messages]
    swept = sum(
        message.fields["mDEntryPositionNo"] - 1  # type: ignore[operator, misc]
        for message in messages
        if message.fields and message.fields.get("mDUpdateAction") == "DELETE_FROM"
    )
    sent = [u for event in published for u in event.updates if type(u) in WRITERS[8].packers]
    assert len(messages) + swept == len(sent)


def test_versions_roll_over_before_the_null() -> None:
    assert [following_version(v) for v in (1, 65_533, 65_534, 65_535)] == [2, 65_534, 1, 1]
    assert DATE < 65_535
