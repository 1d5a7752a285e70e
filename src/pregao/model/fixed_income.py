"""The words of fixed income: kinds of bonds, coupons, sectors. Numbers are those of Trademate's fields."""

from enum import IntEnum


class BondKind(IntEnum):
    """SecuritySubType (762). Other numbers than those of the same names in Conflated."""

    CBIO = 1
    CFF = 2
    CRA = 3
    CRI = 4
    DEB = 5
    LFT = 6
    LTN = 7
    NTNB = 8
    NTNC = 9
    NTNF = 10

    @property
    def is_government(self) -> bool:
        return self >= BondKind.LFT
