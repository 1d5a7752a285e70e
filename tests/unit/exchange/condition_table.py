"""The table of 13.3.3, row by row as it is printed, with our choices for what it leaves out (see
`docs/specification-notes.md`): what the exchange makes is held to this, not to its own masks."""

from itertools import chain, combinations

from pregao.model.market import TradeCondition as C
from pregao.model.market import TradeSubType as T

# Of each column of the table: what is always set, and of what any may be set beside it.
_ANY = (C.OPENING_PRICE, C.CROSSED, C.LAST_AT_SAME_PRICE, C.ON_BEHALF)
_COLUMNS: list[tuple[tuple[T | None, ...], C, tuple[C, ...]]] = [
    ((None, T.TAC, T.TAA), C.REGULAR, _ANY),
    ((T.SWEEP,), C.REGULAR, (C.CROSSED,)),
    ((T.RFQ, T.BLOCK_BOOK, T.MIDPOINT), C.BLOCK, (C.LAST_AT_SAME_PRICE, C.ON_BEHALF)),
    ((T.LEG, T.MULTI_ASSET, T.RLP), C.NONE, _ANY),
]
_OUT_OF_SEQUENCE = C.REGULAR | C.OUT_OF_SEQUENCE


def _rows() -> set[tuple[C, T | None]]:
    rows: set[tuple[C, T | None]] = {(_OUT_OF_SEQUENCE, None), (_OUT_OF_SEQUENCE | C.ON_BEHALF, None)}
    for sub_types, always, beside in _COLUMNS:
        chosen = chain.from_iterable(combinations(beside, count) for count in range(len(beside) + 1))
        for bits in chosen:
            value = always
            for bit in bits:
                value |= bit
            rows |= {(value, sub_type) for sub_type in sub_types}
    return rows


ROWS = _rows()


def is_allowed(value: C, sub_type: T | None) -> bool:
    return (value, sub_type) in ROWS
