"""A whole schema, and the same schema as one wire version has it."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from pregao.codecs.sbe.declarations import AnyType, BlockDeclaration, HeaderLayout
from pregao.codecs.sbe.layout import BlockLayout, block_layout


@dataclass(frozen=True)
class SchemaView:
    """The messages of one wire version, by template id and by name."""

    version: int
    messages: Mapping[int, BlockLayout]
    by_name: Mapping[str, BlockLayout] = field(repr=False)


@dataclass(frozen=True)
class Schema:
    """A schema file. `known_versions` empty means: all up to `version`."""

    package: str
    id: int
    version: int
    semantic_version: str
    byte_order: str  # "<" or ">", as the struct module writes it
    header: HeaderLayout
    messages: tuple[BlockDeclaration, ...]
    known_versions: frozenset[int]
    breakpoints: tuple[int, ...]  # versions at which something changes, from 0
    types: Mapping[str, AnyType] = field(repr=False)
    _views: dict[int, SchemaView] = field(default_factory=dict, repr=False, compare=False)

    def knows(self, version: int) -> bool:
        """Whether this version is defined by the file, not inferred from a lower one."""
        return version in self.known_versions if self.known_versions else version <= self.version

    def epoch(self, version: int) -> int:
        """Index of the last breakpoint at or below a version: versions of one epoch are alike."""
        return bisect_right(self.breakpoints, version) - 1

    def at(self, version: int) -> SchemaView:
        """The layouts of a wire version; one that nobody defined reads as the nearest lower one."""
        epoch = self.epoch(version)
        if epoch not in self._views:
            first = self.breakpoints[epoch]
            blocks = [block_layout(m, first) for m in self.messages if m.span.holds(first)]
            self._views[epoch] = SchemaView(first, {b.id: b for b in blocks}, {b.name: b for b in blocks})
        return self._views[epoch]
