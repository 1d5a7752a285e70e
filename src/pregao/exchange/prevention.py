"""Cancels by self-trade prevention are published before the trades, though in the engine fills may
have come first (13.1.2). Positions are told as a reader of the messages in their order sees them."""

from dataclasses import replace

from pregao.exchange.market import Market
from pregao.exchange.orders import Order, Place, key_of
from pregao.exchange.transaction import Draft
from pregao.model.events import OrderUpdate
from pregao.model.market import Action


def cancel_resting(draft: Draft, market: Market, order: Order) -> None:
    """Cancel a resting order; its DELETE goes before the trades unless the event told of it already."""
    if _told(draft, order):
        draft.cancel(market, order)
        return
    position = market.book.side(order.side).remove(order)
    order.place = Place.NOWHERE
    draft.prevented.append(
        OrderUpdate(
            order.security_id, Action.DELETE, order.side, order.secondary_id, order.price, order.shown,
            position + _unseen(draft, order), order.inserted_ns, draft.now_ns, None, order.firm,
        )
    )  # fmt: skip
    draft.changed[market] = None
    market.cancelled += order.leaves
    draft.floor.forget(order)
    _move_up(draft, order)


def _told(draft: Draft, order: Order) -> bool:
    return any(
        isinstance(update, OrderUpdate)
        and update.order_id == order.secondary_id
        and update.security_id == order.security_id
        for update in draft.books
    )


def _is_before(update: OrderUpdate, order: Order) -> bool:
    return key_of(update.side, update.price, update.order_id) < order.key


def _unseen(draft: Draft, order: Order) -> int:
    """How many more orders the reader still sees before it: deletes not told yet, less news."""
    difference = 0
    for update in draft.books:
        if not isinstance(update, OrderUpdate) or update.side is not order.side:
            continue
        if update.security_id == order.security_id and _is_before(update, order):
            difference += (update.action is Action.DELETE) - (update.action is Action.NEW)
    return difference


def _move_up(draft: Draft, order: Order) -> None:
    """The reader has lost the order before any of the book updates: those behind it stand one higher."""
    for index, update in enumerate(draft.books):
        if (
            isinstance(update, OrderUpdate)
            and update.side is order.side
            and update.security_id == order.security_id
            and not _is_before(update, order)
        ):
            draft.books[index] = replace(update, position=update.position - 1)
