"""TradeCondition and sub-type: only the combinations of 13.3.3."""

from itertools import product

import pytest

from pregao.exchange.conditions import CROSSED, ON_BEHALF, OUT_OF_SEQUENCE, condition, condition_bits
from pregao.model.market import TradeCondition as C
from pregao.model.market import TradeSubType as T
from tests.unit.exchange.condition_table import is_allowed

BLOCKS = (T.RFQ, T.BLOCK_BOOK, T.MIDPOINT)
NEITHER = (T.LEG, T.MULTI_ASSET, T.RLP)


# Trades by voice are of another platform than the table.
@pytest.mark.parametrize("sub_type", [None, *(each for each in T if each is not T.VOICE)])
def test_whatever_is_asked_the_result_is_in_the_table(sub_type: T | None) -> None:
    for asked, opening, same in product(range(128), (False, True), (False, True)):
        value = condition(condition_bits(sub_type, asked, opening=opening, same_price=same))
        kind = None if asked & OUT_OF_SEQUENCE else sub_type
        assert is_allowed(value, kind)
        assert bool(value & C.BLOCK) is (kind in BLOCKS)
        assert bool(value & C.REGULAR) is (kind not in (*BLOCKS, *NEITHER))


def test_bits_are_computed() -> None:
    assert condition_bits(None, CROSSED | ON_BEHALF, opening=True, same_price=True) == (
        C.REGULAR | C.CROSSED | C.ON_BEHALF | C.OPENING_PRICE | C.LAST_AT_SAME_PRICE
    )
    assert condition_bits(T.SWEEP, CROSSED, opening=True, same_price=True) == C.REGULAR | C.CROSSED
    assert condition_bits(T.RFQ, CROSSED, opening=True, same_price=True) == C.BLOCK | C.LAST_AT_SAME_PRICE
    assert condition_bits(T.RLP, 0, opening=True, same_price=False) == C.OPENING_PRICE
    assert condition_bits(T.LEG, 0, opening=True, same_price=False) == C.NONE


def test_out_of_sequence_is_neither_first_nor_same() -> None:
    value = condition_bits(None, OUT_OF_SEQUENCE | ON_BEHALF, opening=True, same_price=True)
    assert value == C.REGULAR | C.OUT_OF_SEQUENCE | C.ON_BEHALF
