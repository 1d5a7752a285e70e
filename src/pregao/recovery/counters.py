"""Counts of a channel and its feeds, for people and metrics."""

from dataclasses import dataclass, fields

from pregao.model.records import record
from pregao.model.streams import Feed
from pregao.recovery.arbitration import Arbiter
from pregao.recovery.arbitration_state import DUPLICATE, FILLED, FIRST, HEARD_NS, LATE, RECEIVED


@record
class FeedCounters:
    """Packets of one feed."""

    received: int
    first: int  # it was the first to bring them
    duplicate: int
    late: int  # they were given up already
    filled: int  # the other feed had gone past them
    lost: int  # it did not bring them, or has not yet
    heard_ns: int


def feed_counters(arbiter: Arbiter, feed: Feed) -> FeedCounters:
    state = arbiter.state
    return FeedCounters(
        state.feed(feed, RECEIVED), state.feed(feed, FIRST), state.feed(feed, DUPLICATE),
        state.feed(feed, LATE), state.feed(feed, FILLED), arbiter.missed(feed), state.feed(feed, HEARD_NS),
    )  # fmt: skip


@dataclass(slots=True)
class ChannelCounters:
    gaps: int = 0
    lost_packets: int = 0
    asked_units: int = 0  # from a replayer
    replayed_units: int = 0  # that it sent
    conflicts: int = 0
    damaged: int = 0
    suspected: int = 0  # updates that did not fit a book
    version_changes: int = 0
    channel_resets: int = 0
    stream_resets: int = 0
    failovers: int = 0
    silences: int = 0
    overflows: int = 0  # of the queue of held rows
    dropped_rows: int = 0  # by these
    went_stale: int = 0
    healed_by_replay: int = 0  # gaps that a replayer filled
    healed_by_snapshot: int = 0
    healed_by_empty_book: int = 0
    healed_by_first_report: int = 0
    healed_by_absence: int = 0
    healed_by_continuity: int = 0
    snapshots_used: int = 0
    snapshots_of_other_version: int = 0
    snapshots_too_old: int = 0
    snapshots_unconnected: int = 0
    snapshots_not_needed: int = 0
    loops_completed: int = 0
    loops_broken: int = 0
    refused_instruments: int = 0  # beyond the bound of the table

    def as_dict(self) -> dict[str, int]:
        return {each.name: getattr(self, each.name) for each in fields(self)}
