"""Instruments that come, change and go in a simulated day."""

from collections import Counter

from pregao.model import events as e
from pregao.model.market import DefinitionAction
from pregao.simulator.memory import short_day, simulate_in_memory


def test_a_day_with_relistings_has_all_of_them_and_they_are_told() -> None:
    settings = short_day(seed=2, messages=300, instruments=30, squeeze=160, loops=8, relistings=36)
    (day,) = simulate_in_memory(settings)
    told = [each.update for each in day.updates if isinstance(each.update, e.Definition)]
    kinds = Counter(update.action for update in told)
    assert min(kinds[action] for action in DefinitionAction) > 0
    names = {update.instrument.symbol for update in told if update.action is DefinitionAction.MODIFY}
    assert any(name.startswith("REN") for name in names)
    # An id that was free may come back on another channel.
    listed = {(instrument.channel, instrument.security_id) for instrument in day.instruments}
    last = {(each.instrument.channel, each.instrument.security_id): each.action for each in told}
    for where, action in last.items():
        assert (where in listed) is (action is not DefinitionAction.DELETE)
