"""Faults of FAST with the numbers that the standard gives them."""

from typing import Final, NamedTuple

from pregao.model.errors import DecodeError, Fault

# Where two are possible the operator decides: see `standard_number`.
NUMBERS: Final[dict[Fault, str]] = {
    Fault.FAST_UNKNOWN_TEMPLATE: "D9",
    Fault.FAST_NO_TEMPLATE: "D5",
    Fault.FAST_INTEGER_OUT_OF_RANGE: "D2",
    Fault.FAST_WRONG_PREVIOUS: "D4",
    Fault.FAST_NO_PREVIOUS: "D5",
    Fault.FAST_NULL_IN_MANDATORY: "D6",
    Fault.FAST_SUBTRACTION_TOO_LONG: "D7",
    Fault.FAST_VALUE_OUT_OF_RANGE: "R4",
    Fault.FAST_EXPONENT_OUT_OF_RANGE: "R1",
    Fault.FAST_BAD_UTF8: "R2",
    Fault.FAST_OVERLONG_INTEGER: "R6",
    Fault.FAST_OVERLONG_MAP: "R7",
    Fault.FAST_UNUSED_MAP_BITS: "R8",
    Fault.FAST_OVERLONG_STRING: "R9",
}
_OF_TAILS: Final = {Fault.FAST_NO_PREVIOUS: "D6", Fault.FAST_NULL_IN_MANDATORY: "D7"}
_OF_DECIMALS: Final = {Fault.FAST_VALUE_OUT_OF_RANGE: "R1"}
FIRST_REPORTABLE: Final = int(Fault.FAST_EXPONENT_OUT_OF_RANGE)  # a value is there all the same


def standard_number(fault: Fault, *, tail: bool = False, decimal: bool = False) -> str:
    """D2, R6 …; empty where the standard has no number for it: a message that ends too early."""
    special = _OF_TAILS if tail else _OF_DECIMALS if decimal else {}
    return special.get(fault) or NUMBERS.get(fault, "")


class FastFinding(NamedTuple):
    """A reportable error: the message is used all the same."""

    fault: Fault
    number: str
    template: str
    field: str
    offset: int

    def __str__(self) -> str:
        return f"{self.fault.label} ({self.number}) at byte {self.offset}: {self.template}.{self.field}"


class FastError(DecodeError):
    """A message that is not what its template says: number of the standard, template, field and byte."""

    def __init__(self, fault: Fault, offset: int, *, number: str = "", template: str = "", field: str = ""):
        self.number, self.template, self.field = number, template, field
        place = ".".join(part for part in (template, field) if part)
        super().__init__(fault, offset, " ".join(part for part in (number, place) if part))
