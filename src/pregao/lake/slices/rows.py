"""Rows of `model.rows` as a slice keeps them: with what is known of them instead of what a place tells."""

from typing import Any, Final

import numpy as np

from pregao.model.rows import ROW, ROW_SIZE

Array = np.ndarray[Any, np.dtype[Any]]

NO_PACKET: Final = 0xFFFFFFFF
NO_INDEX: Final = 0xFFFF


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


def by_instrument(numbers: Array, ranks: Array, times: Array) -> Array:
    """The order by instrument and time; what is equal stays in the order of the stream."""
    ranked = ranks[numbers]
    small = ranked.astype(np.uint16) if len(ranks) <= 1 << 16 else ranked  # a radix sort then
    order = np.argsort(small, kind="stable")
    in_time = times[order]
    later = (np.diff(in_time) >= 0) | (np.diff(ranked[order]) != 0)
    return order if later.all() else np.lexsort((times, ranked))
