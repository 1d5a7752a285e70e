"""What market operations do: enter, bust and amend trades, delete a side, move an instrument. None of
it has an ExecutionSummary (13.1), and the state of the instrument does not bind them."""

from collections.abc import Iterator
from dataclasses import replace

from pregao.exchange.checks import check_price, check_quantity
from pregao.exchange.commands import (
    AmendTrade,
    BustTrade,
    CancelSide,
    ManualTrade,
    MoveInstrument,
    Rejection,
    RejectReason,
    TradeOnBehalf,
)
from pregao.exchange.conditions import ON_BEHALF, OUT_OF_SEQUENCE, condition, condition_bits
from pregao.exchange.draft import Draft
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import LAST_SEGMENT, OrderPlace
from pregao.exchange.transaction import Transaction, tell
from pregao.model.events import Definition, Trade, TradeBusted
from pregao.model.market import DefinitionAction


def _find(
    floor: Floor,
    security_id: int,
    quantity: int | None,
    price: int | None,
) -> InstrumentMarket | Rejection:
    market = floor.markets.get(security_id)
    if market is None:
        return Rejection(RejectReason.UNKNOWN_INSTRUMENT)
    reason = None if quantity is None else check_quantity(market.instrument, quantity)
    if reason is None and price is not None:
        reason = check_price(market.instrument, price)
    return market if reason is None else Rejection(reason)


def trade_on_behalf(command: TradeOnBehalf, transaction: Transaction) -> Rejection | None:
    market = _find(transaction.floor, command.security_id, command.quantity, command.price)
    if isinstance(market, Rejection):
        return market
    draft = transaction.draft()
    draft.trade(
        market, command.price, command.quantity, command.buyer, command.seller, bits=ON_BEHALF,
        sub_type=None if command.kind is None else command.kind.value,
    )  # fmt: skip
    transaction.close(draft)
    return None


def manual_trade(command: ManualTrade, transaction: Transaction) -> Rejection | None:
    market = _find(transaction.floor, command.security_id, command.quantity, command.price)
    if isinstance(market, Rejection):
        return market
    draft = transaction.draft()
    draft.trade(
        market, command.price, command.quantity, command.buyer, command.seller,
        bits=OUT_OF_SEQUENCE | ON_BEHALF, transact_ns=command.transact_ns,
    )  # fmt: skip
    transaction.close(draft)
    return None


def _bust(trade: Trade, now_ns: int) -> TradeBusted:
    return TradeBusted(
        trade.security_id, trade.trade_id, trade.price, trade.size, trade.trade_date, trade.session, now_ns,
        trade.implied, trade.forward,
    )  # fmt: skip


def bust_trade(command: BustTrade, transaction: Transaction) -> Rejection | None:
    """The session's statistics are counted again; a bust of an earlier session changes none. The trades that
    it made in the legs of a strategy are busted with it, as one event."""
    market = _find(transaction.floor, command.security_id, None, None)
    if isinstance(market, Rejection):
        return market
    date = market.trade_date if command.trade_date is None else command.trade_date
    trade = market.find_trade(date, command.trade_id)
    if trade is None:
        return Rejection(RejectReason.UNKNOWN_TRADE)
    busted = list(_with_legs(transaction.floor, market, trade))
    for each, its_trade in busted:
        if each.is_settled(its_trade):
            return Rejection(RejectReason.UNKNOWN_TRADE, f"its leg {its_trade.security_id} is settled")
    draft = transaction.draft()
    for each, its_trade in busted:
        _take_back(draft, each, its_trade)
    transaction.close(draft)
    return None


def _with_legs(
    floor: Floor,
    market: InstrumentMarket,
    trade: Trade,
) -> Iterator[tuple[InstrumentMarket, Trade]]:
    """A trade and those that it made, without those that were busted by themselves before."""
    yield market, trade
    for of_leg in market.leg_trades.of(trade):
        its_market = floor.markets.get(of_leg.security_id)
        if its_market is None:
            continue
        found = its_market.find_trade(of_leg.trade_date, of_leg.trade_id)
        if found is not None:
            yield from _with_legs(floor, its_market, found)
        elif its_market.is_settled(of_leg):
            yield its_market, of_leg


def _take_back(draft: Draft, market: InstrumentMarket, trade: Trade) -> None:
    if trade.trade_date == market.trade_date and trade.trade_id in market.statistics.trades:
        market.statistics.uncount_trade(trade.trade_id)
        draft.traded[market] = None
    else:
        market.past_trades.remove(trade)
    market.leg_trades.remove(trade)
    draft.trades.append(_bust(trade, draft.now_ns))


def amend_trade(command: AmendTrade, transaction: Transaction) -> Rejection | None:
    """There is no amendment message: a bust and the trade again under its tradeID, as one event. Only
    the session that goes on counts its statistics again."""
    market = _find(transaction.floor, command.security_id, command.quantity, command.price)
    if isinstance(market, Rejection):
        return market
    counted = market.statistics.trades.get(command.trade_id)
    old = counted or market.past_trades.find(market.trade_date, command.trade_id)
    if old is None:
        return Rejection(RejectReason.UNKNOWN_TRADE)
    new = replace(
        old,
        price=old.price if command.price is None else command.price,
        size=old.size if command.quantity is None else command.quantity,
        buyer=old.buyer if command.buyer is None else command.buyer,
        seller=old.seller if command.seller is None else command.seller,
        transact_ns=command.now_ns if command.transact_ns is None else command.transact_ns,
    )
    if replace(new, transact_ns=old.transact_ns) == old and command.transact_ns is None:
        return Rejection(RejectReason.NOTHING_CHANGED)
    draft = transaction.draft()
    if counted is not None:
        market.statistics.replace_trade(new)
        draft.traded[market] = None
    else:
        # Of an earlier session: not the last price of this one (13.3).
        new = _out_of_sequence(new)
        market.past_trades.replace(new)
    draft.trades += (_bust(old, command.now_ns), new)
    transaction.close(draft)
    return None


def _out_of_sequence(trade: Trade) -> Trade:
    bits = condition_bits(trade.sub_type, OUT_OF_SEQUENCE, opening=False, same_price=False)
    return replace(trade, condition=condition(bits), sub_type=None)


def cancel_side(command: CancelSide, transaction: Transaction) -> Rejection | None:
    market = _find(transaction.floor, command.security_id, None, None)
    if isinstance(market, Rejection):
        return market
    if not market.book.side(command.side).orders:
        return Rejection(RejectReason.UNKNOWN_ORDER, "the side is empty")
    draft = transaction.draft()
    draft.delete_side(market, command.side)
    transaction.close(draft)
    return None


def move_instrument(command: MoveInstrument, transaction: Transaction) -> Rejection | None:
    """GT orders are restated in their order with ids of the new segment; others end (12.1)."""
    floor = transaction.floor
    market = _find(floor, command.security_id, None, None)
    if isinstance(market, Rejection):
        return market
    if not 1 <= command.segment <= LAST_SEGMENT:
        return Rejection(RejectReason.UNKNOWN_SEGMENT, str(command.segment))
    if command.security_id in floor.implying:
        # Implied orders are made inside one matching engine (18).
        return Rejection(RejectReason.NOT_NOW, "implied orders tie it to its segment")
    if market.ids.segment == command.segment:
        return Rejection(RejectReason.NO_CHANGE_OF_SEGMENT)
    draft = transaction.draft()
    standing = [order for order in market.book if order.survives_session]
    for order in list(market.book):
        if order.survives_session:
            draft.remove(market, order)
        else:
            draft.cancel(market, order)
    for order in [o for o in floor.orders.values() if o.security_id == market.security_id]:
        if not order.survives_session and order.place is not OrderPlace.NOWHERE:
            draft.cancel(market, order)
    market.ids = floor.segment(command.segment)
    market.instrument = replace(market.instrument, segment=command.segment)
    for order in standing:
        draft.insert(market, order)
    transaction.close(draft)
    tell(transaction, Definition(market.instrument, DefinitionAction.MODIFY))
    return None
