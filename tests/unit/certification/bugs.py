"""Bugs that a client may have, each a small change to the example, and where the script first finds it."""

# ruff: noqa: E501 (pieces of the example are longer than our lines)
from typing import Any

from pregao.certification.scenario import ScriptSegment
from pregao.certification.scenario_files import sections_for
from tests.unit.certification.kit import example_client, failures, play

PLAYED = frozenset(section.id for section in sections_for(ScriptSegment.EQUITIES))

# What is changed in the example; which step and boxes fail first; of derivatives, where they differ.
EATEN = """conditions = (entry.get("TradeCondition") or "").split()
                for rows in self.books.get((depth, security_id), ()):
                    left = entry["MDEntrySize"]
                    while rows and left:
                        eaten = min(left, rows[0][1])
                        left, rows[0] = left - eaten, [rows[0][0], rows[0][1] - eaten, rows[0][2]]
                        del rows[: rows[0][1] == 0]"""
SORTED = """        rows.sort(key=lambda row: float(row[0] or 0), reverse=entry["MDEntryType"] == "0")
        del rows[self.longest"""
OWN_STATE = "yield self.state(security_id, fields, state=None if event == 102 else state, event=event)"
GIVEN = f"""for each in self.groups:
                if self.groups[each] == self.groups[security_id]:
                    {OWN_STATE.replace("security_id", "each")}"""
EMPTIED = f"""if state == 2:
                for depth in self.longest:
                    self.books[depth, security_id] = ([], [])
                    yield self.seen(depth, security_id, 0)
            {OWN_STATE}"""
GROUP_STATE = 'yield self.state(each, fields, phase=int(fields["TradingSessionSubID"]), state=None)'
FORBIDDEN = f"""if int(fields["TradingSessionSubID"]) == 18:
                        yield self.state(each, fields, state=18)
                        continue
                    {GROUP_STATE}"""
DROPPED = """if price is None and size:
            return
        row = ["""
HOLE = "else [[None, 0, 0]] if action == DELETE else []"
ALL = "MBO MBP TOB"
BUGS: dict[str, tuple[Any, ...]] = {
    "heartbeats ignored": ([('yield {"see": "heartbeat", "channel": stream["channel"]}', "return")], "A.1", "STEP"),
    "phase not read from W": (
        [('phase, own = int(entry["TradingSessionSubID"]),', 'phase, own = self.states.get(security_id, {}).get("phase"),')],
        "B1.1", ALL,
    ),
    "279=1 inserts": ([("CHANGE: here", "CHANGE: slice(at, at)")], "B1.2", "MBP"),
    "insert overwrites": ([("NEW: slice(at, at)", "NEW: here")], "B1.3", "MBO MBP"),
    "priceless entries dropped": ([("row = [", DROPPED)], "B1.4", ALL),
    "priceless overlay always empties": (
        [("action == OVERLAY and size is not None", "action == OVERLAY and price is not None")], "B1.4", "TOB",
    ),
    "sorted by price, none as 0": ([("        del rows[self.longest", SORTED)], "B1.4", "MBO MBP"),
    "delete leaves a hole": ([("else []\n", HOLE + "\n")], "B1.5", "MBO"),
    "trades reduce the book too": (
        [('conditions = (entry.get("TradeCondition") or "").split()', EATEN)], "B1.6", "MBO MBP",
    ),
    "Delete From ignored": ([("to_here = slice(at, at + 1), slice(None), slice(0, at + 1)", "to_here = slice(at, at + 1), slice(None), slice(0, 0)")], "B1.6", "MBO MBP"),
    "Delete From taken downwards": ([("slice(0, at + 1)", "slice(at, None)")], "B1.6", "MBO MBP"),
    "snapshot merged into the old book": (
        [("self.books[depth, security_id] = ([], [])", "self.books.setdefault((depth, security_id), ([], []))")],
        "B2.1", "MBO MBP",
    ),
    "1174 ignored": (
        [('event, state = fields.get("SecurityTradingEvent"),', "event, state = None,")], "B2.4", ALL,
    ),
    "instrument's state given to its group": ([(OWN_STATE, GIVEN)], "B2.4", ALL),
    "pause empties the book": ([(OWN_STATE, EMPTIED)], "B2.4", ALL),
    "277 dropped": ([('(entry.get("TradeCondition") or "").split()', "[]")], "B2.10", ALL),
    "Delete From on bids only": (
        [("        rows[before] =", '        if action == DELETE_FROM and entry["MDEntryType"] == "1":\n            return\n        rows[before] =')],
        "B2.11", "MBO TOB",
    ),
    "TOB obeys overlays only": (
        [("        rows[before] =", '        if depth == "tob" and action in (DELETE, DELETE_FROM):\n            return\n        rows[before] =')],
        "B2.11", "TOB",
    ),
    "incremental definitions ignored": (
        [('elif kind == "y":', 'elif kind == "y" and stream["stream"] == "definition":')], "B3.1", ALL, "E4.1", ALL,
    ),
    "inserts before deletes of one message": (
        [("for entry in entries:", 'for entry in sorted(entries, key=lambda each: each["MDUpdateAction"] == 2):')],
        "B3.5", "MBO MBP", "B5.4", "MBO",
    ),
    "stays apart after 102": ([("self.apart - {security_id}", "self.apart")], "B3.8", ALL, "B4.4", ALL),
    "625=18 read as forbidden": ([(GROUP_STATE, FORBIDDEN)], "B4.4", ALL),
    "priceless entries of W skipped": (
        [('if entry["MDEntryType"] in ("0", "1"):',
          'if entry["MDEntryType"] in ("0", "1") and entry.get("MDEntryPx") is None:\n                pass\n'
          '            elif entry["MDEntryType"] in ("0", "1"):')],
        "B5.1", ALL,
    ),
    "336 ignored": ([('fields.get("TradingSessionID") or 1', "1")], "B6.1", ALL),
    "queue up to 369 applied again": ([("number > self.synced[depth, security_id]", "number")], "D1.2", "MBO MBP"),
    "range short by one": (
        [("self.streams.obey(command)", 'self.streams.obey(command | {"end": command.get("end", 0) - 1})')],
        "D2.2", "STEP",
    ),
    "1426=4 taken as complete": ([('fields.get("report") == 3', 'fields.get("report") in (3, 4)')], "D3.4", "STEP"),
    "leg trade sets the last price": ([('"1" not in conditions', "True")], "E4.6", ALL),
}  # fmt: skip


def wanted_failure(bug: str, segment: ScriptSegment) -> tuple[str, str]:
    """Step and boxes that are to fail first."""
    _, step, boxes, *others = BUGS[bug]
    if segment is ScriptSegment.DERIVATIVES and others:
        step, boxes = others
    return step, boxes


def first_failure(bug: str, segment: ScriptSegment, sections: frozenset[str] = PLAYED) -> tuple[str, str]:
    """Those that do, no further than the section of the wanted one."""
    changes, step = BUGS[bug][0], wanted_failure(bug, segment)[0]
    results = play(segment, lambda config: example_client(config, *changes), sections, until=step)
    found = failures(results)
    if not found:
        return "", ""
    first = found[0][0]
    return first, " ".join(box for at, box, _ in found if at == first)


def own_sections(bug: str, segment: ScriptSegment) -> frozenset[str]:
    """The section where it fails, and what must have been before: all that a bug takes to be found."""
    step = wanted_failure(bug, segment)[0]
    section = "E" if step.startswith("E4") else step.partition(".")[0]
    before = {"snapshot merged into the old book": "B1"}
    if segment is ScriptSegment.DERIVATIVES:
        before["stays apart after 102"] = "B2"
    return frozenset((section, before.get(bug, section)))
