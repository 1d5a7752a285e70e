"""Rows that tell indices, composites with their parts, volatilities and totals as sent, as tables."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.lake.slices.known import LAKE_ROW
from pregao.lake.tables.arrays import decimals, integers, narrow
from pregao.lake.tables.messages import INDICES, TOTALS, VOLATILITIES
from pregao.lake.tables.table import Column
from pregao.lake.tables.types import PRICE
from pregao.lake.tasks.arrays import (
    NO_WORD,
    Array,
    ColumnRows,
    by_instrument,
    codes_of,
    names,
    record,
    streams,
)
from pregao.lake.tasks.lineage import FIELDS, Lineage
from pregao.lake.tasks.messages import in_order
from pregao.model import market
from pregao.model.rows import NULL, Kind, Rows

_ACTIONS: Final = codes_of(market.Action)
_PARTS: Final = INDICES.by_name["parts"].type.to_write
_PART_PRICE: Final = Column("price", PRICE)


def indices_table(rows: Rows, lineage: Lineage) -> Any:
    """Parts follow their composite in the stream, and have no row of their own in the table."""
    is_part = rows["kind"] == Kind.COMPOSITE_PART
    owners, whole = np.cumsum(~is_part)[is_part] - 1, rows[~is_part]
    lake = whole.view(LAKE_ROW)
    order = by_instrument(lake["number"], lineage.ranks, lake["time_ns"])
    found = ColumnRows(whole, order, (*FIELDS, "action", "price", "other", "fine", "type"))
    is_index = found["kind"] == Kind.INDEX
    columns = lineage.of_rows(found) | {
        "kind": np.where(is_index, 0, 1).astype(np.int8),
        "action": _ACTIONS[found["action"]],
        "value": np.where(is_index, found["price"], NULL),
        "sequence": found["other"],
        "net_change": np.where(is_index, found["fine"], NULL),
        "tick_direction": _less_one(np.where(is_index, found["type"], 0)),
        "parts": _parts(rows[is_part], owners, order, is_index),
    }
    return record(INDICES, columns, len(found))


def _less_one(values: Array) -> Array:
    """Numbers that rows keep with one added, 0 where there is none."""
    return np.where(values == 0, NULL, values.astype(np.int64) - 1)


def _parts(parts: Rows, owners: Array, order: Array, is_index: Array) -> Any:
    """A list for each row of the table, in its order; null for an index."""
    counts = np.bincount(owners, minlength=len(order)).astype(np.int64)
    firsts = np.cumsum(counts) - counts
    ends = np.cumsum(counts[order])
    inside = np.arange(len(parts)) - np.repeat(ends - counts[order], counts[order])
    mine = parts[np.repeat(firsts[order], counts[order]) + inside]
    values = pa.StructArray.from_arrays(
        [
            integers(mine["id"]), decimals(_PART_PRICE, mine["price"]),
            narrow(_less_one(mine["type"]), pa.int16(), np.int16),
        ],
        fields=list(_PARTS.value_type),
    )  # fmt: skip
    offsets = pa.array(np.r_[0, ends].astype(np.int32), mask=np.r_[is_index, False])
    return pa.ListArray.from_arrays(offsets, values, type=_PARTS)


def volatilities_table(rows: Rows, lineage: Lineage) -> Any:
    found = in_order(rows, lineage, "action", "low", "high", "fine")
    columns = lineage.of_rows(found) | {
        "action": _ACTIONS[found["action"]], "short_price": found["low"], "long_price": found["high"],
        "delta": found["fine"],
    }  # fmt: skip
    return record(VOLATILITIES, columns, len(found))


def totals_table(rows: Rows, lineage: Lineage) -> Any:
    """Of systems that send them by stream (MDStreamID); in others they are statistics."""
    rows = rows[(rows["kind"] == Kind.TOTALS) & (rows["stream"] != 0)]
    found = in_order(rows, lineage, "action", "low", "condition", "size", "other", "stream")
    different, codes = np.unique(found["condition"], return_inverse=True)
    texts = [number.to_bytes(4, "little").rstrip(b"\0").decode("ascii") for number in different.tolist()]
    columns = lineage.of_rows(found) | {
        "md_stream": streams(found["stream"]), "action": _ACTIONS[found["action"]], "money": found["low"],
        "currency": names(np.where(found["condition"] == 0, NO_WORD, codes), texts),
        "volume": found["size"], "trades": found["other"],
    }  # fmt: skip
    lineage.scale(columns, found["number"], sizes=["volume"])
    return record(TOTALS, columns, len(found))
