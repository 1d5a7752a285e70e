"""Bytes of FAST fields, one at a time: what is between two stop bits (section 10 of the standard)."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from pregao.codecs.fast.templates import FastType, Scaled
from pregao.model.errors import DecodeError, Fault

# Faults of FAST with the numbers that the standard gives them.


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


STOP = 0x80
MAX_INTEGER_BYTES = 10  # that mean something: 70 bits hold whatever a type of 64 may need


class WireError(Exception):
    """What is wrong at a byte; whoever knows template and field makes a `FastError` of it."""

    def __init__(self, fault: Fault, offset: int) -> None:
        self.fault, self.offset = fault, offset
        super().__init__(f"{fault.label} at byte {offset}")


def _nothing(_fault: Fault, _offset: int) -> None:
    """Nobody wants to know."""


class PresenceMap:
    """Bits in the order of the fields; there are zeros without end after the last."""

    def __init__(self, data: bytes) -> None:
        self._bits = [byte >> shift & 1 for byte in data for shift in range(6, -1, -1)]
        self._next = 0
        self.is_overlong = len(data) > 1 and data[-1] == 0

    def take(self) -> bool:
        self._next += 1
        return self._next <= len(self._bits) and bool(self._bits[self._next - 1])

    @property
    def has_unused_bits(self) -> bool:
        return any(self._bits[self._next :])


class WireReader:
    """Takes fields from a buffer, and checks every length before it is used."""

    def __init__(self, buffer: bytes | memoryview, at: int, end: int) -> None:
        self._buffer, self.at, self._end = buffer, at, end
        self.on_finding: Callable[[Fault, int], None] = _nothing

    @property
    def left(self) -> int:
        return self._end - self.at

    def _entity(self, fault: Fault = Fault.FAST_FIELD_WITHOUT_END) -> bytes:
        """The bytes up to the next stop bit, which is taken off."""
        buffer, start = self._buffer, self.at
        for index in range(start, self._end):
            if buffer[index] & STOP:
                self.at = index + 1
                return bytes(buffer[start:index]) + bytes((buffer[index] & 0x7F,))
        raise WireError(fault, start)

    def presence_map(self) -> bytes:
        return self._entity(Fault.FAST_MAP_WITHOUT_END)

    def unsigned(self) -> int:
        start = self.at
        data = self._entity()
        kept = data.lstrip(b"\0") or b"\0"
        self._check_length(data, kept, start)
        return _number(kept, 0)

    def signed(self) -> int:
        start = self.at
        data = self._entity()
        first = 0
        while first + 1 < len(data) and data[first] == (0x7F if data[first + 1] & 0x40 else 0):
            first += 1
        kept = data[first:]
        self._check_length(data, kept, start)
        return _number(kept, -1 if kept[0] & 0x40 else 0)

    def _check_length(self, data: bytes, kept: bytes, start: int) -> None:
        if len(kept) < len(data):
            self.on_finding(Fault.FAST_OVERLONG_INTEGER, start)
        if len(kept) > MAX_INTEGER_BYTES:
            raise WireError(Fault.FAST_INTEGER_OUT_OF_RANGE, start)

    def integer(self, kind: FastType, nullable: bool) -> int | None:
        """One of a type; None is NULL."""
        start = self.at
        value = self.signed() if kind.is_signed else self.unsigned()
        if nullable:
            if value == 0:
                return None
            value -= value > 0
        if not kind.minimum <= value <= kind.maximum:
            raise WireError(Fault.FAST_INTEGER_OUT_OF_RANGE, start)
        return value

    def wide(self, nullable: bool) -> int | None:
        """A delta, which may be wider than its type."""
        value = self.signed()
        if nullable:
            return None if value == 0 else value - (value > 0)
        return value

    def ascii(self, nullable: bool) -> bytes | None:
        start = self.at
        data = self._entity()
        if data[0] != 0:
            return data
        data = data[1:]
        if nullable:
            if not data:
                return None
            if data[0] != 0:
                self.on_finding(Fault.FAST_OVERLONG_STRING, start)
                return data
            data = data[1:]
        if data and data[0] != 0:
            self.on_finding(Fault.FAST_OVERLONG_STRING, start)
        return data

    def byte_vector(self, nullable: bool) -> bytes | None:
        start = self.at
        length = self.integer(FastType.UINT32, nullable)
        if length is None:
            return None
        if length > self.left:
            raise WireError(Fault.FAST_BYTES_PAST_MESSAGE, start)
        self.at += length
        return bytes(self._buffer[self.at - length : self.at])


def _number(data: bytes, sign: int) -> int:
    value = sign
    for byte in data:
        value = value << 7 | byte
    return value


def write_unsigned(value: int) -> bytes:
    """Small ones at once: most are numbers of messages, which never come again."""
    if value < 1 << 7:
        return _SINGLE[value]
    if value < 1 << 14:
        return bytes((value >> 7, value & 0x7F | STOP))
    if value < 1 << 21:
        return bytes((value >> 14, value >> 7 & 0x7F, value & 0x7F | STOP))
    return _long_unsigned(value)


def _long_unsigned(value: int) -> bytes:
    """Times, dates and ids that follow each other begin alike."""
    return _groups(value >> 14) + bytes((value >> 7 & 0x7F, value & 0x7F | STOP))


@lru_cache(maxsize=1 << 13)
def _groups(value: int) -> bytes:
    return bytes([value >> shift & 0x7F for shift in range((value.bit_length() - 1) // 7 * 7, -1, -7)])


# Sizes and differences of prices come again and again.
@lru_cache(maxsize=1 << 15)
def write_signed(value: int) -> bytes:
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return _stopped(value, -(-bits // 7))


def _stopped(value: int, size: int) -> bytes:
    if size == 1:
        return _SINGLE[value & 0x7F]
    return bytes([value >> shift & 0x7F for shift in range(7 * size - 7, 0, -7)]) + _SINGLE[value & 0x7F]


NULL = bytes((STOP,))
_SINGLE = [bytes((value | STOP,)) for value in range(128)]


def write_integer(value: int | None, kind: FastType, nullable: bool) -> bytes:
    if value is None:
        return NULL
    shifted = value + (nullable and value >= 0)
    return write_signed(shifted) if kind.is_signed else write_unsigned(shifted)


def write_wide(value: int, nullable: bool) -> bytes:
    return write_signed(value + (nullable and value >= 0))


def write_ascii(value: bytes | None, nullable: bool) -> bytes:
    if value is None:
        return NULL
    if not value or value[0] == 0:
        value = b"\0" * (1 + nullable) + value
    return value[:-1] + _SINGLE[value[-1] & 0x7F]


def write_byte_vector(value: bytes | None, nullable: bool) -> bytes:
    if value is None:
        return NULL
    return write_integer(len(value), FastType.UINT32, nullable) + value


def write_scaled(value: Scaled | None, nullable: bool) -> bytes:
    if value is None:
        return NULL
    exponent = write_integer(value.exponent, FastType.INT32, nullable)
    return exponent + write_integer(value.mantissa, FastType.INT64, False)


def write_map(bits: list[bool]) -> bytes:
    """The shortest: zeros at the end are left out."""
    last = max((index for index, bit in enumerate(bits) if bit), default=0)
    data = bytearray(last // 7 + 1)
    for index, bit in enumerate(bits):
        if bit:
            data[index // 7] |= 0x40 >> index % 7
    data[-1] |= STOP
    return bytes(data)
