"""What slices of a unit share: symbols, groups, scales and snapshot loops. Stored once and read by path, so
that the row that a task gets does not grow with the instruments of its unit, nor with the number of slices.

    with SharedParts(location, build_id) as shared:
        rows = [shared.pack(slice_) for slice_ in slices]      # bytes, for `unpack` in a task

References stand for arrays of loops and for the symbols; a task reads the ranges that its slice needs.
"""

import dataclasses
import io
import pickle
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pyarrow as pa

from pregao.lake.errors import LakeError, named
from pregao.lake.plan.anchors import Loop
from pregao.lake.plan.index import Array
from pregao.lake.plan.marks import Symbols
from pregao.lake.plan.slicing import Slice
from pregao.lake.store.location import Location
from pregao.lake.task_results import SHARED

FOLDER: Final = SHARED  # `vacuum` finds what a build that died has left
_KEPT_SYMBOLS: Final = 4  # units whose symbols a worker keeps
_SYMBOLS: Final = pa.schema([("security_id", pa.int64()), ("since_ns", pa.int64()), ("symbol", pa.string())])


class Range(NamedTuple):
    """Bytes of a shared file."""

    path: str
    offset: int
    length: int


class StoredArray(NamedTuple):
    where: Range
    type: Any  # as numpy describes it
    shape: tuple[int, ...]


class StoredLoop(NamedTuple):
    """A loop whose arrays are elsewhere."""

    values: dict[str, Any]
    arrays: dict[str, StoredArray]


class SharedParts:
    """Files of one build, gone when it is done with them."""

    def __init__(self, location: Location, build_id: str) -> None:
        self._location, self._folder = location, f"{FOLDER}/{build_id}"
        self._paths: list[str] = []
        self._loops: dict[int, StoredLoop] = {}  # by id of an array that all copies of a loop share
        self._symbols: dict[int, Range] = {}
        self._arrays: dict[int, StoredArray] = {}
        self._held: list[Any] = []  # so that no id is used again

    def store(self, symbols: Symbols, loops: list[Loop], arrays: Iterable[Array] = ()) -> None:
        """Those of a unit, before its slices are packed."""
        shared = [array for array in arrays if len(array)]
        path, content = f"{self._folder}/{len(self._paths)}", bytearray()

        def put(data: bytes) -> Range:
            content.extend(data)
            return Range(path, len(content) - len(data), len(data))

        self._symbols[id(symbols)] = put(_symbols_as_bytes(symbols))
        for array in shared:
            self._arrays[id(array)] = StoredArray(put(array.tobytes()), array.dtype.descr, array.shape)
        for loop in loops:
            fields = {field.name: getattr(loop, field.name) for field in dataclasses.fields(loop)}
            of_loop = {
                name: StoredArray(put(value.tobytes()), value.dtype.descr, value.shape)
                for name, value in fields.items()
                if isinstance(value, np.ndarray)
            }
            # Where it is in files is for plans. It names whole indexes, which grow with the day, and a task
            # has the pieces that it reads.
            values = {name: value for name, value in fields.items() if name not in of_loop} | {"parts": []}
            self._loops[id(loop.places)] = StoredLoop(values, of_loop)
        self._held += [symbols, *shared, *loops]
        self._paths.append(path)
        _write(bytes(content), path, self._location)

    def put(self, value: Any) -> "Range":
        """What one task needs, too large for its row; `fetch` reads it there."""
        path = f"{self._folder}/{len(self._paths)}"
        self._paths.append(path)
        return store(value, path, self._location)

    def pack(self, slice_: Slice) -> bytes:
        buffer = io.BytesIO()
        _Pickler(buffer, self._reference).dump(slice_)
        return buffer.getvalue()

    def _reference(self, value: Any) -> Any:
        if isinstance(value, Loop):
            return self._loops.get(id(value.places))
        if isinstance(value, np.ndarray):
            return self._arrays.get(id(value))
        return self._symbols.get(id(value)) if isinstance(value, dict) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path in self._paths:
            forget(path, self._location)
        if self._location.is_local and self._paths:
            with suppress(LakeError):
                self._location.delete_folder(self._folder)


def unpack(blob: bytes, location: Location) -> Slice:
    """In a task."""
    found = _Unpickler(io.BytesIO(blob), location).load()
    assert isinstance(found, Slice)
    return found


def store(value: Any, path: str, location: Location) -> Range:
    """In a file of its own; `forget` it when it is no longer needed."""
    content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    _write(content, path, location)
    return Range(path, 0, len(content))


def fetch(where: Range, location: Location) -> Any:
    """What was stored, on any machine."""
    return pickle.loads(_read(location, where))


def forget(path: str, location: Location) -> None:
    with suppress(LakeError):  # vacuum finds it
        location.delete(path)


def _write(content: bytes, path: str, location: Location) -> None:
    if location.is_local:
        location.make_folder(path.rpartition("/")[0])
    with named(location.full(path)), location.filesystem.open_output_stream(location.path(path)) as sink:
        sink.write(content)


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, reference: Any) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._reference = reference

    def persistent_id(self, value: Any) -> Any:
        return self._reference(value)


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, location: Location) -> None:
        super().__init__(buffer)
        self._location = location

    def persistent_load(self, reference: Any) -> Any:
        if isinstance(reference, StoredLoop):
            arrays = {name: self._array(stored) for name, stored in reference.arrays.items()}
            return Loop(**reference.values, **arrays)
        if isinstance(reference, StoredArray):
            return self._array(reference)
        return _symbols(self._location.uri, reference)

    def _array(self, stored: StoredArray) -> Any:
        described = stored.type[0][1] if len(stored.type) == 1 and not stored.type[0][0] else stored.type
        values = np.frombuffer(_read(self._location, stored.where), np.dtype(described))
        return values.reshape(stored.shape).copy()  # one that can be written to, as it was


def _read(location: Location, where: Range) -> bytes:
    name = location.full(where.path)
    with named(name), location.filesystem.open_input_file(location.path(where.path)) as file:
        found: bytes = file.read_at(where.length, where.offset)
    if len(found) != where.length:
        raise LakeError(f"{name}: ends too early: {len(found)} of {where.length} bytes at {where.offset}")
    return found


def _symbols_as_bytes(symbols: Symbols) -> bytes:
    rows = [(each, since_ns, symbol) for each, names in symbols.items() for since_ns, symbol in names]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SYMBOLS, strict=True)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SYMBOLS) as writer:
        writer.write_table(pa.table(arrays, schema=_SYMBOLS))
    content: bytes = sink.getvalue().to_pybytes()
    return content


@lru_cache(maxsize=_KEPT_SYMBOLS)
def _symbols(uri: str, where: Range) -> Symbols:
    table = pa.ipc.open_stream(_read(Location(uri), where)).read_all()
    found: Symbols = {}
    for each, since_ns, symbol in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault(each, []).append((since_ns, symbol))
    return found
