"""Quotes and price levels of a slice, as tables."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pregao.books.layout import QUOTE
from pregao.lake.slices.kernels.books import QUOTE_QUALITY, QUOTE_TRANSACTED
from pregao.lake.slices.rows import NO_INDEX
from pregao.lake.slices.samples import SECOND_NS
from pregao.lake.tables.books import DEPTH, DEPTH_LEVELS, QUOTES
from pregao.lake.tables.parquet import ROW_GROUP_ROWS
from pregao.lake.tables.quality import Quality
from pregao.lake.tasks.arrays import Array, ColumnRows, by_instrument, or_null, record
from pregao.lake.tasks.kernels import ENTRY, SEND, TRANSACT, spread_levels
from pregao.lake.tasks.lineage import Lineage
from pregao.model.rows import NULL

_SIDES: Final = ("bid", "offer")
_QUOTE_FIELDS: Final = QUOTE.names or ()


def quotes_table(told: Array, lineage: Lineage) -> Any:
    numbers = told["instrument"].astype(np.int64) + 1
    order = by_instrument(numbers, lineage.ranks, told["time_ns"])
    quotes, numbers = ColumnRows(told, order, _QUOTE_FIELDS), numbers[order]
    packets = lineage.packets(quotes["packet"])
    sides = quotes["sides"].astype(np.int64)
    quality = sides >> QUOTE_QUALITY
    kinds = np.where(sides & QUOTE_TRANSACTED, TRANSACT, ENTRY)
    kinds[quality & int(Quality.FROM_SNAPSHOT) != 0] = SEND
    times, kinds = lineage.times(quotes["time_ns"], packets["ts_send"], kinds)
    columns = {
        "security_id": quotes["security_id"], "symbol": lineage.symbols(numbers, packets["ts_send"]),
        **lineage.moments(times, kinds), **lineage.places(quotes["at"]),
        "msg_index": or_null(quotes["index"], NO_INDEX), "entry": np.zeros(len(quotes), np.int64),
        "rpt_seq": or_null(quotes["rpt_seq"]), **packets, **lineage.common(len(quotes)),
        "quality": quality | lineage.differing(quotes["packet"]),
    }  # fmt: skip
    for side in _SIDES:
        empty = quotes[f"{side}_orders"] == 0
        columns[f"{side}_price"] = quotes[f"{side}_price"]
        for name in ("size", "orders"):
            columns[f"{side}_{name}"] = np.where(empty, NULL, quotes[f"{side}_{name}"])
    return record(QUOTES, columns, len(quotes))


def depth_tables(samples: Array, lineage: Lineage) -> Iterator[Any]:
    """In parts, for sixty columns of many samples are as large as all rows of a slice."""
    packets = samples[:, 4]
    sent = lineage.merged.sent[packets] if len(packets) else packets
    order = by_instrument(samples[:, 0] + 1, lineage.ranks, sent)
    for first in range(0, len(order), ROW_GROUP_ROWS):
        yield _depth(samples, order[first : first + ROW_GROUP_ROWS], lineage)


def _depth(samples: Array, order: Array, lineage: Lineage) -> Any:
    numbers, packets, count = samples[order, 0] + 1, samples[order, 4], len(order)
    sent = lineage.merged.sent[packets]
    columns: dict[str, Any] = {
        "security_id": lineage.security_ids[numbers], "symbol": lineage.symbols(numbers, sent),
        **lineage.moments(sent, np.full(count, SEND)),
        **lineage.places(lineage.merged.place[packets]),
        "entry": np.zeros(count, np.int64), **lineage.packets(packets), **lineage.common(count),
        "quality": samples[order, 1], "ts_sample": (sent // SECOND_NS + 1) * SECOND_NS,
    }  # fmt: skip
    for which, side in enumerate(_SIDES):
        columns |= _levels(samples, order, which, side)
    return record(DEPTH, columns, count)


def _levels(samples: Array, order: Array, which: int, side: str) -> dict[str, Any]:
    """Price, size and orders of each level of a side, null where it has fewer."""
    names = [f"{side}_{name}_{level}" for name in _OF_LEVEL for level in range(1, DEPTH_LEVELS + 1)]
    columns = {name: np.empty(len(order), np.int64) for name in names}
    targets = np.array([each.ctypes.data for each in columns.values()])
    samples, order = np.ascontiguousarray(samples), np.ascontiguousarray(order, np.int64)
    spread_levels(samples.ctypes.data, order.ctypes.data, len(order), which, targets.ctypes.data)
    return columns


_OF_LEVEL: Final = ("price", "size", "orders")
