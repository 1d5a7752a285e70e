"""Fields to bytes for one wire version, from fields that are given as if for all of them.

So the market is written once: what a version lacks (a position before 16, a previous size from
16 on) is left out here, and a field that no version ever had is a mistake.
"""

from collections.abc import Mapping

from pregao.codecs.sbe import MessageEncoder, Schema
from pregao.codecs.sbe.declarations import BlockDeclaration
from pregao.codecs.sbe.layout import BlockLayout

Fields = Mapping[str, object]


class Words:
    """Encodes the messages of a version with the project's encoder."""

    def __init__(self, schema: Schema, version: int) -> None:
        self.version = version
        self._encoder = MessageEncoder(schema, version)
        self._layouts = schema.at(version).messages
        self._present = {template: _names(layout) for template, layout in self._layouts.items()}
        self._ever = frozenset(name for message in schema.messages for name in _all_names(message))

    @property
    def templates(self) -> frozenset[int]:
        """The templates that this version sends: 0 only describes the headers."""
        return frozenset(self._layouts) - {0}

    def has(self, template: int, field: str) -> bool:
        return field in self._present[template]

    def encode(self, template: int, fields: Fields) -> bytes:
        if not fields.keys() <= self._ever:
            raise KeyError(f"no message ever had {sorted(fields.keys() - self._ever)}")
        names = self._present[template]
        layout = self._layouts[template]
        values = {name: value for name, value in fields.items() if name in names}
        for group in layout.groups:
            entries = values.get(group.name)
            if isinstance(entries, list):
                values[group.name] = _entries(group, entries)
        return self._encoder.encode(template, values)


def _entries(group: BlockLayout, entries: list[Fields]) -> list[Fields]:
    names = _names(group)
    return [{name: value for name, value in entry.items() if name in names} for entry in entries]


def _names(layout: BlockLayout) -> frozenset[str]:
    fields = {field.name for field in layout.fields if field.present}
    return frozenset(fields | {g.name for g in layout.groups if g.present} | {d.name for d in layout.data})


def _all_names(block: BlockDeclaration) -> set[str]:
    return {f.name for f in block.fields} | {g.name for g in block.groups} | {d.name for d in block.data}
