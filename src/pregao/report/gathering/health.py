"""How healthy the data are: losses, gaps, stale spans, the proof by snapshots, the reconciliation."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from pregao.lake.tables.analytics import Quality
from pregao.report.gathering.built import Day, source_order

SPANS: Final = ("GAP", "STALE_SPAN", "HEAL", "SNAPSHOT_MISMATCH", "FEEDS_DIFFER", "CROSSED_BOOK")
DIFFERENCES_SHOWN: Final = 200
SPANS_SHOWN: Final = 5_000
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FeedLoss:
    """Packets of the incremental stream of a source: those that came and those that are known to be
    missing. No table has a row for a packet that nobody received, so `lost_both` is what the gaps say."""

    source: str
    packets: int
    lost_a: int | None  # on A alone or on both; None: nobody captured A
    lost_b: int | None
    lost_both: int


@dataclass(frozen=True)
class DoubtSpan:
    finding: str
    source: str
    symbol: str | None
    start_ns: int
    end_ns: int
    count: int | None
    detail: str | None


@dataclass(frozen=True)
class FindingCount:
    finding: str
    severity: str
    rows: int
    count: int


@dataclass(frozen=True)
class Difference:
    source: str
    symbol: str
    severity: str
    figure: str
    expected: str
    found: str


@dataclass(frozen=True)
class Health:
    feeds: tuple[FeedLoss, ...]
    findings: tuple[FindingCount, ...]
    spans: tuple[DoubtSpan, ...]
    loops: int  # of snapshots that were compared with books
    telling_loops: int  # that told books of which nothing was known before
    books: int  # that orders were told of
    unknown: int  # of them: nothing has told what they held before, to the end of the day
    matches: int  # books that equal B3's snapshot
    mismatches: int
    agreeing: int  # instruments whose day equals B3's figures
    differing: int
    unexplained: int  # figures that differ from B3's, of instruments of which nothing is missing
    differences: tuple[Difference, ...]

    def rows(self, finding: str) -> int:
        return sum(each.rows for each in self.findings if each.finding == finding)

    @property
    def gaps(self) -> int:
        return self.rows("GAP")

    @property
    def lost(self) -> int:
        """Packets that neither feed has."""
        return sum(feed.lost_both for feed in self.feeds)

    @property
    def stale(self) -> int:
        """Books that missed something: each ends in a heal, or lasts until the end."""
        return self.heals + self.unhealed

    @property
    def heals(self) -> int:
        return self.rows("HEAL")

    @property
    def unhealed(self) -> int:
        return self.rows("STALE_SPAN")

    @property
    def absent_feeds(self) -> tuple[str, ...]:
        """Feeds that no channel has."""
        found = {"A": [feed.lost_a for feed in self.feeds], "B": [feed.lost_b for feed in self.feeds]}
        return tuple(name for name, lost in found.items() if lost and all(each is None for each in lost))

    def lost_on(self, feed: str) -> int | None:
        """Of the channels that have the feed; None: none has."""
        lost = [each.lost_a if feed == "A" else each.lost_b for each in self.feeds]
        known = [number for number in lost if number is not None]
        return sum(known) if known else None

    @property
    def compared(self) -> int:
        return self.matches + self.mismatches

    @property
    def errors(self) -> int:
        """Findings that no loss explains, but for those told by a name of their own."""
        named = ("GAP", "SNAPSHOT_MISMATCH", "STATISTIC_DIFFERS")
        return sum(
            each.rows for each in self.findings if each.severity == "ERROR" and each.finding not in named
        )


def health(day: Day) -> Health:
    findings = _findings(day)
    counts = {each.finding: 0 for each in findings}
    for each in findings:
        counts[each.finding] += each.count
    agrees = Counter(row["agrees"] for row in day.rows("daily", ["agrees"]))
    return Health(
        tuple(_feeds(day)), tuple(findings), tuple(_spans(day)), *_loops(day), *_books(day),
        counts.get("SNAPSHOT_MATCH", 0), counts.get("SNAPSHOT_MISMATCH", 0), agrees[True], agrees[False],
        _unexplained(day), tuple(_differences(day)),
    )  # fmt: skip


def _feeds(day: Day) -> list[FeedLoss]:
    totals: dict[str, list[int]] = {}  # by source: received, lost on A, lost on B, captured on A, on B
    where = [("stream", "=", "INCREMENTAL")]
    for batch in day.batches("packets", ["source", "state_a", "state_b"], where):
        states = [batch.column(name) for name in ("state_a", "state_b")]
        lost = [pc.fill_null(pc.equal(state, "MISSING"), False) for state in states]
        for source in pc.unique(batch.column("source")).to_pylist():
            mine = pc.equal(batch.column("source"), source)
            entry = totals.setdefault(source, [0] * 5)
            masks = [pc.and_(mine, each) for each in (*lost, *(state.is_valid() for state in states))]
            for place, mask in enumerate((mine, *masks)):
                entry[place] += pc.sum(mask).as_py() or 0
    gaps: Counter[str] = Counter()
    for row in day.rows("quality", ["source", "count"], [("finding", "=", "GAP")]):
        gaps[row["source"]] += row["count"] or 0
    return [
        FeedLoss(
            source, received + both, lost_a + both if has_a else None, lost_b + both if has_b else None, both
        )
        for source, (received, lost_a, lost_b, has_a, has_b) in sorted(
            totals.items(), key=lambda each: source_order(each[0])
        )
        for both in (gaps[source],)
    ]


def _loops(day: Day) -> tuple[int, int]:
    """How many compared anything, and how many told what nobody knew."""
    rows = day.rows("quality", ["expected"], [("finding", "=", "SNAPSHOT_MATCH")])
    telling = sum(row["expected"] == "0" for row in rows)
    return len(rows) - telling, telling


def _books(day: Day) -> tuple[int, int]:
    """How many there are, and how many were unknown when orders were last told of them."""
    last: dict[tuple[int, int], tuple[int, bool]] = {}
    sources: dict[str, int] = {}  # numbers for them, in the order in which they come
    for batch in day.batches("orders", ["source", "security_id", "ts_send", "quality"]):
        named = batch.column("source").dictionary_encode()
        whose = np.array([sources.setdefault(each, len(sources)) for each in named.dictionary.to_pylist()])
        columns = (_numbers(column) for column in batch.columns[1:])
        found = _last_of_each(whose[named.indices.to_numpy(zero_copy_only=False)], *columns)
        for source, security_id, sent, doubts in zip(*found, strict=True):
            newest = sent, not doubts & Quality.BOOK_UNKNOWN
            last[source, security_id] = max(newest, last.get((source, security_id), newest))
    return len(last), sum(not known for _, known in last.values())


def _last_of_each(sources: Numbers, ids: Numbers, sent: Numbers, doubts: Numbers) -> Iterator[list[int]]:
    """The newest row of each instrument, of two of one time the one that knows the book; rows that tell of no
    instrument have none."""
    named = np.flatnonzero(ids >= 0)
    known = doubts & int(Quality.BOOK_UNKNOWN) == 0
    order = named[np.lexsort([column[named] for column in (known, sent, ids, sources)])]
    changes = np.diff(ids[order]).astype(bool) | np.diff(sources[order]).astype(bool)
    ends = order[np.r_[changes, True]] if len(order) else order
    return (column[ends].tolist() for column in (sources, ids, sent, doubts))


def _numbers(column: Any) -> Numbers:
    """Null as -1."""
    found: Numbers = pc.fill_null(column.cast("int64"), -1).to_numpy(zero_copy_only=False)
    return found


def _findings(day: Day) -> list[FindingCount]:
    rows: Counter[tuple[str, str]] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for batch in day.batches("quality", ["finding", "severity", "count"]):
        for name, severity, number in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            rows[name, severity or "INFO"] += 1
            counts[name, severity or "INFO"] += 1 if number is None else number
    return [FindingCount(*key, rows[key], counts[key]) for key in sorted(rows)]


def _spans(day: Day) -> list[DoubtSpan]:
    names = ["finding", "source", "symbol", "ts_from", "ts_to", "ts_send", "ts_event", "count", "detail"]
    made = [_span(row) for row in day.rows("quality", names, [("finding", "in", SPANS)])]
    known = [span for span in made if span is not None]
    return sorted(known, key=lambda span: span.start_ns)[:SPANS_SHOWN]


def _span(row: dict[str, Any]) -> DoubtSpan | None:
    times = [row[name] for name in ("ts_from", "ts_to", "ts_event", "ts_send") if row[name]]
    if not times:
        return None
    start = row["ts_from"] or times[0]
    end = max(start, row["ts_to"] or start)
    return DoubtSpan(row["finding"], row["source"], row["symbol"], start, end, row["count"], row["detail"])


def _unexplained(day: Day) -> int:
    """Whoever missed messages is marked so, and its difference is no error."""
    where = [("finding", "=", "STATISTIC_DIFFERS"), ("severity", "=", "ERROR")]
    return len(day.rows("quality", ["source"], where))


def _differences(day: Day) -> list[Difference]:
    names = ["source", "symbol", "severity", "detail", "expected", "found"]
    rows = day.rows("quality", names, [("finding", "=", "STATISTIC_DIFFERS")])
    rank = {"ERROR": 0, "WARNING": 1}
    rows.sort(key=lambda row: (rank.get(row["severity"], 2), row["symbol"] or "", row["detail"] or ""))
    return [
        Difference(
            row["source"], row["symbol"] or "", row["severity"] or "INFO", row["detail"] or "",
            row["expected"] or "", row["found"] or "",
        )
        for row in rows[:DIFFERENCES_SHOWN]
    ]  # fmt: skip
