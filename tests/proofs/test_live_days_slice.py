"""A slice of live-days: one day of two processes, over real sockets."""

import pytest

from tests.kits.loopback import need_multicast
from tests.proofs.live_days import run_case

SPEED = 90.0


@pytest.mark.proof
def test_a_listener_over_sockets_shows_what_the_exchange_has() -> None:
    need_multicast("a listener over sockets")
    result, report = run_case(1, SPEED)
    assert not result.failed
    assert result.comparisons > 500
    assert report is not None
    assert report.lost > 0
    assert report.heals["snapshot"] > 0
