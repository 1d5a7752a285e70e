"""Arrow arrays hold the same values as the typed arrays, or null and a name for what they cannot hold."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pregao.codecs.arrow.arrays import BuiltArray, all_null, arrow_type, build, strings, variable
from pregao.codecs.sbe.declarations import PRIMITIVES, Presence
from pregao.codecs.sbe.layout import FieldLayout, ValueKind

MIN64, MAX64 = -(1 << 63), (1 << 63) - 1
LARGEST = 10**18 - 1


def leaf(kind: ValueKind, primitive: str = "int64", count: int = 1, **more: Any) -> FieldLayout:
    chosen = PRIMITIVES[primitive]
    made = FieldLayout("x", 1, kind, 0, chosen.size * count, Presence.OPTIONAL, chosen, count=count)
    return replace(made, **more)


def built(values: Any, dtype: str, of: FieldLayout, null: Any = None, present: Any = None) -> BuiltArray:
    mask = None if present is None else np.array(present, np.bool_)
    made = build(np.array(values, dtype), of, null, mask)
    made.array.validate(full=True)
    return made


@pytest.mark.parametrize(
    "primitive", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_integers_keep_their_type_and_null_is_null(primitive: str) -> None:
    of = leaf(ValueKind.INTEGER, primitive)
    low, high = int(of.primitive.minimum), int(of.primitive.maximum)
    dtype = f"{'i' if of.primitive.is_signed else 'u'}{of.size}"
    made = built([low, high, 0, 7], dtype, of, null=high)
    assert made.array.to_pylist() == [low, None, 0, 7]
    assert made.array.type == arrow_type(of)
    assert made.array.null_count == 1
    assert built([low, high], dtype, of).array.null_count == 0
    assert built([low, high, 3], dtype, of, low, [True, False, True]).array.to_pylist() == [None, None, 3]


def test_decimals_are_exact_up_to_eighteen_digits_and_named_beyond() -> None:
    of = leaf(ValueKind.DECIMAL, exponent=-4)
    values = [LARGEST, -LARGEST, LARGEST + 1, -LARGEST - 1, MIN64, MAX64, 0]
    made = built(values, "i8", of, null=MIN64)
    exact = Decimal("99999999999999.9999")
    assert made.array.to_pylist() == [exact, -exact, None, None, None, None, Decimal("0.0000")]
    assert made.lost == [2, 3, 5]  # the null is not lost
    assert made.array.type == pa.decimal64(18, 4)


def test_a_value_in_a_row_that_has_none_is_not_lost() -> None:
    made = built([MAX64, MAX64], "i8", leaf(ValueKind.DECIMAL, exponent=-4), None, [True, False])
    assert made.lost == [0]
    assert made.array.to_pylist() == [None, None]


def test_unsigned_and_narrow_mantissas() -> None:
    wide = leaf(ValueKind.DECIMAL, "uint64", exponent=-8)
    made = built([1, (1 << 64) - 1, (1 << 64) - 2], "u8", wide, null=(1 << 64) - 1)
    assert made.array.to_pylist() == [Decimal("0.00000001"), None, None]
    assert made.lost == [2]
    narrow = leaf(ValueKind.DECIMAL, "int32", exponent=-2)
    assert built([-5, 7], "i4", narrow).array.to_pylist() == [Decimal("-0.05"), Decimal("0.07")]


@pytest.mark.parametrize("exponent", [1, -19, -30])
def test_exponents_that_no_decimal_has_leave_the_mantissa(exponent: int) -> None:
    of = leaf(ValueKind.DECIMAL, "int16", exponent=exponent)
    assert built([-5, 7], "i2", of, null=7).array.to_pylist() == [-5, None]


@pytest.mark.parametrize(("primitive", "dtype"), [("uint32", "u4"), ("int32", "i4"), ("uint16", "u2")])
def test_narrow_times_fit_whatever_their_unit(primitive: str, dtype: str) -> None:
    of = leaf(ValueKind.TIME, primitive, nanoseconds=1_000_000)
    top = int(of.primitive.maximum)
    made = built([0, top], dtype, of)
    assert made.array.to_pylist() == [0, top * 1_000_000]
    assert made.array.type == pa.int64()


def test_times_past_int64_are_named() -> None:
    micros = leaf(ValueKind.TIME, "uint64", nanoseconds=1_000)
    last = MAX64 // 1_000
    made = built([last, last + 1, (1 << 64) - 1, 0], "u8", micros, null=0)
    assert made.array.to_pylist() == [last * 1_000, None, None, None]
    assert made.lost == [1, 2]
    signed = leaf(ValueKind.TIME, "int64", nanoseconds=1)
    assert built([MIN64, -5], "i8", signed, null=MIN64).array.to_pylist() == [None, -5]


def test_floats_know_nan_as_null_only_where_it_is() -> None:
    nan = float("nan")
    of = leaf(ValueKind.FLOAT, "double")
    assert built([1.5, nan], "f8", of, null=nan).array.to_pylist() == [1.5, None]
    kept = built([1.5, nan], "f8", of).array
    assert kept.null_count == 0
    assert np.isnan(kept[1].as_py())
    assert built([1.5, 2.0], "f8", of, null=1.5, present=[True, False]).array.to_pylist() == [None, None]
    assert built([0.5], "f4", leaf(ValueKind.FLOAT, "float")).array.type == pa.float32()


def test_arrays_are_lists_and_null_when_all_of_one_is() -> None:
    of = leaf(ValueKind.ARRAY, "int16", count=2)
    values = [[1, 2], [-32768, -32768], [-32768, 3]]
    assert built(values, "i2", of).array.to_pylist() == values
    assert built(values, "i2", of, null=-32768).array.to_pylist() == [[1, 2], None, [-32768, 3]]
    assert built(values, "i2", of, present=[False, True, True]).array.to_pylist()[0] is None


@pytest.mark.parametrize(
    ("raw", "encoding", "expected"),
    [
        (b"PETR4\0\0\0", "ascii", "PETR4"),
        (b"\0hidden\0", "ascii", None),
        (b"a\xe7\xe3o\0\0\0\0", "iso8859-1", "ação"),
        (b"\xff\0\0\0\0\0\0\0", "ascii", "\\xff"),
        (b"exactly8", "utf-8", "exactly8"),
        (b"AB\0\0\0\0\0\0", "cp037", b"AB".decode("cp037")),
    ],
)
def test_fixed_strings_end_at_a_nul(raw: bytes, encoding: str, expected: str | None) -> None:
    values = np.frombuffer(raw * 2, "V8")
    assert strings(values, encoding, None).to_pylist() == [expected, expected]
    assert strings(values, encoding, np.array([True, False])).to_pylist() == [expected, None]
    assert strings(values[:0], encoding, None).to_pylist() == []


def test_a_single_character_has_a_null_of_its_own() -> None:
    of = leaf(ValueKind.STRING, "char", null=ord("-"))
    made = build(np.frombuffer(b"a-\0", "V1"), of, ord("-"), None)
    assert made.array.to_pylist() == ["a", None, None]


@pytest.mark.parametrize(
    ("parts", "encoding", "expected"),
    [
        ([b"ab", b"", b"c"], "ascii", ["ab", None, "c"]),
        ([b"a\0b", b"\0"], "utf-8", ["a", None]),
        ([b"\0\1", b""], None, [b"\0\1", None]),
        (["olá".encode(), b"\xff"], "utf-8", ["olá", "\\xff"]),
        (["ab".encode("utf-16-le")], "utf-16-le", ["ab"]),
        (["䉁".encode("utf-16-le")], "utf-16-le", ["䉁"]),  # whose bytes are those of "AB"
        ([b"\xc1", b"AB"], "cp037", ["A", b"AB".decode("cp037")]),
        ([b"AB"], "cp037", [b"AB".decode("cp037")]),
        ([], "ascii", []),
    ],
)
def test_data_fields(parts: list[bytes], encoding: str | None, expected: list[Any]) -> None:
    ends = np.cumsum([0, *map(len, parts)]).astype(np.int32)
    array = variable(ends, np.frombuffer(b"".join(parts), np.uint8), encoding)
    array.validate(full=True)
    assert array.to_pylist() == expected


@pytest.mark.parametrize(
    "kind", [ValueKind.INTEGER, ValueKind.STRING, ValueKind.DECIMAL, ValueKind.TIME, ValueKind.FLOAT]
)
def test_a_column_that_no_row_has_is_all_null(kind: ValueKind) -> None:
    of = leaf(kind, {ValueKind.STRING: "char", ValueKind.FLOAT: "double"}.get(kind, "int64"))
    assert all_null(of, 3).to_pylist() == [None] * 3
    assert all_null(of, 3).type == arrow_type(of)
