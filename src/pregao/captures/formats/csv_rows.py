"""Rows for spreadsheets and tables: one header for all messages.

Of many templates: lineage, `security_id`, and all other fields as JSON in one column. Of one
template: a column per field of any version of it, groups and composites as JSON, sets joined
with `|`. Null is an empty cell.
"""

import csv
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pregao.captures.decoded import DecodedMessage
from pregao.captures.formats.json_lines import to_json
from pregao.feeds.decoding import BlockShape, Decoder, ValueForm

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
