"""Which definitions of loops are news."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan.index import calendar_day
from pregao.lake.plan.marks import ToldDefinitions

_HOUR_NS = 3_600_000_000_000
_TOLD = st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(0, 60))  # instrument, hash, hour


@given(st.lists(st.lists(_TOLD, min_size=1, max_size=12), max_size=4))
def test_a_definition_is_news_once_a_day_and_when_it_changes(
    batches: list[list[tuple[int, int, int]]],
) -> None:
    told, known = ToldDefinitions(), dict[int, tuple[int, int]]()
    for batch in batches:
        ids, hashes, hours = np.array(batch, np.int64).T
        expected = []
        for number, (security_id, value, hour) in enumerate(batch):
            now = value, calendar_day(hour * _HOUR_NS)
            if known.get(security_id) != now:
                expected.append(number)
            known[security_id] = now
        assert told.news(ids, hashes, hours * _HOUR_NS).tolist() == expected
