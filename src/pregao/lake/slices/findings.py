"""What a slice has to say of the quality of its data: few rows, sent back to whoever writes the table."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pregao.lake.slices.machine import SliceMachine

Finding = dict[str, Any]
MOST: Final = 100_000  # of one slice


@dataclass(slots=True)
class Findings:
    """`loops` counts what was found of the snapshots of each loop; a loop may lie in two slices."""

    rows: list[Finding] = field(default_factory=list)
    loops: dict[int, Counter[str]] = field(default_factory=dict)
    left_out: int = 0

    def add(self, place: int, machine: "SliceMachine", finding: str, **columns: Any) -> None:
        of_nobody = columns.get("security_id") is None
        if not machine.emits(place) or (of_nobody and not machine.slice.is_first_shard):
            return
        if len(self.rows) >= MOST:
            self.left_out += 1
            return
        packet = machine.packet_at(place)
        sent = int(machine.merged.sent[packet]) if packet >= 0 else None
        self.rows.append({"place": place, "finding": finding, "ts_event": sent, **columns})

    def told(self) -> list[Finding]:
        """All rows, and one that says how many more there were."""
        if not self.left_out:
            return self.rows
        last = self.rows[-1]
        more = {
            "place": last["place"], "finding": "OTHER", "severity": "WARNING", "ts_event": last["ts_event"],
            "count": self.left_out, "detail": f"findings left out: a slice tells {MOST:,} at most",
        }  # fmt: skip
        return [*self.rows, more]

    def count(self, loop: int, what: str, times: int = 1) -> None:
        self.loops.setdefault(loop, Counter())[what] += times

    def conflict(self, place: int, machine: "SliceMachine") -> None:
        self.add(place, machine, "FEEDS_DIFFER", severity="ERROR", stream="INCREMENTAL", count=1,
                 detail="the same sequence number with other messages")  # fmt: skip

    def seam(self, machine: "SliceMachine") -> None:
        """Where a day goes on from the one before: how many packets are missing between them."""
        if not len(machine.merged):
            return
        first, before = int(machine.merged.place[0]), machine.slice.warm
        lost = first - before - 1
        self.add(first, machine, "SEAM", severity="WARNING" if lost else "INFO", stream="INCREMENTAL",
                 first_seq_num=before, last_seq_num=first, count=lost,
                 detail="begins with the books that the day before ended with")  # fmt: skip

    def damaged(self, place: int, fault: str, index: int, machine: "SliceMachine") -> None:
        self.add(place, machine, "DAMAGED_INPUT", severity="ERROR", stream="INCREMENTAL", msg_index=index,
                 count=1, detail=fault.lower())  # fmt: skip
