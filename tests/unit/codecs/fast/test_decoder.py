"""Bytes written by hand from the FAST 1.1 standard: what the published vectors do not have."""

from typing import Any

import pytest

from pregao.codecs.fast import FastError, FastMessageDecoder, FastMessageEncoder, Referred, Scaled, Templates
from pregao.model.errors import Fault
from tests.kits.fast_templates import one, template_text, templates_of

ENTRIES = """
<uInt32 name="Number" id="34"/>
<sequence name="Entries"><length name="NoEntries" id="268"/>
  <uInt32 name="Action" id="279"><copy value="1"/></uInt32>
  <string name="Kind" id="269"/>
  <sequence name="Legs" presence="optional"><length name="NoLegs"/>
    <uInt64 name="Leg"><delta/></uInt64></sequence>
</sequence>"""


def both_ways(templates: Templates, data: str, fields: dict[str, Any], name: str = "T") -> None:
    """The bytes are these fields, and these fields the bytes."""
    raw = bytes.fromhex(data)
    message = FastMessageDecoder(templates, strict=True).decode(raw)
    assert (message.name, message.fields) == (name, fields)
    assert FastMessageEncoder(templates).encode(name, fields).hex(" ") == raw.hex(" ")


def fails(templates: Templates, data: str, fault: Fault, number: str, field: str = "") -> FastError:
    with pytest.raises(FastError) as caught:
        FastMessageDecoder(templates).decode(bytes.fromhex(data))
    assert (caught.value.fault, caught.value.number, caught.value.field) == (fault, number, field)
    return caught.value


class TestGuidelines:
    """The bytes of 3.1.4 of UMDF FIX/FAST, with their misprints mended (docs/specification-notes.md)."""

    def test_a_string(self) -> None:
        both_ways(one('<string name="S"/>'), "c0 81 424d2646426f76657370e1", {"S": "BM&FBovespa"})

    def test_an_unsigned_integer(self) -> None:
        both_ways(one('<uInt32 name="N"/>'), "c0 81 0744c0", {"N": 123456})

    def test_a_unicode_string(self) -> None:
        both_ways(one('<string name="S" charset="unicode"/>'), "c0 81 86 61c3a7c3a36f", {"S": "ação"})

    def test_a_string_delta_subtracts_six(self) -> None:
        templates = one(
            '<string name="A"><delta key="k"/></string><string name="B"><delta key="k"/></string>'
        )
        fields = {"A": "BMFBR123456", "B": "BMFBR789012"}
        both_ways(templates, "c0 81 80 424d46425231323334 35b6 86 3738393031b2", fields)


class TestSequences:
    def test_elements_have_maps_and_copies_go_from_one_to_the_next(self) -> None:
        first = {"Action": 0, "Kind": "A", "Legs": None}
        entries = [first, {"Action": 0, "Kind": "B", "Legs": [{"Leg": 100}, {"Leg": 99}]}]
        data = "c0 81 87 82c0 80 c1 8080 c2 83 00e4 ff"
        both_ways(one(ENTRIES), data, {"Number": 7, "Entries": entries})

    def test_the_initial_value_of_a_copy(self) -> None:
        entries = [{"Action": 1, "Kind": "A", "Legs": []}]
        both_ways(one(ENTRIES), "c0 81 87 81 80 c1 81", {"Number": 7, "Entries": entries})

    def test_elements_without_bits_have_no_map(self) -> None:
        templates = one(
            '<sequence name="S"><uInt32 name="A"/><string name="B" presence="optional"/></sequence>'
        )
        both_ways(templates, "c0 81 82 81 80 82 d8", {"S": [{"A": 1, "B": None}, {"A": 2, "B": "X"}]})

    def test_the_length_may_have_an_operator(self) -> None:
        body = (
            '<sequence name="S"><length name="N"><default value="2"/></length><uInt32 name="A"/></sequence>'
        )
        both_ways(one(body), "c0 81 85 86", {"S": [{"A": 5}, {"A": 6}]})
        both_ways(one(body), "e0 81 81 85", {"S": [{"A": 5}]})

    def test_an_optional_sequence(self) -> None:
        body = '<sequence name="S" presence="optional"><length name="N"/><uInt32 name="A"/></sequence>'
        both_ways(one(body), "c0 81 80", {"S": None})
        both_ways(one(body), "c0 81 81", {"S": []})
        both_ways(one(body), "c0 81 82 89", {"S": [{"A": 9}]})

    def test_an_optional_length_with_copy_takes_a_bit(self) -> None:
        body = (
            '<sequence name="S" presence="optional"><length name="N"><copy/></length>'
            '<uInt32 name="A"/></sequence>'
        )
        both_ways(one(body), "c0 81", {"S": None})
        both_ways(one(body), "e0 81 82 83", {"S": [{"A": 3}]})

    def test_more_elements_than_bytes(self) -> None:
        data = "c0 81 87 0f7f7f7fff 80c180"
        error = fails(one(ENTRIES), data, Fault.FAST_SEQUENCE_PAST_MESSAGE, "", "NoEntries")
        assert (error.template, error.offset) == ("T", 3)

    def test_elements_without_bytes_are_few(self) -> None:
        templates = one('<sequence name="S"><uInt32 name="A"><constant value="1"/></uInt32></sequence>')
        both_ways(templates, "c0 81 83", {"S": [{"A": 1}] * 3})
        fails(templates, "c0 81 0f7f7f7fff", Fault.FAST_SEQUENCE_PAST_MESSAGE, "", "S.length")


class TestGroups:
    BODY = (
        '<group name="G" presence="optional"><uInt32 name="A"><copy/></uInt32>'
        '<group name="H"><string name="B"/></group></group><uInt32 name="C"/>'
    )

    def test_absent(self) -> None:
        both_ways(one(self.BODY), "c0 81 85", {"G": None, "C": 5})

    def test_a_group_has_a_map_of_its_own_and_one_without_bits_none(self) -> None:
        both_ways(one(self.BODY), "e0 81 c0 87 d8 85", {"G": {"A": 7, "H": {"B": "X"}}, "C": 5})


class TestReferences:
    PART = template_text('<uInt32 name="P"><default value="3"/></uInt32>', name="Part", number=2)

    def test_static_has_no_map_of_its_own(self) -> None:
        whole = template_text('<string name="A"/><templateRef name="Part"/><uInt32 name="B"/>')
        both_ways(templates_of(self.PART, whole), "e0 81 d8 84 85", {"A": "X", "P": 4, "B": 5})

    def test_dynamic_has_map_and_id(self) -> None:
        whole = template_text('<string name="A"/><templateRef/><uInt32 name="B"/>')
        fields = {"A": "X", "templateRef1": Referred("Part", {"P": 4}), "B": 5}
        both_ways(templates_of(self.PART, whole), "c0 81 d8 e0 82 84 85", fields)

    def test_a_reference_to_the_same_template_leaves_the_id_out(self) -> None:
        whole = template_text('<group name="G" presence="optional"><templateRef/></group><uInt32 name="B"/>')
        inner = Referred("T", {"G": None, "B": 6})
        both_ways(templates_of(whole), "e0 81 80 86 85", {"G": {"templateRef1": inner}, "B": 5})

    def test_without_end(self) -> None:
        whole = template_text("<templateRef/>")
        data = "c081" + "80" * 20
        fails(templates_of(whole), data, Fault.FAST_TOO_DEEP, "", ".".join(["templateRef1"] * 8))

    def test_unknown_in_a_dynamic_reference(self) -> None:
        whole = template_text("<templateRef/>")
        fails(templates_of(whole), "c081 c089", Fault.FAST_UNKNOWN_TEMPLATE, "D9", "templateRef1")


class TestMaps:
    def test_of_any_length(self) -> None:
        body = "".join(f'<uInt32 name="F{n}" presence="optional"><default/></uInt32>' for n in range(200))
        fields: dict[str, Any] = {f"F{n}": None for n in range(200)}
        both_ways(one(body), "c0 81", fields)
        data = "40" + "00" * 27 + "88 81 85"  # bit 199 of the map: 28 × 7 + 3
        both_ways(one(body), data, fields | {"F198": 4})

    def test_the_template_id_is_copied(self) -> None:
        decoder = FastMessageDecoder(one('<uInt32 name="A"/>'), reset_each_message=False)
        assert decoder.decode(bytes.fromhex("c08185")).fields == {"A": 5}
        assert decoder.decode(bytes.fromhex("8086")).fields == {"A": 6}

    def test_a_mantissa_has_its_bit_only_with_its_exponent(self) -> None:
        body = (
            '<decimal name="D" presence="optional"><exponent><default/></exponent>'
            '<mantissa><copy/></mantissa></decimal><uInt32 name="A"><default value="1"/></uInt32>'
        )
        both_ways(one(body), "d0 81 82", {"D": None, "A": 2})
        both_ways(one(body), "f8 81 ff 85 82", {"D": Scaled(5, -1), "A": 2})


class TestDictionaries:
    COPY = '<uInt32 name="A" presence="optional"><copy dictionary="{}"/></uInt32>'

    @pytest.mark.parametrize(
        ("dictionary", "shared"), [("global", True), ("mine", True), ("template", False), ("type", True)]
    )
    def test_who_shares_a_previous_value(self, dictionary: str, shared: bool) -> None:
        body = '<typeRef name="X"/>' + self.COPY.format(dictionary)
        templates = templates_of(template_text(body), template_text(body, name="U", number=2))
        decoder = FastMessageDecoder(templates, reset_each_message=False)
        assert decoder.decode(bytes.fromhex("e08186")).fields == {"A": 5}
        assert decoder.decode(bytes.fromhex("c082")).fields == {"A": 5 if shared else None}

    def test_types_apart(self) -> None:
        texts = [
            template_text(f'<typeRef name="{name}"/>' + self.COPY.format("type"), name=name, number=number)
            for number, name in ((1, "X"), (2, "Y"))
        ]
        decoder = FastMessageDecoder(templates_of(*texts), reset_each_message=False)
        decoder.decode(bytes.fromhex("e08186"))
        assert decoder.decode(bytes.fromhex("c082")).fields == {"A": None}

    def test_reset(self) -> None:
        templates = one('<uInt32 name="A"><copy value="9"/></uInt32>')
        decoder = FastMessageDecoder(templates)
        assert decoder.decode(bytes.fromhex("e08185")).fields == {"A": 5}
        assert decoder.decode(bytes.fromhex("c081")).fields == {"A": 9}

    def test_one_key_of_two_types(self) -> None:
        body = '<uInt32 name="A"><copy key="k"/></uInt32><int32 name="B"><copy key="k"/></int32>'
        fails(one(body), "e08185", Fault.FAST_WRONG_PREVIOUS, "D4", "B")


class TestFaults:
    def test_header_and_template(self) -> None:
        templates = one('<uInt32 name="A"/>')
        fails(templates, "40", Fault.FAST_MAP_WITHOUT_END, "")
        fails(templates, "8085", Fault.FAST_NO_TEMPLATE, "D5")
        fails(templates, "c089", Fault.FAST_UNKNOWN_TEMPLATE, "D9")
        error = fails(templates, "c08185ff", Fault.FAST_BYTES_LEFT_OVER, "")
        assert (error.offset, error.template) == (3, "T")

    def test_integers(self) -> None:
        fails(one('<uInt32 name="A"/>'), "c0817f7f", Fault.FAST_FIELD_WITHOUT_END, "", "A")
        fails(one('<uInt32 name="A"/>'), "c081", Fault.FAST_FIELD_WITHOUT_END, "", "A")
        for kind, data in {
            "uInt32": "1000000080", "int32": "0800000080", "uInt64": "02000000000000000080",
            "int64": "01000000000000000080",
        }.items():  # fmt: skip
            error = fails(
                one(f'<{kind} name="A"/>'), "c081" + data, Fault.FAST_INTEGER_OUT_OF_RANGE, "D2", "A"
            )
            assert error.offset == 2
        fails(one('<int32 name="A"/>'), "c081" + "01" * 30 + "80", Fault.FAST_INTEGER_OUT_OF_RANGE, "D2", "A")

    @pytest.mark.parametrize("kind", ["uInt32", "int32", "uInt64", "int64"])
    def test_largest_and_smallest(self, kind: str) -> None:
        bits = int(kind[-2:]) - (kind[0] == "i")
        for presence in ("mandatory", "optional"):
            templates = one(f'<{kind} name="A" presence="{presence}"/>')
            for value in ((1 << bits) - 1, -(1 << bits) if kind[0] == "i" else 0):
                data = FastMessageEncoder(templates).encode("T", {"A": value})
                assert FastMessageDecoder(templates, strict=True).decode(data).fields == {"A": value}

    def test_no_previous_value(self) -> None:
        fails(one('<uInt32 name="A"><copy/></uInt32>'), "c081", Fault.FAST_NO_PREVIOUS, "D5", "A")
        fails(one('<uInt32 name="A"><increment/></uInt32>'), "c081", Fault.FAST_NO_PREVIOUS, "D5", "A")
        fails(one('<string name="A"><tail/></string>'), "c081", Fault.FAST_NO_PREVIOUS, "D6", "A")

    def test_null_in_a_mandatory_field(self) -> None:
        body = '<uInt32 name="A" presence="optional"><copy key="k"/></uInt32>'
        body += '<uInt32 name="B"><copy key="k"/></uInt32>'
        fails(one(body), "c081", Fault.FAST_NULL_IN_MANDATORY, "D6", "B")
        delta = body.replace('name="B"><copy', 'name="B"><delta')
        fails(one(delta), "c08181", Fault.FAST_NULL_IN_MANDATORY, "D6", "B")

    def test_strings(self) -> None:
        fails(one('<string name="A"/>'), "c0814142", Fault.FAST_FIELD_WITHOUT_END, "", "A")
        fails(
            one('<string name="A"><delta/></string>'), "c08182c1", Fault.FAST_SUBTRACTION_TOO_LONG, "D7", "A"
        )
        fails(one('<byteVector name="A"/>'), "c0818541", Fault.FAST_BYTES_PAST_MESSAGE, "", "A")

    def test_deltas_out_of_range(self) -> None:
        fails(one('<uInt32 name="A"><delta/></uInt32>'), "c081ff", Fault.FAST_VALUE_OUT_OF_RANGE, "R4", "A")
        body = '<decimal name="A"><mantissa><delta value="9223372036854775807"/></mantissa></decimal>'
        fails(one(body), "c0818081", Fault.FAST_VALUE_OUT_OF_RANGE, "R1", "A.mantissa")

    @pytest.mark.parametrize(
        ("body", "data", "fault", "number", "value"),
        [
            ('<uInt32 name="A"/>', "c0810085", Fault.FAST_OVERLONG_INTEGER, "R6", 5),
            ('<int32 name="A"/>', "c0817f7fff", Fault.FAST_OVERLONG_INTEGER, "R6", -1),
            ('<int32 name="A"/>', "c0810000" + "c1", Fault.FAST_OVERLONG_INTEGER, "R6", 65),
            ('<string name="A"/>', "c08100c1", Fault.FAST_OVERLONG_STRING, "R9", "A"),
            ('<string name="A" presence="optional"/>', "c0810000c1", Fault.FAST_OVERLONG_STRING, "R9", "A"),
            ('<uInt32 name="A"/>', "40808185", Fault.FAST_OVERLONG_MAP, "R7", 5),
            ('<uInt32 name="A"/>', "c18185", Fault.FAST_UNUSED_MAP_BITS, "R8", 5),
            ('<decimal name="A"/>', "c08100c085", Fault.FAST_EXPONENT_OUT_OF_RANGE, "R1", Scaled(5, 64)),
            ('<string name="A" charset="unicode"/>', "c08181ff", Fault.FAST_BAD_UTF8, "R2", "\ufffd"),
        ],
    )
    def test_reportable_errors_are_findings(
        self, body: str, data: str, fault: Fault, number: str, value: object
    ) -> None:
        templates = one(body)
        message = FastMessageDecoder(templates).decode(bytes.fromhex(data))
        assert message.fields == {"A": value}
        assert [(each.fault, each.number, each.template) for each in message.findings] == [
            (fault, number, "T")
        ]
        with pytest.raises(FastError) as caught:
            FastMessageDecoder(templates, strict=True).decode(bytes.fromhex(data))
        assert (caught.value.fault, caught.value.number) == (fault, number)


@pytest.mark.parametrize(
    ("scaled", "text"),
    [
        (Scaled(250, -2), "2.50"), (Scaled(-5, -3), "-0.005"), (Scaled(7, 0), "7"), (Scaled(7, 3), "7000"),
        (Scaled(0, 2), "0"), (Scaled(0, -2), "0.00"), (Scaled(5, 100), "5E+100"),
        (Scaled(5, -2_000), "5E-2000"),
    ],
)  # fmt: skip
def test_decimals_as_text(scaled: Scaled, text: str) -> None:
    assert str(scaled) == text
