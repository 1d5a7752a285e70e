"""Initial values of operators: text of a template file to values (8.1 of the standard)."""

import re
from typing import Final

from pregao.codecs.fast.templates import FastType, Raw, Scaled

_BLANKS: Final = " \t\r\n"
_INTEGER: Final = re.compile(r"-?[0-9]{1,40}")
_DECIMAL: Final = re.compile(r"(-?)([0-9]{0,100})(?:\.([0-9]{0,100}))?")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})*")
MAX_EXPONENT: Final = 63


class UnfitValueError(ValueError):
    """A text that is no value of its type."""


def initial_value(text: str, kind: FastType) -> Raw:
    if kind.is_integer:
        return _integer(text.strip(_BLANKS), kind)
    if kind is FastType.DECIMAL:
        return _decimal(text.strip(_BLANKS))
    if kind is FastType.ASCII:
        if not text.isascii():
            raise UnfitValueError("not ASCII")
        return text.encode("ascii")
    if kind is FastType.UNICODE:
        return text.encode("utf-8")
    digits = "".join(text.split())
    if not _HEX.fullmatch(digits):
        raise UnfitValueError("not pairs of hexadecimal digits")
    return bytes.fromhex(digits)


def _integer(text: str, kind: FastType) -> int:
    if not _INTEGER.fullmatch(text) or (text.startswith("-") and not kind.is_signed):
        raise UnfitValueError(f"{text[:40]!r} is no {kind.name}")
    value = int(text)
    if not kind.minimum <= value <= kind.maximum:
        raise UnfitValueError(f"{text[:40]} does not fit {kind.name}")
    return value


def _decimal(text: str) -> Scaled:
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise UnfitValueError(f"{text[:40]!r} is no decimal")
    fraction = match[3] or ""
    scaled = normalized(int(match[1] + (match[2] or "") + fraction), -len(fraction))
    if not -MAX_EXPONENT <= scaled.exponent <= MAX_EXPONENT or not fits_mantissa(scaled.mantissa):
        raise UnfitValueError(f"{text[:40]} is too large or too fine")
    return scaled


def normalized(mantissa: int, exponent: int) -> Scaled:
    """Without zeros at the end of the mantissa (6.3.2)."""
    if mantissa == 0:
        return Scaled(0, 0)
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return Scaled(mantissa, exponent)


def fits_mantissa(value: int) -> bool:
    return FastType.INT64.minimum <= value <= FastType.INT64.maximum
