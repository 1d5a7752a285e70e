"""Template files: what they say, and what is wrong with them, by the standard's number and with the line."""

import pytest

from pregao.codecs.fast import Scaled, parse_templates
from pregao.codecs.fast.reader import MAX_DEPTH, NAMESPACE
from pregao.codecs.fast.templates import FastType, Field, Group, Operator, Sequence, SplitDecimal, Templates
from pregao.model.errors import SchemaError
from tests.kits.fast_templates import file_of, one, template_text, templates_of


def field_of(templates: Templates, index: int = 0) -> Field:
    found = templates.by_id[1].instructions[index]
    assert isinstance(found, Field)
    return found


def refusal(text: bytes) -> str:
    with pytest.raises(SchemaError) as caught:
        parse_templates(text, "some.xml")
    assert str(caught.value).startswith("some.xml")
    return caught.value.reason


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<int32 {}>", FastType.INT32), ("<uInt32 {}>", FastType.UINT32), ("<int64 {}>", FastType.INT64),
        ("<uInt64 {}>", FastType.UINT64), ("<decimal {}>", FastType.DECIMAL), ("<string {}>", FastType.ASCII),
        ('<string charset="ascii" {}>', FastType.ASCII), ('<string charset="unicode" {}>', FastType.UNICODE),
        ("<byteVector {}>", FastType.BYTES),
    ],
)  # fmt: skip
@pytest.mark.parametrize("presence", ["mandatory", "optional"])
def test_types_and_presence(text: str, kind: FastType, presence: str) -> None:
    tag = text[1:].split()[0]
    made = one(text.format(f'name="A" id="7" presence="{presence}"') + f"</{tag}>")
    assert field_of(made) == Field("A", "7", kind, presence == "optional")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("uInt32", " 7 ", 7), ("int64", "-9", -9), ("decimal", "100", Scaled(1, 2)),
        ("decimal", "-0.50", Scaled(-5, -1)), ("decimal", ".5", Scaled(5, -1)),
        ("decimal", "0.0", Scaled(0, 0)),
        ("string", "BVMF", b"BVMF"), ("byteVector", "00 fF", b"\x00\xff"),
    ],
)  # fmt: skip
def test_initial_values(kind: str, text: str, value: object) -> None:
    made = one(f'<{kind} name="A"><copy value="{text}"/></{kind}>')
    assert field_of(made).initial == value
    assert field_of(made).operator is Operator.COPY


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("uInt32", "-1"), ("uInt32", "4294967296"), ("int32", "2147483648"), ("int64", "x"), ("int64", ""),
        ("decimal", "."), ("decimal", "1e3"), ("decimal", "9223372036854775808"),
        ("decimal", "0." + "0" * 63 + "1"),
        ("string", "ç"), ("byteVector", "0"), ("byteVector", "zz"), ("int32", "9" * 5_000),
    ],
)  # fmt: skip
def test_initial_values_that_are_none(kind: str, text: str) -> None:
    body = template_text(f'<{kind} name="A"><copy value="{text}"/></{kind}>')
    assert refusal(file_of(body)).startswith("S3")


def test_parts_of_a_decimal() -> None:
    made = one(
        '<decimal name="P" id="270" presence="optional"><exponent><default value="-2"/></exponent>'
        "<mantissa><delta/></mantissa></decimal>"
    )
    decimal = made.by_id[1].instructions[0]
    assert isinstance(decimal, SplitDecimal)
    assert (decimal.exponent.type, decimal.exponent.optional, decimal.exponent.initial) == (
        FastType.INT32,
        True,
        -2,
    )
    assert (decimal.mantissa.type, decimal.mantissa.optional) == (FastType.INT64, False)


def test_groups_and_sequences() -> None:
    made = one(
        '<sequence name="S" id="s" presence="optional"><length name="N" id="268"><copy/></length>'
        '<group name="G"><uInt32 name="A"/></group></sequence>'
        '<sequence name="Plain"><uInt32 name="B"/></sequence>'
    )
    first, second = made.by_id[1].instructions
    assert isinstance(first, Sequence)
    assert isinstance(second, Sequence)
    assert (first.length.name, first.length.id, first.length.optional) == ("N", "268", True)
    assert isinstance(first.instructions[0], Group)
    assert second.length == Field("Plain\0length", "", FastType.UINT32, False)


def test_keys_and_dictionaries_make_entries() -> None:
    body = (
        '<uInt32 name="A"><copy/></uInt32><uInt32 name="B"><copy key="A"/></uInt32>'
        '<uInt32 name="C"><copy key="A" dictionary="mine"/></uInt32>'
        '<group name="G" dictionary="template"><uInt32 name="A"><copy/></uInt32></group>'
        '<uInt32 name="D"><copy key="A" ns="other"/></uInt32><uInt32 name="E"><default value="1"/></uInt32>'
    )
    made = templates_of(template_text(body, attributes='dictionary="145"'))
    slots = [field_of(made, index).slot for index in (0, 1, 2, 4, 5)]
    assert slots[0] == slots[1] != slots[2]
    assert slots[3] not in slots[:3]
    assert slots[4] == -1
    assert made.slots == (
        ("145", "", "A"), ("mine", "", "A"), ("template:T", "", "A"), ("145", "other", "A"),
    )  # fmt: skip


def test_foreign_elements_and_attributes_mean_nothing() -> None:
    text = (
        f'<t:templates xmlns:t="{NAMESPACE}" xmlns:x="urn:x"><t:template name="T" id="1" x:note="n">'
        '<x:anything><x:more/></x:anything><t:uInt32 name="A"><x:hint/></t:uInt32></t:template></t:templates>'
    )
    assert field_of(parse_templates(text.encode())).name == "A"


def test_a_file_of_one_template_and_one_without_an_id() -> None:
    text = f'<template xmlns="{NAMESPACE}" name="T" id="1"><uInt32 name="A"/></template>'
    assert field_of(parse_templates(text.encode())).name == "A"
    made = templates_of('<template name="Part"><uInt32 name="A"/></template>')
    assert not made.by_id
    assert [each.name for each in made.unnumbered] == ["Part"]


A = '<uInt32 name="A"/>'
OPERATED = '<{0} name="A"><{1}/></{0}>'
REFUSED = {
    "not xml": (b"<templates", "S1"),
    "another namespace": (b"<templates/>", "S1"),
    "another root": (f'<messages xmlns="{NAMESPACE}"/>'.encode(), "S1"),
    "entities": (b'<!DOCTYPE t [<!ENTITY a "b">]><t>&a;</t>', "S1"),
    "something else": (file_of("<uInt32 name='A'/>"), "S1"),
    "no name": (file_of(template_text("<uInt32/>")), "S1"),
    "unknown instruction": (file_of(template_text('<float name="A"/>')), "S1"),
    "unknown operator": (file_of(template_text(OPERATED.format("uInt32", "half"))), "S1"),
    "two operators": (file_of(template_text('<uInt32 name="A"><copy/><delta/></uInt32>')), "S1"),
    "two lengths": (file_of(template_text(f'<sequence name="S"><length/><length/>{A}</sequence>')), "S1"),
    "unknown presence": (file_of(template_text('<uInt32 name="A" presence="maybe"/>')), "S1"),
    "unknown charset": (file_of(template_text('<string name="A" charset="latin"/>')), "S1"),
    "two names": (file_of(template_text(A + A)), "S1"),
    "two templates": (file_of(template_text(A), template_text(A, number=2)), "S1"),
    "two ids": (file_of(template_text(A), template_text(A, name="U")), "S1"),
    "no number": (file_of('<template name="T" id="x"/>'), "S1"),
    "decimal with three operators": (
        file_of(template_text('<decimal name="A"><copy/><mantissa><copy/></mantissa></decimal>')), "S1",
    ),
    "too deep": (
        file_of(template_text('<group name="G">' * (MAX_DEPTH + 1) + A + "</group>" * (MAX_DEPTH + 1))), "S1",
    ),
    "refers to itself": (file_of(template_text('<templateRef name="T"/>')), "S1"),
    "refers in a ring": (
        file_of(
            template_text('<templateRef name="U"/>'),
            template_text('<templateRef name="T"/>', name="U", number=2),
        ),
        "S1",
    ),
    "refers to nobody": (file_of(template_text('<templateRef name="U"/>')), "D8"),
    "increment of a string": (file_of(template_text(OPERATED.format("string", "increment"))), "S2"),
    "increment of a decimal": (file_of(template_text(OPERATED.format("decimal", "increment"))), "S2"),
    "tail of a number": (file_of(template_text(OPERATED.format("uInt32", "tail"))), "S2"),
    "constant without value": (file_of(template_text(OPERATED.format("uInt32", "constant"))), "S4"),
    "mandatory default without value": (file_of(template_text(OPERATED.format("uInt32", "default"))), "S5"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, number = REFUSED[case]
    assert refusal(text).startswith(number)


def test_references_that_multiply_are_bounded() -> None:
    """Each template refers to the one before twice: 2^30 instructions, if nobody counted."""
    groups = (
        '<group name="A"><templateRef name="T{0}"/></group><group name="B"><templateRef name="T{0}"/></group>'
    )
    chain = [template_text(A, name="T0", number=100)]
    chain += [template_text(groups.format(n), name=f"T{n + 1}", number=n) for n in range(30)]
    assert refusal(file_of(*chain)).startswith("S1")
