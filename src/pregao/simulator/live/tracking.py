"""What has changed of that which outlives a restart, found without looking at every order.

An order changes in a command of its own, or in an event of its instrument. So after commands about orders
only those named in the answer, and those of instruments named in its events, are looked at; after any other
command all that are kept.

What two firms agreed at the close or at the average changes in no command about orders.

Numbers are written ahead: what is kept is a number that has not been given yet, so that most orders and
trades need not be kept at all. After a kill the numbers in between are left out; none is given twice.
"""

from collections.abc import Iterator
from typing import Any, Final

from pregao.exchange.carried import (
    CarriedAgreement,
    LastIds,
    LastTradeId,
    carried_agreements,
    carried_order,
    last_ids,
    last_trade,
)
from pregao.exchange.commands import CancelOrder, CancelSide, ChangeOrder, MassCancel, NewOrder
from pregao.exchange.engine import Outcome
from pregao.exchange.orders import TimeInForce
from pregao.recovery.policy import Policy
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.state import KeptState, SentVersions, StateChange

ORDER_IDS_AHEAD: Final = 10_000
SECONDARY_IDS_AHEAD: Final = 100_000
TRADE_IDS_AHEAD: Final = 10_000
LOOPS_AHEAD: Final = 64  # a minute of them, and more

_ABOUT_ORDERS: Final = (NewOrder, ChangeOrder, CancelOrder)
_OF_OTHERS: Final = (ChangeOrder, CancelOrder, MassCancel, CancelSide)  # enter no order themselves


class StateTracker:
    """`state` is what is on the disk; it is changed by whoever wrote a change there."""

    def __init__(self, market: LiveMarket, state: KeptState) -> None:
        self._market, self.state = market, state
        self._day_orders = {each.order_id for each in state.orders.values() if each.tif is TimeInForce.DAY}
        self._by_security: dict[int, set[int]] = {}
        for order in state.orders.values():
            self._by_security.setdefault(order.security_id, set()).add(order.order_id)
        self._suspects: set[int] = set()  # private ids of orders to look at
        self._touched: set[int] = set()  # instruments
        self._everything = True

    def note(self, command: Any, outcome: Outcome, *, by_operator: bool) -> None:
        """A command was carried out."""
        if not isinstance(command, _ABOUT_ORDERS):
            self._everything = True
        self._suspects.update(outcome.order_ids)
        if by_operator and not isinstance(command, _OF_OTHERS):
            self._day_orders.update(outcome.order_ids)
        for event in outcome.events:
            self._touched.update(getattr(update, "security_id", None) or 0 for update in event.updates)

    def note_failure(self) -> None:
        """A command ended in the middle: nobody knows what it has changed."""
        self._everything = True

    def take(self, *, exact: bool = False) -> StateChange:
        """What has changed since the last call; with the numbers as they are, if so told."""
        if self._everything or exact:
            self._touched.update(self._by_security, self._market.engine.floor.markets)
            self._suspects.update(self._market.engine.floor.orders)
        orders, gone = [], []
        for order_id, now in self._looked_at():
            before = self.state.orders.get(order_id)
            if now is not None and now != before:
                self._by_security.setdefault(now.security_id, set()).add(order_id)
                orders.append(now)
            elif now is None:
                self._day_orders.discard(order_id)
                if before is not None:
                    self._by_security[before.security_id].discard(order_id)
                    gone.append(order_id)
        trades = tuple(self._trades(0 if exact else TRADE_IDS_AHEAD))
        agreements, settled = self._agreements() if self._everything or exact else ((), ())
        self._suspects.clear()
        self._touched.clear()
        self._everything = False
        return StateChange(
            tuple(orders), tuple(gone), last_trades=trades, agreements=agreements, settled=settled,
            **self._numbers(exact=exact),
        )  # fmt: skip

    def _looked_at(self) -> Iterator[tuple[int, Any]]:
        floor = self._market.engine.floor
        suspects = self._suspects.union(*(self._by_security.get(each, ()) for each in self._touched))
        for order_id in sorted(suspects):
            yield order_id, carried_order(floor, order_id, self._day_orders)

    def _agreements(self) -> tuple[tuple[CarriedAgreement, ...], tuple[int, ...]]:
        """The new ones, and the instruments whose earlier ones are over: all go at once, at the close."""
        floor, new, settled = self._market.engine.floor, list[CarriedAgreement](), list[int]()
        for security_id in sorted(floor.markets.keys() | self.state.agreements.keys()):
            now, before = carried_agreements(floor, security_id), self.state.agreements.get(security_id, ())
            if now[: len(before)] == before:
                new += now[len(before) :]
            else:
                settled.append(security_id)
                new += now
        return tuple(new), tuple(settled)

    def _trades(self, ahead: int) -> Iterator[LastTradeId]:
        for security_id in self._touched:
            last = last_trade(self._market.engine.floor, security_id)
            kept = self.state.last_trades.get(security_id)
            if last is None or (ahead and kept is not None and _is_covered(last, kept)) or last == kept:
                continue
            yield LastTradeId(security_id, last.trade_date, last.trade_id + ahead)

    def _numbers(self, *, exact: bool) -> dict[str, Any]:
        """What there is to say of everything but orders and trades."""
        state, market = self.state, self._market
        said: dict[str, Any] = {"last_ids": tuple(self._last_ids(0 if exact else SECONDARY_IDS_AHEAD))}
        last, news = market.engine.floor.last_order_id, market.desk.last_news_id
        if (exact and last != state.last_order_id) or last > state.last_order_id:
            said["last_order_id"] = last if exact else last + ORDER_IDS_AHEAD
        if news != state.last_news_id:
            said["last_news_id"] = news
        forbidden = tuple(sorted(market.desk.surveillance.phases.forbidden))
        if forbidden != state.forbidden:
            said["forbidden"] = forbidden
        said["versions"] = tuple(self._versions(0 if exact else LOOPS_AHEAD))
        return said

    def _last_ids(self, ahead: int) -> Iterator[LastIds]:
        for ids in last_ids(self._market.engine.floor):
            kept = self.state.last_ids.get(ids.segment)
            if kept is not None and ahead and ids.ordinary <= kept.ordinary and ids.implied <= kept.implied:
                continue
            if ids != kept:
                yield LastIds(ids.segment, ids.ordinary + ahead, ids.implied + ahead)

    def _versions(self, ahead: int) -> Iterator[SentVersions]:
        policy = self._market.policy
        for sent in self._market.sent_versions():
            kept = self.state.versions.get((sent.channel, sent.site))
            if (
                kept is None
                or kept.incremental != sent.incremental
                or not _covers(policy, kept, sent, ahead)
            ):
                yield SentVersions(
                    sent.channel, sent.site, sent.incremental, policy.later(sent.definitions, ahead),
                    policy.later(sent.snapshots, ahead),
                )  # fmt: skip


def _is_covered(last: LastTradeId, kept: LastTradeId) -> bool:
    return kept.trade_date == last.trade_date and last.trade_id <= kept.trade_id


def _covers(policy: Policy, kept: SentVersions, sent: SentVersions, ahead: int) -> bool:
    """Whether the versions kept of the loops are those sent, or at most so many later."""
    pairs = ((kept.definitions, sent.definitions), (kept.snapshots, sent.snapshots))
    return all(0 <= policy.distance(one, other) <= ahead for one, other in pairs)
