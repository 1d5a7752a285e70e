"""Pieces of SQL that several tables share."""

from typing import Final

from pregao.lake.tables.lineage import CARRIED, PLACE

LINEAGE: Final = (*PLACE, *CARRIED)
# Nulls come first in every ORDER BY (`engine`): what a snapshot told has no place in a packet.
IN_ORDER: Final = ", ".join(PLACE)
LINEAGE_STRUCT: Final = f"struct_pack({', '.join(f'{name} := {name}' for name in LINEAGE)})"


def columns(names: tuple[str, ...], of: str) -> str:
    return ", ".join(f"{of}.{name}" for name in names)


def place(of: str) -> str:
    """One value that is greater where a row comes later: DuckDB takes null for the greatest, we for the
    least."""
    return f"row({', '.join(f'coalesce({of}.{name}, -1)' for name in PLACE)})"


def is_one_of(words: tuple[str, ...]) -> str:
    return f"({', '.join(repr(word) for word in words)})"
