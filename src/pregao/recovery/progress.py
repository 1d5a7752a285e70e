"""How far a channel is: its state, whether start-up is over, which recovery streams are needed."""

from collections.abc import Set
from enum import IntEnum, auto
from typing import Final

from pregao.recovery.events import ChannelReady, Event, JoinStream, LeaveStream
from pregao.recovery.held import Keeper
from pregao.recovery.loops import InstrumentList
from pregao.recovery.policy import RecoveryStream, Site
from pregao.recovery.sites import Sites
from pregao.recovery.snapshots import SnapshotRecovery
from pregao.recovery.table import InstrumentTable

# The states of a channel, as a table of (state, input) → state. What is not in it changes nothing.


# Whole numbers: they are looked up after every batch, and an Enum is hashed by its name.
class ChannelState(IntEnum):
    WAITING_FOR_DEFINITIONS = auto()
    SYNCHRONISING = auto()  # definitions are known, not every snapshot was seen (6.5.9)
    LIVE = auto()  # every instrument is clean, and the phase of every group is known that snapshots tell
    RECOVERING = auto()  # some are not; all others go on (7.4.1)
    SILENT = auto()  # nothing is heard: no book is to be trusted (6.2)


class ProgressInput(IntEnum):
    DEFINITIONS_COMPLETE = auto()
    LOOP_COMPLETE = auto()
    ALL_CLEAN = auto()
    SOMETHING_MISSING = auto()
    WENT_SILENT = auto()
    HEARD = auto()
    HEARD_BEFORE_READY = auto()  # the first synchronisation is not over
    HEARD_BEFORE_DEFINITIONS = auto()
    SITE_CHANGED = auto()


_S, _I = ChannelState, ProgressInput
TRANSITIONS: Final[dict[tuple[ChannelState, ProgressInput], ChannelState]] = {
    (_S.WAITING_FOR_DEFINITIONS, _I.DEFINITIONS_COMPLETE): _S.SYNCHRONISING,
    (_S.WAITING_FOR_DEFINITIONS, _I.WENT_SILENT): _S.SILENT,
    (_S.SYNCHRONISING, _I.LOOP_COMPLETE): _S.RECOVERING,
    (_S.SYNCHRONISING, _I.ALL_CLEAN): _S.LIVE,
    (_S.SYNCHRONISING, _I.WENT_SILENT): _S.SILENT,
    (_S.LIVE, _I.SOMETHING_MISSING): _S.RECOVERING,
    (_S.LIVE, _I.WENT_SILENT): _S.SILENT,
    (_S.LIVE, _I.SITE_CHANGED): _S.SYNCHRONISING,
    (_S.RECOVERING, _I.ALL_CLEAN): _S.LIVE,
    (_S.RECOVERING, _I.WENT_SILENT): _S.SILENT,
    (_S.RECOVERING, _I.SITE_CHANGED): _S.SYNCHRONISING,
    (_S.SILENT, _I.HEARD): _S.RECOVERING,
    (_S.SILENT, _I.HEARD_BEFORE_READY): _S.SYNCHRONISING,
    (_S.SILENT, _I.HEARD_BEFORE_DEFINITIONS): _S.WAITING_FOR_DEFINITIONS,
    (_S.SILENT, _I.SITE_CHANGED): _S.SYNCHRONISING,
}


def after(state: ChannelState, what: ProgressInput) -> ChannelState:
    return TRANSITIONS.get((state, what), state)


class Progress:
    def __init__(
        self,
        channel: int,
        table: InstrumentTable,
        sites: Sites,
        definitions: InstrumentList,
        snapshots: SnapshotRecovery,
        keeper: Keeper,
        tell: list[Event],
    ) -> None:
        self._channel, self._table, self._sites, self._tell = channel, table, sites, tell
        self._definitions, self._snapshots, self._keeper = definitions, snapshots, keeper
        self.state = ChannelState.WAITING_FOR_DEFINITIONS
        self.ready = False  # start-up is over (6.5.9)
        self._joined: set[RecoveryStream] = set()
        self._settled: tuple[object, ...] | None = None  # what was looked at last, where it changed nothing

    @property
    def joined(self) -> Set[RecoveryStream]:
        """The recovery streams that are needed."""
        return self._joined

    def settle(self) -> None:
        """After a batch: look again at all that may have changed."""
        unclean = self._table.unclean_count
        missing = unclean + self._keeper.phases_sought
        started = self._sites.arbiter.version >= 0
        state, complete, completed = self.state, self._definitions.complete, self._snapshots.completed
        seen = state, complete, completed, missing, started
        if seen == self._settled:
            return
        if complete:
            self.enter(ProgressInput.DEFINITIONS_COMPLETE)
        if completed:
            self.enter(ProgressInput.LOOP_COMPLETE)
        self.enter(ProgressInput.SOMETHING_MISSING if missing or not started else ProgressInput.ALL_CLEAN)
        if not self.ready and self.state in (ChannelState.LIVE, ChannelState.RECOVERING):
            self.ready = True
            self._tell.append(ChannelReady(self._channel, self._table.instruments, unclean))
        self._join(RecoveryStream.DEFINITIONS, wanted=not complete)
        self._join(RecoveryStream.SNAPSHOTS, wanted=missing > 0 or not self.ready)
        self._settled = seen if self.state is state else None

    def check_invariants(self) -> None:
        """After `settle`: whatever is not clean or not known is being looked after."""
        unclean, sought = self._table.unclean(), self._keeper.phases_sought
        missing = len(unclean) + sought
        assert not missing or self.state is not ChannelState.LIVE, (unclean, sought)
        assert not missing or RecoveryStream.SNAPSHOTS in self._joined, (unclean, sought)
        assert self._definitions.complete or RecoveryStream.DEFINITIONS in self._joined

    def enter(self, what: ProgressInput) -> None:
        self.state = after(self.state, what)

    def hear_again(self) -> None:
        """The silence is over."""
        self.enter(
            ProgressInput.HEARD if self.ready
            else ProgressInput.HEARD_BEFORE_READY if self._definitions.complete
            else ProgressInput.HEARD_BEFORE_DEFINITIONS
        )  # fmt: skip

    def leave_site(self, site: Site) -> None:
        """Its recovery streams are its own."""
        for stream in self._joined:
            self._tell.append(LeaveStream(self._channel, stream, site))
        self._joined.clear()
        self._settled = None

    def _join(self, stream: RecoveryStream, *, wanted: bool) -> None:
        site = self._sites.active
        if wanted and stream not in self._joined:
            self._joined.add(stream)
            self._tell.append(JoinStream(self._channel, stream, site))
        elif not wanted and stream in self._joined:
            self._joined.remove(stream)
            self._tell.append(LeaveStream(self._channel, stream, site))
            (self._definitions if stream is RecoveryStream.DEFINITIONS else self._snapshots).leave()
