"""The snapshot stream of a channel (7): packets to whole snapshots of one instrument each."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pregao.feeds.port import Header, UnitReader
from pregao.handler.groups import SecurityGroups
from pregao.handler.keeper import StoreKeeper
from pregao.model.instruments import group_name, group_number
from pregao.model.market import Side
from pregao.model.packets import FOREIGN, NO_NEXT, Unit
from pregao.model.rows import FIRST_ENTRY_KIND, LAST_ENTRY_KIND, NULL, ROW, Flag, Kind, Rows
from pregao.model.streams import Feed
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.held import SnapshotHeader
from pregao.recovery.loops import Follow, loop_feed
from pregao.recovery.policy import SITE_OF
from pregao.recovery.snapshots import NOWHERE

# What a hostile header may make us keep: books of real instruments have some ten thousand orders.
MOST_ROWS = 1 << 20

EpochAt = Callable[[int], int | None]  # of the incremental stream, at a time


def _not_known(sent_ns: int) -> int | None:
    return None


class _Half:
    """A snapshot whose messages are coming in."""

    def __init__(self, row: Any, wanted: bool, epoch: int | None) -> None:
        self.security_id = int(row["security_id"])
        self.wanted = wanted
        self.bids, self.offers, self.statistics = int(row["low"]), int(row["high"]), int(row["position"])
        self.rows: list[Rows] = []
        self.size = 0
        version, number = int(row["other"]), int(row["price"])
        self.depth = int(row["firm"])
        without_report = row["flags"] & Flag.NO_REPORT
        self.header = SnapshotHeader(
            security_id=self.security_id,
            number=number,
            version=epoch if version == NULL else version,
            rpt_seq=0 if without_report else int(row["rpt_seq"]),
            reports=int(row["size"]),
            counted=self.bids + self.offers + self.statistics,
        )

    def take(self, rows: Rows) -> bool:
        """Rows that follow; False when they are not of this snapshot."""
        if (rows["security_id"] != self.security_id).any() or self.size + len(rows) > MOST_ROWS:
            return False
        orders = (rows["kind"] >= FIRST_ENTRY_KIND) & (rows["kind"] <= LAST_ENTRY_KIND)
        sides = rows["side"][orders]
        self.bids -= int(np.count_nonzero(sides == Side.BUY))
        self.offers -= int(np.count_nonzero(sides == Side.SELL))
        self.statistics -= len(rows) - len(sides)
        self.size += len(rows)
        if self.wanted:
            self.rows.append(rows.copy())
        return min(self.bids, self.offers, self.statistics) >= 0

    @property
    def whole(self) -> bool:
        return not (self.bids or self.offers or self.statistics)


class SnapshotReader:
    """Packets of the snapshot stream in; the machine is told what they come to. `epoch_at`: whose number a
    snapshot means that does not tell it."""

    def __init__(
        self,
        headers: Header,
        reader: UnitReader,
        machine: ChannelMachine,
        keeper: StoreKeeper,
        groups: SecurityGroups,
        epoch_at: EpochAt | None = None,
    ) -> None:
        self._headers, self._reader, self._machine = headers, reader, machine
        self._epoch_at = epoch_at or _not_known
        self._keeper, self._groups = keeper, groups
        self._half: _Half | None = None
        self._loop_feed = loop_feed(machine.settings.policy, machine.snapshots.tracker)
        self._loop = 0  # that is heard
        self._has_phases = False  # so far
        self._phases: list[Any] = []  # of this loop, until the channel is where its first snapshot stands
        self._own_phases: dict[int, tuple[int, Any]] = {}  # of groups, told by snapshots: where, and the row
        self._phases_at: int | None = None  # that place: the phases are not younger
        self.damaged = 0

    def receive(self, payload: bytes, feed: Feed, now_ns: int = 0) -> None:
        for unit in self._headers.split(payload, feed, now_ns):
            if unit.number == FOREIGN or unit.channel != self._machine.channel:
                self.damaged += 1
            else:
                self._receive(unit, feed)

    def _receive(self, unit: Unit, feed: Feed) -> None:
        snapshots = self._machine.snapshots
        if unit.number == 0 or unit.next_number != NO_NEXT:
            snapshots.on_heartbeat(unit.number)
            return
        if self._loop_feed is not None and not self._loop_feed.admits(feed, unit.epoch, unit.number):
            return
        follow = snapshots.on_packet(SITE_OF[feed], unit.epoch, unit.number)
        if follow is Follow.REPEATED:
            return
        if follow is not Follow.FOLLOWED:
            self._half = None
        if snapshots.tracker.loops != self._loop:
            self._loop = snapshots.tracker.loops
            self._has_phases = False
            self._phases.clear()
            self._own_phases.clear()
            self._phases_at = None
        reading = self._reader.read_unit(unit.payload)
        while True:
            if any(fault.lost for fault in reading.faults):
                self.damaged += 1
                self._half = None
            for fault in reading.faults:
                self._machine.on_finding(self._machine.at, fault.fault.name, fault.byte)
            self._take(reading.rows)
            if reading.whole:
                return
            reading = self._reader.go_on()

    def settle(self) -> None:
        """The channel may have come to where the phases of the loop stand. Later ones were told on the
        incremental stream, and earlier ones no loss can have hidden, if the loop began after the last one:
        so they are those of now."""
        self._settle_own_phases()
        if self._phases_at is None or self._machine.at < self._phases_at:
            return
        after_loss = self._machine.snapshots.begun_at >= self._keeper.lost_at
        for row in self._phases:
            self._groups.tell_from_snapshot(row, after_loss=after_loss)
        self._phases.clear()
        self._phases_at = None

    def _settle_own_phases(self) -> None:
        """The same of phases that snapshots of instruments tell, each as of its own place."""
        if not self._own_phases:
            return
        after_loss = self._machine.snapshots.begun_at >= self._keeper.lost_at
        for group, (at, row) in list(self._own_phases.items()):
            if at <= self._machine.at:
                self._groups.tell_from_snapshot(row, after_loss=after_loss)
                del self._own_phases[group]

    def _note_phases(self, half: _Half, rows: Rows) -> None:
        """A state may tell the phase of the instrument's group beside its own."""
        index, at = self._machine.table.find(half.security_id), self._machine.snapshots.place(half.header)
        group = None if index < 0 else self._groups.of(index)
        if group is None or at == NOWHERE:
            return
        for row in rows[(rows["kind"] == Kind.STATE) & (rows["origin"] > 0)]:
            self._has_phases = True
            phase = row.copy()
            phase["kind"], phase["type"], phase["id"] = Kind.PHASE, row["origin"], group_number(group.name)
            self._own_phases[int(phase["id"])] = at, phase

    def _take(self, rows: Rows) -> None:
        """Runs of rows between those that begin or end something."""
        kinds = rows["kind"]
        marks = np.flatnonzero(
            (kinds == Kind.SNAPSHOT) | (kinds == Kind.PHASE) | (kinds == Kind.SEQUENCE_RESET)
        )
        start = 0
        for mark in [*marks.tolist(), len(rows)]:
            if mark > start:
                self._follow(rows[start:mark])
            if mark < len(rows):
                self._mark(rows[mark])
            start = mark + 1

    def _mark(self, row: Any) -> None:
        kind = row["kind"]
        if kind == Kind.PHASE:
            self._has_phases = True
            self._phases.append(row.copy())
        elif kind == Kind.SNAPSHOT:
            self._begin(row)
        else:
            self._half = None
            self._end_loop()

    def _begin(self, row: Any) -> None:
        snapshots = self._machine.snapshots
        half = _Half(row, wanted=True, epoch=self._epoch_at(int(row["time_ns"])))
        half.wanted = bool(snapshots.on_begin(half.header))
        if self._phases and self._phases_at is None:
            at = snapshots.place(half.header)
            self._phases_at = None if at == NOWHERE else at
            self.settle()
        self._half = half
        if half.whole:
            self._end(half)

    def _follow(self, rows: Rows) -> None:
        half = self._half
        if half is None:
            return
        self._note_phases(half, rows)
        if not half.take(rows):
            self._half = None
        elif half.whole:
            self._end(half)

    def _end(self, half: _Half) -> None:
        self._half = None
        if half.wanted:
            self._keeper.snapshot = np.concatenate(half.rows) if half.rows else np.zeros(0, ROW)
            self._keeper.depth = half.depth
            self._machine.snapshots.on_end(half.header)
        if self._machine.snapshots.all_counted:
            self._end_loop()

    def _end_loop(self) -> None:
        snapshots = self._machine.snapshots
        whole = snapshots.on_sequence_reset()
        # In Binary UMDF one without any phase is no loop as the exchange sends it (7.4).
        has_phases = self._has_phases or not self._machine.settings.policy.loops_tell_phases
        if whole and has_phases and snapshots.begun_at >= self._keeper.lost_at:
            waiting = [int(row["id"]) for row in self._phases] + list(self._own_phases)
            self._groups.on_whole_loop({group_name(number) for number in waiting})
