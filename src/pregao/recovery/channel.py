"""One channel (6, 7): packets in any disorder, then control inputs, to instruments that are right or
known not to be.

Theory of operation, for whoever decodes:

1. A batch of incremental packets goes through `kernels.arrivals.take_in_sequence` with `arbiter.state`;
   what it does not judge goes to `on_packet` (a Sequence message to `on_heartbeat`). These, `on_timeout`
   and `on_kernel_release` give the packets whose turn has come, one after the other, and make known what
   happened between two of them. So: apply what the kernel accepted *before* calling, apply each packet
   before asking for the next, and ask to the end.
2. Each row of a packet has an instrument (`index_of`) and a decision (`on_row`, or `kernels.decide` and
   `push`, then `on_notes` and `on_overflow`). SequenceReset, ChannelReset, definitions and trade dates
   have inputs of their own, given in the order of the stream. Definitions and news are never held.
3. Packets of the looping streams go to `definitions` and `snapshots`, which say how they follow each
   other; a snapshot has a beginning and an end.
4. After each batch and each timeout: `settle`. Then `take_events`.
"""

from collections.abc import Iterator, Set
from typing import Any

import numpy as np

from pregao.model.numbering import InstrumentNumbers
from pregao.model.packets import UInt32s
from pregao.model.rows import Flag
from pregao.model.streams import Feed
from pregao.recovery.arbitration import Arbiter, Output, SequencedPacket
from pregao.recovery.counters import ChannelCounters
from pregao.recovery.disruptions import Disruptions
from pregao.recovery.events import Event, TradeDateChanged
from pregao.recovery.held import HeldRows, Keeper
from pregao.recovery.instruments import NOTABLE, BookStatus, Decision, Record, decide
from pregao.recovery.loops import InstrumentList
from pregao.recovery.policy import ChannelSettings, RecoveryStream
from pregao.recovery.progress import ChannelState, Progress
from pregao.recovery.recovery import Recovery
from pregao.recovery.sites import Sites
from pregao.recovery.snapshots import SnapshotRecovery
from pregao.recovery.table import NOT_FOLLOWED, InstrumentTable


class ChannelMachine:
    """The machine of one channel. It keeps no books: `keeper` does, by the numbers of `numbering`."""

    def __init__(
        self,
        channel: int,
        keeper: Keeper,
        settings: ChannelSettings | None = None,
        numbering: InstrumentNumbers | None = None,
    ) -> None:
        self.channel, self.settings = channel, settings or ChannelSettings()
        self.counters = ChannelCounters()
        self._events: list[Event] = []
        self.table = InstrumentTable(self.settings, numbering)
        self.held = HeldRows(self.settings.held_rows)
        self.sites = Sites(channel, self.settings, self._events)
        self._recovery = Recovery(channel, self.table, self.held, keeper, self.counters, self._events)
        self.definitions = InstrumentList(
            channel, self.table, self._recovery, self.settings.policy, self._events
        )
        self.snapshots = SnapshotRecovery(
            channel, self.table, self._recovery, self.definitions, self.sites, self.settings, self._events
        )
        self._progress = Progress(
            channel, self.table, self.sites, self.definitions, self.snapshots, keeper, self._events
        )
        self._upsets = Disruptions(
            channel, self.table, self.held, self.sites, self._recovery, self.definitions, self.snapshots,
            self._progress, keeper, self.counters, self.settings.policy, self._events,
        )  # fmt: skip
        self._trade_date = 0

    # What people ask

    @property
    def arbiter(self) -> Arbiter:
        """Of the site that is followed."""
        return self.sites.arbiter

    @property
    def at(self) -> int:
        """Place of the last packet whose turn has come."""
        return self.sites.arbiter.at

    @property
    def state(self) -> ChannelState:
        return self._progress.state

    @property
    def ready(self) -> bool:
        """Start-up is over (6.5.9)."""
        return self._progress.ready

    def known(self, index: int) -> tuple[BookStatus, BookStatus]:
        """What is known of an instrument's book and of its statistics."""
        record = self.table.sync[index]
        if not self.table.is_followed(index):
            return (
                BookStatus.STALE,
                BookStatus.STALE,
            )  # deleted, perhaps by a packet that was not the exchange's
        # One loaded from a snapshot that is ahead of the stream is right, but not yet as of now.
        most = BookStatus.UNVERIFIED if self.sites.silent or record["covered"] > self.at else BookStatus.CLEAN
        return min(most, BookStatus(int(record["book"]))), min(most, BookStatus(int(record["statistics"])))

    @property
    def joined(self) -> Set[RecoveryStream]:
        """The recovery streams that are needed."""
        return self._progress.joined

    def shows_statistics(self, index: int) -> bool:
        """Whether what is told of them is applied at once."""
        return bool(self.table.sync[index]["statistics"] != BookStatus.STALE)

    def take_events(self) -> list[Event]:
        taken = self._events.copy()
        self._events.clear()
        return taken

    # Incremental stream: packets

    def on_packet(
        self, feed: Feed, version: int, number: int, payload: bytes | memoryview, now_ns: int
    ) -> Iterator[SequencedPacket]:
        """A packet of this channel with a number other than 0."""
        if not self.sites.follows(feed):
            self.sites.hear_standby(feed, now_ns)
            return
        yield from self._in_order(self.arbiter.receive(feed, version, number, payload, now_ns))

    def on_heartbeat(
        self, feed: Feed, version: int, next_number: int, now_ns: int
    ) -> Iterator[SequencedPacket]:
        """A Sequence message (7.5)."""
        if not self.sites.follows(feed):
            self.sites.hear_standby(feed, now_ns)
            return
        yield from self._in_order(self.arbiter.on_heartbeat(feed, version, next_number, now_ns))

    def on_replayed(
        self, version: int, number: int, payload: bytes | memoryview, now_ns: int
    ) -> Iterator[SequencedPacket]:
        """A unit that a replayer sent, because it was asked for."""
        if self.arbiter.version == version:
            self.counters.replayed_units += 1
        outputs = self.arbiter.receive_replayed(version, number, payload, now_ns)
        self.counters.healed_by_replay += self.arbiter.take_filled()
        yield from self._in_order(outputs)

    def on_unanswered(self, version: int, first: int, last: int) -> Iterator[SequencedPacket]:
        """Units that a replayer was asked for and does not have."""
        yield from self._in_order(self.arbiter.on_unanswered(version, first, last))

    def on_kernel_release(self) -> Iterator[SequencedPacket]:
        """The kernel stopped before packets that are held here."""
        yield from self._in_order(self.arbiter.release())

    def next_timeout(self) -> int | None:
        return self.sites.next_timeout()

    def on_timeout(self, now_ns: int) -> Iterator[SequencedPacket]:
        """Time has passed."""
        yield from self._in_order(self.sites.on_timeout(now_ns))
        self._upsets.watch(now_ns)

    def _in_order(self, outputs: list[Output]) -> Iterator[SequencedPacket]:
        for output in outputs:
            if isinstance(output, SequencedPacket):
                yield output
            else:
                self._upsets.take(output)
        # A packet just applied may have been the last of its version.
        for output in self.arbiter.after_end():
            if isinstance(output, SequencedPacket):
                yield output
            else:
                self._upsets.take(output)

    # Incremental stream: what is in the packets

    def index_of(self, security_id: int) -> int:
        """Of an instrument that a row or snapshot names; NOT_FOLLOWED (-1) where nobody is interested."""
        index = self.table.find(security_id)
        if index == NOT_FOLLOWED:
            index = self.table.add(security_id, self._recovery.missing)
        return index

    def on_interest(self) -> None:
        """An instrument is followed from now on whose rows were skipped: a snapshot must have them."""
        self._recovery.missing = max(self._recovery.missing, self.at)

    def on_row(self, index: int, row: Any) -> int:
        """What to do with a row; it is held here if that is decided. In bits of `Decision`: EMPTIED comes
        before APPLY."""
        record: Record = self.table.sync[index]
        at, kind = int(row["at"]), int(row["kind"])
        outcome = decide(record, kind, int(row["rpt_seq"]), at, int(row["flags"]) & Flag.RECOVERY)
        if outcome & Decision.FORGET:
            self.held.forget(record)
        if outcome & Decision.HOLD and not self.held.push(record, row):
            self.on_overflow(at)
        if outcome & NOTABLE:
            self.table.recount(index)
            self.on_note(index, outcome, kind, at)
        return outcome

    def on_note(self, index: int, outcome: int, kind: int, at: int) -> None:
        """Of a kernel, which has recounted the instrument: this decision has one of the bits of NOTABLE."""
        if outcome & Decision.EMPTIED:
            self.snapshots.on_recovery()
        self._recovery.noted(index, outcome, kind, at)

    def on_overflow(self, at: int) -> None:
        """There is no room to hold a row that stands at this place; it is dropped like all others."""
        self._recovery.overflow(at)

    def on_suspect(self, index: int, at: int) -> None:
        """Of a kernel: an update did not fit the book, which is stale from now on."""
        self.counters.suspected += 1
        self._recovery.suspected(index, at)

    def on_finding(self, at: int, what: str, byte: int) -> None:
        """Something is odd at a byte, and nothing is lost by it that a number would not tell."""
        self._upsets.on_finding(at, what, byte)

    def on_unread(self, security_id: int, at: int) -> None:
        """A statistic of an instrument cannot be read: what is known of them is in doubt until a snapshot."""
        index = self.table.find(security_id)
        if index >= 0:
            self._recovery.unsettle_statistics(np.array([index], np.uint32), at)

    def on_damage(self, at: int, what: str, byte: int) -> None:
        """The rest of an accepted packet cannot be read: it is as good as lost."""
        self._upsets.on_damage(at, what, byte)

    def on_sequence_reset(self, at: int) -> None:
        """6.5.11: the sequence ends with this packet."""
        self._upsets.on_sequence_reset(at)

    def on_channel_reset(self, at: int) -> None:
        """6.5.12: every book is empty, and will be told again."""
        self._upsets.on_channel_reset(at)

    def on_definition(self, security_id: int, at: int, *, new: bool = False, deleted: bool = False) -> int:
        """A SecurityDefinition on the incremental stream; the instrument's index."""
        return self.definitions.on_definition(security_id, at, new=new, deleted=deleted)

    def on_group_phase(self, at: int, strangers: UInt32s | None = None) -> None:
        """A SecurityGroupPhase: it may reset statistics (14.3) and has no rptSeq, so it goes to every
        instrument of its group as a row. An instrument not heard of yet needs a snapshot that has it, and
        so do statistics of `strangers`, who may be of the group."""
        self._recovery.missing = max(self._recovery.missing, at)
        if strangers is not None and len(strangers):
            self._recovery.unsettle_statistics(strangers, at)

    def on_trade_date(self, trade_date: int) -> None:
        if trade_date != self._trade_date:
            if self._trade_date:
                self._events.append(TradeDateChanged(self.channel, self._trade_date, trade_date))
            self._trade_date = trade_date

    # Settling

    def settle(self, now_ns: int) -> None:
        """After a batch: states, and which recovery streams are needed."""
        self._upsets.watch(now_ns)
        self._progress.settle()
        self.arbiter.may_ask = self._progress.ready

    def check_invariants(self) -> None:
        """After `settle`, for tests and proofs: looks at every instrument."""
        self.table.check_invariants()
        self._progress.check_invariants()
