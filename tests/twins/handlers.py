"""The feed handler and its plain twin over the same packets, held equal after every one of them."""

from collections.abc import Iterable

import numpy as np

from pregao.feeds.binary.system import BINARY
from pregao.handler.handler import ChannelHandler
from pregao.model.market import Side
from pregao.recovery.events import Event
from pregao.recovery.instrument_events import InstrumentHealed
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import ChannelSettings
from pregao.simulator.memory import CapturedPacket
from tests.twins.plain_handler import PlainHandler

_EVERYTHING_EACH = 250  # packets


class HandlerPair:
    """Of one channel. Whatever is known of instruments is compared after every packet; books and statistics
    of those that it concerned, and of all of them now and then."""

    def __init__(self, channel: int, settings: ChannelSettings | None = None) -> None:
        self.handler = ChannelHandler(channel, BINARY, settings, whole_events=False)
        self.plain = PlainHandler(channel, BINARY.schema, settings)
        self.packets = self.comparisons = 0
        self.events: list[Event] = []

    def receive(self, packet: CapturedPacket) -> None:
        due_ns = self.handler.next_timeout()
        assert due_ns == self.plain.machine.next_timeout()
        if due_ns is not None and due_ns <= packet.ts_ns:
            self._same_events(self.handler.on_timeout(packet.ts_ns), self.plain.on_timeout(packet.ts_ns))
        before = self.handler.machine.table.sync.copy()
        where = packet.stream, packet.feed, packet.ts_ns
        self._same_events(
            self.handler.receive(packet.payload, *where), self.plain.receive(packet.payload, *where)
        )
        self.packets += 1
        self._same_knowledge(packet)
        if self.packets % _EVERYTHING_EACH == 0:
            self.compare_all()
        else:
            self.compare(self._changed(before))

    def _same_events(self, ours: list[Event], theirs: list[Event]) -> None:
        # A kernel tells of its rows when it is through with them: the same things, maybe in another order.
        assert sorted(map(str, ours)) == sorted(map(str, theirs))
        self.events += ours

    def _same_knowledge(self, packet: CapturedPacket) -> None:
        ours, theirs = self.handler.machine, self.plain.machine
        ours.check_invariants()
        assert ours.at == theirs.at, packet
        assert ours.state is theirs.state
        assert ours.joined == theirs.joined
        assert ours.table.unclean_count == theirs.table.unclean_count
        assert ours.counters == theirs.counters
        assert ours.table.security_ids == theirs.table.security_ids
        if not np.array_equal(ours.table.sync, theirs.table.sync):
            different = np.flatnonzero(ours.table.sync != theirs.table.sync).tolist()
            raise AssertionError([(i, ours.table.sync[i], theirs.table.sync[i]) for i in different])
        assert ours.held.count == theirs.held.count

    def _changed(self, before: np.ndarray) -> list[int]:
        now = self.handler.machine.table.sync
        changed = np.flatnonzero(now[: len(before)] != before).tolist()
        return [*changed, *range(len(before), len(now))]

    def compare_all(self) -> None:
        self.compare(range(len(self.handler.machine.table)))
        self.handler.store.check_invariants()

    def compare(self, indexes: Iterable[int]) -> None:
        store = self.handler.store
        for index in indexes:
            theirs, record = self.plain.store[index], self.handler.machine.table.sync[index]
            if record["book"] != BookStatus.STALE:
                for side in Side:
                    assert store.orders(index, side) == theirs.book.orders(side), (index, side)
                    assert store.levels(index, side) == theirs.book.levels(side), (index, side)
                self.comparisons += 1
            if record["statistics"] != BookStatus.STALE:
                assert store.statistics(index) == theirs.statistics, index
                assert (store.own_state(index), store.group_phase(index)) == (theirs.own, theirs.phase), index
                self.comparisons += 1

    @property
    def healed(self) -> int:
        return sum(isinstance(event, InstrumentHealed) for event in self.events)
