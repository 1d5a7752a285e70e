"""The truth as Parquet tables: how updates become columns, and buffers that are written when full."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pregao.io.files import PART
from pregao.model import events as e
from pregao.model.instruments import Instrument

ROWS = 4_096  # made into Arrow at a time: objects that die young cost least
_ROW_GROUP_BYTES = 16 << 20
_STRINGS = frozenset(("group", "exchange", "headline", "text", "language", "url", "symbol", "stream"))
_FLAGS = frozenset(("implied", "recovery", "forward", "complete", "certified", "is_intention"))
_PLACE = ("channel", "event", "seq_version", "seq_num", "msg_index")

# A definition's instrument is in the instrument list; here is what tells which.
_GETTERS: dict[type, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    e.Definition: (
        ("security_id", "symbol", "action"),
        attrgetter("instrument.security_id", "instrument.symbol", "action"),
    ),
    e.CompositePrice: (
        ("security_id", "sequence", "time_ns", "parts"),
        lambda update: (update.security_id, update.sequence, update.time_ns, len(update.parts)),
    ),
    e.ChannelWasReset: (("time_ns",), lambda update: (update.time_ns,)),  # its channel is in its place
}
_RENAMED = {"event": "cause"}  # of a phase or state: `event` is the number of the event here
_RECEIVED = frozenset(("related",))  # what only those who receive it are told: the exchange's news is of one

Row = tuple[Any, ...]
Ints = npt.NDArray[np.int64]


class TruthTable:
    """One Parquet file; batches are kept until there is a row group of them."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self._path, self._schema = path, schema
        self._writer: pq.ParquetWriter | None = None
        self._batches: list[pa.RecordBatch] = []
        self._held = 0

    def write(self, columns: Sequence[Any]) -> None:
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        batch = pa.record_batch(arrays, schema=self._schema)
        self._batches.append(batch)
        self._held += batch.nbytes
        self.rows += batch.num_rows
        if self._held >= _ROW_GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # What repeats is a dictionary; numbers that rise or scatter are not.
            words = [field.name for field in self._schema if field.name in _STRINGS]
            self._writer = pq.ParquetWriter(
                self._part, self._schema, compression="zstd", compression_level=1, use_dictionary=words,
                write_statistics=False,
            )  # fmt: skip
        table = pa.Table.from_batches(self._batches, self._schema)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._batches.clear()
        self._held = 0

    @property
    def _part(self) -> Path:
        return self._path.with_name(self._path.name + PART)

    def close(self) -> None:
        """The table is whole: its file gets its name."""
        if self._batches:
            self._write_group()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._part.replace(self._path)

    def discard(self) -> None:
        """The table will not be whole."""
        self._batches.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._part.unlink(missing_ok=True)


class KindTable:
    """The updates of one kind, with their places."""

    def __init__(self, folder: Path, kind: type) -> None:
        names, getter = _GETTERS.get(kind) or _fields_of(kind)
        self._getter = getter
        self._table = TruthTable(folder / f"{table_name(kind)}.parquet", _schema(names))
        self._updates: list[Any] = []
        self._places: list[Ints] = []

    def add(self, updates: Iterable[Any], channel: int, places: Ints) -> None:
        """Updates of a channel, and the columns of their places: event, version, number and index."""
        self._updates.extend(updates)
        self._places.append(np.vstack((np.full(places.shape[1], channel), places)))
        if len(self._updates) >= ROWS:
            self.flush()

    def flush(self) -> None:
        if self._updates:
            places = [
                pa.array(column, _place_type(name), mask=column < 0 if column.min() < 0 else None)
                for name, column in zip(_PLACE, np.hstack(self._places), strict=True)
            ]
            self._table.write([*places, *zip(*map(self._getter, self._updates))])  # noqa: B905
            self._updates.clear()
            self._places.clear()

    @property
    def rows(self) -> int:
        return self._table.rows

    def close(self) -> None:
        self.flush()
        self._table.close()

    def discard(self) -> None:
        self._updates.clear()
        self._table.discard()


def table_name(kind: type) -> str:
    """OrderUpdate: order_update."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__).lstrip("_")


def _fields_of(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], Any]]:
    names = tuple(field.name for field in fields(kind) if field.name not in _RECEIVED)
    return tuple(_RENAMED.get(name, name) for name in names), attrgetter(*names)


def _schema(names: Sequence[str]) -> pa.Schema:
    place = [(name, _place_type(name)) for name in _PLACE]
    return pa.schema(place + [(name, type_of(name)) for name in names])


def _place_type(name: str) -> pa.DataType:
    return {"event": pa.int64(), "seq_num": pa.int64()}.get(name, pa.int32())


def type_of(name: str) -> pa.DataType:
    return pa.string() if name in _STRINGS else pa.bool_() if name in _FLAGS else pa.int64()


# The instrument list as a table, one row an instrument; legs and underlyings are lists.


_INSTRUMENT_STRINGS = frozenset((
    "symbol", "group", "asset", "description", "exchange", "isin", "currency", "cfi_code", "strategy_type",
))  # fmt: skip
_INSTRUMENT_FLAGS = frozenset(
    ("is_put", "is_american", "is_odd_lot", "accepts_gt", "implied", "user_defined", "is_test", "is_buy_back")
)
_LEG = pa.struct(
    [("security_id", pa.int64()), ("symbol", pa.string()), ("side", pa.int8()), ("ratio", pa.int64())]
)
_UNDERLYING = pa.struct([("security_id", pa.int64()), ("symbol", pa.string())])
_NAMES = [field.name for field in fields(Instrument) if field.name not in ("legs", "underlyings", "maturity")]


def instrument_table(folder: Path, instruments: Sequence[Instrument]) -> None:
    """Writes `instruments.parquet`."""
    schema = pa.schema(
        [(name, _type_of(name)) for name in _NAMES]
        + [("maturity", pa.string()), ("legs", pa.list_(_LEG)), ("underlyings", pa.list_(_UNDERLYING))]
    )
    columns: list[list[Any]] = [[getattr(each, name) for each in instruments] for name in _NAMES]
    columns.append([each.maturity and f"{each.maturity[0]:04}-{each.maturity[1]:02}" for each in instruments])
    columns.append(
        [
            [
                {"security_id": leg.security_id, "symbol": leg.symbol, "side": leg.side, "ratio": leg.ratio}
                for leg in each.legs
            ]
            for each in instruments
        ]
    )
    columns.append(
        [
            [{"security_id": one.security_id, "symbol": one.symbol} for one in each.underlyings]
            for each in instruments
        ]
    )
    table = TruthTable(folder / "instruments.parquet", schema)
    table.write(columns)
    table.close()


def _type_of(name: str) -> pa.DataType:
    if name == "trade_types":
        return pa.list_(pa.int64())
    if name in _INSTRUMENT_STRINGS:
        return pa.string()
    return pa.bool_() if name in _INSTRUMENT_FLAGS else pa.int64()
