"""The stages of `lake-cost` are functions that exist, and a stage does not count those inside it."""

from time import process_time

import numpy as np

from pregao.lake.plan.contents import ContentHash

from .lake_cost import StageClock, stages


def _work(seconds: float) -> None:
    since = process_time()
    while process_time() - since < seconds:
        pass


def test_every_stage_names_a_function_and_measures_it() -> None:
    clock = StageClock()
    with stages(clock):
        ContentHash(1).take(0, np.zeros(1, np.uint8))
    assert list(clock.seconds) == ["scan: hash"]


def test_a_stage_is_without_those_inside_it() -> None:
    clock = StageClock()
    with clock.stage("outer"):
        _work(0.01)
        clock.timed("inner", _work)(0.05)
    assert clock.seconds["inner"] >= 0.05
    assert 0.01 <= clock.seconds["outer"] < 0.05
