"""The snapshot stream (7): which snapshots count, and what a complete loop says of those not in it."""

from pregao.recovery.events import Event, SnapshotLoopComplete
from pregao.recovery.held import SnapshotHeader
from pregao.recovery.instruments import VerifiedPart
from pregao.recovery.loops import Follow, InstrumentList, LoopTracker
from pregao.recovery.policy import ChannelSettings, Site
from pregao.recovery.policy import place as place_of
from pregao.recovery.recovery import Recovery
from pregao.recovery.sites import Sites
from pregao.recovery.table import NOT_FOLLOWED, InstrumentTable

NOWHERE = -1  # of a snapshot of another sequence
_NEITHER = VerifiedPart(0)


class SnapshotRecovery:
    """The snapshot stream of the site that is followed."""

    def __init__(
        self,
        channel: int,
        table: InstrumentTable,
        recovery: Recovery,
        definitions: InstrumentList,
        sites: Sites,
        settings: ChannelSettings,
        tell: list[Event],
    ) -> None:
        self._channel, self._table, self._recovery, self._sites = channel, table, recovery, sites
        self._definitions, self._settings, self._tell = definitions, settings, tell
        self._by_count = settings.policy.snapshots_end_by_count
        self.tracker = LoopTracker(settings.policy, ends_by_count=self._by_count)
        self.completed = False  # a complete loop was heard from this site
        self.begun_at = NOWHERE  # the loop lists what there was at this place, or later
        self._latest = NOWHERE  # place of the last snapshot of any loop
        self._appearance = 0  # of the sequence version when the loop began
        self._recoveries = 0  # books told again, resets
        self._quiet_since: list[int | None] = [None, None]  # that count when the last two loops began

    def on_packet(self, site: Site, version: int, number: int) -> Follow:
        """A packet that is no heartbeat. What was begun is void unless it FOLLOWED; REPEATED: leave it."""
        if site is not self._sites.active:
            return Follow.REPEATED
        follow = self.tracker.on_packet(version, number)
        if follow in (Follow.BEGAN, Follow.BROKE) and self.tracker.loops != self._recovery.loops:
            self._recovery.loops = self.tracker.loops
            self._begin(heard=follow is Follow.BEGAN)
        return follow

    def on_heartbeat(self, number: int = 0) -> None:
        """The recovery system is idle: books will come by the incremental stream (7.5)."""
        self.tracker.on_idle(number)

    @property
    def all_counted(self) -> bool:
        """Whether the loop is over without a mark: as many snapshots came as each said that there are."""
        return self._by_count and self.tracker.all_counted

    def on_begin(self, header: SnapshotHeader) -> VerifiedPart:
        """A header: which parts of what follows are wanted; none: no need to read it."""
        self.tracker.on_item(header.reports)
        at = self.place(header)
        if at != NOWHERE:
            if self.begun_at == NOWHERE and self.tracker.at_first_packet:
                self.begun_at = at  # told in one moment with the list
            self._latest = max(self._latest, at)
        index = self._table.find(header.security_id)
        if index == NOT_FOLLOWED:
            index = self._add(header)
        if index == NOT_FOLLOWED:
            return _NEITHER
        if not header.alone:
            self._table.in_snapshots[index] = self.tracker.loops
        return self._wanted(index, header, at)

    def _add(self, header: SnapshotHeader) -> int:
        """An instrument that is not known; a header alone is of one that was deleted (7.2). The list of a
        definition loop that ends later drops it, if it is not in it."""
        if header.alone or not self._definitions.may_list(header.security_id):
            return NOT_FOLLOWED
        index = self._table.add(header.security_id, self._recovery.missing)
        if index != NOT_FOLLOWED:
            self._table.in_definitions[index] = 0
        return index

    def on_end(self, header: SnapshotHeader) -> bool:
        """All that the header counts is there. True when it was loaded; the loss of packets since the
        beginning may have made it too old."""
        index, at = self._table.find(header.security_id), self.place(header)
        if index == NOT_FOLLOWED:
            return False
        parts = self._wanted(index, header, at)
        if parts:
            self._recovery.load(index, header, at, parts)
        return bool(parts)

    def on_sequence_reset(self) -> bool:
        """The loop is over (7.1). True when it was heard from its first to its last snapshot."""
        tracker, counters = self.tracker, self._recovery.counters
        if complete := tracker.on_sequence_reset():
            self.completed = True
            self._tell.append(SnapshotLoopComplete(self._channel, tracker.version, tracker.items))
            # Who waits for its book is in no loop, and may be the last to wait: two loops must be quiet.
            quiet = self._quiet_since[0] == self._recoveries
            if quiet and self.begun_at != NOWHERE:
                self._recovery.absent(tracker.loops, self.begun_at)
        counters.loops_completed, counters.loops_broken = tracker.completed, tracker.broken
        return complete

    def on_recovery(self) -> None:
        """Books are told again on the incremental stream: until then they are in no loop (6.5.12)."""
        self._recoveries += 1

    def on_version(self) -> None:
        self._recoveries += 1
        self.begun_at = self._latest = NOWHERE

    def on_site(self) -> None:
        self.completed = False
        self.on_version()
        self.leave()

    def leave(self) -> None:
        self.tracker.leave()
        self.begun_at = self._latest = NOWHERE
        self._quiet_since = [None, None]

    def _begin(self, *, heard: bool) -> None:
        """The list of a loop is not older than the last snapshot of the loop before it."""
        self.begun_at = self._latest if heard else NOWHERE
        self._appearance = self._sites.appearance if heard else 0
        self._quiet_since = [self._quiet_since[1], self._recoveries if heard else None]

    def place(self, header: SnapshotHeader) -> int:
        """Where a snapshot stands, or nowhere: of another sequence version, or absurd."""
        arbiter = self._sites.arbiter
        appearance = self._sites.appearance
        if arbiter.version < 0:
            return NOWHERE
        at = place_of(appearance, header.number)
        if header.version is None:
            # Below wire version 15: the loop must have begun in this sequence, and be no further.
            return at if self._appearance == appearance and at <= arbiter.at else NOWHERE
        if header.version != arbiter.version or at > arbiter.at + self._settings.snapshot_ahead:
            return NOWHERE
        return at

    def _wanted(self, index: int, header: SnapshotHeader, at: int) -> VerifiedPart:
        if at == NOWHERE:
            self._recovery.counters.snapshots_of_other_version += 1
            return _NEITHER
        return self._recovery.wanted(index, header, at, self._sites.arbiter.at)
