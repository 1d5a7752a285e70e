"""What orders alone make of the script's demands, for systems without books by level and without 279=4.

The books that the exchange's messages make are kept here as plainly as can be: orders by their ids, sorted
when somebody asks. A demand of entries (`bid 6 new 100@P`) is carried out on the book that the exchange had
before the step; what comes of it must be the exchange's book afterwards, and that of its messages. So
positions and levels are judged as in UMDF FIX/FAST, and a sweep (279=4) is judged by what it leaves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pregao.certification import scenario as s
from pregao.certification.desk import CertificationDesk
from pregao.certification.desk_truth import LEVELS, BookRow, BookRows
from pregao.certification.judging import SIDE_WORDS, StepTruth
from pregao.certification.taps import Seen, TappedMessage, mantissa, status_of
from pregao.model.market import Action, Side
from pregao.model.streams import Stream

_SIDES: Final = {"0": Side.BUY, "1": Side.SELL}
_EMPTY: Final = "J"
_OWN: Final = 101  # 1174: the instrument is not in its group's phase
Orders = dict[int, tuple[int | None, int]]  # price and size


class WireBooks:
    """Books by what was sent. `fault` is what could not be carried out."""

    def __init__(self) -> None:
        self._sides: dict[tuple[int, Side], Orders] = {}
        self._faults: list[str] = []

    def take(self, messages: Iterable[TappedMessage]) -> None:
        """In the order they were sent. Snapshots of loops say nothing new; one that was asked for does."""
        for message in messages:
            entries = message.fields.get("MDEntries") or ()
            if message.kind == "W" and message.stream is Stream.INCREMENTAL:
                self._replace(message.fields["SecurityID"], entries)
            elif message.kind == "X" and message.stream is Stream.INCREMENTAL:
                own = message.fields.get("SecurityID")
                for entry in entries:
                    self._entry(int(entry.get("SecurityID") or own or 0), entry)

    def take_faults(self) -> list[str]:
        faults, self._faults = self._faults, []
        return faults

    def rows(self, security_id: int, side: Side, box: s.Box) -> tuple[BookRow, ...]:
        orders = self._sides.get((security_id, side), {})
        return depth_rows(((price, size) for price, size in sorted_orders(orders, side)), box)

    def _replace(self, security_id: int, entries: Iterable[Mapping[str, Any]]) -> None:
        for side in Side:
            self._sides[security_id, side] = {}
        for entry in entries:
            if entry["MDEntryType"] in _SIDES:
                self._place(security_id, entry, Action.NEW)

    def _entry(self, security_id: int, entry: Mapping[str, Any]) -> None:
        if entry["MDEntryType"] == _EMPTY:
            self._replace(security_id, ())
        elif entry["MDEntryType"] in _SIDES:
            self._place(security_id, entry, Action(entry.get("MDUpdateAction") or 0))

    def _place(self, security_id: int, entry: Mapping[str, Any], action: Action) -> None:
        side = _SIDES[entry["MDEntryType"]]
        orders = self._sides.setdefault((security_id, side), {})
        if action is Action.DELETE_THRU:
            orders.clear()
            return
        order_id = int(entry["OrderID"])
        if (order_id in orders) is (action is Action.NEW) or action is Action.DELETE_FROM:
            self._faults.append(f"{SIDE_WORDS[side]} order {order_id}: {action.name} cannot be carried out")
        elif action is Action.DELETE:
            del orders[order_id]
        else:
            orders[order_id] = mantissa(entry.get("MDEntryPx")), int(entry["MDEntrySize"])


def sorted_orders(orders: Orders, side: Side) -> list[tuple[int | None, int]]:
    """Orders without price first, then by price, then by id: the smaller came first."""
    sign = -1 if side is Side.BUY else 1

    def rank(item: tuple[int, tuple[int | None, int]]) -> tuple[bool, int, int]:
        order_id, (price, _) = item
        return price is not None, sign * (price or 0), order_id

    return [order for _, order in sorted(orders.items(), key=rank)]


def depth_rows(orders: Iterable[tuple[int | None, int]], box: s.Box) -> tuple[BookRow, ...]:
    """Orders, best first, as a depth shows them."""
    if box in (s.Box.MBO, s.Box.STEP):
        return tuple(BookRow(price, size, 1) for price, size in orders)
    levels: list[BookRow] = []
    for price, size in orders:
        if levels and levels[-1].price == price:
            levels[-1] = BookRow(price, levels[-1].size + size, levels[-1].orders + 1)
        else:
            levels.append(BookRow(price, size, 1))
    return tuple(levels[: 1 if box is s.Box.TOB else LEVELS])


class DerivedTruth(StepTruth):
    """As `StepTruth`, of a system whose only books are by order."""

    def __init__(
        self, desk: CertificationDesk, box: s.Box, seen: Seen, before: Mapping[int, BookRows],
        demands: Sequence[s.Demand], allowed: Sequence[s.Demand], wire: WireBooks, wire_faults: Sequence[str],
    ) -> None:  # fmt: skip
        super().__init__(desk, box, seen, before, demands, allowed)
        self._wire, self._wire_faults = wire, wire_faults

    def faults(self) -> Iterator[str]:
        yield from self._wire_faults
        yield from super().faults()

    def _entry_faults(self, about: int, side: Side) -> Iterator[str]:
        word, now = SIDE_WORDS[side], self.desk.book(about, self.box).side(side)
        if self._wire.rows(about, side, self.box) != now:
            yield f"messages make other {word}s than the exchange has"
        demanded = [each for each in self.demands if isinstance(each, s.EntryDemand) and each.side is side]
        if not demanded and any(
            isinstance(each, s.SideDemand) and each.side is side for each in self._allowed
        ):
            return
        if any(isinstance(each, s.SnapshotDemand) for each in self.demands):
            return
        wanted = list(self.before.get(about, BookRows()).side(side))
        for demand in demanded:
            self._carry_out(demand, wanted)
        if not _equal(now, wanted):
            yield f"{word}s {_shown(now)} after the step, {_shown(wanted)} demanded"

    def _carry_out(self, demand: s.EntryDemand, rows: list[BookRow]) -> None:
        at = demand.position - 1
        if demand.change is s.DemandedChange.SWEPT:
            del rows[: at + 1]
        elif demand.change is s.DemandedChange.GONE:
            del rows[at : at + 1]
        else:
            assert demand.row is not None
            price, size, orders = self._row(demand.row)
            row = BookRow(price, size, orders or 0)
            rows[at : at + (demand.change is not s.DemandedChange.NEW)] = [row]

    def _status(self, snapshot: TappedMessage) -> Mapping[str, Any]:
        return whole_status(status_of(snapshot))

    def _snapshot_rows(
        self, snapshot: TappedMessage, side: Side
    ) -> tuple[tuple[int | None, int, int], ...] | None:
        if self._changed_after(snapshot, snapshot.fields["SecurityID"], side):
            return None  # what it and the changes make is compared with the book anyway
        orders = {
            int(entry["OrderID"]): (mantissa(entry.get("MDEntryPx")), int(entry["MDEntrySize"]))
            for entry in snapshot.fields["MDEntries"]
            if _SIDES.get(entry["MDEntryType"]) is side
        }
        return self._rows(depth_rows(sorted_orders(orders, side), self.box))

    def _changed_after(self, snapshot: TappedMessage, about: int, side: Side) -> bool:
        """A snapshot that was asked for has what was before it: orders of the step may come later."""
        if snapshot.stream is not Stream.INCREMENTAL:
            return False
        later = self.seen.messages[self.seen.messages.index(snapshot) + 1 :]
        return any(
            _SIDES.get(entry["MDEntryType"]) is side
            for message in later
            if message.kind == "X"
            for entry in message.entries(about)
        )


def whole_status(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """625 and 326 where a message has one of them: whoever has not left its group (1174=101) is in the state
    that its phase is, and the other way round. Of one that left, its own state says nothing of the phase."""
    phase, state = status.get("TradingSessionSubID"), status.get("SecurityTradingStatus")
    if status.get("SecurityTradingEvent") in (_OWN, str(_OWN)):
        return status
    whole = phase if state is None else state
    return {
        **status,
        "TradingSessionSubID": whole if phase is None else phase,
        "SecurityTradingStatus": whole,
    }


def _equal(now: Sequence[BookRow], wanted: Sequence[BookRow]) -> bool:
    """Some demands do not say how many orders a level has: 0 here."""
    return len(now) == len(wanted) and all(
        ours[:2] == theirs[:2] and theirs.orders in (0, ours.orders)
        for ours, theirs in zip(now, wanted, strict=True)
    )


def _shown(rows: Sequence[BookRow]) -> list[tuple[int | None, int, int]]:
    return [tuple(row) for row in rows]  # type: ignore[misc]
