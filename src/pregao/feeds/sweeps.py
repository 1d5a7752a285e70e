"""Updates of books as publishers of several systems say them otherwise than the engine: several deletions as
one sweep, and a whole book again.

An aggressor that trades through several orders deletes them one by one from position 1. By position that is
one deletion from the last position on: everything up to position 1 goes (UMDF FIX/FAST 9.4, from where Binary
UMDF below wire version 15 took it). Only executions are said so.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pregao.feeds.publishing import InstrumentBook
from pregao.model.events import ExecutionSummary, OrderUpdate, SideDeleted, Trade, Update
from pregao.model.market import Action, Side

_EXECUTIONS: Final = (Trade, ExecutionSummary)


def swept(updates: Sequence[Update]) -> Sequence[Update]:
    """The same event with its sweeps said at once."""
    return joined_sweeps(updates) if any(isinstance(update, _EXECUTIONS) for update in updates) else updates


def joined_sweeps(updates: Sequence[Update]) -> Sequence[Update]:
    """The same without asking what made them."""
    return [said for run in _runs(updates) for said in (run if len(run) == 1 else [_sweep(run)])]


def _runs(updates: Iterable[Update]) -> list[list[Update]]:
    """Updates one by one, except deletions at the top of one side that follow each other."""
    runs: list[list[Update]] = []
    for update in updates:
        if runs and _follows(runs[-1][-1], update):
            runs[-1].append(update)
        else:
            runs.append([update])
    return runs


def _follows(before: Update, update: Update) -> bool:
    return (
        isinstance(before, OrderUpdate)
        and isinstance(update, OrderUpdate)
        and _at_top(before)
        and _at_top(update)
        and (before.security_id, before.side) == (update.security_id, update.side)
    )


def _at_top(update: OrderUpdate) -> bool:
    return update.action is Action.DELETE and update.position == 1


def _sweep(run: Sequence[Update]) -> SideDeleted:
    last = run[-1]
    assert isinstance(last, OrderUpdate)
    return SideDeleted(last.security_id, Action.DELETE_FROM, last.side, last.transact_ns, position=len(run))


def orders_again(security_id: int, book: InstrumentBook) -> Iterator[OrderUpdate]:
    """All orders of a book as new ones, after it was emptied."""
    for side, orders in ((Side.BUY, book.bids), (Side.SELL, book.offers)):
        for position, order in enumerate(orders, 1):
            yield OrderUpdate(
                security_id, Action.NEW, side, order.order_id, order.price, order.size, position,
                order.inserted_ns, order.transact_ns, firm=order.firm, implied=order.implied, recovery=True,
            )  # fmt: skip
