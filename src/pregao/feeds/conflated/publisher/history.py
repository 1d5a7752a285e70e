"""What can be asked for beside the book: the trades and index values of the day (7.6), and the totals of
markets (7.7)."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pregao.codecs.fix.bodies import EncodedEntries
from pregao.codecs.fix.encoder import Encoder
from pregao.feeds.conflated.publisher.entries import DAY_NS, Entry, date_text, price_text, time_text
from pregao.feeds.fix.bulletins import ENTRIES
from pregao.feeds.serving import ListedTotal
from pregao.model.events import ExecutionStatistics

HISTORY: Final = b"UTHP"
MOST_KEPT: Final = 100_000  # of an instrument
_TAGS: Final = frozenset(
    (269, 270, 271, 272, 273, 274, 277, 279, 286, 288, 289, 336, 451, 1003, 1020, 1500, 37016, 37017, 37100)
)


class TradeHistory:
    """Trades by TradeID and index values by IndexSeq, of the current day. A bust stands behind its trade."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._entries: dict[int, dict[int, list[EncodedEntries]]] = {}
        self._numbers: dict[int, list[int]] = {}
        self.is_available = True  # an operator may say no
        self.dropped = 0  # of instruments with more than are kept

    def add(self, security_id: int, entry: Entry) -> None:
        """A 269=2 or 269=3 as it was sent; one without number (277=U) is not kept."""
        text = entry.get(1003) or entry.get(37100)
        if text is None:
            return
        number = int(text)
        fields = {tag: value for tag, value in entry.items() if tag in _TAGS}
        entries = self._entries.setdefault(security_id, {})
        if number not in entries:
            numbers = self._numbers.setdefault(security_id, [])
            if not numbers or number > numbers[-1]:
                numbers.append(number)
            else:
                insort(numbers, number)
            self._bound(security_id)
        entries.setdefault(number, []).append(self._encoder.entries(HISTORY, ENTRIES, [fields]))

    def _bound(self, security_id: int) -> None:
        numbers = self._numbers[security_id]
        if len(numbers) > MOST_KEPT:
            old, self._numbers[security_id] = numbers[: MOST_KEPT // 2], numbers[MOST_KEPT // 2 :]
            for number in old:
                self._entries[security_id].pop(number, None)
            self.dropped += len(old)

    def find(self, security_id: int, begin: int, end: int, most: int) -> list[EncodedEntries]:
        """In order of their numbers, both ends included, the first `most` of them."""
        numbers = self._numbers.get(security_id, [])
        found: list[EncodedEntries] = []
        for number in numbers[bisect_left(numbers, begin) : bisect_right(numbers, end)]:
            found += self._entries[security_id][number]
            if len(found) >= most:
                return found[:most]
        return found

    def clear(self) -> None:
        self._entries.clear()
        self._numbers.clear()


class TotalsBoard:
    """Money, volume and trades of the day, for each total: the sums of the instruments of its groups."""

    def __init__(self, totals: Sequence[ListedTotal]) -> None:
        self.totals = tuple(totals)
        self._sums: dict[str, list[int]] = {}
        self._known: dict[int, tuple[int, int, int]] = {}

    def observe(self, update: ExecutionStatistics, group: str) -> None:
        """Statistics of an instrument replace those before."""
        now = update.value or 0, update.volume, update.trades
        before = self._known.get(update.security_id, (0, 0, 0))
        self._known[update.security_id] = now
        sums = self._sums.setdefault(group, [0, 0, 0])
        for place in range(3):
            sums[place] += now[place] - before[place]

    def clear(self) -> None:
        self._sums.clear()
        self._known.clear()

    def entries(self, now_ns: int) -> list[Entry]:
        """269=t of 35=UTOT, of every total."""
        date, time = date_text(now_ns // DAY_NS), time_text(now_ns)
        made = []
        for total in self.totals:
            value, volume, trades = (
                sum(self._sums[group][place] for group in total.groups if group in self._sums)
                for place in range(3)
            )
            made.append(
                {
                    269: b"t", 55: total.symbol.encode("ascii"), 272: date, 273: time,
                    381: price_text(value), 387: b"%d" % volume, 6139: b"%d" % trades,
                }
            )  # fmt: skip
        return made

    def compositions(self) -> list[dict[int, Any]]:
        """35=UTOTC: a message for the totals of no index, and one for those of each. 893 is required though
        "not sent by default": N, and Y on the last."""
        by_index: dict[str | None, list[ListedTotal]] = {}
        for total in self.totals:
            by_index.setdefault(total.index_symbol, []).append(total)
        made: list[dict[int, Any]] = []
        for index, totals in by_index.items():
            fields: dict[int, Any] = {393: b"%d" % len(self.totals), 893: b"N", 146: list(_composed(totals))}
            if index is not None:
                fields[6107] = index.encode("ascii")
            made.append(fields)
        if made:
            made[-1][893] = b"Y"
        return made


def _composed(totals: Iterable[ListedTotal]) -> Iterable[dict[int, Any]]:
    for each in totals:
        groups = [{1151: group.encode("ascii")} for group in each.groups]
        yield {55: each.symbol.encode("ascii"), 107: each.description.encode("ascii"), 37022: groups}
