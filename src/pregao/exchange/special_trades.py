"""Trades that do not come from two orders meeting in the book: crosses, sweeps, blocks, trades at close and
at average, forwards. Which of them have an ExecutionSummary: 13.1."""

from pregao.exchange.checks import check_price, check_quantity
from pregao.exchange.commands import (
    BlockKind,
    BlockTrade,
    CrossOrder,
    ForwardTrade,
    Rejection,
    RejectReason,
    SweepAndCross,
    TaaTrade,
    TacTrade,
)
from pregao.exchange.conditions import CROSSED
from pregao.exchange.draft import Draft, Execution
from pregao.exchange.hooks import STATE_RULES
from pregao.exchange.market import FINE, Agreed, Floor, InstrumentMarket
from pregao.exchange.matching import Matching
from pregao.exchange.orders import EnteredOrder, OrderType, TimeInForce
from pregao.exchange.transaction import Transaction
from pregao.model.instruments import SecurityType
from pregao.model.market import Session, Side, TradeSubType

MOST_AGREED = 100_000  # trades at close and at average of one instrument
_FORWARDS = (SecurityType.FORWARD, SecurityType.DTERM)


def find_market(
    floor: Floor,
    security_id: int,
    quantity: int,
    price: int | None,
) -> InstrumentMarket | Rejection:
    """The instrument of a trade that must be open, with its quantity and price checked: no two parties
    agree on a price past the hard limits (13.11)."""
    market = floor.markets.get(security_id)
    if market is None:
        return Rejection(RejectReason.UNKNOWN_INSTRUMENT)
    if not STATE_RULES[floor.hooks.trading_state(security_id)].match:
        return Rejection(RejectReason.STATE_FORBIDS_TRADE)
    reason = check_quantity(market.instrument, quantity)
    if reason is None and price is not None:
        reason = check_price(market.instrument, price)
    if reason is not None:
        return Rejection(reason)
    limits = floor.hooks.hard_limits(market)
    if price is not None and limits is not None and not limits[0] <= price <= limits[1]:
        return Rejection(
            RejectReason.PRICE_OUTSIDE_HARD_LIMIT, f"{price} is not within {limits[0]} and {limits[1]}"
        )
    return market


def _find_for_order(
    floor: Floor, command: CrossOrder | SweepAndCross, side: Side, firm: int
) -> tuple[InstrumentMarket, EnteredOrder] | Rejection:
    """Crosses and sweeps are orders, so what bands say to orders and to their trades holds (13.11)."""
    market = find_market(floor, command.security_id, command.quantity, command.price)
    if isinstance(market, Rejection):
        return market
    smallest = market.instrument.minimum_cross
    if smallest is not None and command.quantity < smallest:  # minCrossQty
        return Rejection(RejectReason.CROSS_TOO_SMALL, f"{command.quantity} is below {smallest}")
    order = EnteredOrder(
        0, command.security_id, side, OrderType.LIMIT, TimeInForce.IOC, command.quantity, command.price, firm,
        command.now_ns,
    )  # fmt: skip
    for check in floor.hooks.check_order:
        if (rejection := check(market, order, command.now_ns)) is not None:
            return rejection
    for find in floor.hooks.trade_ranges:
        found = find(market)
        if found is not None and not found[0] <= command.price <= found[1]:
            return Rejection(RejectReason.PRICE_OUTSIDE_AUCTION_BAND)
    return market, order


def cross_order(command: CrossOrder, transaction: Transaction) -> Rejection | None:
    """Both sides in one order; resting orders at better prices may not be passed over."""
    found = _find_for_order(transaction.floor, command, Side.BUY, command.buyer)
    if isinstance(found, Rejection):
        return found
    market, _ = found
    bid, offer = market.book.buys.best_price, market.book.sells.best_price
    if (bid is not None and command.price < bid) or (offer is not None and command.price > offer):
        return Rejection(RejectReason.CROSS_OUTSIDE_SPREAD)
    draft = _executed(transaction, market, command.price, command.quantity)
    draft.trade(market, command.price, command.quantity, command.buyer, command.seller, bits=CROSSED)
    transaction.close(draft)
    return None


def _executed(
    transaction: Transaction,
    market: InstrumentMarket,
    price: int,
    size: int,
    *,
    hidden: int = 0,
) -> Draft:
    """A draft whose ExecutionSummary has no aggressor: two sides that agreed."""
    draft = transaction.draft()
    draft.execution = Execution(market.security_id)
    draft.execution.count(price, size, 0, hidden)
    return draft


def sweep_and_cross(command: SweepAndCross, transaction: Transaction) -> Rejection | None:
    """The sweep's trades and the cross of what is left are one event under one summary (13.3.3)."""
    found = _find_for_order(transaction.floor, command, command.side, command.firm)
    if isinstance(found, Rejection):
        return found
    market, order = found
    order.investor_id = command.investor_id
    market.entered += command.quantity
    draft = transaction.draft()
    matching = Matching(draft, market)
    goes_on = matching.run(order, command.price, TradeSubType.SWEEP)
    if goes_on and order.leaves and not _is_passed(market, command.side, command.price):
        left = order.leaves
        draft.trade(
            market, command.price, left, command.firm, command.firm, sub_type=TradeSubType.SWEEP, bits=CROSSED
        )
        matching.execution.count(command.price, left, command.side)
        market.executed += left
    else:
        market.cancelled += order.leaves
    transaction.close(draft)
    return None


def _is_passed(market: InstrumentMarket, side: Side, price: int) -> bool:
    """Whether someone on the sweeper's own side, or beyond a gate, has a better price than the cross."""
    own, other = market.book.side(side).best_price, market.book.opposite(side).best_price
    if side is Side.BUY:
        return (own is not None and own > price) or (other is not None and other <= price)
    return (own is not None and own < price) or (other is not None and other >= price)


def block_trade(command: BlockTrade, transaction: Transaction) -> Rejection | None:
    """All of a block counts as hidden (13.1)."""
    floor = transaction.floor
    market = find_market(floor, command.security_id, command.quantity, command.price)
    if isinstance(market, Rejection):
        return market
    price = _price_of_block(market, command)
    if isinstance(price, Rejection):
        return price
    draft = _executed(transaction, market, price, command.quantity, hidden=command.quantity)
    draft.trade(market, price, command.quantity, command.buyer, command.seller, sub_type=command.kind.value)
    transaction.close(draft)
    return None


def _price_of_block(market: InstrumentMarket, command: BlockTrade) -> int | Rejection:
    """A midpoint is the middle of the book, half a tick where that is between two."""
    if command.kind is not BlockKind.MIDPOINT:
        return Rejection(RejectReason.PRICE_MISSING) if command.price is None else command.price
    if command.price is not None:
        return Rejection(RejectReason.PRICE_NOT_ALLOWED)
    bid, offer = market.book.buys.best_price, market.book.sells.best_price
    if bid is None or offer is None:
        return Rejection(RejectReason.NO_REFERENCE_PRICE)
    return (bid + offer) // 2


def _agree(
    command: TacTrade | TaaTrade, transaction: Transaction, sub_type: TradeSubType
) -> Rejection | None:
    """Nothing is published before its price is known."""
    market = find_market(transaction.floor, command.security_id, command.quantity, None)
    if isinstance(market, Rejection):
        return market
    if market.session is not Session.REGULAR:
        return Rejection(RejectReason.NOT_NOW, "only the regular session has a closing price")
    if len(market.agreed) >= MOST_AGREED:
        return Rejection(RejectReason.NOT_NOW, f"there are {MOST_AGREED} such trades already")
    market.agreed.append(Agreed(sub_type, command.quantity, command.buyer, command.seller))
    return None


def tac_trade(command: TacTrade, transaction: Transaction) -> Rejection | None:
    return _agree(command, transaction, TradeSubType.TAC)


def taa_trade(command: TaaTrade, transaction: Transaction) -> Rejection | None:
    return _agree(command, transaction, TradeSubType.TAA)


def trade_agreed(transaction: Transaction, market: InstrumentMarket, closing_fine: int) -> None:
    """The session is over and its closing price known: what was agreed at it, or at the average of all
    trades before, trades now. Not among the four scenarios of 13.1: no summary. Each is an event."""
    closing, average = (closing_fine + FINE // 2) // FINE, market.statistics.vwap
    agreed = tuple(market.agreed)
    market.agreed.clear()
    for each in agreed:
        price = closing if each.sub_type is TradeSubType.TAC else average
        if price is None:  # nothing traded: there is no average
            continue
        draft = transaction.draft()
        draft.trade(market, price, each.quantity, each.buyer, each.seller, sub_type=each.sub_type)
        transaction.close(draft)


def _find_cash(
    floor: Floor,
    forward: InstrumentMarket,
    command: ForwardTrade,
) -> InstrumentMarket | Rejection | None:
    if command.cash_security_id is None:
        return None
    if command.cash_price is None:
        return Rejection(RejectReason.PRICE_MISSING)
    underlyings = {underlying.security_id for underlying in forward.instrument.underlyings}
    if underlyings and command.cash_security_id not in underlyings:
        return Rejection(RejectReason.NOT_A_FORWARD)
    return find_market(floor, command.cash_security_id, command.quantity, command.cash_price)


def forward_trade(command: ForwardTrade, transaction: Transaction) -> Rejection | None:
    """A termo; a termo vista also trades the cash instrument, in that instrument's own event."""
    floor, size = transaction.floor, command.quantity
    market = find_market(floor, command.security_id, size, command.price)
    if isinstance(market, Rejection):
        return market
    if market.instrument.security_type not in _FORWARDS:
        return Rejection(RejectReason.NOT_A_FORWARD)
    cash = _find_cash(floor, market, command)
    if isinstance(cash, Rejection):
        return cash
    draft = transaction.draft()
    draft.trade(
        market, command.price, size, command.buyer, command.seller, forward=True,
        seller_days=command.seller_days, interest_rate=command.interest_rate,
    )  # fmt: skip
    transaction.close(draft)
    if cash is not None and command.cash_price is not None:
        draft = transaction.draft()
        draft.trade(
            cash, command.cash_price, size, command.buyer, command.seller, sub_type=TradeSubType.MULTI_ASSET
        )
        transaction.close(draft)
    return None
