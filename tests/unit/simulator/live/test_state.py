"""What outlives a restart or a kill of a live exchange: orders, the forbidden list (14), numbers."""

import asyncio
import errno
import json
import os
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from pregao.codecs.sbe import load_builtin_schema
from pregao.exchange.carried import carry_over
from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.commands import (
    CancelOrder,
    ChangeOrder,
    MassCancel,
    NewOrder,
    RlpOrder,
    TaaTrade,
    TacTrade,
)
from pregao.exchange.control import (
    ChangePhase,
    ChangeState,
    PublishClosing,
    RejoinGroup,
    SendNews,
    StartAuction,
)
from pregao.exchange.orders import OrderPlace, OrderType, TimeInForce
from pregao.feeds.binary.packets import PacketDecoder
from pregao.feeds.binary.publisher.packets import LAST_VERSION
from pregao.feeds.binary.system import BINARY
from pregao.feeds.publishing import PublishingSite
from pregao.io.journal import decode_records, encode_record
from pregao.model.errors import ConfigurationError
from pregao.model.events import Trade
from pregao.model.market import Phase, Side, State, TradeSubType
from pregao.model.streams import Stream
from pregao.simulator.live import tracking as keeping
from pregao.simulator.live.channels import version_at
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.resets import ResetStream
from pregao.simulator.live.settings import LiveSettings, load_settings
from pregao.simulator.live.state import (
    NO_CHANGE,
    KeptState,
    SentVersions,
    StateChange,
    decode_change,
    encode_change,
    state_of,
)
from pregao.simulator.live.tracking import (
    LOOPS_AHEAD,
    ORDER_IDS_AHEAD,
    TRADE_IDS_AHEAD,
    StateFile,
    StateKeeper,
    StateLostError,
    StateTracker,
)
from tests.kits.operator import Wire, make_loop

NOON_NS = 1_794_758_400_000_000_000
DAY_NS = 86_400_000_000_000
CATALOGUE = load_default_catalogue()
PETR4, VALE3, ITUB4 = (CATALOGUE.instrument(symbol).security_id for symbol in ("PETR4", "VALE3", "ITUB4"))
GTC = NewOrder(0, PETR4, Side.BUY, 100, 360_000, tif=TimeInForce.GTC, client_order_id="ç")
SEQUENCE_RESET, CHANNEL_RESET, EMPTY_BOOK = 1, 11, 9


def start(kept: KeptState | None = None, now_ns: int = NOON_NS, flow: float = 0.0) -> LiveMarket:
    settings = LiveSettings(flow=flow)
    market = LiveMarket(CATALOGUE, settings, (PublishingSite.PRIMARY,), now_ns, kept)
    market.observer = StateTracker(market, KeptState() if kept is None else kept)
    market.start(now_ns)
    return market


def tracker(market: LiveMarket) -> StateTracker:
    assert isinstance(market.observer, StateTracker)
    return market.observer


def kept_by(market: LiveMarket, *, exact: bool = False) -> KeptState:
    """The state as a journal would bring it back."""
    following = tracker(market)
    following.state.apply(following.take(exact=exact))
    return state_of([encode_change(following.state.whole())])


def open_orders(market: LiveMarket) -> list[int]:
    return sorted(market.engine.floor.orders)


def test_orders_and_the_forbidden_are_there_after_a_restart() -> None:
    first = start()
    (order_id,) = first.execute(GTC, NOON_NS).order_ids
    assert first.execute(ChangeState(0, VALE3, State.FORBIDDEN), NOON_NS).rejection is None
    first.execute(SendNews(0, "headline", "text"), NOON_NS)
    kept = kept_by(first)
    second = start(kept)
    assert second.left_behind == ()
    assert open_orders(second) == [order_id]
    assert second.engine.trading_state(VALE3) is State.FORBIDDEN
    assert second.execute(RejoinGroup(0, VALE3), NOON_NS).rejection is None
    assert second.desk.last_news_id == 1
    assert kept_by(second).forbidden == ()


def test_day_orders_of_the_operator_are_there_on_their_date_only() -> None:
    first = start(flow=500.0)
    waits = (
        replace(GTC, tif=TimeInForce.DAY),
        replace(GTC, tif=TimeInForce.DAY, type=OrderType.STOP, price=None, stop_price=900_000),
        replace(GTC, tif=TimeInForce.DAY, type=OrderType.MARKET_ON_CLOSE, price=None),
        RlpOrder(0, PETR4, Side.SELL, 100, 390_000, firm=8),
    )
    ids = [first.execute(command, NOON_NS).order_ids[0] for command in waits]
    for step in range(1, 20):  # the flow's own day orders are not anyone's who waits for them
        first.on_timeout(NOON_NS + step * 50_000_000)
    assert len(first.engine.floor.orders) > len(ids) + 50
    kept = kept_by(first)
    days = [each for each in kept.orders.values() if each.tif is TimeInForce.DAY]
    assert [each.order_id for each in days] == ids
    places = [OrderPlace.BOOK, OrderPlace.STOP, OrderPlace.ON_CLOSE, OrderPlace.HIDDEN]
    assert [each.place for each in days] == places
    second = start(kept)
    floor = second.engine.floor
    assert [floor.orders[order_id].place for order_id in ids] == places
    assert [floor.orders[order_id].expire_date for order_id in ids] == [None] * 4
    tomorrow = start(kept, NOON_NS + DAY_NS)
    assert not set(ids) & set(open_orders(tomorrow))
    assert set(ids) <= {each.order_id for each in tomorrow.left_behind}


def agreed_trades(
    market: LiveMarket, now_ns: int = NOON_NS
) -> list[tuple[TradeSubType | None, int, int, int, int]]:
    """What trades when the closing price of PETR4 is published: kind, quantity, buyer, seller, price."""
    outcome = market.execute(PublishClosing(0, PETR4), now_ns)
    assert outcome.rejection is None
    trades = [each for event in outcome.events for each in event.updates if isinstance(each, Trade)]
    return [(each.sub_type, each.size, each.buyer or 0, each.seller or 0, each.price) for each in trades]


def test_trades_at_close_and_at_average_wait_for_their_price_across_restarts() -> None:
    """13.3.2: they were acknowledged, and nothing of them is published before the close."""
    first = start()
    assert first.execute(TacTrade(0, PETR4, 300, 3, 8), NOON_NS).rejection is None
    assert first.execute(TacTrade(0, VALE3, 700, 3, 8), NOON_NS).rejection is None
    second = start(kept_by(first))
    assert second.left_behind == ()
    assert second.execute(TaaTrade(0, PETR4, 200, 8, 3), NOON_NS).rejection is None
    assert second.execute(TacTrade(0, PETR4, 300, 3, 8), NOON_NS).rejection is None  # the same again
    third = start(kept_by(second))
    for side in (Side.SELL, Side.BUY):
        third.execute(NewOrder(0, PETR4, side, 100, 382_500), NOON_NS)
    kept = kept_by(third)
    assert agreed_trades(third) == [
        (TradeSubType.TAC, 300, 3, 8, 382_500), (TradeSubType.TAA, 200, 8, 3, 382_500),
        (TradeSubType.TAC, 300, 3, 8, 382_500),
    ]  # fmt: skip
    assert agreed_trades(start(kept_by(third))) == []  # once, and not again after a kill
    assert len(kept_by(third).agreements[VALE3]) == 1
    tomorrow = start(kept, NOON_NS + DAY_NS)
    assert len(tomorrow.left_behind) == 4
    assert agreed_trades(tomorrow, NOON_NS + DAY_NS) == []


def random_command(dice: random.Random, market: LiveMarket) -> object:
    """Mostly orders, good till cancelled or for the day, some of which trade with the flow's."""
    orders = open_orders(market)
    security_id, side = dice.choice((PETR4, VALE3)), dice.choice((Side.BUY, Side.SELL))
    last = market.engine.market(security_id).statistics.last_price or 380_000
    kind, near = dice.randrange(14), last + 100 * dice.randint(-30, 30)
    tif = dice.choice((TimeInForce.GTC, TimeInForce.DAY))
    if kind < 4:
        floor = 100 if dice.random() < 0.3 else None
        return NewOrder(
            0, security_id, side, 100 * dice.randint(1, 30), near, tif=tif, firm=8, max_floor=floor
        )
    if kind < 5:
        stop = last + 100 * dice.randint(1, 5) * (1 if side is Side.BUY else -1)
        return NewOrder(
            0, security_id, side, 300, type=OrderType.STOP, stop_price=stop, tif=TimeInForce.GTC, firm=8
        )
    if kind < 7 and orders:
        return CancelOrder(0, dice.choice(orders))
    if kind < 9 and orders:
        return ChangeOrder(0, dice.choice(orders), 100 * dice.randint(1, 40), near)
    if kind == 9:
        return MassCancel(0, 8, side=side) if dice.random() < 0.2 else StartAuction(0, security_id)
    if kind == 10:
        state = dice.choice((State.FORBIDDEN, State.CLOSE))
        return ChangeState(0, security_id, state) if dice.random() < 0.3 else RejoinGroup(0, security_id)
    if kind == 11:
        return ResetStream(0, dice.choice(list(market.books)))
    if dice.random() < 0.3:
        return PublishClosing(0, ITUB4)  # which no other command halts
    return dice.choice((TacTrade, TaaTrade))(0, ITUB4, 100 * dice.randint(1, 2), 3, 8)


@pytest.mark.parametrize("seed", range(2))
def test_the_changes_found_are_those_of_a_look_at_every_order(seed: int) -> None:
    """The obvious twin: all orders and all numbers, after every turn."""
    dice, market = random.Random(seed), start(flow=400.0)
    following = tracker(market)
    changes, operators, traded, agreed = [following.take()], set[int](), 0, 0
    following.state.apply(changes[0])
    now_ns = NOON_NS
    for _ in range(120):
        now_ns += dice.randrange(1, 20_000_000)
        command = random_command(dice, market)
        outcome = market.execute(command, now_ns)
        if isinstance(command, NewOrder):
            operators.update(outcome.order_ids)
        market.on_timeout(now_ns)
        changes.append(following.take())
        following.state.apply(changes[-1])
        twin = carry_over(market.engine, market.desk.surveillance.phases.forbidden, day_orders=operators)
        state = following.state
        assert state.orders == {order.order_id: order for order in twin.orders}
        assert state.forbidden == twin.forbidden
        assert sorted(state.carried().agreements, key=repr) == sorted(twin.agreements, key=repr)
        agreed = max(agreed, len(twin.agreements))
        assert 0 <= state.last_order_id - twin.last_order_id <= ORDER_IDS_AHEAD
        for trade in twin.last_trades:
            reserved = state.last_trades[trade.security_id]
            assert reserved.trade_date == trade.trade_date
            assert 0 <= reserved.trade_id - trade.trade_id <= TRADE_IDS_AHEAD
        for ids in twin.last_ids:
            assert state.last_ids[ids.segment].ordinary >= ids.ordinary
            assert state.last_ids[ids.segment].implied >= ids.implied
        for sent in market.sent_versions():
            reserved_versions = state.versions[sent.channel, sent.site]
            assert reserved_versions.incremental == sent.incremental
            assert 0 <= reserved_versions.definitions - sent.definitions <= LOOPS_AHEAD
        traded = sum(order.executed > 0 for order in state.orders.values()) or traded
    assert traded, "nothing that is kept has traded"
    assert agreed > 1
    assert state_of(map(encode_change, changes)) == following.state
    # A market that starts with it has it all.
    again = start(state_of([encode_change(following.state.whole())]), now_ns)
    assert again.left_behind == ()


def test_cut_at_any_byte_the_journal_gives_the_state_of_its_last_whole_record() -> None:
    market, states, data = start(), list[KeptState](), b""
    following, ends = tracker(market), list[int]()
    steps = [GTC, replace(GTC, side=Side.SELL, quantity=300), CancelOrder(0, 2), replace(GTC, price=350_000)]
    for number, command in enumerate([None, *steps]):
        if command is not None:
            assert market.execute(command, NOON_NS).rejection is None
        change = following.take()
        assert change != NO_CHANGE
        following.state.apply(change)
        data += encode_record(number, encode_change(change))
        states.append(state_of([encode_change(following.state.whole())]))
        ends.append(len(data))
    assert [len(state.orders) for state in states] == [0, 1, 1, 0, 1]
    for cut in range(ends[0], len(data) + 1):
        last = sum(end <= cut for end in ends) - 1
        assert state_of(decode_records(data[:cut]).records) == states[last]


def test_no_number_is_given_twice_after_a_kill() -> None:
    """What was given after the last change that was kept is left out."""
    first = start(flow=2000.0)
    kept = kept_by(first)
    for step in range(1, 40):
        first.on_timeout(NOON_NS + step * 50_000_000)
        change = tracker(first).take()
        tracker(first).state.apply(change)
        kept.apply(decode_change(encode_change(change)))
    given = {order.secondary_id for order in first.engine.floor.orders.values()}
    trades = first.engine.market(PETR4).trade_ids.last
    assert trades
    second = start(kept)
    (order_id,) = second.execute(GTC, NOON_NS).order_ids
    assert order_id > first.engine.floor.last_order_id
    segment = second.engine.floor.orders[order_id].secondary_id
    assert segment > max(each for each in given if each >> 40 == segment >> 40)
    assert second.engine.market(PETR4).trade_ids.last >= trades


def test_most_orders_of_the_flow_need_no_change_to_be_kept() -> None:
    market, count = start(flow=2000.0), 0
    tracker(market).state.apply(tracker(market).take())
    for step in range(1, 100):
        market.on_timeout(NOON_NS + step * 20_000_000)
        change = tracker(market).take()
        tracker(market).state.apply(change)
        count += change != NO_CHANGE
        assert {each.tif for each in change.orders} <= {TimeInForce.GTC, TimeInForce.GTD}
    assert 0 < count < 99


def test_a_market_that_runs_on_keeps_no_more_and_no_more() -> None:
    """Of trades and of stops that are gone `--flow 2000` kept 28 KB a second."""
    market = LiveMarket(
        CATALOGUE, LiveSettings(flow=2000.0), (PublishingSite.PRIMARY,), NOON_NS, kept_trades=3
    )
    market.start(NOON_NS)
    for step in range(1, 400):
        market.on_timeout(NOON_NS + step * 50_000_000)
        for _ in market.take():
            pass
    markets = market.engine.floor.markets.values()
    assert sum(each.statistics.count for each in markets) > 500
    assert max(len(each.statistics.trades) for each in markets) == 3
    for each in markets:
        assert len(each.stops._buys) + len(each.stops._sells) <= 2 * each.stops.count + 65


# --- sequence versions (6.5.5.1) ------------------------------------------------------------------


def sent_by(market: LiveMarket, channel: int) -> list[tuple[Stream, int, int, list[int]]]:
    """(stream, version, number, template ids) of each packet."""
    decoder, found = PacketDecoder(load_builtin_schema()), []
    for number, packet in market.take():
        if number == channel:
            templates = [each.message.template_id for each in decoder.decode(packet.payload).messages]
            found.append((packet.stream, packet.version, packet.number, templates))
    return found


def test_a_restart_goes_on_with_greater_versions_and_rpt_seqs_begin_after_a_channel_reset() -> None:
    kept, before = KeptState(), dict[Stream, int]()
    for run in range(3):
        market = start(kept, NOON_NS + run * 60_000_000_000)
        market.execute(GTC, NOON_NS + run * 60_000_000_000)
        for step in range(1, 60):
            market.on_timeout(NOON_NS + run * 60_000_000_000 + step * 100_000_000)
        kept = kept_by(market)
        packets = sent_by(market, 84)
        for stream in (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT):
            versions = [version for kind, version, _, _ in packets if kind is stream]
            assert versions == sorted(versions)
            assert versions[0] == before.get(stream, 0) + 1 or stream is not Stream.INCREMENTAL
            assert versions[0] > before.get(stream, 0)
            before[stream] = versions[-1]
        said = [
            template for kind, _, _, all_of in packets if kind is Stream.INCREMENTAL for template in all_of
        ]
        assert said[:2] == [SEQUENCE_RESET, CHANNEL_RESET]


def test_versions_roll_over_behind_the_last_one() -> None:
    kept = KeptState()
    kept.apply(StateChange(versions=(SentVersions(84, "primary", LAST_VERSION, 3, LAST_VERSION - 2),)))
    market = start(kept)
    (sent,) = [each for each in market.sent_versions() if each.channel == 84]
    assert sent.incremental == 2  # 1 is that of the SequenceReset
    assert sent.definitions == sent.snapshots == 4
    late = KeptState()
    late.apply(StateChange(versions=(SentVersions(84, "primary", 7, LAST_VERSION, LAST_VERSION),)))
    change = StateTracker(market, late).take()
    assert SentVersions(84, "primary", 2, 4 + LOOPS_AHEAD, 4 + LOOPS_AHEAD) in change.versions


def test_without_a_state_the_clock_makes_them_grow() -> None:
    versions = [version_at(NOON_NS + step * 10_000_000_000, BINARY.policy) for step in range(3)]
    assert versions[0] < versions[1] < versions[2] <= LAST_VERSION
    market = LiveMarket(
        CATALOGUE, LiveSettings(), (PublishingSite.PRIMARY,), NOON_NS, version_before=versions[0]
    )
    market.start(NOON_NS)
    assert {each.incremental for each in market.sent_versions()} == {versions[0] + 2}


# --- the file ------------------------------------------------------------------------------------


def keeper_of(path: Path) -> tuple[LiveMarket, StateKeeper]:
    file = StateFile(path)
    market = start(file.state)
    return market, StateKeeper(file, tracker(market))


def test_the_file_brings_back_what_was_committed_and_starts_over_when_it_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "SHORTEST", 4000)
    path = tmp_path / "state"
    market, keeper = keeper_of(path)
    keeper.commit()
    sizes, ids = [], []
    for _ in range(60):
        ids += market.execute(GTC, NOON_NS).order_ids
        keeper.commit()
        sizes.append(path.stat().st_size)
        if len(ids) > 5:
            market.execute(CancelOrder(0, ids.pop(0)), NOON_NS)
            keeper.commit()
    assert any(later < earlier for earlier, later in pairwise(sizes))
    market.execute(GTC, NOON_NS)  # not committed: nobody was told
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    recovered = StateFile(copy)
    assert sorted(recovered.state.orders) == ids
    recovered.journal.close()
    keeper.close()
    final = StateFile(path)
    assert final.state.last_order_id == market.engine.floor.last_order_id  # a clean end leaves nothing out
    final.journal.close()


GOOD = json.loads(encode_change(StateChange(forbidden=(1,), last_order_id=7)))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b'{"format": 1}', b"\xff", b"[" * 100_000,
        json.dumps(GOOD | {"orders": [{}]}).encode(),
        json.dumps(GOOD | {"orders": 7}).encode(),
        json.dumps(GOOD | {"forbidden": ["x"]}).encode(),
        json.dumps(GOOD | {"gone": 3}).encode(),
        json.dumps(GOOD | {"settled": 3}).encode(),
        json.dumps(GOOD | {"agreements": [{"security_id": 1}]}).encode(),
        json.dumps(GOOD | {"what": 3}).encode(),
        json.dumps(GOOD | {"last_ids": [{"segment": 1, "ordinary": True, "implied": 2}]}).encode(),
    ],
)  # fmt: skip
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    for name, data in (("plain", content), ("framed", encode_record(0, content))):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ConfigurationError, match=name):
            StateFile(path)


def test_where_it_is_stands_in_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "exchange.toml"
    config.write_text('[market]\nstate = "kept"\n')
    assert load_settings(str(config)).state == str(tmp_path / "kept")


# --- a disk that fails ----------------------------------------------------------------------------


def fails(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_cannot_be_kept_is_neither_answered_nor_sent_and_the_exchange_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire()
    loop = make_loop(wire)
    file = StateFile(tmp_path / "state")
    loop.market.observer = StateTracker(loop.market, file.state)
    loop._keeper = StateKeeper(file, loop.market.observer)

    async def go() -> None:
        task = asyncio.create_task(loop.run())
        await loop.submit(GTC)
        monkeypatch.setattr(os, "fdatasync", fails)
        sent = wire.sent
        failed = loop.submit(GTC)
        with pytest.raises(StateLostError, match="no space left on device: the exchange stops"):
            await failed
        with pytest.raises(StateLostError):
            await task
        assert wire.sent == sent
        with pytest.raises(StateLostError):
            loop.submit(GTC)

    asyncio.run(go())
    monkeypatch.undo()
    file.journal.close()
    again = StateFile(tmp_path / "state")
    assert len(again.state.orders) in (
        1,
        2,
    )  # the second may have reached the disk: nobody was told either way
    again.journal.close()


def test_where_it_cannot_start_over_it_is_said_and_the_market_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keeping, "SHORTEST", 1)
    path = tmp_path / "state"
    market, keeper = keeper_of(path)
    keeper.commit()
    monkeypatch.setattr(os, "replace", fails)
    for _ in range(200):
        market.execute(GTC, NOON_NS)
        keeper.commit()
    assert 0 < len(caplog.messages) < 10
    assert "no space left" in caplog.messages[0]
    keeper.close()
    monkeypatch.undo()
    again = StateFile(path)
    assert len(again.state.orders) == 200
    again.journal.close()


def test_phases_end_day_orders_in_the_state_too() -> None:
    market = start()
    market.execute(replace(GTC, tif=TimeInForce.DAY), NOON_NS)
    assert len(kept_by(market).orders) == 1
    key = market.desk.surveillance.phases.group_of(PETR4)
    assert market.execute(ChangePhase(0, *key, Phase.CLOSE, expires=True), NOON_NS).rejection is None
    assert kept_by(market).orders == {}
