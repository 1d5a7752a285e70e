"""The machine of a session: what `recovery.channel` is for multicast, where TCP has done the ordering.

There are no feeds, sites and loops. A book is as the session told it from its snapshot on, until the session
ends: then every book is stale until its next snapshot.
"""

from typing import Final

import numpy as np

from pregao.model.numbering import InstrumentNumbers
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.events import (
    ChannelReady,
    DefinitionsComplete,
    RequestRefused,
    SessionEnded,
    SessionStarted,
)
from pregao.recovery.held import Keeper, SnapshotHeader
from pregao.recovery.instrument_events import DoubtReason, Healer, HistoryFilled, InstrumentHealed
from pregao.recovery.instruments import BookStatus, Mark
from pregao.recovery.policy import ChannelSettings
from pregao.recovery.progress import ChannelState
from pregao.recovery.recovery import BOTH

_NOWHERE: Final = -1


class SessionMachine(ChannelMachine):
    """`keeper` keeps the books."""

    def __init__(
        self,
        channel: int,
        keeper: Keeper,
        settings: ChannelSettings | None = None,
        numbering: InstrumentNumbers | None = None,
    ) -> None:
        super().__init__(channel, keeper, settings, numbering)
        self._place = _NOWHERE
        self._keeper = keeper
        self._is_on = self._is_ready = self._has_list = False
        self._suspects: list[int] = []
        self.retold: dict[int, int] = {}  # books that are being told again after 269=J, and since when

    @property
    def at(self) -> int:
        """Place of the last message."""
        return self._place

    @property
    def is_on(self) -> bool:
        return self._is_on

    @property
    def state(self) -> ChannelState:
        if not self._is_on:
            return ChannelState.SILENT
        if not self._has_list:
            return ChannelState.WAITING_FOR_DEFINITIONS
        if not self._is_ready:
            return ChannelState.SYNCHRONISING
        return ChannelState.RECOVERING if self.table.unclean_count else ChannelState.LIVE

    @property
    def ready(self) -> bool:
        return self._is_ready

    # The session

    def begin(self, endpoint: str, epoch: int) -> None:
        """Logged on: nothing is known but what this session will tell."""
        self._is_on = True
        self._events.append(SessionStarted(self.channel, endpoint, epoch))

    def advance(self, at: int) -> None:
        self._place = at

    def lose(self, endpoint: str, reason: str) -> None:
        """The session is gone: no book is to be believed until its next snapshot."""
        self._events.append(SessionEnded(self.channel, endpoint, reason))
        if not self._is_on:
            return
        self._is_on = self._has_list = self._is_ready = False
        self.retold.clear()
        self._keeper.catch_up()
        self._recovery.forget_everything(DoubtReason.SESSION_LOST)
        self.definitions.on_loss()
        self._keeper.lost(self._place)

    def list_is_whole(self) -> None:
        """All instruments are listed: another one is new, and has nothing that could have been missed."""
        if not self._has_list:
            self._has_list = self.definitions.complete = True
            self._events.append(DefinitionsComplete(self.channel, self.table.instruments))

    def load(self, security_id: int, at: int, counted: int) -> None:
        """The keeper has the snapshot of an instrument, which is whole."""
        index = self.index_of(security_id)
        if index < 0:
            return
        self.retold.pop(index, None)
        self._recovery.load(index, SnapshotHeader(security_id, at, None, 0, 0, counted), at, BOTH)

    def snapshots_are_whole(self) -> None:
        if not self._is_ready:
            self._is_ready = True
            self._events.append(ChannelReady(self.channel, self.table.instruments, self.table.unclean_count))

    def on_refused(self, request: str, reason: str) -> None:
        self._events.append(RequestRefused(self.channel, request, reason))

    def on_history(self, security_id: int, first: int, last: int, *, whole: bool) -> None:
        self._events.append(HistoryFilled(security_id, first, last, whole))

    # Books that are told again

    def tell_again(self, security_id: int, now_ns: int) -> None:
        """269=J: empty now, and its orders follow."""
        index = self.table.find(security_id)
        if index >= 0:
            self.retold[index] = now_ns

    def told_again(self, index: int) -> None:
        """All its orders have come."""
        record = self.table.sync[index]
        self.retold.pop(index, None)
        if record["marks"] & Mark.REPLENISHING and record["book"] == BookStatus.UNVERIFIED:
            record["book"] = BookStatus.CLEAN
            record["marks"] &= ~np.uint8(Mark.REPLENISHING)
            self.held.forget(record)
            self.table.recount(index)
            self.counters.healed_by_empty_book += 1
            event = InstrumentHealed(
                self.table.security_ids[index], Healer.EMPTY_BOOK, self.at, True, False, 0
            )
            self._events.append(event)

    # What is wrong

    def on_suspect(self, index: int, at: int) -> None:
        super().on_suspect(index, at)
        self._suspects.append(self.table.security_ids[index])

    def take_suspects(self) -> list[int]:
        """Instruments whose books are wrong, since the last time: their snapshots are wanted."""
        suspects, self._suspects = self._suspects, []
        return suspects

    def suspect(self, security_id: int, at: int) -> None:
        """An update of its book could not be read."""
        index = self.table.find(security_id)
        if index >= 0 and self.table.sync[index]["book"] != BookStatus.STALE:
            self.table.sync[index]["book"] = BookStatus.STALE
            self.table.recount(index)
            self.on_suspect(index, at)

    def on_damage(self, at: int, what: str, byte: int) -> None:
        """Of a message or an entry: what it says of books, `suspect` is told by itself."""
        self.on_finding(at, what, byte)

    def settle(self, now_ns: int) -> None:
        """Nothing waits for a time but what `handler.session` knows."""
