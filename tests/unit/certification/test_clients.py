"""The example client passes what is played, and each bug in it first fails where the script is to find it."""

# ruff: noqa: E501 (pieces of the example are longer than our lines)
from typing import Any

import pytest

from pregao.certification.client import CertifyClient
from pregao.certification.scenario import Segment
from tests.unit.certification.kit import example_client, failures, play

PLAYED = frozenset(("A", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "C1", "D1", "E"))
BOXES = {Segment.EQUITIES: 170, Segment.DERIVATIVES: 143}

# What is changed in the example; which step and boxes fail first; of derivatives, where they differ.
EATEN = """yield self.trade(depth, security_id, entry)
                for rows in self.books.get((depth, security_id), ()):
                    left = entry["MDEntrySize"]
                    while rows and left:
                        eaten = min(left, rows[0][1])
                        left, rows[0] = left - eaten, [rows[0][0], rows[0][1] - eaten, rows[0][2]]
                        del rows[: rows[0][1] == 0]"""
SORTED = """        rows.sort(key=lambda row: float(row[0] or 0), reverse=entry["MDEntryType"] == "0")
        del rows[self.longest"""
GIVEN = """for each in self.groups:
                if self.groups[each] == self.groups[security_id]:
                    yield self.now(each, state=state, session=session, event=event)
            return"""
EMPTIED = """if state == 2:
                for depth in self.longest:
                    self.books[depth, security_id] = ([], [])
                    yield self.seen(depth, security_id, 0)
            if event == 102:"""
FORBIDDEN = """if phase == 18:
                    yield self.now(each, state=18, session=session, event=event)
                    continue
                yield self.now(each, phase=phase"""
BUGS: dict[str, tuple[Any, ...]] = {
    "heartbeats ignored": ([('yield {"see": "heartbeat", "channel": channel}', "return")], "A.1", "STEP"),
    "phase not read from W": (
        [('phase = int(entry["TradingSessionSubID"])', 'phase = self.states.get(security_id, {}).get("phase")')],
        "B1.1", "MBO MBP TOB",
    ),
    "279=1 inserts": ([("rows[at : at + 1] = [row]", "rows.insert(at, row)")], "B1.2", "MBP"),
    "insert overwrites": ([("rows.insert(at, row)", "rows[at : at + 1] = [row]")], "B1.3", "MBO MBP"),
    "priceless entries dropped": (
        [("if action == NEW:", "if price is None and size:\n            return\n        if action == NEW:")],
        "B1.4", "MBO MBP TOB",
    ),
    "priceless overlay always empties": (
        [("[] if size is None else", "[] if price is None else")], "B1.4", "TOB",
    ),
    "sorted by price, none as 0": ([("        del rows[self.longest", SORTED)], "B1.4", "MBO MBP"),
    "delete leaves a hole": ([("del rows[at : at + 1]", "rows[at] = [None, 0, 0]")], "B1.5", "MBO"),
    "trades reduce the book too": ([("yield self.trade(depth, security_id, entry)", EATEN)], "B1.6", "MBO MBP"),
    "Delete From ignored": ([("del rows[: at + 1]", "pass")], "B1.6", "MBO MBP"),
    "Delete From taken downwards": ([("del rows[: at + 1]", "del rows[at:]")], "B1.6", "MBO MBP"),
    "snapshot merged into the old book": (
        [("self.books[depth, security_id] = ([], [])", "self.books.setdefault((depth, security_id), ([], []))")],
        "B2.1", "MBO MBP",
    ),
    "1174 ignored": ([('fields.get("SecurityTradingEvent")', "None")], "B2.4", "MBO MBP TOB"),
    "instrument's state given to its group": (
        [("yield self.now(security_id, state=state, session=session, event=event)\n            return", GIVEN)],
        "B2.4", "MBO MBP TOB",
    ),
    "pause empties the book": ([("if event == 102:", EMPTIED)], "B2.4", "MBO MBP TOB"),
    "277 dropped": (
        [('(entry.get("TradeCondition") or "").split()', "[]")], "B2.10", "MBO MBP TOB",
    ),
    "Delete From on bids only": (
        [("elif action == DELETE_FROM:", 'elif action == DELETE_FROM and entry["MDEntryType"] == "0":')],
        "B2.11", "MBO TOB",
    ),
    "TOB obeys overlays only": (
        [("elif action == DELETE:", 'elif depth == "tob" and action in (DELETE, DELETE_FROM):\n            pass\n'
          "        elif action == DELETE:")],
        "B2.11", "TOB",
    ),
    "incremental definitions ignored": (
        [('elif kind == "y":', 'elif kind == "y" and stream == "definition":')], "B3.1", "MBO MBP TOB",
        "E4.1", "MBO MBP TOB",
    ),
    "inserts before deletes of one message": (
        [("for entry in entries:", 'for entry in sorted(entries, key=lambda each: each["MDUpdateAction"] == 2):')],
        "B3.5", "MBO MBP", "B5.4", "MBO",
    ),
    "stays apart after 102": (
        [("self.apart.discard(security_id)", "pass")], "B3.8", "MBO MBP TOB", "B4.4", "MBO MBP TOB",
    ),
    "625=18 read as forbidden": ([("yield self.now(each, phase=phase", FORBIDDEN)], "B4.4", "MBO MBP TOB"),
    "priceless entries of W skipped": (
        [('if entry["MDEntryType"] in ("0", "1"):',
          'if entry["MDEntryType"] in ("0", "1") and entry["MDEntryPx"] is None:\n                pass\n'
          '            elif entry["MDEntryType"] in ("0", "1"):')],
        "B5.1", "MBO MBP TOB",
    ),
    "336 ignored": (
        [('fields.get("TradingSessionID") or 1', "1"), ('entry.get("TradingSessionID") or 1', "1")],
        "B6.1", "MBO MBP TOB",
    ),
    "queue up to 369 applied again": (
        [("number > self.synced[channel, security_id]", "number")], "D1.2", "MBO MBP",
    ),
    "leg trade sets the last price": ([('"1" not in conditions', "True")], "E4.6", "MBO MBP TOB"),
}  # fmt: skip
# Those that `make test` plays; `make proof` plays all in both segments.
SLICE = frozenset(
    [(bug, Segment.EQUITIES) for bug in tuple(BUGS)[:12]]
    + [("inserts before deletes of one message", Segment.DERIVATIVES)]
    + [("stays apart after 102", Segment.DERIVATIVES)]
)


@pytest.mark.parametrize("make_client", [example_client, CertifyClient])
@pytest.mark.parametrize("segment", Segment)
def test_both_clients_pass(segment: Segment, make_client: Any) -> None:
    results = play(segment, make_client, PLAYED)
    assert not failures(results)
    assert sum(len(result.boxes) for result in results) == BOXES[segment]


@pytest.mark.parametrize(
    ("bug", "segment"),
    [
        pytest.param(bug, segment, marks=() if (bug, segment) in SLICE else pytest.mark.long)
        for bug in BUGS
        for segment in Segment
    ],
)
def test_a_bug_first_fails_where_the_script_finds_it(bug: str, segment: Segment) -> None:
    changes, step, boxes, *others = BUGS[bug]
    if segment is Segment.DERIVATIVES and others:
        step, boxes = others
    results = play(segment, lambda config: example_client(config, *changes), PLAYED, until=step)
    found = failures(results)
    assert found, "not found"
    first = found[0][0]
    assert (first, " ".join(box for at, box, _ in found if at == first)) == (step, boxes), found[0]


def test_reasons_are_said_in_words() -> None:
    changes, *_ = BUGS["sorted by price, none as 0"]
    zero = ("None if price is None else str(price)", '"0.00" if price is None else str(price)')
    results = play(Segment.EQUITIES, lambda config: example_client(config, zero), PLAYED, until="B1.4")
    assert "B1.4 MBP bid 1: price none expected, 0.00 seen" in failures(results)[1][2]
    results = play(Segment.EQUITIES, lambda config: example_client(config, *changes), PLAYED, until="B1.4")
    assert failures(results)[0][2][0] == "B1.4 MBO bid 1: price none expected, 10.02 seen"
