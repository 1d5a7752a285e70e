"""Where each version has each value, how null is written and what it means."""

from pregao.codecs.sbe.declarations import Presence
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from tests.kits.sbe_schemas import HEADER, RICH_TYPES, load, message, rich


def layout_of(body: str, version: int = 5, types: str = RICH_TYPES, attributes: str = "") -> BlockLayout:
    return message(body, types=types, attributes=attributes).at(version).messages[1]


def only(kind: str, more: str = "", types: str = RICH_TYPES) -> FieldLayout:
    (field,) = layout_of(f'<field name="f" id="1" type="{kind}" {more}/>', types=types).fields
    return field


def test_offsets_follow_one_another_unless_declared() -> None:
    fields = {f.name: f.offset for f in rich().at(5).messages[1].fields}
    assert (fields["u8"], fields["i8"], fields["u16"], fields["i16"]) == (0, 1, 2, 4)
    assert (fields["u32"], fields["i32"], fields["late"]) == (8, 12, 158)


def test_constants_take_no_place_and_are_kept_apart() -> None:
    types = RICH_TYPES + '<type name="Fixed" primitiveType="char" length="4" presence="constant">BVMF</type>'
    body = (
        '<field name="byType" id="1" type="Fixed"/>'
        '<field name="byRef" id="2" type="Side" presence="constant" valueRef="Side.SELL"/>'
        '<field name="byText" id="3" type="uint16" presence="constant">99</field>'
        '<field name="byValue" id="4" type="Status" presence="constant">17</field>'
        '<field name="byChar" id="5" type="Side" presence="constant">2</field>'
        '<field name="number" id="6" type="uint8" presence="constant" valueRef="TimeUnit.second"/>'
        '<field name="real" id="7" type="uint8"/>'
    )
    layout = layout_of(body, types=types)
    assert [(f.name, f.offset) for f in layout.fields] == [("real", 0)]
    assert layout.constants == {
        "byType": "BVMF",
        "byRef": "SELL",
        "byText": 99,
        "byValue": "OPEN",
        "byChar": "SELL",
        "number": "second",
    }
    assert layout.constant_ids["byRef"] == 2


def test_presence_of_the_field_wins_over_that_of_its_type() -> None:
    assert only("ZeroNull").null == 0
    assert only("ZeroNull", 'presence="required"').null is None
    assert only("uint8", 'presence="optional"').null == 255
    assert only("int8", 'presence="optional"').null == -128
    assert only("uint8").null is None


def test_a_declared_null_holds_when_only_the_field_is_optional() -> None:
    types = '<type name="T" primitiveType="uint8" nullValue="7"/>'
    assert only("T", types=types).null is None
    assert only("T", 'presence="optional"', types=types).null == 7


def test_a_null_of_a_short_float_is_as_the_wire_rounds_it() -> None:
    types = '<type name="T" primitiveType="float" presence="optional" nullValue="0.1"/>'
    assert only("T", types=types).null == 0.10000000149011612


def test_required_enums_can_be_null_and_keep_their_presence() -> None:
    assert (only("Status").null, only("Status").presence) == (255, Presence.REQUIRED)
    assert only("Coded").null == 0
    assert only("Side").null == 0


def test_an_enum_that_uses_its_null_as_a_value_cannot_be_null() -> None:
    types = '<enum name="E" encodingType="uint8"><validValue name="ALL">255</validValue></enum>'
    assert only("E", types=types).null is None


def test_an_enum_may_declare_its_own_null() -> None:
    types = '<enum name="E" encodingType="uint8" presence="optional" nullValue="9"/>'
    assert only("E", types=types).null == 9


def test_a_set_has_no_null_but_no_bits() -> None:
    assert only("Marks").null is None
    assert only("Marks", 'presence="optional"').null is None
    assert only("OptionalMarks").null is None


def test_kinds() -> None:
    kinds = {f.name: f.kind for f in rich().at(5).messages[1].fields}
    assert kinds["letter"] is ValueKind.STRING
    assert kinds["triple"] is ValueKind.ARRAY
    assert (kinds["price"], kinds["floating"]) == (ValueKind.DECIMAL, ValueKind.SCALED)
    assert (kinds["micros"], kinds["engine"]) == (ValueKind.TIME, ValueKind.COMPOSITE)


def _time(unit: str) -> FieldLayout:
    types = RICH_TYPES + f'<composite name="T"><type name="time" primitiveType="uint64"/>{unit}</composite>'
    return only("T", types=types)


def test_time_units_by_name_in_any_case_and_by_the_standards_number() -> None:
    by_number = '<type name="unit" primitiveType="uint8" presence="constant">{}</type>'
    assert [_time(by_number.format(n)).nanoseconds for n in (9, 6, 3, 0)] == [1, 1000, 1_000_000, 1]
    reference = '<type name="unit" primitiveType="uint8" presence="constant" valueRef="TimeUnit.{}"/>'
    assert _time(reference.format("millisecond")).nanoseconds == 1_000_000


def test_only_whole_numbers_make_decimals_and_times() -> None:
    exponent = '<type name="exponent" primitiveType="int8" presence="constant">-2</type>'
    for kind in ('primitiveType="float"', 'primitiveType="uint8" length="2"', 'primitiveType="char"'):
        types = f'<composite name="T"><type name="mantissa" {kind}/>{exponent}</composite>'
        assert only("T", types=types).kind is ValueKind.COMPOSITE
    types = (
        '<composite name="T"><type name="mantissa" primitiveType="int64"/>'
        '<type name="exponent" primitiveType="int32"/></composite>'
    )
    assert only("T", types=types).kind is ValueKind.COMPOSITE


def test_an_optional_field_of_a_required_mantissa_has_the_default_null() -> None:
    assert only("Tens").null is None
    assert only("Tens", 'presence="optional"').null == -(1 << 31)
    required = RICH_TYPES.replace(
        '<composite name="Floating">\n  <type name="mantissa" primitiveType="int64" presence="optional"/>',
        '<composite name="Floating">\n  <type name="mantissa" primitiveType="int64"/>',
    )
    assert only("Floating", types=required).members[0].null is None
    assert only("Floating", 'presence="optional"', types=required).members[0].null == -(1 << 63)


def test_members_of_a_composite_lie_at_their_offsets_of_the_block() -> None:
    body = '<field name="a" id="1" type="uint8"/><field name="e" id="2" type="Engine"/>'
    engine = layout_of(body).fields[1]
    assert (engine.offset, engine.size) == (1, 20)
    assert {m.name: m.offset for m in engine.members} == {
        "capacity": 1,
        "code": 5,
        "side": 8,
        "extras": 9,
        "inner": 10,
    }
    assert [(m.name, m.offset) for m in engine.members[4].members] == [("price", 12), ("axles", 20)]


def test_a_field_of_a_later_version_has_no_place_yet() -> None:
    body = '<field name="a" id="1" type="uint8"/><field name="b" id="2" type="Engine" sinceVersion="3"/>'
    earlier, later = layout_of(body, 2), layout_of(body, 3)
    assert [f.present for f in earlier.fields] == [True, False]
    assert (earlier.block_length, later.block_length) == (1, 21)
    assert all(not member.present for member in earlier.fields[1].members)


def test_a_place_may_change_its_meaning() -> None:
    body = (
        '<field name="old" id="1" type="uint32" h:untilVersion="3" offset="0"/>'
        '<field name="new" id="1" type="int32" sinceVersion="3" offset="0"/>'
    )
    assert [(f.name, f.offset) for f in layout_of(body, 2).fields] == [("old", 0), ("new", -1)]
    assert [(f.name, f.offset) for f in layout_of(body, 3).fields] == [("new", 0)]


def test_a_name_that_changes_its_type_is_there_once() -> None:
    group = '<group name="g" id="{}" {}><field name="x" id="1" type="uint8"/></group>'
    data = '<data name="d" id="{}" type="varText" {}/>'
    body = (
        '<field name="f" id="1" type="uint32" h:untilVersion="3"/>'
        '<field name="f" id="2" type="int32" sinceVersion="3" offset="0"/>'
        + group.format(3, 'h:untilVersion="3"')
        + group.format(4, 'sinceVersion="3"')
        + data.format(5, 'h:untilVersion="3"')
        + data.format(6, 'sinceVersion="3"')
    )
    for version, ids in ((2, (1, 3, 5)), (3, (2, 4, 6))):
        layout = layout_of(body, version)
        assert [f.id for f in layout.fields] == [ids[0]]
        assert [(g.id, g.present) for g in layout.groups] == [(ids[1], True)]
        assert [d.id for d in layout.data] == [ids[2]]
        assert layout.absent_data == ()


def test_block_lengths_by_declaration_by_history_and_by_fields() -> None:
    body = '<field name="a" id="1" type="uint8"/>'
    assert layout_of(body).block_length == 1
    assert layout_of(body, attributes='blockLength="9"').block_length == 9
    history = 'h:blockLengths="0:1 3:4"'
    assert [layout_of(body, version, attributes=history).block_length for version in (2, 3)] == [1, 4]


def test_a_version_that_nobody_defined_reads_as_the_nearest_lower_one() -> None:
    schema = rich()
    assert schema.at(4) is schema.at(0)
    assert schema.at(99) is schema.at(5)
    assert schema.at(4).messages[1].fields[-1].present is False


def test_names_of_a_set_and_an_enum_are_those_of_the_version() -> None:
    schema = rich()
    for version, known in ((4, 2), (5, 3)):
        marks = next(f for f in schema.at(version).messages[1].fields if f.name == "marks")
        assert len(marks.names) == known


def test_a_message_of_a_later_version_is_not_there_before() -> None:
    schema = load("", '<sbe:message name="M" id="1" sinceVersion="2"/>')
    assert 1 not in schema.at(1).messages
    assert schema.at(2).by_name["M"].id == 1


def test_dimensions_of_any_shape() -> None:
    legs, flags, later = rich().at(4).messages[1].groups
    assert legs.dimension is not None
    assert flags.dimension is not None
    assert (legs.dimension.size, legs.dimension.num_in_group_offset, legs.dimension.block_length.name) == (
        8,
        2,
        "uint8",
    )
    assert (flags.dimension.size, flags.dimension.num_in_group.name) == (3, "uint8")
    assert not later.present


def test_a_header_is_plain_only_when_it_is_eight_bytes_in_order() -> None:
    assert load().header.is_plain
    extended = HEADER.replace("</composite>", '<type name="x" primitiveType="uint8"/></composite>', 1)
    assert not load(header=extended).header.is_plain
    assert load(header=extended).header.size == 9
