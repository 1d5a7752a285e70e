"""Rows of a market as Arrow record batches: the same as its events, a column for each of their fields.

One schema for all: a column is null in the rows of events that do not have its field. `kind` is the event's
class. Prices are integers; the `exponent` in a field's metadata says of what: -4 ten-thousandths, -8
hundred-millionths. Values of enums are their names, or the number where there is no name.
"""

from collections.abc import Iterator
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pregao.handler.incremental import AFTER_ALL
from pregao.io.clock import NS_PER_SECOND, system_time_ns
from pregao.market.batch_columns import (
    BATCH_SCHEMA,
    CHANGED,
    COLUMNS,
    DELETED,
    EVENT_NAMES,
    HAS,
    QUOTE,
    QUOTE_COLUMNS,
    TEXT,
    Values,
    narrow_values,
    number_values,
    wide_values,
)
from pregao.market.making import Scene
from pregao.model import market as m
from pregao.model.instruments import group_name
from pregao.model.rows import NULL, ROW, Kind, Rows
from pregao.recovery.instruments import BookStatus

_STATUS_WORDS: Final = pa.array([status.name for status in BookStatus])


class _Polled(Protocol):
    @property
    def ended(self) -> bool: ...
    def poll(self) -> object: ...


def _due_ns(wait_s: float | None) -> int | None:
    return None if wait_s is None else system_time_ns() + int(wait_s * NS_PER_SECOND)


class RowBatches:
    """Rows as a market hands them on, until somebody takes them as a record batch."""

    def __init__(self) -> None:
        self._rows: list[Rows] = []
        self._levels: list[Values] = []  # of quotes, in the order of `QUOTE_COLUMNS`; none elsewhere
        self._statuses: list[Values] = []
        self._channels: list[Values] = []
        self._symbols: list[str | None] = []
        self.count = 0

    def take(
        self, rows: Rows, quotes: Values, statuses: list[BookStatus], streams: list[int], scene: Scene
    ) -> None:
        """For `Collector.take_rows`; `statuses` and `streams` are of the quotes' books."""
        rows = rows[(rows["kind"] != Kind.ORDER) | (rows["action"] <= m.Action.DELETE)]
        count, total = len(rows), len(rows) + len(quotes)
        joined, levels = np.zeros(total, ROW), np.zeros((total, len(QUOTE_COLUMNS)), np.int64)
        status = np.zeros(total, np.uint8)
        joined[:count], joined["kind"][count:], status[count:] = rows, QUOTE, statuses
        for name in ("security_id", "at", "index", "time_ns"):
            joined[name][count:] = quotes[name]
        joined["stream"][count:] = streams
        for place, name in enumerate(QUOTE_COLUMNS):
            levels[count:, place] = quotes[name]
        joined["time_ns"][joined["time_ns"] == NULL] = scene.now_ns
        order = np.lexsort((joined["index"], joined["at"]))  # what a row ended stays behind it
        joined = joined[order]
        self._rows.append(joined)
        self._levels.append(levels[order])
        self._statuses.append(status[order])
        self._channels.append(np.full(total, scene.channel, np.int16))
        symbols = scene.symbols
        self._symbols += [
            None if kind == Kind.PHASE else symbols[security_id]
            for kind, security_id in zip(joined["kind"].tolist(), joined["security_id"].tolist(), strict=True)
        ]
        self.count += total

    def gather(self, market: _Polled, rows: int, wait_s: float | None) -> Iterator[Any]:
        """What a market that hands its rows on here brings, to its end: batches of so many rows at least, or
        of what came in so many seconds."""
        due_ns = _due_ns(wait_s)
        while not market.ended:
            market.poll()
            late = due_ns is not None and system_time_ns() >= due_ns
            if self.count >= rows or (late and self.count):
                due_ns = _due_ns(wait_s)
                yield self.record_batch()
        if self.count:
            yield self.record_batch()

    def record_batch(self) -> Any:
        """All that was taken, as a `pyarrow.RecordBatch` of `BATCH_SCHEMA`."""
        rows, levels, status = (np.concatenate(parts) for parts in (self._rows, self._levels, self._statuses))
        arrays = self._heads(rows)
        codes = _codes(rows)
        for column in COLUMNS:
            made = column.convert(rows[column.field], HAS[column.name][codes])
            arrays.append(made.cast(column.type) if made.type != column.type else made)
        arrays += [*_groups(rows), *_quotes(levels, status, codes == QUOTE)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=BATCH_SCHEMA)
        self.__init__()  # type: ignore[misc]
        return batch

    def _heads(self, rows: Rows) -> list[Any]:
        is_phase = rows["kind"] == Kind.PHASE
        return [
            pa.array(np.concatenate(self._channels)), pa.array(self._symbols, TEXT),
            pa.array(rows["time_ns"].copy()), pa.array(rows["at"].copy()),
            pa.array(rows["index"].astype(np.int32), mask=rows["index"] == AFTER_ALL),
            EVENT_NAMES.take(pa.array(_codes(rows))),
            pa.array(rows["security_id"].copy(), mask=is_phase),
            narrow_values(rows["rpt_seq"], np.ones(len(rows), np.bool_)),
        ]  # fmt: skip


def _codes(rows: Rows) -> NDArray[np.uint8]:
    kinds, actions = rows["kind"].copy(), rows["action"]
    orders = kinds == Kind.ORDER
    kinds[orders & (actions == m.Action.CHANGE)] = CHANGED
    kinds[orders & (actions == m.Action.DELETE)] = DELETED
    return kinds


def _groups(rows: Rows) -> list[Any]:
    """Group and exchange of phases."""
    phases = rows["kind"] == Kind.PHASE
    if not phases.any():
        return [pa.nulls(len(rows), TEXT), pa.nulls(len(rows), TEXT)]
    names = [group_name(number) if phase else None
             for number, phase in zip(rows["id"].tolist(), phases.tolist(), strict=True)]  # fmt: skip
    exchanges = pa.array([m.EXCHANGE]).take(pa.array(np.zeros(len(rows), np.int8), mask=~phases))
    return [pa.array(names, TEXT), exchanges]


def _quotes(levels: Values, status: Values, quotes: NDArray[np.bool_]) -> list[Any]:
    arrays = []
    for place, name in enumerate(QUOTE_COLUMNS):
        there = quotes & (levels[:, 2 + place // 3 * 3] != 0)  # a side without orders has nothing
        values = levels[:, place].copy()
        arrays.append(wide_values(values, there) if name.endswith("price") else number_values(values, there))
    return [*arrays, _STATUS_WORDS.take(pa.array(status, mask=~quotes))]
