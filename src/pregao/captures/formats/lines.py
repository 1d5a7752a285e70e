"""Messages as lines: a JSON object each, as the design has it (The command line), or rows of sheets."""

import csv
from collections.abc import Mapping, Sequence
from decimal import Decimal
from json import JSONEncoder
from math import isfinite
from typing import Any

from pregao.captures.decoded import DecodedMessage
from pregao.feeds.decoding import BlockShape, Decoder, TaggedDecoder, ValueForm
from pregao.model.errors import ConfigurationError

# One JSON object a line, exactly as the design has it (The command line).


# Values of messages as JSON: decimals as strings with their full scale, plain bytes as hex.


def _default(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"no JSON for {type(value).__name__}")


_encode = JSONEncoder(separators=(",", ":"), default=_default, allow_nan=False).encode


def to_json(value: Any) -> str:
    """Compact and ASCII."""
    try:
        return _encode(value)
    except ValueError:  # JSON has no NaN and no infinity; B3's schemas have no floats
        return _encode(_spelled(value))


def _spelled(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _spelled(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(member) for member in value]
    return value


class JsonFormat:
    """The lineage is written by hand, the fields by the encoder of the standard library."""

    def __init__(self) -> None:
        self._file = ""
        self._quoted = '""'
        self._names: dict[str | None, str] = {None: "null"}

    def header(self) -> str:
        return ""

    def file(self, path: str) -> str:
        return ""

    def message(self, decoded: DecodedMessage) -> str:
        message, header = decoded.message, decoded.header
        if decoded.file != self._file:
            self._file, self._quoted = decoded.file, to_json(decoded.file)
        name = self._names.get(message.name)
        if name is None:
            name = self._names[message.name] = to_json(message.name)
        fields = "null" if message.fields is None else to_json(message.fields)
        return (
            f'{{"file":{self._quoted},"packet":{decoded.packet},"ts_ns":{decoded.ts_ns},'
            f'"channel":{_number(decoded.channel)},"seq_version":{_number(header.sequence_version)},'
            f'"seq_num":{header.sequence_number},"sending_time":{header.sending_time_ns},'
            f'"template_id":{message.template_id},"version":{_number(message.version)},'
            f'"name":{name},"fields":{fields}}}\n'
        )


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


# Messages that are FIX underneath, as `tag=value|`, one a line.


class FixFormat:
    def __init__(self, decoder: Decoder) -> None:
        if not isinstance(decoder, TaggedDecoder):
            raise ConfigurationError("messages of this system have no FIX tags", key="format")
        self._decoder = decoder

    def header(self) -> str:
        return ""

    def file(self, path: str) -> str:
        return ""

    def message(self, decoded: DecodedMessage) -> str:
        return self._decoder.fix(decoded.message) + "\n"


LINEAGE = (
    "file", "packet", "ts_ns", "channel", "seq_version", "seq_num", "sending_time",
    "template_id", "version", "name",
)  # fmt: skip


class _Line:
    """What `csv.writer` writes to: it gives back the line."""

    def write(self, line: str) -> str:
        return line


def columns_of(shapes: Sequence[BlockShape]) -> list[str]:
    """The fields of a template over all versions: the newest order, older ones at the end."""
    columns: dict[str, None] = {}
    for shape in shapes:
        groups = [name for name, _ in shape.groups]
        columns.update(dict.fromkeys([*(f.name for f in shape.fields), *groups, *shape.data, *shape.absent]))
    return list(columns)


def _joined_columns(shapes: Sequence[BlockShape]) -> frozenset[str]:
    return frozenset(f.name for shape in shapes for f in shape.fields if f.form is ValueForm.CHOICES)


class CsvFormat:
    def __init__(self, decoder: Decoder, template: int | None = None) -> None:
        shapes = decoder.shapes(template) if template is not None else []
        self._columns, self._sets = columns_of(shapes), _joined_columns(shapes)
        self._id = decoder.wording.security_id
        self._row = csv.writer(_Line(), lineterminator="\n").writerow

    def header(self) -> str:
        return self._line([*LINEAGE, *(self._columns or ("security_id", "fields"))])

    def file(self, path: str) -> str:
        return ""

    def message(self, decoded: DecodedMessage) -> str:
        message, header = decoded.message, decoded.header
        row: list[Any] = [
            decoded.file,
            decoded.packet,
            decoded.ts_ns,
            decoded.channel,
            header.sequence_version,
            header.sequence_number,
            header.sending_time_ns,
            message.template_id,
            message.version,
            message.name,
        ]
        cells = self._cells if self._columns else self._packed
        return self._line(row + cells(message.fields))

    def _cells(self, fields: Mapping[str, Any] | None) -> list[Any]:
        if fields is None:
            return [None] * len(self._columns)
        return [
            "|".join(map(str, value)) if name in self._sets and value is not None else _cell(value)
            for name, value in ((name, fields.get(name)) for name in self._columns)
        ]

    def _packed(self, fields: Mapping[str, Any] | None) -> list[Any]:
        if fields is None:
            return [None, None]
        rest = {name: value for name, value in fields.items() if name != self._id}
        return [fields.get(self._id), to_json(rest)]

    def _line(self, row: list[Any]) -> str:
        # typeshed cannot know that writerow returns what `write` returned.
        return str(self._row(row))


def _cell(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    return to_json(value) if isinstance(value, dict | list | tuple) else value
