"""What has changed of that which outlives a restart, found without looking at every order.

An order changes in a command of its own, or in an event of its instrument. So after commands about orders
only those named in the answer, and those of instruments named in its events, are looked at; after any other
command all that are kept.

What two firms agreed at the close or at the average changes in no command about orders.

Numbers are written ahead: what is kept is a number that has not been given yet, so that most orders and
trades need not be kept at all. After a kill the numbers in between are left out; none is given twice.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
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
from pregao.exchange.engine import CommandOutcome
from pregao.exchange.orders import TimeInForce
from pregao.io.journal import FileJournal, JournalError
from pregao.model.errors import ConfigurationError
from pregao.recovery.policy import RecoveryPolicy
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.state import (
    NO_CHANGE,
    KeptState,
    SentVersions,
    StateChange,
    encode_change,
    state_of,
)

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

    def note(self, command: Any, outcome: CommandOutcome, *, by_operator: bool) -> None:
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
            if kept is None or kept.incremental != sent.incremental or not _covers(policy, kept, sent, ahead):
                yield SentVersions(
                    sent.channel, sent.site, sent.incremental, policy.later(sent.definitions, ahead),
                    policy.later(sent.snapshots, ahead),
                )  # fmt: skip


def _is_covered(last: LastTradeId, kept: LastTradeId) -> bool:
    return kept.trade_date == last.trade_date and last.trade_id <= kept.trade_id


def _covers(policy: RecoveryPolicy, kept: SentVersions, sent: SentVersions, ahead: int) -> bool:
    """Whether the versions kept of the loops are those sent, or at most so many later."""
    pairs = ((kept.definitions, sent.definitions), (kept.snapshots, sent.snapshots))
    return all(0 <= policy.distance(one, other) <= ahead for one, other in pairs)


# The state of a live exchange on the disk: a journal of changes (`pregao.io.journal`), written before anyone
# hears of them.
#
# When it has grown long it starts over with the whole state; if that fails it is said, and the journal goes
# on as it is. If a change cannot be written the exchange stops: what it could not keep was neither answered
# nor sent.


LOG = logging.getLogger("pregao.exchange")
SHORTEST: Final = 1 << 20  # bytes of a journal that is not started over yet


class StateLostError(ConfigurationError):
    """A change could not be kept."""


class StateFile:
    """The file of a run before, and of this one. Belongs to this process until it is closed."""

    def __init__(self, path: Path) -> None:
        self.journal = FileJournal(path)
        self.state = KeptState()
        found = self.journal.recovered
        if found is None:
            return
        try:
            self.state = state_of(found.records)
        except ValueError as error:
            self.journal.close()
            raise ConfigurationError(f"is not the state of an exchange: {error}", file=str(path)) from error
        if found.dropped:
            LOG.warning("%s: %d bytes of an unfinished record passed over", path, found.dropped)


class StateKeeper:
    """Keeps the file up to date; `commit` is called before anything that happened is told."""

    def __init__(self, file: StateFile, tracker: StateTracker) -> None:
        self._journal, self._tracker = file.journal, tracker
        self._start_over_at = SHORTEST
        self._started = False

    def commit(self) -> None:
        """StateLostError when what has changed is not on the disk."""
        change = self._tracker.take()
        try:
            if not self._started:
                self._tracker.state.apply(change)
                self._write_whole()
                self._started = True
            elif change != NO_CHANGE:
                self._journal.append(encode_change(change))
                self._tracker.state.apply(change)
        except JournalError as error:
            reason = f"{error.reason}: the exchange stops; what was not kept was neither answered nor sent"
            raise StateLostError(reason, file=error.file) from error
        if self._journal.length > self._start_over_at:
            self._shorten()

    def note_failure(self) -> None:
        """A command ended in the middle."""
        self._tracker.note_failure()

    def close(self) -> None:
        """With the numbers as they are, and nothing kept ahead."""
        try:
            if self._journal.is_open:
                self._tracker.state.apply(self._tracker.take(exact=True))
                self._write_whole()
        except JournalError as error:  # what was acknowledged is in the journal
            LOG.warning("%s; the journal stays as it was", error)
        self._journal.close()

    def _shorten(self) -> None:
        try:
            self._write_whole()
        except JournalError as error:
            if not self._journal.is_open:
                raise StateLostError(f"{error.reason}: the exchange stops", file=error.file) from error
            LOG.warning("%s: cannot be written anew (%s); it grows on", error.file, error.reason)
            self._start_over_at = 2 * self._journal.length

    def _write_whole(self) -> None:
        self._journal.start_over(encode_change(self._tracker.state.whole()))
        self._start_over_at = max(SHORTEST, 4 * self._journal.length)
