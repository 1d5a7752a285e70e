"""Which definitions of loops are news, in a file and over the files of a stream."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan.index import Defined, calendar_day
from pregao.lake.plan.marks import ToldDefinitions, versions
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import DefinitionAction

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


def _listed(symbol: str) -> Instrument:
    return Instrument(7, symbol, 84, "01", "PETR", SecurityType.CS, Product.EQUITY)


def test_a_loop_that_repeats_what_it_told_before_a_change_is_no_news() -> None:
    """It tells the list of its beginning. In one file the second time is left out by the scan; where files
    are cut between the two, each has it."""
    add, change, delete = DefinitionAction.ADD, DefinitionAction.MODIFY, DefinitionAction.DELETE
    told = [
        Defined(_listed("OLD"), add, 1, -1), Defined(_listed("NEW"), change, 2, 40),
        Defined(_listed("OLD"), add, 3, -1), Defined(_listed("NEW"), add, 4, -1),
        Defined(_listed("NEW"), delete, 5, 50), Defined(_listed("NEW"), add, 6, -1),
    ]  # fmt: skip
    scanned_whole = [each for each in told if each.sent_ns not in (3, 6)]
    for definitions in (told, scanned_whole):
        found = [(each.instrument.symbol, each.from_ns, each.to_ns) for each in versions(definitions)]
        assert found == [("OLD", 1, 2), ("NEW", 2, 5)]
