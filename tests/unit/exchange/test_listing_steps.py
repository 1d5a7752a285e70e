"""The list of instruments in a day script: symbols are resolved step by step."""

import pytest

from pregao.exchange.control import AddInstrument, ChangeInstrument, DeleteInstrument, StrategyLeg
from pregao.exchange.day import load_day
from pregao.exchange.timetable import timetable
from pregao.model.errors import ConfigurationError
from pregao.model.instruments import PriceMethod
from pregao.model.market import Side
from tests.unit.exchange.desk_kit import ABC, DATE, XYZ, catalogue, listing

EQUITIES = catalogue(listing(ABC), listing(XYZ), pairs=())


def plan(*steps: str) -> list[object]:
    rows = ",".join(f'{{ at = "10:00:0{n}", {step} }}' for n, step in enumerate(steps))
    text = f'[[schedule]]\nname = "equities"\nstep = [\n{rows}\n]\n'
    return list(timetable(load_day(text), EQUITIES, DATE, midnight_ns=0))


def test_symbols_follow_renames_and_deletes() -> None:
    added, renamed, deleted, again = plan(
        'add = "UDS1", id = 71, like = "ABCD3", price_method = "individual", '
        'legs = "buy 1 ABCD3, sell 2 XYZW3"',
        'change = "UDS1", rename = "UDS2", description = "x"',
        'delete = "UDS2"',
        'add = "UDS2", id = 72, like = "ABCD3", buy_back = true',
    )
    assert isinstance(added, AddInstrument)
    assert added.legs == (StrategyLeg(ABC, Side.BUY), StrategyLeg(XYZ, Side.SELL, 2))
    assert added.price_method is PriceMethod.INDIVIDUAL
    assert isinstance(renamed, ChangeInstrument)
    assert (renamed.security_id, renamed.symbol, renamed.description) == (71, "UDS2", "x")
    assert isinstance(deleted, DeleteInstrument)
    assert deleted.security_id == 71
    assert isinstance(again, AddInstrument)
    assert (again.new_id, again.buy_back, again.legs) == (72, True, None)


def test_yesterday_s_can_be_deleted_before_it_is_added_again() -> None:
    deleted, _ = plan('delete = "UDS1"', 'add = "UDS1", id = 71, like = "ABCD3"')
    assert isinstance(deleted, DeleteInstrument)
    assert deleted.security_id == 71


def test_what_a_smaller_catalogue_lacks_is_left_out() -> None:
    assert plan('add = "UDS1", id = 71, like = "PETR4"', 'change = "PETR4", description = "x"') == []


@pytest.mark.parametrize(
    "step",
    [
        'add = "UDS1", like = "ABCD3"',
        'add = "UDS1", id = 71, like = "ABCD3", legs = "hold 1 ABCD3"',
        'add = "UDS1", id = 71, like = "ABCD3", legs = "buy 0 ABCD3"',
        'change = "ABCD3"',
        "delete = 7",
    ],
)
def test_mistakes_are_named(step: str) -> None:
    with pytest.raises(ConfigurationError, match="step"):
        plan(step)
