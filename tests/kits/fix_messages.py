"""FIX messages for tests, written with | for the delimiter."""

from pregao.codecs.fix import Dictionary, FieldType
from pregao.codecs.fix.dictionary import FieldBlock


def raw(text: str, *, begin: str = "FIX.4.4") -> bytes:
    """A whole message from `35=…|34=…|`: 8, 9 and 10 are put around it."""
    body = text.replace("|", "\x01").encode("latin-1")
    start = b"8=%b\x019=%d\x01" % (begin.encode("ascii"), len(body))
    return start + body + b"10=%03d\x01" % (sum(start + body) % 256)


def head(msg_type: str, number: int = 2, sender: str = "CLIENT", target: str = "B3") -> str:
    return f"35={msg_type}|34={number}|49={sender}|52=20261117-12:00:00.000|56={target}|"


def readable(data: bytes) -> str:
    return data.replace(b"\x01", b"|").decode("latin-1")


_EXAMPLES = {
    FieldType.BOOLEAN: b"Y",
    FieldType.CHAR: b"1",
    FieldType.COUNTRY: b"BR",
    FieldType.CURRENCY: b"BRL",
    FieldType.DATA: b"a\x01=bc",
    FieldType.INT: b"-12",
    FieldType.LANGUAGE: b"pt",
    FieldType.LENGTH: b"5",
    FieldType.LOCALMKTDATE: b"20261117",
    FieldType.MONTHYEAR: b"2024074",
    FieldType.MULTIPLEVALUESTRING: b"R K",
    FieldType.SEQNUM: b"77",
    FieldType.UTCDATEONLY: b"20261117",
    FieldType.UTCTIMEONLY: b"12:34:56.789",
    FieldType.UTCTIMESTAMP: b"20261117-12:34:56.789",
}
_NUMBERS = {FieldType.AMT, FieldType.FLOAT, FieldType.PERCENTAGE, FieldType.PRICE, FieldType.PRICEOFFSET}


def full_entry(block: FieldBlock, entries: int = 2) -> dict[int, object]:
    """A value for every member of a block, groups with some entries each."""
    made: dict[int, object] = {}
    for member in block.members:
        spec = member.field
        if member.group is not None:
            made[spec.tag] = [full_entry(member.group, entries) for _ in range(entries)]
        elif spec.values:
            made[spec.tag] = next(iter(spec.values))
        elif spec.kind in _NUMBERS or spec.kind is FieldType.QTY:
            made[spec.tag] = b"-1.2500"
        else:
            made[spec.tag] = _EXAMPLES.get(spec.kind, b"text")
    return made


def full_body(dictionary: Dictionary, msg_type: bytes) -> dict[int, object]:
    return full_entry(dictionary.messages[msg_type].body)
