"""Schema files that contradict themselves: what is wrong, in which words, at which element."""


def field(name: str, kind: str, more: str = "", number: int = 1) -> str:
    return f'<field name="{name}" id="{number}" type="{kind}" {more}/>'


ENUM = '<enum name="E" encodingType="uint8"><validValue name="A">1</validValue></enum>'
GROUP = '<group name="g" id="5"><field name="x" id="6" type="uint8"/></group>'
DATA = '<data name="d" id="7" type="varText"/>'

# name: (types, body of the message, words of the error, element named)
CONTRADICTIONS: dict[str, tuple[str, str, str, str]] = {
    "unknown type": ("", field("f", "Nothing"), "unknown type 'Nothing'", "<field name='f'>"),
    "missing type": ("", '<field name="f" id="1"/>', "'type' is missing", "<field name='f'>"),
    "missing id": ("", '<field name="f" type="uint8"/>', "'id' is missing", "<field name='f'>"),
    "missing name": ("", '<field id="1" type="uint8"/>', "'name' is missing", "<field>"),
    "duplicate id": ("", field("f", "uint8") + field("g", "uint8"), "duplicate id 1", "<field name='g'>"),
    "duplicate name": ("", field("f", "uint8") + field("f", "uint8", "", 2), "duplicate name", "name='f'"),
    "duplicate id of group": ("", field("f", "uint8", "", 5) + GROUP, "duplicate id 5", "<group name='g'>"),
    "overlapping fields": (
        "",
        field("f", "uint32") + field("g", "uint8", 'offset="3"', 2),
        "'g' lies over",
        "M",
    ),
    "bad presence": ("", field("f", "uint8", 'presence="maybe"'), "unknown presence", "<field name='f'>"),
    "constant without value": ("", field("f", "uint8", 'presence="constant"'), "without a value", "name='f'"),
    "constant set": (
        '<set name="S" encodingType="uint8"/>',
        field("f", "S", 'presence="constant"'),
        "only a type or an enum",
        "name='f'",
    ),
    "valueRef to no enum": (
        ENUM,
        field("f", "uint8", 'presence="constant" valueRef="uint8.A"'),
        "does not name an enum",
        "name='f'",
    ),
    "valueRef to nothing": (
        ENUM,
        field("f", "E", 'presence="constant" valueRef="E.B"'),
        "has no such value",
        "name='f'",
    ),
    "valueRef to an unknown type": (
        "",
        field("f", "uint8", 'presence="constant" valueRef="X.B"'),
        "unknown type 'X'",
        "name='f'",
    ),
    "valueRef of another enum": (
        ENUM + ENUM.replace('"E"', '"F"'),
        field("f", "E", 'presence="constant" valueRef="F.A"'),
        "is not a value of E",
        "name='f'",
    ),
    "constant enum without such a value": (
        ENUM,
        '<field name="f" id="1" type="E" presence="constant">9</field>',
        "has no value",
        "name='f'",
    ),
    "field after group": ("", GROUP + field("f", "uint8"), "before groups", "<field name='f'>"),
    "field after data": ("", DATA + field("f", "uint8"), "before groups", "<field name='f'>"),
    "group after data": ("", DATA + GROUP, "before data", "<group name='g'>"),
    "unknown element": ("", "<fild/>", "unknown element", "<fild>"),
    "unknown dimension": (
        "",
        GROUP.replace("<group", '<group dimensionType="X"'),
        "unknown type",
        "name='g'",
    ),
    "plain dimension": (
        "",
        GROUP.replace("<group", '<group dimensionType="uint8"'),
        "is not a composite",
        "name='g'",
    ),
    "dimension without count": (
        "",
        GROUP.replace("<group", '<group dimensionType="varText"'),
        "no plain member 'blockLength'",
        "name='g'",
    ),
    "plain data": ("", '<data name="d" id="7" type="uint8"/>', "must be a composite", "<data name='d'>"),
    "data before its length": (
        '<composite name="C"><type name="varData" primitiveType="uint8" length="0"/>'
        '<type name="length" primitiveType="uint8"/></composite>',
        '<data name="d" id="7" type="C"/>',
        "must come last",
        "name='d'",
    ),
    "data of wide elements": (
        '<composite name="C"><type name="length" primitiveType="uint8"/>'
        '<type name="varData" primitiveType="uint16" length="0"/></composite>',
        '<data name="d" id="7" type="C"/>',
        "must be of bytes",
        "name='d'",
    ),
    "signed length": (
        '<composite name="C"><type name="length" primitiveType="int8"/>'
        '<type name="varData" primitiveType="uint8" length="0"/></composite>',
        '<data name="d" id="7" type="C"/>',
        "must be one unsigned integer",
        "name='d'",
    ),
    "field of no length": (
        '<type name="T" primitiveType="char" length="0"/>',
        field("f", "T"),
        "without a fixed length",
        "name='f'",
    ),
    "field of a data type": ("", field("f", "varText"), "without a fixed length", "name='f'"),
    "unknown primitive": ('<type name="T" primitiveType="int128"/>', "", "unknown primitive", "name='T'"),
    "type without primitive": ('<type name="T"/>', "", "'primitiveType' is missing", "name='T'"),
    "unknown kind of type": ('<typ name="T"/>', "", "unknown kind", "<typ name='T'>"),
    "duplicate type": (ENUM + ENUM, "", "duplicate type", "name='E'"),
    "bad length": ('<type name="T" primitiveType="char" length="-1"/>', "", "length='-1'", "name='T'"),
    "endless length": (
        f'<type name="T" primitiveType="char" length="{"9" * 5000}"/>',
        "",
        "is not a number",
        "name='T'",
    ),
    "null out of range": ('<type name="T" primitiveType="uint8" nullValue="256"/>', "", "fit", "name='T'"),
    "null of no number": ('<type name="T" primitiveType="uint8" nullValue="x"/>', "", "value of", "name='T'"),
    "null too large a float": (
        '<type name="T" primitiveType="float" nullValue="1e99"/>',
        "",
        "not a value of float",
        "name='T'",
    ),
    "constant out of range": (
        '<type name="T" primitiveType="int8" presence="constant">128</type>',
        "",
        "does not fit int8",
        "name='T'",
    ),
    "constant longer than its length": (
        '<type name="T" primitiveType="char" length="2" presence="constant">ABC</type>',
        "",
        "longer than 2",
        "name='T'",
    ),
    "unknown character set": (
        '<type name="T" primitiveType="char" length="3" characterEncoding="klingon"/>',
        "",
        "unknown characterEncoding",
        "name='T'",
    ),
    "no character set": (
        '<type name="T" primitiveType="char" length="3" characterEncoding="idna"/>',
        "",
        "unknown characterEncoding",
        "name='T'",
    ),
    "fixed string of wide characters": (
        '<type name="T" primitiveType="char" length="4" characterEncoding="UTF-16"/>',
        "",
        "zero bytes",
        "name='T'",
    ),
    "enum value out of range": (ENUM.replace(">1<", ">256<"), "", "does not fit uint8", "name='A'"),
    "enum value of no number": (ENUM.replace(">1<", ">one<"), "", "is not a value", "name='A'"),
    "enum value of endless digits": (ENUM.replace(">1<", f">{'1' * 9000}<"), "", "not a value", "name='A'"),
    "enum of a float": (ENUM.replace("uint8", "float"), "", "single integer or char", "name='E'"),
    "enum of a constant": (
        '<type name="T" primitiveType="uint8" presence="constant">1</type>' + ENUM.replace("uint8", "T"),
        "",
        "is a constant",
        "name='E'",
    ),
    "enum value twice": (
        ENUM.replace("</enum>", '<validValue name="B">1</validValue></enum>'),
        "",
        "B=1 clashes with A=1",
        "name='B'",
    ),
    "enum name twice": (
        ENUM.replace("</enum>", '<validValue name="A">2</validValue></enum>'),
        "",
        "A=2 clashes with A=1",
        "name='A'",
    ),
    "bit out of range": (
        '<set name="S" encodingType="uint8"><choice name="C">8</choice></set>',
        "",
        "bit '8' does not exist",
        "<choice name='C'>",
    ),
    "bit of odd digits": (
        '<set name="S" encodingType="uint8"><choice name="C">&#178;</choice></set>',
        "",
        "does not exist",
        "<choice name='C'>",
    ),
    "bit twice": (
        '<set name="S" encodingType="uint8"><choice name="C">1</choice><choice name="D">1</choice></set>',
        "",
        "clashes",
        "<choice name='D'>",
    ),
    "signed set": ('<set name="S" encodingType="int8"/>', "", "must be an unsigned", "name='S'"),
    "self-referring composite": (
        '<composite name="C"><ref name="c" type="C"/></composite>',
        "",
        "refers to itself",
        "<ref name='c'>",
    ),
    "composites in a circle": (
        '<composite name="C"><ref name="d" type="D"/></composite>'
        '<composite name="D"><ref name="c" type="C"/></composite>',
        "",
        "refers to itself",
        "<ref name='c'>",
    ),
    "ref to nothing": (
        '<composite name="C"><ref name="r" type="X"/></composite>',
        "",
        "unknown type 'X'",
        "<ref name='r'>",
    ),
    "members over one another": (
        '<composite name="C"><type name="a" primitiveType="uint32"/>'
        '<type name="b" primitiveType="uint8" offset="3"/></composite>',
        "",
        "lies inside the member before",
        "name='b'",
    ),
    "member twice": (
        '<composite name="C"><type name="a" primitiveType="uint8"/>'
        '<type name="a" primitiveType="uint8"/></composite>',
        "",
        "duplicate member",
        "name='a'",
    ),
    "exponent beyond reason": (
        '<composite name="C"><type name="mantissa" primitiveType="int64"/>'
        '<type name="exponent" primitiveType="int32" presence="constant">1000000</type></composite>',
        "",
        "beyond any decimal",
        "name='exponent'",
    ),
    "never there": (
        "",
        field("f", "uint8", 'sinceVersion="3" h:untilVersion="3"'),
        "never holds",
        "name='f'",
    ),
    "bad version": ("", field("f", "uint8", 'sinceVersion="new"'), "is not a number", "name='f'"),
}
