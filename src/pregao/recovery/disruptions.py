"""What concerns every instrument of a channel: losses, conflicts, damage, resets, another sequence version,
another site. Each casts doubt on what is known; `Recovery` has the rules by which it ends."""

import numpy as np

from pregao.recovery.counters import ChannelCounters
from pregao.recovery.events import (
    ChannelWasCleared,
    Event,
    GapDetected,
    PacketConflict,
    PacketDamaged,
    SequenceStarted,
    SequenceVersionChanged,
    StreamReset,
    UnitsWanted,
)
from pregao.recovery.held import HeldRows, Keeper
from pregao.recovery.in_sequence import Disruption
from pregao.recovery.instrument_events import DoubtReason, InstrumentsUnverified
from pregao.recovery.instruments import VerifiedPart, lose_units
from pregao.recovery.loops import InstrumentList
from pregao.recovery.policy import RecoveryPolicy, Site, number_of
from pregao.recovery.progress import Progress, ProgressInput
from pregao.recovery.recovery import Recovery
from pregao.recovery.sites import Sites
from pregao.recovery.snapshots import SnapshotRecovery
from pregao.recovery.table import InstrumentTable


class Disruptions:
    def __init__(
        self,
        channel: int,
        table: InstrumentTable,
        held: HeldRows,
        sites: Sites,
        recovery: Recovery,
        definitions: InstrumentList,
        snapshots: SnapshotRecovery,
        progress: Progress,
        keeper: Keeper,
        counters: ChannelCounters,
        policy: RecoveryPolicy,
        tell: list[Event],
    ) -> None:
        self._channel, self._table, self._held, self._sites = channel, table, held, sites
        self._recovery, self._definitions, self._snapshots = recovery, definitions, snapshots
        self._progress, self._keeper, self._counters, self._tell = progress, keeper, counters, tell
        self._policy = policy

    def take(self, upset: Disruption) -> None:
        """Something happened between two packets of the incremental stream."""
        self._tell.append(upset)
        if isinstance(upset, UnitsWanted):
            self._counters.asked_units += number_of(upset.last) - number_of(upset.first) + 1
            return  # nothing is lost yet
        self._keeper.catch_up()
        if isinstance(upset, GapDetected):
            self._on_gap(upset)
        elif isinstance(upset, PacketConflict):
            self._counters.conflicts += 1
            # What came after that packet was applied and not held: a snapshot must have it too.
            self._lose(max(upset.at, self._at), None)
        elif isinstance(upset, SequenceStarted):
            self._snapshots.on_version()
            self._lose(upset.missing, None, forget=True)
        else:
            self._on_version(upset)

    def on_finding(self, at: int, what: str, byte: int) -> None:
        self._counters.damaged += 1
        self._tell.append(PacketDamaged(self._channel, at, what, byte))

    def on_damage(self, at: int, what: str, byte: int) -> None:
        """The rest of an accepted packet cannot be read: it is as good as lost."""
        self._counters.damaged += 1
        self._tell.append(PacketDamaged(self._channel, at, what, byte))
        self._lose(max(at, self._at), 1)  # as for a conflict: others of its batch were applied

    def on_sequence_reset(self, at: int) -> None:
        """6.5.11: the sequence ends with this packet."""
        self._counters.stream_resets += 1
        self._tell.append(StreamReset(self._channel, at))
        self._snapshots.on_recovery()
        self._sites.arbiter.on_sequence_reset(at)

    def on_channel_reset(self, at: int) -> None:
        """6.5.12: every book is empty, and will be told again."""
        self._counters.channel_resets += 1
        self._tell.append(ChannelWasCleared(self._channel, at))
        self._snapshots.on_recovery()
        self._recovery.clear(at, self._policy.reset_clears)
        if VerifiedPart.STATISTICS in self._policy.reset_doubts:
            self._recovery.unsettle_statistics(np.arange(len(self._table), dtype=np.uint32), at)

    def watch(self, now_ns: int) -> None:
        """Whether feeds are heard, and which site is to be followed."""
        sites, progress, was_silent = self._sites, self._progress, self._sites.silent
        if sites.watch(now_ns):
            self._on_site()
        elif sites.silent and not was_silent:
            self._counters.silences += 1
            progress.enter(ProgressInput.WENT_SILENT)
        elif was_silent and not sites.silent:
            progress.hear_again()

    @property
    def _at(self) -> int:
        return self._sites.arbiter.at

    def _on_gap(self, gap: GapDetected) -> None:
        self._counters.gaps += 1
        self._counters.lost_packets += gap.packets
        # What is held comes before it: a snapshot that covers the gap covers that too.
        self._lose(gap.last, gap.packets, forget=True)

    def _on_version(self, change: SequenceVersionChanged) -> None:
        self._counters.version_changes += 1
        self._snapshots.on_version()
        if not self._policy.resyncs_by_snapshot:
            self._recovery.unsettle_books(change.missing)
        if self._policy.resyncs_by_snapshot or not change.clean:
            self._lose(change.missing, None, forget=True)

    def _on_site(self) -> None:
        self._counters.failovers += 1
        self._progress.leave_site(Site(1 - self._sites.active))
        self._keeper.catch_up()
        self._recovery.forget_everything(DoubtReason.SITE_CHANGED)
        self._keeper.lost(self._at)
        self._definitions.on_site()
        self._snapshots.on_site()
        self._progress.enter(ProgressInput.SITE_CHANGED)

    def _lose(self, at: int, packets: int | None, *, forget: bool = False) -> None:
        self._recovery.missing = max(self._recovery.missing, at)
        if forget:
            self._held.forget_all(self._table.sync)
        reports = None if packets is None else packets * self._policy.reports_in_a_unit
        concerned = lose_units(self._table.sync, at, reports, self._recovery.loops)
        self._table.recount_all()
        if concerned:
            ids = tuple(self._table.security_ids[index] for index in concerned)
            self._tell.append(InstrumentsUnverified(self._channel, ids, at))
        self._definitions.on_loss()
        self._keeper.lost(at)
