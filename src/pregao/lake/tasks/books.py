"""Quotes and price levels of a slice, as tables."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from pregao.books.layout import QUOTE
from pregao.lake.errors import LakeDamagedError
from pregao.lake.plan.fingerprints import CarriedBooks
from pregao.lake.plan.scales import NO_SCALES
from pregao.lake.reading.arrow import read
from pregao.lake.reading.conditions import Condition
from pregao.lake.reading.faces import order_rows
from pregao.lake.slices.kernels.books import QUOTE_QUALITY, QUOTE_TRANSACTED
from pregao.lake.slices.kernels.sampling import QUALITY_MASK, SAMPLE_STATE
from pregao.lake.slices.kernels.states import NUMBER_BITS
from pregao.lake.slices.known import LAKE_ROW, NO_INDEX, joined
from pregao.lake.slices.made_rows import SECOND_NS
from pregao.lake.slices.states import NUMBER_MASK
from pregao.lake.slices.stored import NO_RPT_SEQ, StoredBook, StoredBooks
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.arrays import PART_ROWS, ROW_GROUP_ROWS
from pregao.lake.tables.instruments import BOOK_CHECKPOINTS, DEPTH, DEPTH_LEVELS, QUOTES
from pregao.lake.tables.messages import ORDERS
from pregao.lake.tables.types import ANCHORS, BOOK_ACTIONS
from pregao.lake.tasks.arrays import (
    NO_WORD,
    Array,
    ColumnRows,
    by_instrument,
    or_null,
    record,
    streams,
    versions,
)
from pregao.lake.tasks.kernels import ENTRY, SEND, TRANSACT, spread_levels
from pregao.lake.tasks.lineage import FIELDS, Lineage, in_state
from pregao.lake.tasks.messages import lending
from pregao.lake.tasks.scaling import unscale
from pregao.model.rows import NULL, Flag, Kind, Rows
from pregao.recovery.instruments import NO_REPORT

# Books that the day before ended with, from their files.


_WANTED: Final = (Condition("anchor", "=", "STORED"),)
_COLUMNS: Final = (
    "security_id", "entry", "applied_rpt_seq", "quality", "side", "order_id", "price", "size", "position",
    "firm", "ts_inserted", "implied", "exact_price", "exact_size", "md_stream",
)  # fmt: skip


def read_stored(location: Location, carried: CarriedBooks, scales: Array = NO_SCALES) -> StoredBooks:
    found = read(location, BOOK_CHECKPOINTS, carried.files, _WANTED, _COLUMNS)
    found = found.sort_by([("security_id", "ascending"), ("entry", "ascending")]).combine_chunks()
    others = found.filter(pc.is_null(found["security_id"]))["quality"].to_pylist()
    if len(others) != 1:
        names = ", ".join(location.full(BOOK_CHECKPOINTS.name, file.path) for file in carried.files)
        raise LakeDamagedError("the books that a day ended with are not there, or not once", file=names)
    return StoredBooks(
        carried.sent_ns, others[0], _books(found.filter(pc.is_valid(found["security_id"])), scales)
    )


def _books(table: Any, scales: Array) -> list[StoredBook]:
    ids = table["security_id"].to_numpy()
    starts = np.flatnonzero(np.r_[True, np.diff(ids) != 0]) if len(ids) else np.zeros(0, np.int64)
    rpt_seqs = pc.fill_null(table["applied_rpt_seq"], NO_REPORT).to_numpy()
    quality = table["quality"].to_numpy()
    orders = order_rows(table, ids, Kind.SNAPSHOT_ORDER, exact=len(scales) > 0)
    unscale(orders, scales)
    firsts = np.searchsorted(orders["security_id"], ids[starts], side="left").tolist()
    lasts = np.searchsorted(orders["security_id"], ids[starts], side="right").tolist()
    return [
        StoredBook(int(ids[start]), int(rpt_seqs[start]), int(quality[start]), orders[first:last])
        for start, first, last in zip(starts.tolist(), firsts, lasts, strict=True)
    ]


_SIDES: Final = ("bid", "offer")
_QUOTE_PRICES, _QUOTE_SIZES = (tuple(f"{side}_{name}" for side in _SIDES) for name in ("price", "size"))
_QUOTE_FIELDS: Final = QUOTE.names or ()


def quotes_table(told: Array, lineage: Lineage) -> Any:
    numbers = (told["instrument"] & NUMBER_MASK).astype(np.int64) + 1
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
        **in_state(quotes["instrument"] >> NUMBER_BITS), "md_stream": streams(lineage.book_streams[numbers]),
    }  # fmt: skip
    for side in _SIDES:
        empty = quotes[f"{side}_orders"] == 0
        columns[f"{side}_price"] = quotes[f"{side}_price"]
        for name in ("size", "orders"):
            columns[f"{side}_{name}"] = np.where(empty, NULL, quotes[f"{side}_{name}"])
    lineage.scale(columns, numbers, _QUOTE_PRICES, _QUOTE_SIZES, with_kind=True)
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
        "quality": samples[order, 1] & QUALITY_MASK, **in_state(samples[order, 1] >> SAMPLE_STATE),
        "ts_sample": (sent // SECOND_NS + 1) * SECOND_NS, "md_stream": streams(lineage.book_streams[numbers]),
    }  # fmt: skip
    for which, side in enumerate(_SIDES):
        columns |= _levels(samples, order, which, side)
    lineage.scale(columns, numbers, _LEVEL_PRICES, _LEVEL_SIZES)
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
_LEVEL_PRICES, _LEVEL_SIZES = (
    tuple(f"{side}_{name}_{level}" for side in _SIDES for level in range(1, DEPTH_LEVELS + 1))
    for name in ("price", "size")
)


# Rows that change books, as tables: orders, and the orders of stored books.


_ORDER_FIELDS: Final = (
    *FIELDS, "action", "side", "id", "price", "size", "other", "position", "firm", "inserted_ns", "flags",
    "low",
)  # fmt: skip
_OF_STREAMS: Final = ("stream", "high", "fine")
_ORDER_SIDES: Final = np.full(256, NO_WORD, np.int8)
_ORDER_SIDES[[1, 2]] = 0, 1
_EMPTY, _RESET, _SNAPSHOT = (BOOK_ACTIONS.index(word) for word in ("EMPTY", "RESET", "SNAPSHOT"))
_MOST_ACTION: Final = BOOK_ACTIONS.index("DELETE_FROM")


def orders_tables(rows: Rows, lineage: Lineage) -> Iterator[Any]:
    """In parts: where loops are rare a slice has millions, and its columns are as large as its rows."""
    order = _order(rows, lineage)
    for first in range(0, len(order), PART_ROWS):
        yield _orders(rows, order[first : first + PART_ROWS], lineage)


def _orders(rows: Rows, order: Array, lineage: Lineage) -> Any:
    with_streams = lineage.policy.has_streams
    sorted_rows = ColumnRows(rows, order, (*_ORDER_FIELDS, *(_OF_STREAMS if with_streams else ())))
    kinds, flags = sorted_rows["kind"], sorted_rows["flags"]
    entries = np.where(kinds == Kind.SNAPSHOT_ORDER, sorted_rows["low"], 0)
    columns = lineage.of_rows(sorted_rows, entries)
    told = np.isin(kinds, (Kind.ORDER, Kind.SIDE))
    columns |= {
        "action": _actions(kinds, sorted_rows["action"]),
        "side": _ORDER_SIDES[sorted_rows["side"]],
        "order_id": sorted_rows["id"],
        "price": sorted_rows["price"], "size": sorted_rows["size"],
        "previous_size": np.where(told, sorted_rows["other"], NULL),
        "position": or_null(sorted_rows["position"]), "firm": or_null(sorted_rows["firm"]),
        "ts_inserted": sorted_rows["inserted_ns"],
        "implied": flags & Flag.IMPLIED != 0, "recovery": flags & Flag.RECOVERY != 0,
        "end_of_event": flags & Flag.END_OF_EVENT != 0, "wire_version": versions(sorted_rows["version"]),
    }  # fmt: skip
    lineage.scale(columns, sorted_rows["number"], ["price"], ["size", "previous_size"], with_kind=True)
    if with_streams:
        columns |= lending(sorted_rows)
    return record(ORDERS, columns, len(sorted_rows))


def checkpoints_table(by_anchor: Mapping[str, list[Rows]], lineage: Lineage) -> Any:
    rows = joined(part for parts in by_anchor.values() for part in parts)
    order = _order(rows, lineage)
    sorted_rows = ColumnRows(rows, order, (*_ORDER_FIELDS, "stream"))
    counts = [sum(len(part) for part in parts) for parts in by_anchor.values()]
    anchors = np.repeat(np.array([ANCHORS.index(anchor) for anchor in by_anchor], np.int8), counts)
    columns = lineage.of_rows(sorted_rows, sorted_rows["low"])
    unreported = sorted_rows["rpt_seq"] == NO_RPT_SEQ
    columns |= {
        "ts_checkpoint": columns["ts_event"],
        "anchor": anchors[order],
        "rpt_seq": np.where(unreported, NULL, columns["rpt_seq"]), "applied_seq_num": columns["seq_num"],
        "applied_rpt_seq": np.where(unreported, NULL, sorted_rows["rpt_seq"].astype(np.int64)),
        "side": _ORDER_SIDES[sorted_rows["side"]], "order_id": sorted_rows["id"],
        "price": sorted_rows["price"],
        "size": sorted_rows["size"], "position": or_null(sorted_rows["position"]),
        "firm": or_null(sorted_rows["firm"]), "ts_inserted": sorted_rows["inserted_ns"],
        "implied": sorted_rows["flags"] & Flag.IMPLIED != 0, "md_stream": streams(sorted_rows["stream"]),
    }  # fmt: skip
    lineage.scale(columns, sorted_rows["number"], ["price"], ["size"])
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
