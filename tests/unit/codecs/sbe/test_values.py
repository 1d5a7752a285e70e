"""Raw bytes to values, kind by kind."""

import math
from decimal import Decimal
from struct import pack
from typing import Any

import pytest

from pregao.codecs.sbe import SbeMessage, SbeMessageDecoder, Schema
from pregao.codecs.sbe.values import is_null, text_of
from tests.kits.sbe_schemas import RICH_TYPES, message


def one(kind: str, more: str = "", order: str = "littleEndian") -> Schema:
    body = f'<field name="f" id="1" type="{kind}" {more}/>'
    return message(body, types=RICH_TYPES, root=f'byteOrder="{order}"')


def read(schema: Schema, raw: bytes, version: int = 5) -> SbeMessage:
    header = pack(schema.byte_order + "4H", len(raw), 1, 7, version)
    return SbeMessageDecoder(schema).decode(header + raw)


def value(kind: str, raw: bytes, more: str = "", version: int = 5) -> Any:
    fields = read(one(kind, more), raw, version).fields
    assert fields is not None
    return fields["f"]


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("uint8", b"\xff", 255),
        ("int8", b"\x80", -128),
        ("uint64", b"\xff" * 8, (1 << 64) - 1),
        ("ZeroNull", b"\0\0\0\0", None),
        ("ZeroNull", b"\1\0\0\0", 1),
        ("OptionalInt64", b"\0" * 7 + b"\x80", None),
        ("double", pack("<d", 0.1), 0.1),
        ("OptionalFloat", pack("<f", math.nan), None),
        ("OptionalFloat", pack("<f", 0.5), 0.5),
        ("Text8", b"A\xe7\xe3o\0\0\0\0", "Ação"),
        ("Text8", b"ABCDEFGH", "ABCDEFGH"),
        ("Text8", b"A\0junk\0\0", "A"),
        ("Text8", bytes(8), None),
        ("Wide", "Ação".encode() + bytes(6), "Ação"),
        ("Wide", b"a\xffb" + bytes(9), "a\\xffb"),
        ("Letter", b"x", "x"),
        ("Letter", b"\0", None),
        ("Letter", b"\xe9", "\\xe9"),
        ("Dash", b"-", None),
        ("Dash", b"x", "x"),
        ("Dash", b"\0", None),
        ("Triple", pack("<3h", 1, -2, 3), (1, -2, 3)),
        ("OptionalPair", pack("<2f", math.nan, math.nan), None),
        ("Side", b"1", "BUY"),
        ("Side", b" ", "BLANK"),
        ("Side", b"\0", None),
        ("Status", b"\xff", None),
        ("Coded", b"\0", None),
        ("Marks", pack("<H", 0x8001), ("FIRST", "LAST")),
        ("Marks", b"\0\0", ()),
        ("OptionalMarks", b"\xff", ("A", 1, 2, 3, 4, 5, 6, 7)),
        ("Price", pack("<q", -12345), Decimal("-1.2345")),
        ("Price", pack("<q", -(1 << 63)), None),
        ("Price", pack("<q", (1 << 63) - 1), Decimal("922337203685477.5807")),
        ("Tens", pack("<i", 7), Decimal(70)),
        ("Floating", pack("<qb", 15, -128), Decimal(15).scaleb(-128)),
        ("Floating", pack("<qb", -15, 127), Decimal(-15).scaleb(127)),
        ("Floating", pack("<qb", -(1 << 63), 0), None),
        ("Micros", pack("<Q", 5), 5000),
        ("Micros", bytes(8), None),
    ],
)
def test_values(kind: str, raw: bytes, expected: object) -> None:
    assert value(kind, raw) == expected


def test_a_nan_of_a_required_float_is_a_value() -> None:
    assert math.isnan(value("double", pack("<d", math.nan)))


def test_a_pair_that_is_half_null_is_kept_as_sent() -> None:
    first, second = value("OptionalPair", pack("<2f", math.nan, 1.5))
    assert math.isnan(first)
    assert second == 1.5


def test_composites_are_mappings_of_members() -> None:
    raw = pack("<H2x3ssBxxqB", 1600, b"V8", b"1", 2, 125000, 255)
    assert value("Engine", raw) == {
        "capacity": 1600,
        "code": "V8",
        "side": "BUY",
        "extras": ("TURBO",),
        "inner": {"price": Decimal("12.5"), "axles": None},
    }


def test_unknown_values_are_kept_and_noted() -> None:
    message = read(one("Side"), b"9")
    assert (message.fields, message.unknown) == ({"f": 57}, [("f", 57)])
    message = read(one("Marks"), pack("<H", 0b100110))
    assert message.fields == {"f": (1, 2, 5)}
    assert message.unknown == [("f", 1), ("f", 2), ("f", 5)]


def test_unknown_values_of_members_are_noted_with_their_path() -> None:
    raw = pack("<H2x3ssBxxqB", 0, b"", b"?", 0x80, 0, 0)
    assert read(one("Engine"), raw).unknown == [("f.side", 63), ("f.extras", 7)]


def test_a_name_holds_only_from_the_version_that_defines_it() -> None:
    raw = pack("<H", 1 << 4)
    assert value("Marks", raw, version=5) == ("IMPLIED",)
    assert value("Marks", raw, version=4) == (4,)
    assert value("Status", b"\x12", version=5) == "LATE"
    assert value("Status", b"\x12", version=4) == 18


def test_big_endian() -> None:
    for kind, raw, expected in (
        ("uint32", pack(">I", 1), 1),
        ("Triple", pack(">3h", 1, -2, 3), (1, -2, 3)),
        ("Price", pack(">q", 10000), Decimal(1)),
        ("double", pack(">d", 1.5), 1.5),
    ):
        assert read(one(kind, order="bigEndian"), raw).fields == {"f": expected}


def test_text_of_an_empty_string_is_null() -> None:
    assert text_of(b"", "ascii") is None
    assert text_of(b"\0abc", "ascii") is None


def test_nulls_are_equal_numbers_or_any_nan() -> None:
    assert is_null(0, 0)
    assert is_null(math.nan, math.nan)
    assert not is_null(math.nan, None)
    assert not is_null(1.0, math.nan)
