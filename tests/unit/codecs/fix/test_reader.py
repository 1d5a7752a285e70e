"""Dictionaries: ours, B3's where it is at hand, and hostile ones."""

from pathlib import Path

import pytest

from pregao.codecs.fix import load_builtin_dictionary, parse_dictionary
from pregao.model.errors import SchemaError

REFERENCE = Path(__file__).resolve().parents[4] / ".." / "shared" / "reference" / "fix"

SMALL = """<fix major="4" minor="4"><header><field name="MsgType" required="Y"/></header>
<trailer><field name="CheckSum" required="Y"/></trailer><messages>{messages}</messages>
<components>{components}</components><fields><field number="35" name="MsgType" type="STRING"/>
<field number="10" name="CheckSum" type="STRING"/><field number="1" name="Count" type="NUMINGROUP"/>
<field number="2" name="Part" type="STRING"/>{fields}</fields></fix>"""


def small(messages: str = "", components: str = "", fields: str = "") -> bytes:
    return SMALL.format(messages=messages, components=components, fields=fields).encode()


def test_groups_are_nested_as_section_7_has_them() -> None:
    messages = load_builtin_dictionary().messages
    assert set(messages[b"y"].body.groups[146].groups) == {454, 555, 711, 870, 1141, 1205, 1234}
    assert set(messages[b"W"].body.groups[268].groups) == {711}
    assert set(messages[b"X"].body.groups[268].groups) == {711}
    assert set(messages[b"UTOTC"].body.groups[146].groups) == {37022}
    assert set(messages[b"B"].body.groups) == {33, 146}
    assert set(messages[b"URDR"].body.groups) == {10054}


def test_lengths_know_their_data() -> None:
    assert load_builtin_dictionary().data_of_length == {90: 91, 93: 89, 95: 96, 212: 213, 354: 355, 358: 359}


def test_b3s_dictionary_loads_and_has_our_tags() -> None:
    path = REFERENCE / "FIX44_UMDFConflated.xml"
    if not path.exists():
        pytest.skip(f"B3's dictionary is not at {path}")
    theirs, ours = parse_dictionary(path.read_bytes(), path.name), load_builtin_dictionary()
    assert theirs.begin_string == ours.begin_string == b"FIX.4.4"
    shared = theirs.messages.keys() & ours.messages.keys()
    assert ours.messages.keys() - shared == {b"BW", b"BX", b"URDR", b"BY"}  # of the replayers
    for msg_type in shared:
        # 83 is in tables of the text only (6.2, 7.8.15): read, never sent.
        assert ours.messages[msg_type].body.all_tags - {83} <= theirs.messages[msg_type].body.all_tags
        assert ours.messages[msg_type].is_admin == theirs.messages[msg_type].is_admin
    same = [spec for tag, spec in ours.fields.items() if tag in theirs.fields]
    names = {theirs.fields[spec.tag].name.lower() for spec in same}
    assert {spec.name.lower() for spec in same} == names


def test_a_component_is_written_out_where_it_is_used() -> None:
    use = '<message name="M" msgtype="M"><component name="C" required="{}"/></message>'
    group = '<group name="Count" required="Y"><field name="Part" required="Y"/></group>'
    part = f'<component name="C">{group}</component>'
    for required in "YN":
        body = parse_dictionary(small(use.format(required), part)).messages[b"M"].body
        assert body.required == ((1,) if required == "Y" else ())
        assert body.groups[1].required == (2,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"<a/>", "begins with <fix>"),
        (b"<fix", "not well-formed"),
        (b'<!DOCTYPE fix [<!ENTITY a "b">]>' + small(), "document type"),
        (small('<message name="M" msgtype="M"><field name="Nowhere"/></message>'), "no such field"),
        (small('<message name="M" msgtype="M"><component name="C"/></message>'), "no such component"),
        (small('<message name="M" msgtype="M"><group name="Count"/></message>'), "without members"),
        (small('<message name="M" msgtype="M"><value/></message>'), "neither field"),
        (small('<message name="M" msgtype="M"/><message name="N" msgtype="M"/>'), "second message"),
        (small('<message name="M"/>'), "needs msgtype="),
        (small(fields='<field number="0" name="Zero" type="INT"/>'), "positive number"),
        (small(fields='<field number="x" name="X" type="INT"/>'), "positive number"),
        (small(fields='<field number="3" name="X" type="WHAT"/>'), "unknown type"),
        (small(fields='<field number="3" name="Part" type="INT"/>'), "there twice"),
        (small(fields='<field number="2" name="Other" type="INT"/>'), "two types"),
        (
            small(
                '<message name="M" msgtype="M"><component name="C"/></message>',
                '<component name="C"><component name="C"/></component>',
            ),
            "nested deeper",
        ),
    ],
)
def test_refused_with_line_and_element(text: bytes, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        parse_dictionary(text, "bad.xml")
