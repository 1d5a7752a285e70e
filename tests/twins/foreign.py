"""A schema that is nothing like B3's: every kind of value, in either byte order."""

import random
from functools import cache

from pregao.codecs.sbe import Schema
from tests.kits.sbe_schemas import HEADER, RICH_MESSAGES, RICH_TYPES, load
from tests.twins.wire import MessageWriter

WIDE_HEADER = HEADER.replace(
    """<type name="blockLength" primitiveType="uint16"/>
  <type name="templateId" primitiveType="uint16"/>
  <type name="schemaId" primitiveType="uint16"/>
  <type name="version" primitiveType="uint16"/>
</composite>""",
    """<type name="blockLength" primitiveType="uint32"/>
  <type name="templateId" primitiveType="uint8"/>
  <type name="numGroups" primitiveType="uint16"/>
  <type name="schemaId" primitiveType="uint64"/>
  <type name="numVarDataFields" primitiveType="uint16"/>
  <type name="version" primitiveType="uint8" offset="19"/>
</composite>""",
    1,
)

TYPES = """
<type name="Codes" primitiveType="uint32" length="5"/>
<type name="OptionalCodes" primitiveType="uint16" length="2" presence="optional"/>
<type name="Doubles" primitiveType="double" length="2"/>
<type name="Greek" primitiveType="char" length="6" characterEncoding="cp037"/>
<type name="Hole" primitiveType="double" presence="optional" nullValue="1.5"/>
<composite name="Short">
  <type name="time" primitiveType="uint32" presence="optional"/>
  <type name="unit" primitiveType="uint8" presence="constant" valueRef="TimeUnit.millisecond"/>
</composite>
<composite name="Signed">
  <type name="time" primitiveType="int64"/>
  <type name="unit" primitiveType="uint8" presence="constant" valueRef="TimeUnit.microsecond"/>
</composite>
<composite name="Unsigned">
  <type name="mantissa" primitiveType="uint64"/>
  <type name="exponent" primitiveType="int8" presence="constant">-8</type>
</composite>
<composite name="Tiny">
  <type name="mantissa" primitiveType="int16" presence="optional"/>
  <type name="exponent" primitiveType="int8" presence="constant">-30</type>
</composite>
<composite name="varWide">
  <type name="length" primitiveType="uint32"/>
  <type name="varData" primitiveType="uint8" length="0" characterEncoding="UTF-16"/>
</composite>
"""

MESSAGES = """
<sbe:message name="Odd" id="3">
  <field name="codes" id="1" type="Codes"/>
  <field name="maybe" id="2" type="OptionalCodes"/>
  <field name="doubles" id="3" type="Doubles"/>
  <field name="greek" id="4" type="Greek"/>
  <field name="hole" id="5" type="Hole"/>
  <field name="short" id="6" type="Short"/>
  <field name="signed" id="7" type="Signed" presence="optional"/>
  <field name="unsigned" id="8" type="Unsigned"/>
  <field name="tiny" id="9" type="Tiny"/>
  <field name="floating" id="10" type="Floating" sinceVersion="3"/>
  <field name="engine" id="11" type="Engine" sinceVersion="4"/>
  <group name="outer" id="20">
    <field name="a" id="21" type="Triple"/>
    <group name="middle" id="22" dimensionType="wideDimension">
      <field name="b" id="23" type="Engine"/>
      <group name="inner" id="24">
        <field name="c" id="25" type="uint64"/><data name="d" id="26" type="varBytes"/>
      </group>
      <group name="dust" id="27" sinceVersion="4"/>
    </group>
    <data name="e" id="28" type="varText" sinceVersion="4"/>
  </group>
  <data name="wide" id="29" type="varWide"/>
</sbe:message>
<sbe:message name="Grown" id="4">
  <field name="x" id="1" type="uint16"/>
  <data name="later" id="2" type="varText" sinceVersion="4"/>
</sbe:message>
<sbe:message name="Young" id="5" sinceVersion="4"><field name="y" id="1" type="Status"/></sbe:message>
"""
VERSIONS = (0, 2, 3, 4, 5, 9, 200)
TEMPLATES = (1, 1, 2, 3, 3, 4, 5, 6)


@cache
def foreign(byte_order: str, wide_header: bool) -> Schema:
    header = WIDE_HEADER if wide_header else HEADER
    return load(RICH_TYPES + TYPES, RICH_MESSAGES + MESSAGES, root=f'byteOrder="{byte_order}"', header=header)


class ForeignMessages:
    """Messages of random templates and versions of the foreign schema."""

    def __init__(self, schema: Schema, rng: random.Random, strange: float = 0.2) -> None:
        self._rng, self._writer = rng, MessageWriter(schema, rng, strange)

    def message(self) -> bytes:
        return self._writer.message(self._rng.choice(TEMPLATES), self._rng.choice(VERSIONS))
