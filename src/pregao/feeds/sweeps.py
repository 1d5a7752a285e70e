"""Several deletions from the top of a book as one (wire versions below 15).

An aggressor that trades through several orders deletes them one by one from position 1. By
position that is one MassDeleteOrders with DELETE_FROM: everything from the position told up to
position 1 goes (UMDF FIX/FAST 9.4, from where Binary UMDF took it). Only executions are told so.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pregao.model.events import ExecutionSummary, OrderUpdate, SideDeleted, Trade, Update
from pregao.model.market import Action

_EXECUTIONS: Final = (Trade, ExecutionSummary)


def swept(updates: Sequence[Update]) -> Sequence[Update]:
    """The same event with its sweeps said at once."""
    if not any(isinstance(update, _EXECUTIONS) for update in updates):
        return updates
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
