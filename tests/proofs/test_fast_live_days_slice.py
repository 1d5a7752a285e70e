"""A slice of fast-live-days: one short day of two processes, over real sockets."""

import pytest

from tests.kits.loopback import need_multicast
from tests.proofs.fast_live_days import run_case

SPEED, MESSAGES = 240.0, 600


@pytest.mark.proof
def test_a_listener_over_sockets_shows_what_the_exchange_has() -> None:
    need_multicast("a listener to UMDF FIX/FAST over sockets")
    result, report = run_case(3, SPEED, MESSAGES)
    assert not result.failed
    assert result.comparisons > 500
    assert report is not None
    assert report.heals["replay"] > 0
