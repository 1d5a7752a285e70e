"""Numbers of units and where they stand in their stream."""

from typing import Final

from pregao.model.rows import place

NUMBER_BITS: Final = 32
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1

__all__ = ["number_of", "place"]


def number_of(at: int) -> int:
    return at & NUMBER_MASK
