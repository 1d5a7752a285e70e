"""What the FIX kernel must find, by the plain parser: rows as lists of (value, beside it)."""

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from pregao.codecs.fix import Dictionary, Entry, FieldBlock, ValueFormatError, parse_message, parse_value
from pregao.codecs.fix.types import COUNTS, DATES, FLOATS, FieldType
from pregao.model.errors import DecodeError

DAY_NS = 86_400_000_000_000
NULL, BAD = "absent", "malformed"
Cell = str | bytes | tuple[int, int]
Row = tuple[int, tuple[Cell, ...]]  # parent, cells

_NUMBERS = (
    COUNTS | DATES | FLOATS | {FieldType.INT, FieldType.UTCTIMESTAMP, FieldType.TIME, FieldType.UTCTIMEONLY}
)


@dataclass
class PlainBatch:
    outcomes: list[tuple[int, int, int, int, str, int]] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=dict)


def plain_batch(messages: list[bytes], dictionary: Dictionary) -> PlainBatch:
    batch = PlainBatch()
    for index, raw in enumerate(messages):
        try:
            message = parse_message(raw, dictionary)
        except DecodeError as error:
            batch.outcomes.append((int(error.fault), -1, 0, 0, "unknown", -1))
            continue
        spec = dictionary.message(message.msg_type)
        name = message.msg_type.decode("latin-1") if spec else "unknown"
        body = spec.body if spec else FieldBlock("unknown", ())
        row = len(batch.tables.get(name, ()))
        problem = message.structure
        reason, tag = (-1, 0) if problem is None else (int(problem.reason), problem.tag or 0)
        batch.outcomes.append((0, reason, tag, len(message.unknown), name, row))
        _add(batch, "header", dictionary.header, message.header, index)
        _add(batch, "trailer", dictionary.trailer, message.trailer, index)
        _add(batch, name, body, message.body, index)
    return batch


def _add(batch: PlainBatch, name: str, block: FieldBlock, entry: Entry, parent: int) -> None:
    rows = batch.tables.setdefault(name, [])
    row = len(rows)
    rows.append((parent, ()))
    cells: list[Cell] = []
    for member in block.members:
        value = entry.get(member.field.tag)
        if value is None:
            cells.append(NULL)
        elif member.group is None and isinstance(value, bytes):
            cells.append(_cell(member.field.kind, value))
        else:  # of a count only whether it is a number: its entries are counted
            is_bad = isinstance(value, bytes) and _cell(member.field.kind, value) == BAD
            cells.append(BAD if is_bad else (0, 0))
    rows[row] = (parent, tuple(cells))
    for tag, value in entry.items():
        if isinstance(value, list):
            for inner in value:
                _add(batch, f"{name}/{tag}", block.groups[tag], inner, row)


def _cell(kind: FieldType, raw: bytes) -> Cell:
    if kind not in _NUMBERS:
        return raw
    try:
        value = parse_value(kind, raw)
    except ValueFormatError:
        return BAD
    extra = 0
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        extra = -exponent
        number = int("".join(map(str, digits))) * (-1 if sign else 1)
    elif isinstance(value, date):
        number = value.toordinal() - date(1970, 1, 1).toordinal()
    else:
        assert isinstance(value, int)
        number = value
        if kind in (FieldType.UTCTIMESTAMP, FieldType.TIME) and not -106_751 <= number // DAY_NS <= 106_750:
            return BAD  # whole days that 64 bits hold
    if not -(2**63) < number < 2**63:
        return BAD
    return number, extra
