"""The condition and sub-type of a trade: every bit computed, and only the combinations of 13.3.3."""

from pregao.model.market import TradeCondition, TradeSubType

OPENING = int(TradeCondition.OPENING_PRICE)
CROSSED = int(TradeCondition.CROSSED)
LAST = int(TradeCondition.LAST_AT_SAME_PRICE)
OUT_OF_SEQUENCE = int(TradeCondition.OUT_OF_SEQUENCE)
ON_BEHALF = int(TradeCondition.ON_BEHALF)
REGULAR = int(TradeCondition.REGULAR)
BLOCK = int(TradeCondition.BLOCK)

_ANY = OPENING | CROSSED | LAST | ON_BEHALF
_BLOCKS = (TradeSubType.RFQ, TradeSubType.BLOCK_BOOK, TradeSubType.MIDPOINT)
_NEITHER = (TradeSubType.LEG, TradeSubType.MULTI_ASSET, TradeSubType.RLP)

# What is always set, and what may be set beside it, by sub-type. TAC and TAA are not in the table of
# 13.3.3; by its text ("everything except") they are regular. The table combines SWEEP with CROSSED only.
_ALWAYS: dict[TradeSubType | None, int] = {
    None: REGULAR,
    TradeSubType.SWEEP: REGULAR,
    TradeSubType.TAC: REGULAR,
    TradeSubType.TAA: REGULAR,
    **dict.fromkeys(_BLOCKS, BLOCK),
    **dict.fromkeys(_NEITHER, 0),
}
_ALLOWED: dict[TradeSubType | None, int] = {
    None: _ANY,
    TradeSubType.SWEEP: CROSSED,
    TradeSubType.TAC: _ANY,
    TradeSubType.TAA: _ANY,
    **dict.fromkeys(_BLOCKS, LAST | ON_BEHALF),
    **dict.fromkeys(_NEITHER, _ANY),
}
# A leg's price is not the market's (19), a block is not an opening (13.3.3), nor is a sweep.
_CAN_OPEN = frozenset(_ALLOWED) - {*_BLOCKS, TradeSubType.LEG, TradeSubType.SWEEP}

# Making an IntFlag costs as much as all the rest of a trade; there are few, so they are kept.
_KEPT: dict[int, TradeCondition] = {}


def condition(bits: int) -> TradeCondition:
    kept = _KEPT.get(bits)
    if kept is None:
        kept = _KEPT[bits] = TradeCondition(bits)
    return kept


def can_open(sub_type: TradeSubType | None) -> bool:
    """Whether trades of this sub-type may form the opening price."""
    return sub_type in _CAN_OPEN


def forms_price(sub_type: TradeSubType | None, bits: int) -> bool:
    """Whether the price is the last price from now on: not out of sequence (13.3), not a leg's (19)."""
    return sub_type is not TradeSubType.LEG and not bits & OUT_OF_SEQUENCE


def condition_bits(sub_type: TradeSubType | None, asked: int, *, opening: bool, same_price: bool) -> int:
    """`asked` are the bits the kind of trade brings (CROSSED, ON_BEHALF, OUT_OF_SEQUENCE)."""
    if asked & OUT_OF_SEQUENCE:  # no part in the sequence of prices: neither first nor same as last
        return REGULAR | OUT_OF_SEQUENCE | asked & ON_BEHALF
    if same_price:
        asked |= LAST
    if opening and sub_type in _CAN_OPEN:
        asked |= OPENING
    return _ALWAYS[sub_type] | asked & _ALLOWED[sub_type]
