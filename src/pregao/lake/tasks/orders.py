"""Rows that change books, as tables: orders, and the orders of stored books."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from pregao.lake.slices.rows import LAKE_ROW, joined
from pregao.lake.slices.stored import NO_RPT_SEQ
from pregao.lake.tables.books import BOOK_CHECKPOINTS
from pregao.lake.tables.messages import ORDERS
from pregao.lake.tables.parquet import PART_ROWS
from pregao.lake.tables.words import ANCHORS, BOOK_ACTIONS
from pregao.lake.tasks.arrays import NO_WORD, Array, ColumnRows, by_instrument, or_null, record
from pregao.lake.tasks.lineage import FIELDS, Lineage
from pregao.model.rows import NULL, Flag, Kind, Rows

_ORDER_FIELDS: Final = (
    *FIELDS, "action", "side", "id", "price", "size", "other", "position", "firm", "inserted_ns", "flags",
    "low",
)  # fmt: skip
_SIDES: Final = np.full(256, NO_WORD, np.int8)
_SIDES[[1, 2]] = 0, 1
_EMPTY, _RESET, _SNAPSHOT = (BOOK_ACTIONS.index(word) for word in ("EMPTY", "RESET", "SNAPSHOT"))
_MOST_ACTION: Final = BOOK_ACTIONS.index("DELETE_FROM")


def orders_tables(rows: Rows, lineage: Lineage) -> Iterator[Any]:
    """In parts: where loops are rare a slice has millions, and its columns are as large as its rows."""
    order = _order(rows, lineage)
    for first in range(0, len(order), PART_ROWS):
        yield _orders(rows, order[first : first + PART_ROWS], lineage)


def _orders(rows: Rows, order: Array, lineage: Lineage) -> Any:
    sorted_rows = ColumnRows(rows, order, _ORDER_FIELDS)
    kinds, flags = sorted_rows["kind"], sorted_rows["flags"]
    entries = np.where(kinds == Kind.SNAPSHOT_ORDER, sorted_rows["low"], 0)
    columns = lineage.of_rows(sorted_rows, entries)
    told = np.isin(kinds, (Kind.ORDER, Kind.SIDE))
    columns |= {
        "action": _actions(kinds, sorted_rows["action"]),
        "side": _SIDES[sorted_rows["side"]],
        "order_id": sorted_rows["id"], "price": sorted_rows["price"], "size": sorted_rows["size"],
        "previous_size": np.where(told, sorted_rows["other"], NULL),
        "position": or_null(sorted_rows["position"]), "firm": or_null(sorted_rows["firm"]),
        "ts_inserted": sorted_rows["inserted_ns"],
        "implied": flags & Flag.IMPLIED != 0, "recovery": flags & Flag.RECOVERY != 0,
        "end_of_event": flags & Flag.END_OF_EVENT != 0, "wire_version": sorted_rows["version"],
    }  # fmt: skip
    return record(ORDERS, columns, len(sorted_rows))


def checkpoints_table(by_anchor: Mapping[str, list[Rows]], lineage: Lineage) -> Any:
    rows = joined(part for parts in by_anchor.values() for part in parts)
    order = _order(rows, lineage)
    sorted_rows = ColumnRows(rows, order, _ORDER_FIELDS)
    counts = [sum(len(part) for part in parts) for parts in by_anchor.values()]
    anchors = np.repeat(np.array([ANCHORS.index(anchor) for anchor in by_anchor], np.int8), counts)
    columns = lineage.of_rows(sorted_rows, sorted_rows["low"])
    unreported = sorted_rows["rpt_seq"] == NO_RPT_SEQ
    columns |= {
        "ts_checkpoint": columns["ts_event"],
        "anchor": anchors[order],
        "rpt_seq": np.where(unreported, NULL, columns["rpt_seq"]), "applied_seq_num": columns["seq_num"],
        "applied_rpt_seq": np.where(unreported, NULL, sorted_rows["rpt_seq"].astype(np.int64)),
        "side": _SIDES[sorted_rows["side"]], "order_id": sorted_rows["id"], "price": sorted_rows["price"],
        "size": sorted_rows["size"], "position": or_null(sorted_rows["position"]),
        "firm": or_null(sorted_rows["firm"]), "ts_inserted": sorted_rows["inserted_ns"],
        "implied": sorted_rows["flags"] & Flag.IMPLIED != 0,
    }  # fmt: skip
    return record(BOOK_CHECKPOINTS, columns, len(sorted_rows))


def _order(rows: Rows, lineage: Lineage) -> Array:
    lake = rows.view(LAKE_ROW)
    return by_instrument(lake["number"], lineage.ranks, lake["time_ns"])


def _actions(kinds: Array, actions: Array) -> Array:
    """An action that is none of ours cannot be told otherwise than as a change."""
    found = np.where(actions <= _MOST_ACTION, actions, BOOK_ACTIONS.index("CHANGE")).astype(np.int8)
    found[kinds == Kind.EMPTY_BOOK] = _EMPTY
    found[kinds == Kind.CHANNEL_RESET] = _RESET
    found[kinds == Kind.SNAPSHOT_ORDER] = _SNAPSHOT
    return found
