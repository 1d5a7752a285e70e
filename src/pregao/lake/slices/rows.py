"""Rows of `model.rows` as a slice keeps them: with what is known of them instead of what a place tells."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from pregao.model.rows import ROW, ROW_SIZE, Rows

Array = np.ndarray[Any, np.dtype[Any]]

NO_PACKET: Final = 0xFFFFFFFF
NO_INDEX: Final = 0xFFFF
SNAPSHOT_INDEX: Final = 0x8000  # what a snapshot tells stands behind all messages of the packet of its place


def _lake_row() -> "np.dtype[Any]":
    fields = {name: kind[:2] for name, kind in (ROW.fields or {}).items()}
    where = fields.pop("sequence_version")[1]
    del fields["spare_2"]
    fields["quality"] = fields.pop("spare")
    fields["number"] = (np.dtype("<u4"), where)  # of the instrument in its slice + 1; 0: none
    names = sorted(fields, key=lambda name: fields[name][1])
    return np.dtype(
        {
            "names": names, "formats": [fields[name][0] for name in names],
            "offsets": [fields[name][1] for name in names], "itemsize": ROW_SIZE,
        }
    )  # fmt: skip


LAKE_ROW: Final = _lake_row()


def joined(parts: Iterable[Rows]) -> Rows:
    """One after the other; as bytes, for numpy compares the types of structured arrays field by field."""
    whole = np.concatenate([np.zeros(0, np.uint8), *(part.view(np.uint8) for part in parts)])
    rows: Rows = whole.view(ROW)
    return rows
