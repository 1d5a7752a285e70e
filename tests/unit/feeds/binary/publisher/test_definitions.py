"""The definition stream: complete loops, one version each, and heartbeats between them."""

from itertools import pairwise

import pytest

from pregao.feeds.binary.publisher import ChannelPublisher, LoopPace, Paces, SequencePoint
from pregao.model.instruments import Governance, Leg, Payout, PriceMethod, TradeType
from pregao.model.market import PriceKind, Side
from pregao.model.streams import Feed, Stream
from tests.unit.feeds.binary.publisher.desk import (
    MS,
    NOW,
    QUIET,
    SECOND,
    Market,
    decoded,
    instrument,
    messages,
    numbers,
    publisher,
    run,
)

PACE = LoopPace(interval_ns=MS, pause_ns=SECOND // 2)
STREAM = Stream.DEFINITION


def looping(market: Market, version: int = 16, pace: LoopPace = PACE, first: int = 1) -> ChannelPublisher:
    paces = Paces(pace, QUIET.snapshots)
    return publisher(market, version, paces=paces, loops=SequencePoint(first))


def listed(count: int) -> Market:
    return Market([instrument(n, description=f"Instrument {n}") for n in range(1, count + 1)])


def test_a_loop_has_every_instrument_once_and_ends_with_a_reset() -> None:
    one = looping(listed(50))
    packets = run(one, NOW + 400 * MS)
    assert {packet.feeds for packet in packets if packet.stream is STREAM} == {(Feed.A,)}
    *definitions, last = messages(packets, STREAM)
    assert last["name"] == "SequenceReset_1"
    assert [d["securityID"] for d in definitions] == list(range(1, 51))
    assert {d["totNoRelatedSym"] for d in definitions} == {50}
    assert {d["securityUpdateAction"] for d in definitions} == {"ADD"}
    assert [d["lastFragment"] for d in definitions] == ["FALSE_VALUE"] * 49 + ["TRUE_VALUE"]
    read = decoded(packets, STREAM)
    assert [p.header.sequence_number for p in read] == list(range(1, len(read) + 1))
    assert len(read[-1].messages) == 1  # the reset is alone
    assert all(len(p.messages) > 3 for p in read[:-2])


def test_packets_leave_at_the_set_rate_and_loops_after_the_pause() -> None:
    packets = [p for p in run(looping(listed(20)), NOW + 2 * SECOND) if p.stream is STREAM]
    gaps = [b.sending_ns - a.sending_ns for a, b in pairwise(packets)]
    assert set(gaps) == {MS, SECOND // 2}
    versions = [version for version, number in numbers(packets, STREAM) if number == 1]
    assert versions == [1, 2, 3, 4]


def test_versions_of_loops_roll_over_after_65534() -> None:
    packets = run(looping(listed(2), first=65_533), NOW + 2 * SECOND)
    assert [v for v, number in numbers(packets, STREAM) if number == 1] == [65_533, 65_534, 1, 2]


def test_heartbeats_between_loops_tell_that_1_comes_next() -> None:
    packets = run(looping(listed(2), pace=LoopPace(MS, 3 * SECOND)), NOW + int(2.9 * SECOND))
    heartbeats = [m["nextSeqNo"] for m in messages(packets, STREAM) if m["name"] == "Sequence_2"]
    assert heartbeats == [1, 1]
    assert numbers(packets, STREAM) == [(1, 1), (1, 2), (2, 0), (2, 0)]


def test_without_instruments_there_are_only_heartbeats() -> None:
    packets = run(looping(Market()), NOW + int(2.5 * SECOND))
    assert [m["name"] for m in messages(packets, STREAM)] == ["Sequence_2", "Sequence_2"]


def test_a_deleted_instrument_is_gone_from_the_next_loop() -> None:
    market = listed(30)
    one = looping(market)
    one.on_timeout(NOW)  # the first packet of the loop
    del market.listed[20]
    packets = one.take() + run(one, NOW + SECOND)
    totals = [m["totNoRelatedSym"] for m in messages(packets, STREAM) if m["name"] != "SequenceReset_1"]
    assert totals == [30] * 30 + [29] * 29


def test_a_changed_instrument_is_told_as_it_is_now() -> None:
    market = listed(3)
    one = looping(market)
    run(one, NOW + 100 * MS)
    market.listed[0] = instrument(1, symbol="NOVO3")
    again = messages(run(one, NOW + SECOND), STREAM)
    assert again[0]["symbol"] == "NOVO3"


def test_a_long_absence_is_not_made_up_for() -> None:
    one = looping(listed(3000))
    one.on_timeout(NOW)
    one.on_timeout(NOW + 3600 * SECOND)
    assert len([p for p in one.take() if p.stream is STREAM]) < 70


@pytest.mark.parametrize("version", [8, 16, 17])
def test_what_an_instrument_is_told_with(version: int) -> None:
    option = instrument(
        1, is_put=True, is_american=False, strike=10_0000, payout=Payout.VANILLA_CASH, clearing_id=77,
        settlement_days=1, settlement_date=20_001, price_kind=PriceKind.PERCENTAGE, is_buy_back=True,
        governance=Governance.MAIS_2, trade_types=tuple(TradeType), is_test=True, minimum_cross=300,
    )  # fmt: skip
    strategy = instrument(
        2, legs=(Leg(1, "A", Side.BUY), Leg(3, "B", Side.SELL, 2)), price_method=PriceMethod.INDIVIDUAL,
        strategy_type="COV",
    )  # fmt: skip
    first, second, _ = messages(run(looping(Market([option, strategy]), version), NOW + 400 * MS), STREAM)
    assert first["clearingHouseID"] == 77
    assert (first["minCrossQty"], second["minCrossQty"]) == (300, None)  # its own, not its lot
    assert (first["settlType"], first["settlDate"]) == (1, 20_001)
    assert (first["priceType"], first["governanceIndicator"]) == ("PERCENTAGE", "M2")
    assert first["securityMatchType"] == "ISSUING_BUY_BACK_AUCTION"
    attributes = [(each["instrAttribType"], each["instrAttribValue"]) for each in first["noInstrAttribs"]]
    eligible = [value for kind, value in attributes if kind == "TRADE_TYPE_ELIGIBILITY"]
    assert len(eligible) == len(TradeType)
    assert ("TEST_INSTRUMENT" in dict(attributes)) is (version == 17)
    # Cash settlement has a word since 17; before, its number says something else.
    payout = {8: None, 16: "VANILLA", 17: "VANILLA_CASH_SETTLEMENT"}[version]
    assert first.get("optPayoutType") == payout
    assert (second["multiLegPriceMethod"], second["securityStrategyType"]) == ("INDIVIDUAL", "COV")
