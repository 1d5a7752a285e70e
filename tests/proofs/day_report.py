"""What happened on the days of a proof, and the summary of many."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pregao.handler.handler import ChannelHandler
from pregao.recovery.events import GapDetected
from pregao.recovery.instrument_events import InstrumentHealed, InstrumentStale
from pregao.recovery.instruments import BookStatus
from tests.proofs.truth_follower import DifferenceError, TruthFollower


@dataclass(slots=True)
class DayReport:
    """One day."""

    packets: int = 0
    impairments: int = 0
    comparisons: int = 0
    points: int = 0
    gaps: int = 0
    lost: int = 0
    stale: int = 0
    cut_short: int = 0  # instruments that the end of the day kept from being whole
    heals: Counter[str] = field(default_factory=Counter)
    waits: list[int] = field(default_factory=list)  # snapshot loops until healed

    def note(self, notices: Iterable[object]) -> None:
        """What a handler said."""
        for notice in notices:
            if isinstance(notice, GapDetected):
                self.gaps += 1
                self.lost += notice.packets
            elif isinstance(notice, InstrumentStale):
                self.stale += 1
            elif isinstance(notice, InstrumentHealed):
                self.heals[notice.by.name.lower()] += 1
                self.waits.append(notice.loops)

    def finish(self, handler: ChannelHandler, truth: TruthFollower) -> None:
        """At the end of a channel's day nothing is stale, and all was compared."""
        handler.store.check_invariants()
        sync, loops = handler.machine.table.sync, handler.machine.snapshots.tracker.loops
        for book in handler.books():
            known = min(handler.known(book.index))
            if book.instrument is None or known is BookStatus.CLEAN:
                continue
            # Only the end of the day may keep an instrument from being whole: a loop that begins after the
            # loss must be heard to its end, so it takes two.
            if loops - int(sync[book.index]["since"]) >= 2:
                raise DifferenceError(f"{book.symbol} is {known!r} at the end")
            self.cut_short += 1
        if not truth.is_over:
            raise DifferenceError(f"channel {handler.channel}: the last point of the truth was not reached")
        self.comparisons += truth.books + truth.statistics + truth.states
        self.points += truth.points


def summary(reports: list[DayReport]) -> dict[str, Any]:
    """For people: what the days had in all."""
    heals: Counter[str] = Counter()
    for report in reports:
        heals.update(report.heals)
    waits = np.array([wait for report in reports for wait in report.waits] or [0])
    p50, p99 = (float(np.percentile(waits, share)) for share in (50, 99))
    return {
        "days": len(reports),
        "days_with_losses": sum(report.lost > 0 for report in reports),
        "packets": sum(report.packets for report in reports),
        "gaps": sum(report.gaps for report in reports),
        "lost_packets": sum(report.lost for report in reports),
        "went_stale": sum(report.stale for report in reports),
        **{f"healed_by_{kind}": count for kind, count in sorted(heals.items())},
        "loops_to_heal_p50": p50,
        "loops_to_heal_p99": p99,
        "loops_to_heal_max": int(waits.max()),
        "points": sum(report.points for report in reports),
        "cut_short_by_the_end": sum(report.cut_short for report in reports),
    }
