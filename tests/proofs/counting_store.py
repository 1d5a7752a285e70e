"""A place on this machine that counts what is asked of it, as an object store would: requests and bytes.

Files that a proof only pretends to have written (`PREPARED` in their names) have a size and no content.
"""

import os
from typing import Any

import pyarrow as pa
from pyarrow import fs

from pregao.lake.store.location import Location

PREPARED = "-prepared"
PREPARED_BYTES = 1 << 20


class Counts:
    """Since the proof began."""

    def __init__(self) -> None:
        self.requests = self.read = self.written = 0

    def now(self) -> tuple[int, int]:
        return self.requests, self.read + self.written


class _CountedFile:
    """A file of Python that Arrow reads from or writes to: each read is a request, a file is put by one."""

    def __init__(self, path: str, mode: str, counts: Counts) -> None:
        self._counts = counts
        self._file: Any = None  # it may not be there
        self._file = open(path, mode)  # noqa: SIM115 - Arrow closes it
        counts.requests += 1

    def read(self, size: int = -1) -> bytes:
        found: bytes = self._file.read(size)
        self._counts.requests += 1
        self._counts.read += len(found)
        return found

    def write(self, data: Any) -> int:
        count: int = self._file.write(data)
        self._counts.written += count
        return count

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()  # a dataset does not

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Handler(fs.FileSystemHandler):
    def __init__(self, counts: Counts) -> None:
        self._inner, self._counts = fs.LocalFileSystem(), counts

    def get_type_name(self) -> str:
        return "counting"

    def normalize_path(self, path: str) -> str:
        return path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Handler)

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        self._counts.requests += len(paths)
        real = iter(self._inner.get_file_info([path for path in paths if PREPARED not in path]))
        return [
            fs.FileInfo(path, fs.FileType.File, size=PREPARED_BYTES) if PREPARED in path else next(real)
            for path in paths
        ]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        found: list[fs.FileInfo] = self._inner.get_file_info(selector)
        self._counts.requests += 1 + len(found) // 1000
        return found

    def create_dir(self, path: str, recursive: bool) -> None:
        self._inner.create_dir(path, recursive=recursive)  # a store has no folders

    def delete_dir(self, path: str) -> None:
        self._inner.delete_dir(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self._inner.delete_dir_contents(path, missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._counts.requests += 1
        if PREPARED not in path:
            self._inner.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        self._inner.move(src, dest)  # what it is for on a disk a store does by putting a file whole

    def copy_file(self, src: str, dest: str) -> None:
        self._counts.requests += 1
        self._inner.copy_file(src, dest)

    def open_input_stream(self, path: str) -> Any:
        return pa.PythonFile(_CountedFile(path, "rb", self._counts), "r")

    def open_input_file(self, path: str) -> Any:
        return pa.PythonFile(_CountedFile(path, "rb", self._counts), "r")

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        return pa.PythonFile(_CountedFile(path, "wb", self._counts), "w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        return pa.PythonFile(_CountedFile(path, "ab", self._counts), "w")


class CountingLocation(Location):
    def __init__(self, place: str | os.PathLike[str], counts: Counts) -> None:
        super().__init__(place)
        self.counts = counts
        self.filesystem = fs.PyFileSystem(_Handler(counts))

    def create(self, content: bytes, *parts: str) -> bool:
        self.counts.requests += 1
        self.counts.written += len(content)
        return super().create(content, *parts)
