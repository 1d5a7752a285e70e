"""How many instruments are not clean is kept by the table, whoever changes their status; and while there is
one, the snapshot stream is joined."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.recovery.held import SnapshotHeader
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import ChannelSettings, RecoveryStream
from pregao.recovery.progress import ChannelState
from pregao.recovery.table import InstrumentTable
from tests.unit.recovery.test_channel import client, packet, snapshot
from tests.unit.recovery.toy_client import ToyClient
from tests.unit.recovery.toy_day import SETTINGS
from tests.unit.recovery.toy_exchange import Sent


def list_definitions(one: ToyClient, version: int, *security_ids: int) -> None:
    """A whole loop of the definition stream (6.5.8)."""
    for number, security_id in enumerate(security_ids, 1):
        one.receive("D", Sent("D", 0, version, number, (("listed", security_id, len(security_ids)),)), 2)
    one.receive("D", Sent("D", 0, version, len(security_ids) + 1, (("sequence_reset",),)), 2)


def test_instruments_that_definitions_add_to_an_empty_table_are_looked_after() -> None:
    one = client()
    one.receive("A", packet(10), 1)  # about nobody: the table is empty, and nothing in it is unclean
    list_definitions(one, 1, 1, 2, 3)
    assert one.machine.table.unclean_count == 3
    assert one.machine.state is not ChannelState.LIVE
    assert RecoveryStream.SNAPSHOTS in one.machine.joined
    for security_id in (1, 2, 3):
        assert snapshot(one, SnapshotHeader(security_id, 10, 1, 4, 3, 1), {7: 7})
    one.receive("A", packet(11), 3)
    assert one.machine.state is ChannelState.LIVE
    assert one.machine.table.unclean_count == 0
    assert RecoveryStream.SNAPSHOTS not in one.machine.joined


def test_an_addition_lost_in_a_gap_and_listed_later_is_looked_after() -> None:
    one = client()
    one.receive("A", packet(10), 1)
    list_definitions(one, 1, 1, 2)
    for security_id in (1, 2):
        assert snapshot(one, SnapshotHeader(security_id, 10, 1, 4, 2, 1), {7: 7})
    one.receive("A", packet(12), 3)  # 11 had the definition of 3
    one.pass_time(3 + SETTINGS.hold_ns)
    assert one.machine.table.unclean_count == 2
    for security_id in (1, 2):  # a running loop heals them before any definition is repeated
        assert snapshot(one, SnapshotHeader(security_id, 12, 1, 4, 2, 1), {7: 7})
    one.receive("A", packet(13), 4 + SETTINGS.hold_ns)
    assert one.machine.state is ChannelState.LIVE
    list_definitions(one, 2, 1, 2, 3)
    assert one.machine.known(one.machine.table.find(3)) == (BookStatus.STALE, BookStatus.STALE)
    assert one.machine.state is ChannelState.RECOVERING
    assert RecoveryStream.SNAPSHOTS in one.machine.joined


STATUS = st.sampled_from(tuple(BookStatus))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("aibcsk"), st.integers(0, 7), STATUS, STATUS), max_size=60))
def test_the_count_is_the_plain_recount(steps: list[tuple[str, int, BookStatus, BookStatus]]) -> None:
    table = InstrumentTable(ChannelSettings(instruments=6))
    for step, which, book, statistics in steps:
        index = table.find(which)
        if step == "a":
            table.add(which, 0)
        elif index >= 0:
            record = table.sync[index]
            if step == "i":
                table.ignore(index)
            elif step == "b":
                table.begin_again(index, 0, clean=book is BookStatus.CLEAN)
            else:
                record["book"], record["statistics"] = book, statistics
                if step == "c":
                    table.recount(index)
                elif step == "s":
                    table.recount_some(np.array([index], np.uint32))
                else:
                    table.recount_all()
        table.check_invariants()
        assert table.unclean_count == len(table.unclean())
