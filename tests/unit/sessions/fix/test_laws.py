"""Two machines in memory: whatever the link does, each receives what the other sent, once and in order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.sessions.fix import B3, STANDARD, SessionState
from tests.kits.fix_link import Link, Trouble

chances = st.sampled_from([0.0, 0.05, 0.3])


@given(
    st.integers(0, 2**32),
    st.builds(Trouble, lost=chances, repeated=chances, cut=chances, jump=chances),
    st.sampled_from([B3, STANDARD]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_all_messages_arrive_once_and_in_order(
    seed: int, trouble: Trouble, rules: object, next_expected: bool
) -> None:
    link = Link(seed, trouble, rules, next_expected=next_expected)  # type: ignore[arg-type]
    link.run(25)
    assert link.server.received == link.client.sent
    assert link.client.received == link.server.sent
    assert link.client.session is not None
    assert link.client.session.state is SessionState.ACTIVE


def test_a_good_link_needs_one_connection() -> None:
    link = Link(1, Trouble())
    link.run(30)
    assert link.connections == 1
    assert link.server.received == link.client.sent
    assert len(link.client.sent) >= 29


def test_trouble_is_trouble() -> None:
    link = Link(2, Trouble(lost=0.1, cut=0.05, jump=0.05, repeated=0.3))
    link.run(150)
    assert link.connections > 5
    assert link.server.received == link.client.sent
    assert len(link.client.sent) > 30


@pytest.mark.parametrize("seed", range(5))
def test_numbers_agree_in_the_end(seed: int) -> None:
    link = Link(seed, Trouble(cut=0.1))
    link.run(30)
    assert link.client.record.numbers.next_in == link.server.record.numbers.next_out
    assert link.server.record.numbers.next_in == link.client.record.numbers.next_out
