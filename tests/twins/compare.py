"""Both paths over one capture, and the first thing in which they differ."""

import random
from collections.abc import Callable, Iterable
from typing import Any

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.batch import ColumnBatch
from pregao.io.captures import Window
from tests.twins.arrow import compare_arrow
from tests.twins.columns import ColumnPath
from tests.twins.plain import PlainPath
from tests.twins.rebuild import RebuiltTable
from tests.twins.seen import Seen, Sight, canonical
from tests.twins.windows import GuardedMemory, cut

Windows = Callable[[], Iterable[Window]]


class Comparer:
    """Holds the two decoders of one schema against each other, capture after capture."""

    def __init__(self, schema: Schema, rows: int = 1 << 16) -> None:
        self._plain = PlainPath(schema)
        self.columns = ColumnPath(schema, rows)
        self._memory: GuardedMemory | None = None

    def compare(self, capture: bytes, seed: int | None = None, *, arrow: bool = True) -> tuple[int, Sight]:
        """Compare everything in a capture: how many values were compared, and what was seen.

        With a `seed` the kernels get windows cut at random; the plain reader always gets the whole.
        """
        if self._memory is None or self._memory.size < len(capture):
            self._memory = GuardedMemory(max(len(capture), 1 << 20))
        memory = self._memory
        rng = None if seed is None else random.Random(seed)
        return self.compare_windows(lambda: cut(capture), lambda: cut(capture, rng, memory), arrow=arrow)

    def compare_windows(
        self, for_plain: Windows, for_columns: Windows, *, arrow: bool = True
    ) -> tuple[int, Sight]:
        """The same for any source of windows."""
        compared = 0

        def inspect(batch: ColumnBatch, rebuilt: list[RebuiltTable]) -> None:
            nonlocal compared
            compared += compare_arrow(batch, rebuilt)

        plain = self._plain.see(for_plain())
        columns = self.columns.see(for_columns(), inspect if arrow else None)
        return compared + same_sight(plain, columns), plain


def same_sight(plain: Sight, columns: Sight) -> int:
    """Fails at the first difference; how many values were compared."""
    assert columns.error == plain.error, f"error: {columns.error!r}, plain {plain.error!r}"
    _same_list("finding", plain.findings, columns.findings)
    assert columns.skipped == plain.skipped, f"skipped: {columns.skipped}, plain {plain.skipped}"
    assert columns.records == plain.records, f"records: {columns.records}, plain {plain.records}"
    _same_list("place", [m.place for m in plain.messages], [m.place for m in columns.messages])
    compared = len(plain.findings) + 1
    for expected, given in zip(plain.messages, columns.messages, strict=True):
        if given != expected and canonical(given) != canonical(expected):
            raise AssertionError(_difference(expected, given))
        compared += 12 + (0 if expected.fields is None else size_of(expected.fields))
    return compared


def _same_list(what: str, plain: list[Any], columns: list[Any]) -> None:
    if plain == columns:
        return
    for number, (expected, given) in enumerate(zip(plain, columns, strict=False)):
        assert given == expected, f"{what} {number}: {given}, plain {expected}"
    more, whose = (plain, "plain") if len(plain) > len(columns) else (columns, "the columns")
    at = min(len(plain), len(columns))
    raise AssertionError(f"{what} {at}: only {whose} has {more[at]}")


def _difference(expected: Seen, given: Seen) -> str:
    for name in expected._fields:
        mine, theirs = getattr(given, name), getattr(expected, name)
        if name == "fields" and isinstance(mine, dict) and isinstance(theirs, dict):
            for key in sorted(mine.keys() | theirs.keys()):
                if canonical(mine.get(key, "—")) != canonical(theirs.get(key, "—")):
                    values = f"{mine.get(key, '—')!r}, plain {theirs.get(key, '—')!r}"
                    return f"{expected.place} {expected.name}.{key}: {values}"
        elif mine != theirs:
            return f"{expected.place} {expected.name} {name}: {mine!r}, plain {theirs!r}"
    return f"{expected.place}: different"


def size_of(fields: dict[str, Any]) -> int:
    """Values in the fields of a message, entries of groups included."""
    lists = (entry for value in fields.values() if isinstance(value, list) for entry in value)
    return len(fields) + sum(size_of(entry) for entry in lists if isinstance(entry, dict))
