"""Every kind of update as each version writes it, read back and compared field by field."""

from decimal import Decimal
from typing import Any

import pytest

from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.model import events as e
from pregao.model.errors import EncodeError
from pregao.model.instruments import Leg, Product, SecurityType, Underlying
from pregao.model.market import (
    Action,
    Aggressor,
    DefinitionAction,
    Phase,
    PriceOrigin,
    Session,
    SettlementKind,
    Side,
    TradeCondition,
    TradeSubType,
)
from tests.unit.feeds.binary.publisher.cases import CASES, UNNUMBERED
from tests.unit.feeds.binary.publisher.desk import (
    DATE,
    NOW,
    SCHEMA,
    VERSIONS,
    A,
    holds,
    instrument,
    order,
    sent,
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("update", "name", "expected"), CASES)
def test_an_update_of_an_instrument(version: int, update: Any, name: str, expected: dict[str, Any]) -> None:
    [message] = sent(version, update)
    told = {"securityID": A, "rptSeq": 1, "matchEventIndicator": ["EndOfEvent"]} | expected
    holds(message, name, told)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("update", "name", "expected"), UNNUMBERED)
def test_an_update_without_rpt_seq(version: int, update: Any, name: str, expected: dict[str, Any]) -> None:
    [message] = sent(version, update)
    holds(message, name, expected)
    assert "rptSeq" not in message


@pytest.mark.parametrize("version", VERSIONS)
def test_execution_summary(version: int) -> None:
    summary = e.ExecutionSummary(A, Aggressor.SELL, 205_000, 1800, 1000, 0, NOW - 9, NOW)
    first, _ = sent(version, summary, order())
    expected = {
        "aggressorSide": "SELL",
        "lastPx": Decimal("20.5000"),
        "fillQty": 1800,
        "tradedHiddenQty": 1000,
        "cxlQty": 0,
        "aggressorTime": NOW - 9,
        "rptSeq": 1,
    }
    holds(first, "ExecutionSummary_55", expected)


@pytest.mark.parametrize("version", [16, 17])
def test_from_15_orders_go_by_price(version: int) -> None:
    new, change, delete = sent(
        version,
        order(implied=True),
        order(action=Action.CHANGE, size=5, previous_size=15),
        order(action=Action.DELETE, price=123_000),
    )
    assert new["matchEventIndicator"] == ["Implied"]
    assert (new["mDEntryPrevSize"], change["mDEntryPrevSize"], change["mDUpdateAction"]) == (
        None,
        15,
        "CHANGE",
    )
    assert delete["mDEntryPx"] == Decimal("12.3000")
    assert {message["transactTime"] for message in (new, change, delete)} == {NOW - 3}
    assert not any(
        "mDEntryPositionNo" in message or "mDEntryTimestamp" in message for message in (new, delete)
    )


def test_below_15_orders_go_by_position() -> None:
    new, delete = sent(8, order(implied=True, position=3), order(action=Action.DELETE, position=4))
    assert (new["mDEntryPositionNo"], delete["mDEntryPositionNo"]) == (3, 4)
    assert new["matchEventIndicator"] == []  # the bit meant something else before 10
    assert {message["mDEntryTimestamp"] for message in (new, delete)} == {NOW - 3}
    assert delete.get("mDEntryPx") is None
    assert new.get("transactTime") is None


def test_a_sweep_by_position_is_one_delete_from() -> None:
    deletes = [order(order_id=n, action=Action.DELETE) for n in range(3)]
    trade = e.Trade(A, 1, 1, 1, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW)
    change = order(order_id=3, action=Action.CHANGE)
    _, sweep, _ = sent(8, trade, *deletes, change)
    expected = {"mDUpdateAction": "DELETE_FROM", "mDEntryType": "BID", "mDEntryPositionNo": 3, "rptSeq": 2}
    holds(sweep, "MassDeleteOrders_MBO_52", expected)
    assert len(sent(16, trade, *deletes, change)) == 5
    assert len(sent(8, *deletes)) == 3  # cancelled, not traded
    lower = order(order_id=9, action=Action.DELETE, position=2)
    assert len(sent(8, trade, deletes[0], lower, deletes[1])) == 4


def test_delete_from_needs_positions() -> None:
    sweep = e.SideDeleted(A, Action.DELETE_FROM, Side.BUY, NOW, position=4)
    [message] = sent(8, sweep)
    assert message["mDEntryPositionNo"] == 4
    with pytest.raises(EncodeError, match="positions"):
        sent(16, sweep)


def test_settlement_and_open_interest_came_with_9() -> None:
    settlement = e.SettlementPrice(
        A, 99_000, DATE, NOW, PriceOrigin.DAILY, SettlementKind.FINAL, settlement_date=DATE + 1
    )
    interest = e.OpenInterest(A, 5, DATE, NOW)
    assert sent(8, settlement, interest) == []
    old, newer = sent(16, settlement, interest)
    expected = {
        "mDEntryPx": Decimal("9.9000"),
        "settlPriceType": "FINAL",
        "priceType": "PU",
        "openCloseSettlFlag": "DAILY",
    }
    holds(old, "SettlementPrice_28", expected)
    holds(newer, "OpenInterest_29", {"mDEntrySize": 5, "rptSeq": 2})
    assert sent(17, settlement)[0]["settlDate"] == DATE + 1


@pytest.mark.parametrize(
    ("phase", "old", "new"),
    [(Phase.PRE_CLOSE, "FORBIDDEN", "PRE_CLOSE"), (Phase.PRE_OPEN, "RESERVED", "PRE_OPEN")],
)
def test_phases_were_renamed_in_17(phase: Phase, old: str, new: str) -> None:
    update = e.PhaseChanged("01", "BVMF", Session.REGULAR, phase, None, DATE, NOW)
    assert sent(16, update)[0]["tradingSessionSubID"] == old
    assert sent(17, update)[0]["tradingSessionSubID"] == new


def test_a_sub_type_that_a_version_does_not_know_is_null() -> None:
    sweep = e.Trade(A, 1, 1, 1, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW, TradeSubType.SWEEP)
    assert sent(8, sweep)[0]["trdSubType"] is None
    assert sent(16, sweep)[0]["trdSubType"] == "SWEEP_TRADE"


@pytest.mark.parametrize("version", VERSIONS)
def test_definition(version: int) -> None:
    spread = instrument(
        A,
        symbol="DI1F27N27",
        security_type=SecurityType.MLEG,
        product=Product.MULTILEG,
        sub_type=90,
        tick=50,
        strike=0,
        is_put=True,
        is_american=False,
        maturity=(2027, 1),
        maturity_date=DATE + 60,
        implied=True,
        user_defined=True,
        is_test=True,
        description="Descrição",
        isin="BRAAAAACNOR0",
        is_odd_lot=True,
        legs=(Leg(1, "DI1F27", Side.SELL), Leg(2, "DI1N27", Side.BUY, 2)),
        underlyings=(Underlying(3, "DI"),),
    )
    [message] = sent(version, e.Definition(spread, DefinitionAction.MODIFY))
    expected = {
        "securityID": A,
        "symbol": "DI1F27N27",
        "securityUpdateAction": "MODIFY",
        "securitySubType": 90,
        "totNoRelatedSym": 1,
        "lastFragment": "TRUE_VALUE",
        "minPriceIncrement": Decimal("0.00500000"),
        "tickSizeDenominator": 3,
        "strikePrice": Decimal("0.0000"),
        "putOrCall": "PUT",
        "exerciseStyle": "EUROPEAN",
        "multiLegModel": "USER_DEFINED",
        "maturityDate": DATE + 60,
        "lotType": "ODD_LOT",
        "securityDesc": "Descrição",
    }
    holds(message, "SecurityDefinition_12", expected)
    assert message["maturityMonthYear"] == {"year": 2027, "month": 1, "day": None, "week": None}
    assert [leg["legRatioQty"] for leg in message["noLegs"]] == [Decimal("-1.0000000"), Decimal("2.0000000")]
    assert [leg["legSide"] for leg in message["noLegs"]] == ["SELL", "BUY"]
    assert message["noUnderlyings"] == [{"underlyingSecurityID": 3, "underlyingSymbol": "DI"}]
    attributes = [one["instrAttribType"] for one in message["noInstrAttribs"]]
    assert ("TEST_INSTRUMENT" in attributes) == (version == 17)
    assert message["impliedMarketIndicator"] == ("IMPLIED" if version >= 10 else None)


@pytest.mark.parametrize("version", sorted(SCHEMA.known_versions))
def test_every_published_version_can_be_written(version: int) -> None:
    for update, *_ in [*CASES, *UNNUMBERED]:
        if version == 7 and isinstance(update, e.PriceBand):
            continue  # the reference price had four places
        assert len(sent(version, update)) == 1


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(EncodeError, match=r"Order_MBO_50.mDEntryPx"):
        sent(16, order(price=1 << 63))
    with pytest.raises(EncodeError, match=r"Order_MBO_50.mDEntrySize"):
        MessageWriter(SCHEMA, 16).encode(order(size=1 << 63))


def test_an_index_value_is_not_sent() -> None:
    assert sent(16, e.IndexValue(A, 1, NOW, 1)) == []
    *_, last = sent(16, order(), e.IndexValue(A, 1, NOW, 1))
    assert last["matchEventIndicator"] == ["EndOfEvent"]
