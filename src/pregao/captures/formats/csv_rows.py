"""Rows for spreadsheets and tables: one header for all messages.

Of many templates: lineage, `security_id`, and all other fields as JSON in one column. Of one
template: a column per field of any version of it, groups and composites as JSON, sets joined
with `|`. Null is an empty cell.
"""

import csv
from decimal import Decimal
from typing import Any

from pregao.captures.decoded import DecodedMessage
from pregao.captures.formats.json_lines import to_json
from pregao.codecs.sbe import Schema
from pregao.codecs.sbe.layout import BlockLayout, Kind

LINEAGE = (
    "file", "packet", "ts_ns", "channel", "seq_version", "seq_num", "sending_time",
    "template_id", "version", "name",
)  # fmt: skip


class _Line:
    """What `csv.writer` writes to: it gives back the line."""

    def write(self, line: str) -> str:
        return line


def columns_of(schema: Schema, template: int) -> list[str]:
    """The fields of a template over all wire versions: the newest order, older ones at the end."""
    columns: dict[str, None] = {}
    for version in reversed(schema.breakpoints):
        layout = schema.at(version).messages.get(template)
        if layout is not None:
            columns.update(dict.fromkeys(_names(layout)))
    return list(columns)


def _names(layout: BlockLayout) -> list[str]:
    groups = [group.name for group in layout.groups]
    return [f.name for f in layout.fields] + groups + [d.name for d in layout.data] + list(layout.absent_data)


def _joined_columns(schema: Schema, template: int) -> frozenset[str]:
    layouts = (schema.at(version).messages.get(template) for version in schema.breakpoints)
    return frozenset(f.name for layout in layouts if layout for f in layout.fields if f.kind is Kind.SET)


class CsvFormat:
    def __init__(self, schema: Schema, template: int | None = None) -> None:
        self._columns = columns_of(schema, template) if template is not None else []
        self._sets = _joined_columns(schema, template) if template is not None else frozenset()
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
            header.channel,
            header.sequence_version,
            header.sequence_number,
            header.sending_time_ns,
            message.template_id,
            message.version,
            message.name,
        ]
        return self._line(row + (self._cells(message.fields) if self._columns else _packed(message.fields)))

    def _cells(self, fields: dict[str, Any] | None) -> list[Any]:
        if fields is None:
            return [None] * len(self._columns)
        return [
            "|".join(map(str, value)) if name in self._sets and value is not None else _cell(value)
            for name, value in ((name, fields.get(name)) for name in self._columns)
        ]

    def _line(self, row: list[Any]) -> str:
        # typeshed cannot know that writerow returns what `write` returned.
        return str(self._row(row))


def _packed(fields: dict[str, Any] | None) -> list[Any]:
    if fields is None:
        return [None, None]
    rest = {name: value for name, value in fields.items() if name != "securityID"}
    return [fields.get("securityID"), to_json(rest)]


def _cell(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    return to_json(value) if isinstance(value, dict | list | tuple) else value
