"""Books that the day before ended with, from their files."""

from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from pregao.lake.errors import LakeDamagedError
from pregao.lake.plan.carried import Carried
from pregao.lake.reading.arrow import read
from pregao.lake.reading.conditions import Condition
from pregao.lake.reading.orders import order_rows
from pregao.lake.slices.stored import StoredBook, StoredBooks
from pregao.lake.store.location import Location
from pregao.lake.tables.books import BOOK_CHECKPOINTS
from pregao.model.rows import Kind
from pregao.recovery.instruments import NO_REPORT

_WANTED: Final = (Condition("anchor", "=", "STORED"),)
_COLUMNS: Final = (
    "security_id", "entry", "applied_rpt_seq", "quality", "side", "order_id", "price", "size", "position",
    "firm", "ts_inserted", "implied",
)  # fmt: skip


def read_stored(location: Location, carried: Carried) -> StoredBooks:
    found = read(location, BOOK_CHECKPOINTS, carried.files, _WANTED, _COLUMNS)
    found = found.sort_by([("security_id", "ascending"), ("entry", "ascending")]).combine_chunks()
    others = found.filter(pc.is_null(found["security_id"]))["quality"].to_pylist()
    if len(others) != 1:
        names = ", ".join(location.full(BOOK_CHECKPOINTS.name, file.path) for file in carried.files)
        raise LakeDamagedError("the books that a day ended with are not there, or not once", file=names)
    return StoredBooks(carried.sent_ns, others[0], _books(found.filter(pc.is_valid(found["security_id"]))))


def _books(table: Any) -> list[StoredBook]:
    ids = table["security_id"].to_numpy()
    starts = np.flatnonzero(np.r_[True, np.diff(ids) != 0]) if len(ids) else np.zeros(0, np.int64)
    rpt_seqs = pc.fill_null(table["applied_rpt_seq"], NO_REPORT).to_numpy()
    quality = table["quality"].to_numpy()
    orders = order_rows(table, ids, Kind.SNAPSHOT_ORDER)
    firsts = np.searchsorted(orders["security_id"], ids[starts], side="left").tolist()
    lasts = np.searchsorted(orders["security_id"], ids[starts], side="right").tolist()
    return [
        StoredBook(int(ids[start]), int(rpt_seqs[start]), int(quality[start]), orders[first:last])
        for start, first, last in zip(starts.tolist(), firsts, lasts, strict=True)
    ]
