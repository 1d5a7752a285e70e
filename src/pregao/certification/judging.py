"""Whether the exchange itself sent what the script demands. Where it did not the step is invalid: no client
can be judged by it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pregao.certification import scenario as s
from pregao.certification.desk import CertificationDesk
from pregao.certification.desk_truth import BookRow, BookRows
from pregao.certification.taps import (
    Seen,
    TappedEntry,
    TappedMessage,
    has_tags,
    is_leg_trade,
    mantissa,
    message_has,
    status_of,
)
from pregao.model.market import Action, Side

_ACTIONS: Final = {
    s.DemandedChange.NEW: Action.NEW,
    s.DemandedChange.CHANGED: Action.CHANGE,
    s.DemandedChange.GONE: Action.DELETE,
    s.DemandedChange.SWEPT: Action.DELETE_FROM,
    s.DemandedChange.TOP: Action.OVERLAY,
}
SIDE_WORDS: Final = {Side.BUY: "bid", Side.SELL: "offer"}
_NUMBERS: Final = {Side.BUY: "0", Side.SELL: "1"}


class StepTruth:
    """The exchange before and after a step, and what one depth was sent in between."""

    def __init__(
        self, desk: CertificationDesk, box: s.Box, seen: Seen, before: Mapping[int, BookRows],
        demands: Sequence[s.Demand], allowed: Sequence[s.Demand] = (),
    ) -> None:  # fmt: skip
        """`before`: books of the instrument and its neighbour. `allowed` are demands of the steps that are
        played together with this one: what they want may come here."""
        self.desk, self.box, self.seen, self.before = desk, box, seen, before
        self.demands, self._allowed = demands, (*demands, *allowed)

    def faults(self) -> Iterator[str]:
        """What is demanded and was not sent, or was sent and is not demanded."""
        about = self.desk.about
        for side in Side:
            yield from self._entry_faults(about, side)
        yield from self._trade_faults(about)
        yield from self._status_faults(about)
        yield from self._neighbour_faults()
        for demand in self.demands:
            yield from self._faults_of(demand)

    def _faults_of(self, demand: s.Demand) -> Iterator[str]:
        about = self.desk.about
        if isinstance(demand, s.SideDemand):
            wanted = tuple(self._row(row) for row in demand.rows)
            if self._rows(self.desk.book(about, self.box).side(demand.side)) != wanted:
                yield f"{SIDE_WORDS[demand.side]}s are not as demanded"
        elif isinstance(demand, s.PreparedDemand):
            if self.before.get(about) != self.desk.book(about, self.box):
                yield "the book is not as prepared"
        elif isinstance(demand, s.SnapshotDemand):
            yield from self._snapshot_faults(about, demand)
        elif isinstance(demand, s.MessageDemand):
            if not any(message_has(each, demand.tags) for each in self.seen.of_kind(demand.kind)):
                yield f"no message {demand.kind} {_tags(demand.tags)}".rstrip()
        elif isinstance(demand, s.LegTradesDemand):
            legs = {each.security_id for each in self.seen.trades() if is_leg_trade(each)}
            if len(legs) != demand.legs:
                yield f"{len(legs)} legs traded, not {demand.legs}"

    def _row(self, row: s.ScriptSize) -> tuple[int | None, int, int | None]:
        orders = 1 if self.box in (s.Box.MBO, s.Box.STEP) else row.orders
        return self.desk.price(row.price), row.size, orders

    @staticmethod
    def _rows(rows: Sequence[BookRow]) -> tuple[tuple[int | None, int, int], ...]:
        return tuple(tuple(row) for row in rows)  # type: ignore[misc]

    def _entry_faults(self, about: int, side: Side) -> Iterator[str]:
        """Entries as demanded, one by one; none where nothing is demanded of a side; any where only the
        whole side is."""
        demanded = [each for each in self.demands if isinstance(each, s.EntryDemand) and each.side is side]
        whole = any(isinstance(each, s.SideDemand) and each.side is side for each in self._allowed)
        if not demanded and whole:
            return
        sent = self.seen.book_entries(about, side)
        wanted = [self._entry(each) for each in demanded]
        if len(sent) != len(wanted) or not all(map(_fits, sent, wanted)):
            sent_rows, demanded_rows = list(map(tuple, sent)), list(map(tuple, wanted))
            yield f"{SIDE_WORDS[side]} entries {sent_rows} sent, {demanded_rows} demanded"

    def _entry(self, demand: s.EntryDemand) -> TappedEntry:
        row, action = demand.row, int(_ACTIONS[demand.change])
        if row is None:
            return TappedEntry(action, demand.position, None, None, None)
        return TappedEntry(action, demand.position, self.desk.price(row.price), row.size, row.orders)

    def _trade_faults(self, about: int) -> Iterator[str]:
        sent = [each for each in self.seen.trades() if each.security_id == about]
        demanded = [each for each in self.demands if isinstance(each, s.TradesDemand)]
        wanted: Counter[int | None] = Counter()
        for demand in demanded:
            for row in demand.rows:
                wanted[self.desk.price(row.price)] += row.size
            for trade in sent:
                if any(value not in trade.conditions for _, value in demand.tags):
                    yield f"a trade without {_tags(demand.tags)}"
        traded: Counter[int | None] = Counter()
        for trade in sent:
            traded[trade.price] += trade.size
        allowed = any(isinstance(each, s.TradesDemand) for each in self._allowed)
        if traded != wanted and (demanded or not allowed):
            yield f"trades {dict(traded)} sent, {dict(wanted)} demanded"

    def _status_faults(self, about: int) -> Iterator[str]:
        tagged = [each.tags for each in self._allowed if isinstance(each, s.MessageDemand)]
        for message in self.seen.statuses(about, self.desk.group(about)):
            if not any(has_tags(message.fields, tags) for tags in tagged):
                yield f"a message f that is not demanded: {message.text}"

    def _neighbour_faults(self) -> Iterator[str]:
        neighbour = self.desk.neighbour
        if any(self.seen.book_entries(neighbour, side) for side in Side):
            yield "the group's second instrument changed"

    def _snapshot_faults(self, about: int, demand: s.SnapshotDemand) -> Iterator[str]:
        snapshots = self.seen.snapshots(about)
        if not snapshots:
            yield "no snapshot"
            return
        last = snapshots[-1]
        if not has_tags(self._status(last), demand.tags):
            yield f"the snapshot lacks {_tags(demand.tags)}"
        for side in Side:
            rows = self._snapshot_rows(last, side)
            if rows is not None and rows != self._rows(self.desk.book(about, self.box).side(side)):
                yield f"the snapshot has other {SIDE_WORDS[side]}s than the book"

    def _status(self, snapshot: TappedMessage) -> Mapping[str, Any]:
        return status_of(snapshot)

    def _snapshot_rows(
        self, snapshot: TappedMessage, side: Side
    ) -> tuple[tuple[int | None, int, int], ...] | None:
        """None: another rule holds them to the book."""
        return tuple(
            (mantissa(entry.get("MDEntryPx")), entry["MDEntrySize"], entry.get("NumberOfOrders") or 1)
            for entry in snapshot.fields["MDEntries"]
            if entry["MDEntryType"] == _NUMBERS[side]
        )


def _fits(sent: TappedEntry, wanted: TappedEntry) -> bool:
    if (sent.action, sent.position) != (wanted.action, wanted.position):
        return False
    if wanted.size is None:  # gone: nothing else is said of it
        return True
    orders = wanted.orders is None or sent.orders == wanted.orders
    return (sent.price, sent.size) == (wanted.price, wanted.size) and orders


def _tags(tags: s.Tags) -> str:
    return " ".join(f"{tag}={value}" for tag, value in tags)
