"""Indexes of captures, kept beside the stream: one file that only grows, until there is too much in it
that nobody needs. All of it can be made again from the captures.

A record is its length, a digest, how it was made, and the indexes of a batch as Arrow (`plan.index_arrow`),
compressed, for most of a few small ones is their schema. What is not of that form is not read, and its
captures are scanned again. Once there were pickles in a file of another name: they are never loaded, and
removed.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import zstandard

from pregao.io.files import write_whole
from pregao.lake.errors import named
from pregao.lake.plan.fingerprints import CODE_VERSION
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.index_arrow import FORMAT, StoredIndexError, from_bytes, to_bytes
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.scanning import IndexStore
from pregao.lake.plan.stored import Stored
from pregao.lake.runners import Runner, described
from pregao.model.errors import CaptureError
from pregao.model.instruments import Instrument

NAME: Final = "indexes.arrows"
_PICKLES: Final = "indexes.log"
_LENGTH: Final = 8
_DIGEST: Final = 16
_COMPRESSED: Final = "zstd"
_LARGEST: Final = 1 << 32  # bytes of the indexes of one record
_FEWEST: Final = 64  # records before it is worth to write them again


class LeftOut(NamedTuple):
    """A capture that cannot be read, and why."""

    path: str
    reason: str


def _try_to_scan(path: str, settings: ScanSettings) -> FileIndex | LeftOut:
    """One bad file must not end the stream."""
    try:
        return scan_capture(path, settings)
    except CaptureError as error:
        return LeftOut(path, str(error))


def _silent(done: int, total: int) -> None:
    return


class IndexCache:
    def __init__(
        self, folder: Path, runner: Runner, settings: ScanSettings, stored: IndexStore | None = None
    ) -> None:
        """`stored`: indexes that the lake has of captures which a build has scanned."""
        self._stored = stored
        self._path, self._runner, self._settings = folder / NAME, runner, settings
        chosen = settings.piece_packets, settings.scratch, settings.channels, settings.system
        made_by = repr((CODE_VERSION, FORMAT, _COMPRESSED, *chosen))
        self._made_by = hashlib.blake2b(made_by.encode(), digest_size=_DIGEST).digest()
        self._known: dict[str, FileIndex] = {}
        # Rotated captures tell the same definitions again and again: each is in memory once.
        self._instruments: dict[Instrument, Instrument] = {}
        self._records = 0
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _PICKLES).unlink(missing_ok=True)
        for index in self._read():
            self._records += 1
            self._keep(index)

    def _keep(self, index: FileIndex) -> None:
        known = self._instruments
        streams = [
            replace(
                stream,
                definitions=[
                    replace(each, instrument=known.setdefault(each.instrument, each.instrument))
                    for each in stream.definitions
                ],
            )
            for stream in index.streams
        ]
        self._known[index.path] = replace(index, streams=streams)

    def add(self, files: Iterable[Stored]) -> list[LeftOut]:
        """Those that are new or not what they were are scanned, unless the lake has their index."""
        unknown = sorted({file for file in files if not self._has(file)})
        found = {index.path: index for index in self._load(unknown)}
        new = sorted({file.path for file in unknown} - found.keys())
        with described(f"scan {len(new)} captures"):
            outcomes = self._runner.run(partial(_try_to_scan, settings=self._settings), new, _silent)
        scanned = [*found.values(), *(each for each in outcomes if isinstance(each, FileIndex))]
        self._append(scanned)
        for index in scanned:
            self._keep(index)
        return [each for each in outcomes if isinstance(each, LeftOut)]

    def _load(self, files: list[Stored]) -> Iterator[FileIndex]:
        if self._stored is not None and files:
            for file in sorted(self._stored.known(files)):
                index = self._stored.load(file)
                if index is not None:
                    yield index

    def _has(self, file: Stored) -> bool:
        index = self._known.get(file.path)
        return index is not None and (index.size, index.version) == (file.size, file.version)

    @property
    def paths(self) -> set[str]:
        return set(self._known)

    def all(self) -> list[FileIndex]:
        """In order of path. Whoever plans names feeds in the streams, so each time they are new."""
        return [
            replace(index, streams=[replace(stream) for stream in index.streams])
            for _, index in sorted(self._known.items())
        ]

    def forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._known.pop(path, None)
        if self._records > _FEWEST + 2 * len(self._known):
            with named(str(self._path)):
                write_whole(self._path, self._record([*self._known.values()]))
            self._records = len(self._known)
            self._instruments.clear()
            for index in [*self._known.values()]:
                self._keep(index)

    # The file

    def _record(self, indexes: list[FileIndex]) -> bytes:
        data = self._made_by + zstandard.compress(to_bytes(indexes))
        return len(data).to_bytes(_LENGTH, "little") + _digest(data) + data

    def _append(self, indexes: list[FileIndex]) -> None:
        if not indexes:
            return
        with named(str(self._path)), self._path.open("ab") as file:
            file.write(self._record(indexes))
        self._records += len(indexes)

    def _read(self) -> Iterator[FileIndex]:
        """Up to where a process that was killed has left it."""
        if not self._path.exists():
            return
        with named(str(self._path)), self._path.open("rb") as file:
            good, size = 0, file.seek(0, io.SEEK_END)
            file.seek(0)
            while (data := _next(file, size)) is not None:
                good = file.tell()
                if data[:_DIGEST] == self._made_by:
                    try:
                        yield from from_bytes(zstandard.decompress(data[_DIGEST:], _LARGEST))
                    except (StoredIndexError, zstandard.ZstdError):  # of another form: scanned again
                        continue
        if good < self._path.stat().st_size:
            with self._path.open("r+b") as file:
                file.truncate(good)


def _next(file: BinaryIO, end: int) -> bytes | None:
    """None: no whole record is left, or what is there is none."""
    head = file.read(_LENGTH + _DIGEST)
    size = int.from_bytes(head[:_LENGTH], "little")
    if len(head) < _LENGTH + _DIGEST or not _DIGEST <= size <= end - file.tell():
        return None
    data = file.read(size)
    return data if _digest(data) == head[_LENGTH:] else None


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
