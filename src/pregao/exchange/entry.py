"""Orders in, changed and out: new, change, cancel, mass cancel (12.2, 4.2.1)."""

from pregao.exchange.checks import check_order
from pregao.exchange.commands import (
    CancelOrder,
    ChangeOrder,
    MassCancel,
    NewOrder,
    Rejection,
    RejectReason,
    RlpOrder,
)
from pregao.exchange.draft import Draft
from pregao.exchange.hooks import STATE_RULES, StateRules
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.matching import enter_orders, is_passive
from pregao.exchange.orders import EnteredOrder, OrderPlace, OrderType, TimeInForce
from pregao.exchange.transaction import Transaction
from pregao.model.market import State

_LIMIT, _BOOK, _STOP = OrderType.LIMIT, OrderPlace.BOOK, OrderPlace.STOP
_STOPS = (OrderType.STOP, OrderType.STOP_LIMIT)


def new_order(command: NewOrder, transaction: Transaction) -> Rejection | None:
    floor = transaction.floor
    market = floor.markets.get(command.security_id)
    if market is None:
        return Rejection(RejectReason.UNKNOWN_INSTRUMENT)
    order = EnteredOrder(
        0, command.security_id, command.side, command.type, command.tif, command.quantity, command.price,
        command.firm, command.now_ns, command.stop_price, command.max_floor, command.min_quantity,
        command.investor_id, command.stp, command.expire_date, command.client_order_id,
    )  # fmt: skip
    order.retail = command.retail
    state = floor.hooks.trading_state(command.security_id)
    rules = STATE_RULES[state]
    rejection = check_order(floor, market, order, rules, command.now_ns)
    if rejection is not None:
        return rejection
    accept(transaction, market, order)
    if order.type is not _LIMIT and _waits(market, order, state):
        return None
    if rules.match and not is_passive(market, order):
        draft = transaction.draft()
        enter_orders(draft, market, (order,))
        transaction.close(draft)
    else:
        transaction.rest(market, order)
    return None


def _waits(market: InstrumentMarket, order: EnteredOrder, state: State) -> bool:
    """Stops until their election, market-on-close orders until the final closing call (14.2)."""
    if order.type in _STOPS:
        market.stops.add(order)
        return True
    if order.type is OrderType.MARKET_ON_CLOSE and state is not State.FINAL_CLOSING_CALL:
        order.place = OrderPlace.ON_CLOSE
        market.on_close[order.order_id] = order
        return True
    return False


def rlp_order(command: RlpOrder, transaction: Transaction) -> Rejection | None:
    """A hidden order: nothing is published of it."""
    floor = transaction.floor
    market = floor.markets.get(command.security_id)
    if market is None:
        return Rejection(RejectReason.UNKNOWN_INSTRUMENT)
    order = EnteredOrder(
        0, command.security_id, command.side, OrderType.RLP, TimeInForce.DAY, command.quantity, command.price,
        command.firm, command.now_ns,
    )  # fmt: skip
    rules = STATE_RULES[floor.hooks.trading_state(command.security_id)]
    rejection = check_order(floor, market, order, rules, command.now_ns)
    if rejection is None:
        accept(transaction, market, order)
        order.place = OrderPlace.HIDDEN
        market.hidden[order.order_id] = order
    return rejection


def accept(transaction: Transaction, market: InstrumentMarket, order: EnteredOrder) -> None:
    order.order_id = transaction.floor.next_order_id()
    transaction.floor.keep(order)
    transaction.order_ids.append(order.order_id)
    market.entered += order.quantity


def place(draft: Draft, market: InstrumentMarket, order: EnteredOrder, rules: StateRules) -> None:
    """Into the book: against it while open, beside it during an auction (crossed books are allowed)."""
    if rules.match and not is_passive(market, order):
        enter_orders(draft, market, (order,))
    else:
        draft.insert(market, order)


def change_order(command: ChangeOrder, transaction: Transaction) -> Rejection | None:
    floor = transaction.floor
    order = _owned(floor, command.order_id, command.firm)
    if isinstance(order, Rejection):
        return order
    market = floor.markets[order.security_id]
    rules = STATE_RULES[floor.hooks.trading_state(order.security_id)]
    after = _as_changed(order, command)
    if isinstance(after, Rejection):
        return after
    rejection = check_order(floor, market, after, rules, command.now_ns)
    if rejection is not None:
        return rejection
    keeps = order.place is not _BOOK or (
        after.price == order.price
        and after.quantity <= order.quantity
        and (after.max_floor or 0) <= (order.max_floor or 0)
    )
    draft = transaction.draft()
    if not keeps:
        draft.remove(market, order)  # as it stood; NEW or trades follow in the same event (12.2.2.2)
    market.entered += after.quantity - order.quantity
    order.quantity, order.leaves, order.price = after.quantity, after.leaves, after.price
    order.stop_price, order.max_floor = after.stop_price, after.max_floor
    if not keeps:
        place(draft, market, order, rules)
    elif order.place is _BOOK:
        shown = min(order.shown, order.leaves, order.max_floor or order.leaves)
        if shown != order.shown:
            draft.resize(market, order, shown)
        else:  # less of what an iceberg hides
            market.book.side(order.side).recount(order)
    elif order.place is _STOP:
        market.stops.remove(order)
        market.stops.add(order)
    transaction.order_ids.append(order.order_id)
    transaction.close(draft)
    return None


def _as_changed(order: EnteredOrder, command: ChangeOrder) -> EnteredOrder | Rejection:
    quantity = order.quantity if command.quantity is None else command.quantity
    if quantity <= order.executed:
        return Rejection(RejectReason.QUANTITY_BELOW_EXECUTED)
    if (command.max_floor is not None and order.max_floor is None) or order.place is OrderPlace.HIDDEN:
        return Rejection(RejectReason.CHANGE_NOT_ALLOWED)
    after = EnteredOrder(
        order.order_id, order.security_id, order.side, order.type, order.tif, quantity,
        order.price if command.price is None else command.price, order.firm, command.now_ns,
    )  # fmt: skip
    after.executed, after.leaves = order.executed, quantity - order.executed
    after.stop_price = order.stop_price if command.stop_price is None else command.stop_price
    after.max_floor = order.max_floor if command.max_floor is None else command.max_floor
    after.expire_date, after.investor_id = order.expire_date, order.investor_id
    if (after.quantity, after.price, after.stop_price, after.max_floor) == (
        order.quantity, order.price, order.stop_price, order.max_floor,
    ):  # fmt: skip
        return Rejection(RejectReason.NOTHING_CHANGED)
    return after


def cancel_order(command: CancelOrder, transaction: Transaction) -> Rejection | None:
    floor = transaction.floor
    order = _owned(floor, command.order_id, command.firm)
    if isinstance(order, Rejection):
        return order
    market = floor.markets[order.security_id]
    rejection = may_cancel(floor, market, order, command.now_ns)
    if rejection is None:
        transaction.order_ids.append(order.order_id)
        if order.place is _BOOK:
            transaction.leave(market, order)
        else:
            draft = transaction.draft()
            draft.cancel(market, order)
            transaction.close(draft)
    return rejection


def mass_cancel(command: MassCancel, transaction: Transaction) -> Rejection | None:
    """One event over all instruments (4.2.1). Orders that may not be cancelled now stay."""
    floor = transaction.floor
    draft = transaction.draft()
    for order in list(floor.orders_of(command.firm)):
        if command.side is not None and order.side is not command.side:
            continue
        if command.security_ids is not None and order.security_id not in command.security_ids:
            continue
        market = floor.markets[order.security_id]
        if may_cancel(floor, market, order, command.now_ns) is None:
            draft.cancel(market, order)
            transaction.order_ids.append(order.order_id)
    transaction.close(draft)
    return None


def may_cancel(floor: Floor, market: InstrumentMarket, order: EnteredOrder, now_ns: int) -> Rejection | None:
    hooks = floor.hooks
    if not STATE_RULES[hooks.trading_state(market.security_id)].cancel:
        return Rejection(RejectReason.STATE_FORBIDS_CANCEL)
    for hook in hooks.check_cancel:
        rejection = hook(market, order, now_ns)
        if rejection is not None:
            return rejection
    return None


def _owned(floor: Floor, order_id: int, firm: int | None) -> EnteredOrder | Rejection:
    order = floor.orders.get(order_id)
    if order is None:
        return Rejection(RejectReason.UNKNOWN_ORDER)
    if firm is not None and order.firm != firm:
        return Rejection(RejectReason.NOT_THE_OWNER)
    return order
