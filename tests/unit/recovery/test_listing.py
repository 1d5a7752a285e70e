"""Which instruments there are (6.5.8, 6.5.9), also where a loop is older than the incremental stream."""

import pytest

from pregao.recovery.events import DefinitionsComplete
from pregao.recovery.held import SnapshotHeader
from pregao.recovery.policy import RecoveryStream, Site
from tests.unit.recovery.test_channel import client, packet
from tests.unit.recovery.toy_client import ToyClient
from tests.unit.recovery.toy_day import SETTINGS
from tests.unit.recovery.toy_exchange import Sent


def listing(one: ToyClient, version: int, number: int, *messages: tuple[object, ...]) -> None:
    one.receive("D", Sent("D", 0, version, number, messages), one.now_ns)


def whole_loop(one: ToyClient, version: int, *security_ids: int) -> None:
    for number, security_id in enumerate(security_ids, 1):
        listing(one, version, number, ("listed", security_id, len(security_ids)))
    listing(one, version, len(security_ids) + 1, ("sequence_reset",))


def followed(one: ToyClient) -> list[int]:
    table = one.machine.table
    return [each for index, each in enumerate(table.security_ids) if table.is_followed(index)]


def started() -> ToyClient:
    one = client()
    one.receive("A", packet(10), 1)
    return one


def lose_one(one: ToyClient, number: int) -> None:
    """The packet before this number."""
    one.receive("A", packet(number), one.now_ns + 1)
    one.pass_time(one.now_ns + SETTINGS.hold_ns)
    assert RecoveryStream.DEFINITIONS in one.machine.joined


@pytest.mark.parametrize("known_before", [True, False])
def test_deleted_while_the_loop_still_lists_it(known_before: bool) -> None:
    one = started()
    if known_before:
        one.receive("A", packet(11, ("define", 2, "new")), 1)
    listing(one, 1, 1, ("listed", 1, 2))
    one.receive("A", packet(11 + known_before, ("define", 2, "deleted")), 1)
    listing(one, 1, 2, ("listed", 2, 2))
    listing(one, 1, 3, ("sequence_reset",))
    assert one.machine.definitions.complete
    assert followed(one) == [1]


def test_added_while_a_loop_runs_that_does_not_list_it() -> None:
    one = started()
    listing(one, 1, 1, ("listed", 1, 2))
    one.receive("A", packet(11, ("define", 3, "new")), 1)
    listing(one, 1, 2, ("listed", 2, 2))
    listing(one, 1, 3, ("sequence_reset",))
    assert sorted(followed(one)) == [1, 2, 3]


def test_a_loop_begun_after_a_loss_knows_better() -> None:
    one = started()
    one.receive("A", packet(11, ("define", 2, "new"), ("define", 3, "new")), 1)
    one.receive("A", packet(12, ("define", 2, "deleted")), 1)
    lose_one(one, 14)
    listing(one, 1, 1, ("listed", 1, 2))
    one.receive("A", packet(15, ("define", 4, "new")), one.now_ns)  # after the loss, and not in the list
    listing(one, 1, 2, ("listed", 2, 2))  # listed again in what was lost
    listing(one, 1, 3, ("sequence_reset",))
    assert sorted(followed(one)) == [1, 2, 4]  # 3 was deleted in what was lost


def test_a_loop_begun_before_the_loss_does_not() -> None:
    one = started()
    listing(one, 1, 1, ("listed", 1, 2))
    one.receive("A", packet(11, ("define", 2, "deleted")), 1)
    lose_one(one, 13)
    listing(one, 1, 2, ("listed", 2, 2))
    listing(one, 1, 3, ("sequence_reset",))
    assert followed(one) == [1]
    assert not one.machine.definitions.complete
    whole_loop(one, 2, 1, 2)
    assert sorted(followed(one)) == [1, 2]
    assert one.machine.definitions.complete


def test_named_by_a_row_only_and_never_listed() -> None:
    """Added and deleted in packets that were lost; between them it traded."""
    one = started()
    one.receive("A", packet(11, ("trade", 7, 5, 1, 1)), 1)
    assert followed(one) == [7]
    whole_loop(one, 1, 1)
    assert followed(one) == [1]


@pytest.mark.parametrize("next_version", [1, 2])
def test_loops_without_a_sequence_reset_end_by_their_count(next_version: int) -> None:
    """6.5.9; and so does the next loop, of another version or the same."""
    one = started()
    for number, security_id in enumerate((1, 2, 3), 1):
        assert not one.machine.definitions.complete
        listing(one, 1, number, ("listed", security_id, 3))
    assert one.machine.definitions.complete
    lose_one(one, 12)
    listing(one, next_version, 1, ("listed", 1, 2))
    assert not one.machine.definitions.complete
    listing(one, next_version, 2, ("listed", 3, 2))
    assert one.machine.definitions.complete
    assert sorted(followed(one)) == [1, 3]
    told = [event.instruments for event in one.events if isinstance(event, DefinitionsComplete)]
    assert told == [3, 2]


def test_a_loop_whose_items_disagree_on_their_number_does_not_end_by_it() -> None:
    one = started()
    listing(one, 1, 1, ("listed", 1, 5))
    listing(one, 1, 2, ("listed", 2, 2))
    assert not one.machine.definitions.complete


def snapshot(one: ToyClient, security_id: int, counted: int) -> None:
    """The header of an instrument in a snapshot loop; `counted` 0: it comes alone."""
    snapshots = one.machine.snapshots
    snapshots.on_packet(Site.PRIMARY, 1, 1)
    version = one.machine.arbiter.version
    snapshots.on_begin(SnapshotHeader(security_id, 10, version, min(counted, 1), 3, counted))


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("counted", [0, 5])
def test_a_snapshot_brings_no_instrument_that_is_not_listed(counted: int, told: bool) -> None:
    """7.2: it was deleted while the snapshot loop ran. Whoever joined after that has never known it, whether
    or not the incremental stream told of its end."""
    one = started()
    whole_loop(one, 1, 1, 2)
    if told:
        one.receive("A", packet(11, ("define", 9, "deleted")), 1)
    snapshot(one, 9, counted)
    assert followed(one) == [1, 2]


@pytest.mark.parametrize("counted", [0, 5])
def test_a_snapshot_of_one_that_the_running_loop_does_not_list(counted: int) -> None:
    """It may be one that the loop has yet to list, or one that was deleted before the loop began."""
    one = started()
    listing(one, 1, 1, ("listed", 1, 2))
    snapshot(one, 9, counted)
    listing(one, 1, 2, ("listed", 2, 2))
    listing(one, 1, 3, ("sequence_reset",))
    assert one.machine.definitions.complete
    assert followed(one) == [1, 2]
