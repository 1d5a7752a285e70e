"""Delays of the simulated exchange: never negative, in order, with a body and a tail, the same by seed."""

from itertools import pairwise

import numpy as np

from pregao.exchange.commands import CrossOrder, NewOrder
from pregao.exchange.engine import Engine
from pregao.model.events import ExecutionSummary
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import Aggressor, Side
from pregao.simulator.pace import Departures, EntryQueue

NOON = 1_794_841_200_000_000_000
GAPS = np.random.default_rng(3).exponential(40_000, 20_000).astype(int)


def test_entry_is_first_in_first_out_and_before_the_match() -> None:
    queue, times = EntryQueue(1), (NOON + np.cumsum(GAPS)).tolist()
    entered = [queue.entered(each) for each in times]
    assert all(one <= other for one, other in pairwise(entered))
    assert all(before < after for before, after in zip(entered, times, strict=True))


def test_delays_have_a_tail() -> None:
    queue, departures = EntryQueue(1), Departures("1/84/PRIMARY")
    times = (NOON + np.cumsum(GAPS)).tolist()
    waits = np.array([each - queue.entered(each) for each in times])
    lags = np.array([departures.after(each) - each for each in times])
    for delays in (waits, lags):
        assert 5_000 < np.median(delays) < 60_000
        assert np.quantile(delays, 0.999) > 8 * np.median(delays)
        assert delays.max() > 1_000_000
        assert len(np.unique(delays)) > 1_000


def test_who_comes_close_together_waits_longer() -> None:
    alone, crowded = EntryQueue(1), EntryQueue(1)
    far = np.mean([t - alone.entered(t) for t in range(NOON, NOON + 10**10, 10**8)])
    near = np.mean([t - crowded.entered(t) for t in range(NOON, NOON + 10**6, 10**4)])
    assert near > 2 * far


def test_the_same_seed_gives_the_same_delays() -> None:
    one, same, other = (Departures(name) for name in ("1", "1", "2"))
    cells = range(NOON, NOON + 2_000_000, 2_000)
    assert [one.after(t) for t in cells] == [same.after(t) for t in cells]
    assert [one.after(t) for t in cells] != [other.after(t) for t in cells]


def _engine() -> Engine:
    instrument = Instrument(
        1, "PETR4", 84, "01", "PETR", SecurityType.PS, Product.EQUITY, tick=100, lot=100, minimum_quantity=100
    )
    return Engine([instrument], trade_date=20_773)


def _summary(engine: Engine, command: object, entered_ns: int | None) -> ExecutionSummary:
    outcome = engine.submit(command, entered_ns)  # type: ignore[arg-type]
    (found,) = (u for event in outcome.events for u in event.updates if isinstance(u, ExecutionSummary))
    return found


def test_aggressor_time_is_the_entry_of_the_aggressor() -> None:
    """13.1: the aggressor's entry to the queue; the match's own time where nobody aggresses."""
    engine = _engine()
    engine.submit(NewOrder(NOON, 1, Side.SELL, 100, 382_500))
    taken = _summary(engine, NewOrder(NOON + 9_000, 1, Side.BUY, 100, 382_500, 8), NOON + 2_000)
    assert (taken.aggressor_ns, taken.transact_ns) == (NOON + 2_000, NOON + 9_000)
    crossed = _summary(engine, CrossOrder(NOON + 20_000, 1, 100, 382_500, 3, 3), NOON + 11_000)
    assert crossed.aggressor is Aggressor.NONE
    assert (crossed.aggressor_ns, crossed.transact_ns) == (NOON + 20_000, NOON + 20_000)
