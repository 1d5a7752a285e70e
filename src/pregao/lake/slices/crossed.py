"""Books that are crossed though they are open, as findings of a slice."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.books import layout as t
from pregao.feeds.registry import load_tabled_system, ranks_rates_plainly
from pregao.lake.plan.index import Array
from pregao.lake.slices.kernels.books import QUOTE_QUALITY
from pregao.lake.slices.kernels.states import NUMBER_BITS
from pregao.lake.slices.states import IS_OPEN, NUMBER_MASK, STATE_MASK
from pregao.lake.tables.analytics import Quality
from pregao.model.fixed_income import RATES
from pregao.model.market import PRICE_EXPONENT
from pregao.model.rows import NULL
from pregao.recovery.instruments import BookStatus

if TYPE_CHECKING:
    from pregao.lake.slices.machine import SliceMachine

# What is told at one moment counts together: an order that starts an auction may come before the state.
MOMENT_NS: Final = 1_000_000


@dataclass(slots=True)
class CrossedStretch:
    """From where a book is crossed and open to where it is not. `goes_on`: since before the slice begins."""

    place: int
    since_ns: int
    bid: int
    offer: int
    goes_on: bool = False


class CrossedBooks:
    """Looks at quotes, and at states that come over books which are crossed, in the order of the stream. What
    goes on over the end of a slice is told in parts, and `join_crossed` puts them together."""

    def __init__(self, machine: "SliceMachine") -> None:
        self._machine = machine
        self._has_streams = load_tabled_system(machine.slice.system).policy.has_streams
        self._scales = {int(each["security_id"]): each for each in machine.slice.scales}
        self._rates = () if ranks_rates_plainly(machine.slice.system) else RATES
        self._since: dict[int, CrossedStretch] = {}
        self._held: dict[int, Array] = {}  # quotes of crossed books: their state may be told in this moment

    def look(self, quotes: Array, states: Array) -> Array:
        """The quotes that can be told now, with the state of their moment."""
        crossed = _are_crossed(quotes, self._are_rates(quotes["instrument"]))
        crossed &= self._may_not_cross(quotes["instrument"])
        states = states[self._may_not_cross(states[:, 0])]
        states = states[_overlap(states[:, 3], states[:, 4], self._are_rates(states[:, 0]))]
        if not self._since and not len(states) and not crossed.any():
            return quotes
        numbers = quotes["instrument"] & NUMBER_MASK
        concerned = {*self._since, *numbers[crossed].tolist(), *(states[:, 0] & NUMBER_MASK).tolist()}
        changes: list[tuple[int, int, Any]] = [
            (int(quotes["at"][place]) << 16 | int(quotes["index"][place]), int(numbers[place]), place)
            for place in np.flatnonzero(np.isin(numbers, list(concerned))).tolist()
        ]
        changes += [(state[1], state[0] & NUMBER_MASK, state) for state in states.tolist()]
        told = [quotes[~crossed]]
        for at, number, change in sorted(changes, key=itemgetter(0)):
            told += self._release(number, change if isinstance(change, list) else None)
            if isinstance(change, list):
                self._change(number, at >> 16, bool(IS_OPEN[change[0] >> NUMBER_BITS]), *change[2:])
                continue
            quote, is_crossed = quotes[change], bool(crossed[change])
            if is_crossed:
                self._held[number] = quotes[change : change + 1].copy()
            figures = (int(quote[name]) for name in ("time_ns", "bid_price", "offer_price"))
            self._change(number, at >> 16, is_crossed, *figures)
        return np.concatenate(told)

    def _may_not_cross(self, instruments: Array) -> Array:
        """Of which books it would be an error: not of lending, where nobody matches bids with offers."""
        if not self._has_streams:
            return np.ones(len(instruments), np.bool_)
        stream = self._machine.store.book_stream
        return np.array([not stream(each & NUMBER_MASK) for each in instruments.tolist()], np.bool_)

    def _are_rates(self, instruments: Array) -> Array | None:
        """Of which a lower price is the better bid; None: of none."""
        if not self._scales:
            return None
        numbers, places = np.unique(instruments & NUMBER_MASK, return_inverse=True)
        found: Array = np.array([self._is_rate(each) for each in numbers.tolist()], np.bool_)[places]
        return found

    def _is_rate(self, number: int) -> bool:
        scale = self._scales.get(self._machine.store.security_id(number))
        return scale is not None and int(scale["kind"]) in self._rates

    def _release(self, number: int, state: list[int] | None) -> list[Array]:
        """What was held of an instrument. If its state is told at the same moment, it is in that state."""
        held = self._held.pop(number, None)
        if held is None:
            return []
        if state is not None and abs(state[2] - int(held["time_ns"][0])) < MOMENT_NS:
            held["instrument"] = state[0]
        return [held]

    def held(self) -> Array:
        """All that are held: they can wait no longer."""
        told = [np.zeros(0, t.QUOTE), *self._held.values()]
        self._held.clear()
        return np.concatenate(told)

    def _change(self, number: int, place: int, is_crossed: bool, time_ns: int, bid: int, offer: int) -> None:
        if place >= self._machine.slice.stop:
            return
        if not is_crossed:
            self._tell(number, place, time_ns)
        elif number not in self._since:
            self._since[number] = CrossedStretch(place, time_ns, bid, offer)

    def begin(self) -> None:
        """The slice begins to emit: what is crossed now has begun before."""
        machine = self._machine
        start, tops = machine.slice.start, machine.store.tops()
        firsts = np.array([machine.store.numbering.first_of(number) for number in range(len(tops))], np.int64)
        packed = np.array([machine.states.packed(number) for number in firsts.tolist()], np.int64)
        crossed = _overlap(tops[:, 0], tops[:, 3], self._are_rates(np.arange(len(tops))))
        crossed &= (tops[:, 2] > 0) & (tops[:, 5] > 0) & (tops[:, 0] != NULL)
        crossed &= self._may_not_cross(np.arange(len(tops)))
        crossed &= IS_OPEN[packed] & (machine.known.used["book"][firsts] == BookStatus.CLEAN)
        sent_ns = int(machine.merged.sent[max(machine.packet_at(start), 0)]) if len(machine.merged) else 0
        self._since = {
            number: CrossedStretch(start, sent_ns, int(tops[number, 0]), int(tops[number, 3]), goes_on=True)
            for number in np.flatnonzero(crossed).tolist()
        }

    def leave(self) -> None:
        """It ends."""
        slice_, merged = self._machine.slice, self._machine.merged
        if len(merged):
            place = min(int(merged.place[-1]), slice_.stop - 1)
            for number in sorted(self._since):
                self._tell(number, place, int(merged.sent[self._machine.packet_at(place)]), is_open=True)

    def _tell(self, number: int, place: int, time_ns: int, *, is_open: bool = False) -> None:
        stretch, machine = self._since.pop(number, None), self._machine
        if stretch is None or not machine.emits(place):
            return
        if not stretch.goes_on and not is_open and time_ns - stretch.since_ns < MOMENT_NS:
            return
        bid, offer = (self._shown(number, price) for price in (stretch.bid, stretch.offer))
        machine.findings.add(
            stretch.place, machine, "CROSSED_BOOK", severity="ERROR", stream="INCREMENTAL",
            security_id=machine.store.security_id(number), first_seq_num=stretch.place & 0xFFFFFFFF,
            last_seq_num=place & 0xFFFFFFFF, ts_from=stretch.since_ns, ts_to=time_ns, count=1,
            expected=f"bid {'above' if self._is_rate(number) else 'below'} offer",
            found=f"bid {bid}, offer {offer}",
            detail="until the end" if is_open else "", goes_on=stretch.goes_on, is_open=is_open,
        )  # fmt: skip

    def _shown(self, number: int, mantissa: int) -> Decimal:
        scale = self._scales.get(self._machine.store.security_id(number))
        return Decimal(mantissa).scaleb(PRICE_EXPONENT if scale is None else int(scale["price"]))


_DOUBTS: Final = 0xFF & ~int(Quality.FROM_SNAPSHOT)


def _overlap(bid: Array, offer: Array, are_rates: Array | None) -> Array:
    """In rates the better bid is the lower one (Trademate 1.3.5, 290)."""
    crossed: Array = bid >= offer
    if are_rates is not None:
        crossed = np.asarray(np.where(are_rates, bid <= offer, crossed))
    return crossed


def _are_crossed(quotes: Array, are_rates: Array | None = None) -> Array:
    """Of books that are known and open to continuous trading."""
    bid, offer = quotes["bid_price"], quotes["offer_price"]
    crossed: Array = _overlap(bid, offer, are_rates) & (bid != NULL) & (offer != NULL)
    crossed &= (quotes["bid_orders"] > 0) & (quotes["offer_orders"] > 0)
    if crossed.any():
        crossed &= IS_OPEN[quotes["instrument"] >> NUMBER_BITS & STATE_MASK]
        crossed &= quotes["sides"] >> QUOTE_QUALITY & _DOUBTS == 0
    return crossed


def join_crossed(findings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings of slices in their order: a book that is crossed over the end of a slice is one finding."""
    found: list[dict[str, Any]] = []
    open_ones: dict[int, dict[str, Any]] = {}
    for each in findings:
        if each["finding"] != "CROSSED_BOOK":
            found.append(each)
            continue
        row, security_id = dict(each), each["security_id"]
        goes_on, is_open = row.pop("goes_on"), row.pop("is_open")
        before = open_ones.pop(security_id, None)
        if goes_on and before is not None:
            before |= {name: row[name] for name in ("ts_to", "last_seq_num", "detail")}
            row = before
        else:
            found.append(row)
        if is_open:
            open_ones[security_id] = row
    return found
