"""What market operations do: enter, bust and amend trades, delete a side, move an instrument. None of
it has an ExecutionSummary (13.1), and the state of the instrument does not bind them."""

from dataclasses import replace

from pregao.exchange.checks import check_price, check_quantity
from pregao.exchange.commands import (
    AmendTrade,
    BustTrade,
    CancelSide,
    ManualTrade,
    MoveInstrument,
    TradeOnBehalf,
)
from pregao.exchange.conditions import ON_BEHALF, OUT_OF_SEQUENCE, condition, condition_bits
from pregao.exchange.identifiers import LAST_SEGMENT
from pregao.exchange.market import Floor, Market
from pregao.exchange.orders import Place
from pregao.exchange.rejections import Reason, Rejection
from pregao.exchange.transaction import Transaction, tell
from pregao.model.events import Definition, Trade, TradeBusted
from pregao.model.market import DefinitionAction


def _find(floor: Floor, security_id: int, quantity: int | None, price: int | None) -> Market | Rejection:
    market = floor.markets.get(security_id)
    if market is None:
        return Rejection(Reason.UNKNOWN_INSTRUMENT)
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
        trade.implied,
    )  # fmt: skip


def bust_trade(command: BustTrade, transaction: Transaction) -> Rejection | None:
    """The session's statistics are counted again; a bust of an earlier session changes none."""
    market = _find(transaction.floor, command.security_id, None, None)
    if isinstance(market, Rejection):
        return market
    date = market.trade_date if command.trade_date is None else command.trade_date
    draft = transaction.draft()
    if date == market.trade_date and command.trade_id in market.statistics.trades:
        draft.trades.append(_bust(market.statistics.uncount_trade(command.trade_id), command.now_ns))
        draft.traded[market] = None
    else:
        trade = market.past_trades.find(date, command.trade_id)
        if trade is None:
            return Rejection(Reason.UNKNOWN_TRADE)
        market.past_trades.remove(trade)
        draft.trades.append(_bust(trade, command.now_ns))
    transaction.close(draft)
    return None


def amend_trade(command: AmendTrade, transaction: Transaction) -> Rejection | None:
    """There is no amendment message: a bust and the trade again under its tradeID, as one event. Only
    the session that goes on counts its statistics again."""
    market = _find(transaction.floor, command.security_id, command.quantity, command.price)
    if isinstance(market, Rejection):
        return market
    counted = market.statistics.trades.get(command.trade_id)
    old = counted or market.past_trades.find(market.trade_date, command.trade_id)
    if old is None:
        return Rejection(Reason.UNKNOWN_TRADE)
    new = replace(
        old,
        price=old.price if command.price is None else command.price,
        size=old.size if command.quantity is None else command.quantity,
        buyer=old.buyer if command.buyer is None else command.buyer,
        seller=old.seller if command.seller is None else command.seller,
        transact_ns=command.now_ns if command.transact_ns is None else command.transact_ns,
    )
    if replace(new, transact_ns=old.transact_ns) == old and command.transact_ns is None:
        return Rejection(Reason.NOTHING_CHANGED)
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
        return Rejection(Reason.UNKNOWN_ORDER, "the side is empty")
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
        return Rejection(Reason.UNKNOWN_SEGMENT, str(command.segment))
    if command.security_id in floor.implying:
        # Implied orders are made inside one matching engine (18).
        return Rejection(Reason.NOT_NOW, "implied orders tie it to its segment")
    if market.ids.segment == command.segment:
        return Rejection(Reason.NO_CHANGE_OF_SEGMENT)
    draft = transaction.draft()
    standing = [order for order in market.book if order.survives_session]
    for order in list(market.book):
        if order.survives_session:
            draft.remove(market, order)
        else:
            draft.cancel(market, order)
    for order in [o for o in floor.orders.values() if o.security_id == market.security_id]:
        if not order.survives_session and order.place is not Place.NOWHERE:
            draft.cancel(market, order)
    market.ids = floor.segment(command.segment)
    market.instrument = replace(market.instrument, segment=command.segment)
    for order in standing:
        draft.insert(market, order)
    transaction.close(draft)
    tell(transaction, Definition(market.instrument, DefinitionAction.MODIFY))
    return None
