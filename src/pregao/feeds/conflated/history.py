"""Which trades and index values a session has missed, and how they are asked for (7.6).

Numbers (TradeID, IndexSeq) rise with each instrument. What was seen before a cut and what the snapshot after
it tells are the two ends. A request has at most 50 instruments, 10,000 numbers each and 1,000 answers
together, so it takes pages: the next one begins behind the highest number that came. A page that is empty
although it was not cut short has nothing: the next window follows.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

MOST_INSTRUMENTS: Final = 50
WINDOW: Final = 10_000  # 7175 less 7174
MOST_ENTRIES: Final = 1_000
MOST_INSTRUMENTS_KEPT: Final = 1 << 17
MOST_SPANS: Final = 100  # of one instrument: older ones are given up
MOST_PAGES: Final = 10_000  # of one instrument: then it is given up


@dataclass(slots=True)
class Missing:
    """Numbers from `first` to `last` of an instrument; those before `next` have come, up to `highest`."""

    security_id: int
    first: int
    last: int
    next: int
    highest: int = -1
    pages: int = 0

    @property
    def until(self) -> int:
        return min(self.last, self.next + WINDOW)

    @property
    def is_whole(self) -> bool:
        return self.highest >= self.last


class TradeHistory:
    """Spans that are missing, of each instrument the oldest first. A connection may break while one is asked
    for: it stays missing, and what the next snapshot finds is a span of its own."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}  # the highest number that the stream told
        self._missing: dict[int, list[Missing]] = {}
        self._asked: dict[int, Missing] = {}
        self._entries = 0  # of the answers to the request under way

    @property
    def is_asking(self) -> bool:
        return bool(self._asked)

    @property
    def waiting(self) -> int:
        """Instruments of which something is missing."""
        return len(self._missing)

    def saw(self, security_id: int, number: int) -> None:
        """A trade of the stream."""
        if number > self._seen.get(security_id, -1) and self._may_keep(security_id):
            self._seen[security_id] = number

    def _may_keep(self, security_id: int) -> bool:
        return security_id in self._seen or len(self._seen) < MOST_INSTRUMENTS_KEPT

    def snapshot(self, security_id: int, number: int, *, whole_day: bool) -> None:
        """The last number of an instrument, by its snapshot. A lower one than was seen is of another day."""
        if not self._may_keep(security_id):
            return
        seen = self._seen.get(security_id)
        first = number + 1 if seen is None else seen + 1
        if (seen is None and whole_day) or (seen is not None and number < seen):
            first = 0
            self._missing.pop(security_id, None)
        self._seen[security_id] = number
        if first <= number:
            spans = self._missing.setdefault(security_id, [])
            spans.append(Missing(security_id, first, number, first))
            del spans[:-MOST_SPANS]

    def next_request(self) -> list[dict[int, Any]] | None:
        """Entries of 146 for the next request; None: nothing is missing, or an answer is awaited."""
        if self._asked or not self._missing:
            return None
        chosen = [spans[0] for spans in islice(self._missing.values(), MOST_INSTRUMENTS)]
        self._asked = {each.security_id: each for each in chosen}
        self._entries = 0
        return [
            {48: str(each.security_id), 22: "8", 207: "BVMF", 7174: each.next, 7175: each.until}
            for each in chosen
        ]

    def answered(self, security_id: int, numbers: list[int]) -> None:
        """Entries of one UTHP."""
        self._entries += len(numbers)
        asked = self._asked.get(security_id)
        if asked is not None and numbers:
            asked.highest = max(asked.highest, *numbers)

    def finish(self) -> list[Missing]:
        """The last answer has come: the spans that are done, or given up (not `is_whole`)."""
        asked, self._asked = self._asked, {}
        was_cut = self._entries >= MOST_ENTRIES
        done = []
        for each in asked.values():
            each.pages += 1
            # A page that was not cut short has all of its window.
            each.next = max(each.next, each.highest + 1 if was_cut else each.until + 1)
            if (each.is_whole or each.next > each.last or each.pages >= MOST_PAGES) and self._drop(each):
                done.append(each)
        return done

    def _drop(self, span: Missing) -> bool:
        """False: it is none any more, for another day has begun."""
        spans = self._missing.get(span.security_id, [])
        if span not in spans:
            return False
        spans.remove(span)
        if not spans:
            del self._missing[span.security_id]
        return True

    def refuse(self) -> list[Missing]:
        """What was asked for cannot be had."""
        asked, self._asked = self._asked, {}
        return [each for each in asked.values() if self._drop(each)]

    def ask_again(self) -> None:
        """The request was not taken, or the connection is gone: the same again, later."""
        self._asked = {}
