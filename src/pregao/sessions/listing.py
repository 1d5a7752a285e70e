"""The instruments there are (6.4, 6.5.8): the definition stream's loops, and changes as they happen."""

from pregao.sessions.events import DefinitionsComplete, Event
from pregao.sessions.instruments import Mark
from pregao.sessions.loops import Follow, LoopTracker
from pregao.sessions.recovery import Recovery
from pregao.sessions.table import NOT_FOLLOWED, InstrumentTable


class Listing:
    """Complete when a whole loop was heard that began after the last loss of packets: a definition may
    have been in what was lost."""

    def __init__(self, channel: int, table: InstrumentTable, recovery: Recovery, tell: list[Event]) -> None:
        self._channel, self._table, self._recovery, self._tell = channel, table, recovery, tell
        self.tracker = LoopTracker()
        self.complete = False
        self._lost = False  # since the loop began

    def on_packet(self, version: int, number: int) -> Follow:
        follow = self.tracker.on_packet(version, number)
        if follow is Follow.BEGAN:
            self._lost = False
        return follow

    def on_heartbeat(self) -> None:
        """No list yet: it comes by the incremental stream with a ChannelReset (7.5)."""
        self.tracker.on_idle()

    def on_item(self, security_id: int, total: int) -> int:
        """A definition of the loop; the instrument's index."""
        self.tracker.on_item(total)
        return self._define(security_id)

    def on_sequence_reset(self) -> None:
        if self.tracker.on_sequence_reset() and not self._lost:
            if not self.complete:
                self._tell.append(DefinitionsComplete(self._channel, self.tracker.items))
            self.complete = True
            self._drop_unlisted()

    def on_definition(self, security_id: int, at: int, *, new: bool, deleted: bool) -> int:
        """A change told on the incremental stream: one that adds an instrument we do not know, while
        we know them all, has nothing that we could have missed."""
        index = self._table.find(security_id)
        if deleted:
            if index != NOT_FOLLOWED:
                self._ignore(index)
            return index
        unknown = index == NOT_FOLLOWED or self._table.sync[index]["marks"] & Mark.IGNORED
        index = self._define(security_id)
        if unknown and index != NOT_FOLLOWED:
            self._begin_again(index, max(self._recovery.missing, at), clean=new and self.complete)
        return index

    def on_loss(self) -> None:
        self.complete, self._lost = False, True

    def on_site(self) -> None:
        self.on_loss()
        self.leave()

    def leave(self) -> None:
        self.tracker.leave()

    def _define(self, security_id: int) -> int:
        index = self._table.add(security_id, self._recovery.missing)
        if index != NOT_FOLLOWED:
            record = self._table.sync[index]
            if record["marks"] & Mark.IGNORED:
                self._begin_again(index, self._recovery.missing, clean=False)
            record["marks"] |= Mark.DEFINED
            self._table.in_definitions[index] = self.tracker.loops
        return index

    def _begin_again(self, index: int, missing: int, *, clean: bool) -> None:
        self._recovery.begin_again(index, missing, clean=clean)
        self._table.sync[index]["marks"] |= Mark.DEFINED

    def _ignore(self, index: int) -> None:
        self._recovery.ignore(index)

    def _drop_unlisted(self) -> None:
        """Its deletion was lost: deleted instruments are not listed (6.5.8)."""
        loop, table = self.tracker.loops, self._table
        for index, record in enumerate(table.sync):
            if record["marks"] & Mark.DEFINED and table.in_definitions[index] < loop:
                self._ignore(index)
