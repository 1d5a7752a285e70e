"""Indexes as Arrow, so that they outlive a process and a version of the code: two tables, a row for each file
and a row for each of its streams, with lists in their columns. Nothing of it is code: bytes that are not such
tables, or tables of other columns, give a StoredIndexError, and the captures are scanned again."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.feeds.port import UnitPart
from pregao.lake.plan.captures import CaptureLayout, CapturePiece
from pregao.lake.plan.contents import CaptureForm
from pregao.lake.plan.index import (
    LOOP,
    MARK,
    PIECE,
    RUN,
    SNAPSHOT,
    Array,
    Defined,
    FileIndex,
    LeftOutFlow,
    NewsMessage,
    StreamIndex,
    UnknownSeen,
)
from pregao.lake.plan.records import arrow_type, as_columns, from_rows
from pregao.lake.plan.stored import Stored
from pregao.model.errors import PregaoError
from pregao.model.rows import Kind
from pregao.model.streams import Feed, Stream

_FORMAT: Final = 1  # raised when the same columns mean something else
_ARRAYS: Final = {"pieces": PIECE, "runs": RUN, "marks": MARK, "snapshots": SNAPSHOT, "loops": LOOP}
_PAUSE: Final = np.dtype([("key", "<i8"), ("sent_ns", "<i8")])
_DAY: Final = np.dtype([("key", "<i8"), ("day", "<i8")])
_PIECE: Final = np.dtype([(name, "<i8") for name in CapturePiece._fields])


def _struct(dtype: np.dtype[Any]) -> Any:
    return pa.struct([(name, pa.from_numpy_dtype(dtype[name])) for name in dtype.names or ()])


_SHAPE: Final = pa.struct(
    [("form", pa.int64()), ("swapped", pa.int64()), ("unit_ns", pa.int64()), ("linktype", pa.int64()),
     ("interfaces", pa.binary())]
)  # fmt: skip
_ODD: Final = pa.struct(
    [("piece", pa.int64()), ("ts", pa.int64()), ("payload", pa.binary()), ("flow", pa.int64())]
)
_LEFT_OUT: Final = pa.struct([("channel", pa.int64()), ("reason", pa.string())])
_NEWS: Final = pa.struct(
    [
        ("key", pa.int64()), ("index", pa.int64()), ("sent_ns", pa.int64()), ("message", pa.binary()),
        ("received_ns", pa.int64()),
    ]
)  # fmt: skip
_UNKNOWN: Final = pa.struct(
    [(name, pa.string() if name == "field" else pa.int64()) for name in UnknownSeen._fields]
)
_PART: Final = pa.struct([(name, pa.binary() if name == "data" else pa.int64()) for name in UnitPart._fields])
_FILES: Final = pa.schema(
    [
        ("path", pa.string()), ("size", pa.int64()), ("version", pa.string()), ("content", pa.string()),
        ("system", pa.string()), ("form", pa.string()), ("scratch", pa.string()),
        ("shapes", pa.list_(_SHAPE)), ("pieces", pa.list_(_struct(_PIECE))), ("odd", pa.list_(_ODD)),
        ("damage", pa.list_(pa.string())), ("left_out", pa.list_(_LEFT_OUT)),
    ]
)  # fmt: skip
_STREAMS: Final = pa.schema(
    [
        ("file", pa.int64()), ("channel", pa.int64()), ("stream", pa.int64()), ("feed", pa.int64()),
        ("flow", pa.int64()), ("versions", pa.list_(pa.int64())), ("version_ns", pa.list_(pa.int64())),
        *((name, pa.list_(_struct(dtype))) for name, dtype in _ARRAYS.items()),
        ("pauses", pa.list_(_struct(_PAUSE))), ("definitions", pa.list_(arrow_type(Defined))),
        ("news", pa.list_(_NEWS)), ("unknown", pa.list_(_UNKNOWN)), ("resumes", pa.list_(pa.binary())),
        ("learned", pa.binary()), ("days", pa.list_(_struct(_DAY))), ("source", pa.string()),
        ("parts", pa.list_(_PART)), ("joined", pa.int64()), ("goes_on", pa.bool_()),
    ]
)  # fmt: skip
# Of what is stored: other columns, or other numbers for kinds of rows, are another format.
FORMAT: Final = hashlib.sha256(
    repr((_FORMAT, str(_FILES), str(_STREAMS), [(kind.name, int(kind)) for kind in Kind])).encode()
).hexdigest()[:16]


class StoredIndexError(PregaoError):
    """Bytes that are no index of this format: the captures are to be scanned again."""


def to_bytes(indexes: Sequence[FileIndex]) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    for batch in (_files(indexes), _streams(indexes)):
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def from_bytes(data: bytes) -> list[FileIndex]:
    try:
        source = pa.BufferReader(data)
        files, streams = (_read(source, schema) for schema in (_FILES, _STREAMS))
        found = [_file(row, pieces) for row, pieces in zip(*_rows(files, {"pieces": _PIECE}), strict=True)]
        for row, arrays in zip(*_rows(streams, {**_ARRAYS, "pauses": _PAUSE, "days": _DAY}), strict=True):
            found[row["file"]].streams.append(_stream(row, arrays))
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise StoredIndexError(f"no index of this format: {error}") from error
    return found


def _read(source: Any, schema: Any) -> Any:
    with pa.ipc.open_stream(source) as reader:
        table = reader.read_all()
    if table.schema != schema:
        raise StoredIndexError("an index of other columns")
    table.validate(full=True)
    return table.combine_chunks()


def _rows(table: Any, arrays: dict[str, np.dtype[Any]]) -> tuple[list[Any], list[dict[str, Array]]]:
    """Plain values of each row, and apart from them the columns that are arrays."""
    plain = table.drop_columns(list(arrays)).to_pylist()
    found: list[dict[str, Array]] = [{} for _ in plain]
    for name, dtype in arrays.items():
        column = table.column(name).combine_chunks()
        lists = column if isinstance(column, pa.ListArray) else pa.concat_arrays(column.chunks)
        whole = _numpy(lists.values, dtype)
        ends = lists.offsets.to_numpy()
        for row, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
            found[row][name] = whole[start:end]
    return plain, found


def _numpy(values: Any, dtype: np.dtype[Any]) -> Array:
    whole = np.zeros(len(values), dtype)
    for name in dtype.names or ():
        whole[name] = values.field(name).to_numpy(zero_copy_only=False)
    return whole


def _lists(arrays: Sequence[Array], dtype: np.dtype[Any]) -> Any:
    """A list of structs for each array."""
    whole = np.concatenate([np.zeros(0, dtype), *arrays])
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int32)
    fields = [pa.array(np.ascontiguousarray(whole[name])) for name in dtype.names or ()]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(fields, fields=list(_struct(dtype))))


# Files


def _files(indexes: Sequence[FileIndex]) -> Any:
    layouts = [index.layout for index in indexes]
    columns: dict[str, Any] = {
        "path": [index.path for index in indexes], "size": [index.size for index in indexes],
        "version": [index.version for index in indexes], "content": [index.content for index in indexes],
        "system": [index.system for index in indexes], "form": [each.form.value for each in layouts],
        "scratch": [each.scratch for each in layouts],
        "shapes": [[_shape(shape) for shape in each.shapes] for each in layouts],
        "pieces": _lists([np.array(each.pieces, _PIECE) for each in layouts], _PIECE),
        "odd": [
            [{"piece": piece, "ts": ts, "payload": payload, "flow": flow}
             for piece, (ts, payload, flow) in each.odd.items()]
            for each in layouts
        ],
        "damage": [each.damage for each in layouts],
        "left_out": [[flow._asdict() for flow in index.left_out] for index in indexes],
    }  # fmt: skip
    arrays = [_array(columns[each.name], each.type) for each in _FILES]
    return pa.RecordBatch.from_arrays(arrays, schema=_FILES)


def _shape(kept: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(_SHAPE.names, kept, strict=True))


def _array(values: Any, kind: Any) -> Any:
    return values if isinstance(values, pa.Array) else pa.array(values, kind)


def _file(row: dict[str, Any], arrays: dict[str, Array]) -> FileIndex:
    layout = CaptureLayout(
        Stored(row["path"], row["size"], row["version"]), CaptureForm(row["form"]), row["scratch"],
        [tuple(shape.values()) for shape in row["shapes"]],
        [CapturePiece(*piece) for piece in arrays["pieces"].tolist()],
        {odd["piece"]: (odd["ts"], odd["payload"], odd["flow"]) for odd in row["odd"]}, row["damage"],
    )  # fmt: skip
    layout.framed_by = row["system"] if layout.form is CaptureForm.FRAMED else ""
    left_out = [LeftOutFlow(flow["channel"], flow["reason"]) for flow in row["left_out"]]
    return FileIndex(
        row["path"], row["size"], row["version"], row["content"], layout, [], left_out, row["system"]
    )


# Streams


def _streams(indexes: Sequence[FileIndex]) -> Any:
    each = [(number, stream) for number, index in enumerate(indexes) for stream in index.streams]
    streams = [stream for _, stream in each]
    columns: dict[str, Any] = {
        "file": [number for number, _ in each], "channel": [stream.channel for stream in streams],
        "stream": [int(stream.stream) for stream in streams],
        "feed": [int(stream.feed) for stream in streams],
        "flow": [stream.flow for stream in streams], "versions": [stream.versions for stream in streams],
        "version_ns": [stream.version_ns for stream in streams],
        "pauses": _lists([np.array(stream.pauses, _PAUSE) for stream in streams], _PAUSE),
        "definitions": _definitions(streams),
        "news": [
            [{"key": part.key, "index": part.index, "sent_ns": part.sent_ns, "message": part.message,
              "received_ns": part.received_ns} for part in stream.news]
            for stream in streams
        ],
        "unknown": [[each._asdict() for each in stream.unknown] for stream in streams],
        "resumes": [stream.resumes for stream in streams],
        "learned": [stream.learned for stream in streams],
        "days": _lists([np.array(stream.days, _DAY) for stream in streams], _DAY),
        "parts": [[each._asdict() for each in stream.parts] for stream in streams],
        "joined": [stream.joined for stream in streams],
        "source": [stream.source for stream in streams], "goes_on": [stream.goes_on for stream in streams],
    }  # fmt: skip
    for name, dtype in _ARRAYS.items():
        columns[name] = _lists([getattr(stream, name) for stream in streams], dtype)
    arrays = [_array(columns[each.name], each.type) for each in _STREAMS]
    return pa.RecordBatch.from_arrays(arrays, schema=_STREAMS)


def _definitions(streams: Sequence[StreamIndex]) -> Any:
    offsets = np.cumsum([0, *(len(stream.definitions) for stream in streams)], dtype=np.int32)
    told = [defined for stream in streams for defined in stream.definitions]
    return pa.ListArray.from_arrays(offsets, as_columns(told, Defined))


def _stream(row: dict[str, Any], arrays: dict[str, Array]) -> StreamIndex:
    return StreamIndex(
        row["channel"], Stream(row["stream"]), Feed(row["feed"]), row["flow"], row["versions"],
        row["version_ns"], arrays["pieces"], arrays["runs"], arrays["marks"], arrays["snapshots"],
        arrays["loops"], definitions=from_rows(row["definitions"], Defined),
        news=[NewsMessage(**part) for part in row["news"]],
        pauses=[(key, sent_ns) for key, sent_ns in arrays["pauses"].tolist()],
        unknown=[UnknownSeen(**each) for each in row["unknown"]], resumes=row["resumes"],
        learned=row["learned"], days=[(key, day) for key, day in arrays["days"].tolist()],
        parts=[UnitPart(**each) for each in row["parts"]], joined=row["joined"], source=row["source"],
        goes_on=row["goes_on"],
    )  # fmt: skip
