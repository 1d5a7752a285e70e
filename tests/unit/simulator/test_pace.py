"""How orders and loops are spread over a day."""

from itertools import pairwise
from pathlib import Path

import pytest

from pregao.recovery.policy import RecoveryPolicy
from pregao.simulator import Settings
from pregao.simulator.pace import DayClock, paces, slices, with_bursts


def test_slices_follow_each_other() -> None:
    found = slices(DayClock(0))
    assert all(one.end_ns == other.start_ns for one, other in pairwise(found))
    assert all(each.weight > 0 for each in found)


def test_loops_go_faster_on_busy_days() -> None:
    quiet, busy = (
        paces(Settings(Path(), messages=messages), 4, RecoveryPolicy()).snapshots.pause_ns
        for messages in (10_000, 50_000_000)
    )
    assert quiet > busy > 0


def test_bursts_are_slices_of_their_own() -> None:
    plain = slices(DayClock(0))
    at_ns = plain[40].start_ns + 7_000_000_000
    found = with_bursts(plain, [(at_ns, 500), (1, 9)])  # nobody orders at midnight
    assert len(found) == len(plain) + 2
    assert sum(each.weight for each in found) == pytest.approx(sum(each.weight for each in plain))
    assert [(each.start_ns, each.orders) for each in found if each.orders] == [(at_ns, 500)]
    assert all(one.end_ns == other.start_ns for one, other in pairwise(found))
