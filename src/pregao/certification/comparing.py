"""What a client says it saw, held against the exchange's own books and states.

    B1.4 MBP bid 1: price none expected, 0.00 seen

Lines of clients are outside input: whatever they hold, comparing them only ends in words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from pregao.certification import scenario as s
from pregao.certification.desk import CertificationDesk
from pregao.certification.desk_truth import BookRow
from pregao.model.market import Side

Line = Mapping[str, Any]
_SIDES: Final = {Side.BUY: ("bid", "bids"), Side.SELL: ("offer", "offers")}
_MOST_REASONS: Final = 20  # of a box
_LARGEST: Final = 1 << 62  # a price


class ClientJudge:
    """Remembers what the client said last of every book and state."""

    def __init__(self, desk: CertificationDesk) -> None:
        self._desk = desk
        self._books: dict[tuple[object, object], Line] = {}
        self._states: dict[object, Line] = {}

    def begin(self, lines: Iterable[Line]) -> None:
        for line in lines:
            see, of = line.get("see"), line.get("id")
            if see == "book" and isinstance(of, int):
                self._books[str(line.get("depth")), of] = line
            elif see == "state" and isinstance(of, int):
                self._states[of] = line

    def reasons(self, step: s.Step, box: s.Box, lines: Sequence[Line]) -> Iterator[str]:
        self.begin(lines)
        where = step.id if box is s.Box.STEP else f"{step.id} {box.name}"
        found = self._found(step.demands[box], box, lines)
        for _, reason in zip(range(_MOST_REASONS), found):  # noqa: B905
            yield f"{where} {reason}"

    def _found(self, demands: Sequence[s.Demand], box: s.Box, lines: Sequence[Line]) -> Iterator[str]:
        for demand in demands:
            yield from self._demand(demand, box, lines)
        if any(isinstance(each, s.MessageDemand | s.ReplayDemand) for each in demands) and box is s.Box.STEP:
            return  # of sessions, not of books
        if any(isinstance(each, s.MessageDemand) and (555, "2") in each.tags for each in demands):
            return  # just listed: its book comes when the client subscribes
        depth = s.Box.MBO if box is s.Box.STEP else box
        for security_id in (self._desk.about, self._desk.neighbour):
            yield from self._book(security_id, depth)
            yield from self._state(security_id)

    def _demand(self, demand: s.Demand, box: s.Box, lines: Sequence[Line]) -> Iterator[str]:
        about = self._desk.about
        depth = "mbo" if box is s.Box.STEP else box.value
        traded = "mbo" if self._desk.system.derives else depth  # trades come once
        if isinstance(demand, s.SnapshotDemand):
            if not any(_is_book(line, depth, about) for line in lines):
                yield "book: none seen since it connected"
        elif isinstance(demand, s.TradesDemand):
            yield from self._trades(demand, traded, lines)
        elif isinstance(demand, s.LegTradesDemand):
            yield from self._leg_trades(demand, traded, lines)
        elif isinstance(demand, s.MessageDemand):
            yield from self._message(demand, lines)

    # Books

    def _book(self, security_id: int, box: s.Box) -> Iterator[str]:
        line = self._books.get((box.value, security_id))
        whose = "" if security_id == self._desk.about else "second instrument "
        if line is None:
            yield f"{whose}book: none seen"
            return
        truth = self._desk.book(security_id, box)
        for side, (word, name) in _SIDES.items():
            for reason in _compare_rows(truth.side(side), line.get(name)):
                yield f"{whose}{word} {reason}"

    # States

    def _state(self, security_id: int) -> Iterator[str]:
        truth, line = self._desk.state(security_id), self._states.get(security_id)
        whose = "state" if security_id == self._desk.about else "second instrument state"
        if line is None:
            yield f"{whose}: none seen"
            return
        seen_state = line.get("state")
        if seen_state == line.get("phase"):
            seen_state = None  # in the state of its group: it follows it
        for name, wanted, seen in (
            ("phase", truth.phase, line.get("phase")),
            ("own", truth.state, seen_state),
            ("session", truth.session, line.get("session")),
        ):
            if seen != wanted:
                yield f"{whose}: {name} {_word(wanted)} expected, {_word(seen)} seen"

    def _message(self, demand: s.MessageDemand, lines: Sequence[Line]) -> Iterator[str]:
        about, tags = self._desk.about, dict(demand.tags)
        if demand.kind == "f":
            if 1174 in tags:
                events = [each.get("event") for each in lines if _is(each, "state", about)]
                if int(tags[1174]) not in events:
                    yield f"state: event {tags[1174]} expected, {_word(events[-1] if events else None)} seen"
            elif not any(_is(each, "state", about) for each in lines):
                yield "state: none seen in this step"
        elif demand.kind == "y":
            yield from self._definition(tags, lines)
        elif demand.kind == "B":
            yield from self._news(lines)
        elif demand.kind == "0":
            if not any(each.get("see") == "heartbeat" for each in lines):
                yield "heartbeat: none seen"
        elif demand.kind == "X":
            yield from self._index(lines)

    def _news(self, lines: Sequence[Line]) -> Iterator[str]:
        """As it was written (359), or as ASCII has it (148)."""
        headline = self._desk.headline
        headlines = [each.get("headline") for each in lines if each.get("see") == "news"]
        if headline not in headlines and headline.encode("ascii", "replace").decode() not in headlines:
            yield f"news: {headline!r} expected, {_word(headlines[-1] if headlines else None)} seen"

    def _index(self, lines: Sequence[Line]) -> Iterator[str]:
        """The last value that was told is the exchange's."""
        security_id, truth = self._desk.index()
        values = [each.get("value") for each in lines if _is(each, "index", security_id)]
        if not values:
            yield "index: none seen"
        elif _price(values[-1]) != truth:
            yield f"index: {_shown(truth)} expected, {_word(values[-1])} seen"

    def _definition(self, tags: Mapping[int, str], lines: Sequence[Line]) -> Iterator[str]:
        seen = [each for each in lines if each.get("see") == "definition"]
        incremental = [each for each in seen if each.get("stream") == "incremental"]
        if 37015 in tags:
            matches = [each.get("match") for each in incremental if each.get("id") == self._desk.about]
            if int(tags[37015]) not in matches:
                last = matches[-1] if matches else None
                yield f"definition: match {tags[37015]} expected, {_word(last)} seen"
        elif 555 in tags:
            legs = [_list(each.get("legs")) for each in incremental if each.get("id") == self._desk.about]
            if list(self._desk.legs) not in legs:
                wanted = " and ".join(map(str, self._desk.legs))
                yield f"definition: legs {wanted} expected, {_word(legs[-1] if legs else None)} seen"
        elif 55 in tags:
            if not any(each.get("symbol") == tags[55] for each in seen):
                yield f"definition: {tags[55]} expected, not seen"
        elif not seen:
            yield "definition: none seen"

    # Trades

    def _trades(self, demand: s.TradesDemand, depth: str, lines: Sequence[Line]) -> Iterator[str]:
        seen = [each for each in lines if _is(each, "trade", self._desk.about) and each.get("depth") == depth]
        wanted: Counter[int] = Counter()
        for row in demand.rows:
            wanted[self._desk.price(row.price) or 0] += row.size
        traded: Counter[int | None] = Counter()
        for line in seen:
            size = line.get("size")
            traded[_price(line.get("price"))] += size if isinstance(size, int) else 0
        for price, size in wanted.items():
            if traded[price] != size:
                yield f"trades at {_shown(price)}: {size} expected, {traded[price]} seen"
        for other in traded.keys() - wanted.keys():
            yield f"trades at {_shown(other)}: none expected, {traded[other]} seen"
        for _, value in demand.tags:
            if not all(value in _list(line.get("conditions")) for line in seen):
                yield f"trade: condition {value} expected, not seen"

    def _leg_trades(self, demand: s.LegTradesDemand, depth: str, lines: Sequence[Line]) -> Iterator[str]:
        seen = [
            each
            for each in lines
            if each.get("see") == "trade" and each.get("id") in self._desk.legs and each.get("depth") == depth
        ]
        legs = {each.get("id") for each in seen}
        if len(legs) != demand.legs:
            yield f"trades of legs: {demand.legs} expected, {len(legs)} seen"
        if any(each.get("last") for each in seen):
            yield "trade of a leg: sets no last price, but is said to"


def _is(line: Line, see: str, of: int) -> bool:
    return line.get("see") == see and line.get("id") == of


def _is_book(line: Line, depth: str, of: int) -> bool:
    return _is(line, "book", of) and line.get("depth") == depth


def _compare_rows(truth: Sequence[BookRow], seen: object) -> Iterator[str]:
    rows = _list(seen)
    for place in range(max(len(truth), min(len(rows), len(truth) + _MOST_REASONS))):
        where = f"{place + 1}"
        if place >= len(truth):
            yield f"{where}: no row expected, {_row_text(rows[place])} seen"
        elif place >= len(rows):
            yield f"{where}: {truth[place].size}@{_shown(truth[place].price)} expected, no row seen"
        else:
            yield from _compare_row(where, truth[place], rows[place])


def _compare_row(where: str, truth: BookRow, seen: object) -> Iterator[str]:
    if not isinstance(seen, list) or len(seen) != 3:
        yield f"{where}: a row of price, size and orders expected, {str(seen)[:60]} seen"
        return
    if seen[0] is not None and _price(seen[0]) is None:
        yield f"{where}: price {_shown(truth.price)} expected, {str(seen[0])[:60]} seen"
    elif _price(seen[0]) != truth.price:
        yield f"{where}: price {_shown(truth.price)} expected, {_shown(_price(seen[0]))} seen"
    for name, wanted, found in (("size", truth.size, seen[1]), ("orders", truth.orders, seen[2])):
        if found != wanted:
            yield f"{where}: {name} {wanted} expected, {str(found)[:60]} seen"


def _row_text(row: object) -> str:
    if isinstance(row, list) and len(row) == 3:
        return f"{str(row[1])[:30]}@{_shown(_price(row[0]))}"
    return str(row)[:60]


def _price(value: object) -> int | None:
    """Ten-thousandths of a text; None where it is none."""
    if not isinstance(value, str) or len(value) > 30:
        return None
    try:
        scaled = Decimal(value).scaleb(4)
        whole = scaled == scaled.to_integral_value() and abs(scaled) < _LARGEST
        return int(scaled) if whole else None
    except (InvalidOperation, ValueError, OverflowError):
        return None


def _shown(price: int | None) -> str:
    if price is None:
        return "none"
    return f"{price / 10_000:.4f}" if price % 100 else f"{price / 10_000:.2f}"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _word(value: object) -> str:
    return "none" if value is None else str(value)[:60]
