"""Where a lake lies: a folder, or a place that pyarrow's file systems know (s3, gs, hdfs, …).

pyarrow and deltalake each bring their own object store; both are told the same here. Settings of S3
come from the usual environment: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and so on.
"""

import os
import posixpath
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from pyarrow import fs

from pregao.lake.errors import LakeError, named
from pregao.lake.store.conditional import can_put, put_if_absent

_LOCAL: Final = ("", "file")
_MOST_REMEMBERED: Final = 64 << 20  # bytes


@dataclass(frozen=True)
class StoredFile:
    """Path below the place that was listed."""

    path: str
    size: int
    modified_ns: int


def is_remote(place: str) -> bool:
    """Whether it is a URI of a store, and not a path or URI of this machine."""
    return "://" in place and urlsplit(place).scheme not in _LOCAL


class _Memory:
    """What was read of a place. `parsed` are the newest summaries of logs: one of each table."""

    def __init__(self) -> None:
        self.lasting: dict[tuple[str, ...], Any] = {}
        self.parsed: dict[tuple[str, ...], tuple[bytes, Any]] = {}
        self._bytes = 0

    def keep(self, parts: tuple[str, ...], found: Any, size: int) -> None:
        if self._bytes + size > _MOST_REMEMBERED:
            self.lasting.clear()
            self._bytes = 0
        self.lasting[parts] = found
        self._bytes += size


class Location:
    """A place and what can be done there. Paths are relative to it and have forward slashes."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        text = os.fspath(place)
        scheme = urlsplit(text).scheme if "://" in text else ""
        self.is_local = scheme in _LOCAL
        if self.is_local:
            self.root = os.path.abspath(unquote(urlsplit(text).path) if scheme else text)
            self.uri = self.root
            self.filesystem: Any = fs.LocalFileSystem()
        else:
            self.uri = text.rstrip("/")
            self.filesystem, self.root = _remote(self.uri, scheme)
        self.storage_options = None if self.is_local else _delta_options(scheme)
        self._memory: _Memory | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Location, (self.uri,)  # tasks open the place again on their own machine

    def remembering(self) -> Self:
        """The same for one who opens logs again and again, a build or a stream: what never changes is read
        once. Not for those who may find another lake there later."""
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, _memory=_Memory())
        return found

    def path(self, *parts: str) -> str:
        """As the pyarrow file system names it."""
        return posixpath.join(self.root, *parts)

    def full(self, *parts: str) -> str:
        """As people and Spark name it."""
        return posixpath.join(self.uri, *parts)

    def size(self, *parts: str) -> int | None:
        """Of a file; None where there is none."""
        with named(self.full(*parts)):
            info = self.filesystem.get_file_info(self.path(*parts))
        return int(info.size) if info.type == fs.FileType.File else None

    def sizes(self, paths: list[str]) -> list[int | None]:
        with named(self.uri):
            infos = self.filesystem.get_file_info([self.path(path) for path in paths])
        return [int(info.size) if info.type == fs.FileType.File else None for info in infos]

    def files(self, *parts: str) -> Iterator[StoredFile]:
        """All files below, of all folders."""
        selector = fs.FileSelector(self.path(*parts), allow_not_found=True, recursive=True)
        with named(self.full(*parts)):
            infos = self.filesystem.get_file_info(selector)
        start = len(self.path(*parts)) + 1
        for info in infos:
            if info.type == fs.FileType.File:
                yield StoredFile(info.path[start:], int(info.size), int(info.mtime_ns or 0))

    def folders(self) -> list[str]:
        with named(self.uri):
            infos = self.filesystem.get_file_info(fs.FileSelector(self.root, allow_not_found=True))
        return sorted(info.base_name for info in infos if info.type == fs.FileType.Directory)

    def read(self, *parts: str) -> bytes:
        with named(self.full(*parts)), self.filesystem.open_input_stream(self.path(*parts)) as stream:
            data: bytes = stream.read()
        return data

    def read_lasting_as(self, parse: Callable[[bytes], Any], *parts: str) -> Any:
        """What a function makes of a file that never changes once it is there: an entry of a log, a part of a
        summary. It has `nbytes`."""
        if self._memory is None:
            return parse(self.read(*parts))
        found = self._memory.lasting.get(parts)
        if found is None:
            found = parse(self.read(*parts))
            self._memory.keep(parts, found, int(found.nbytes))
        return found

    def parsed(self, parse: Callable[[bytes], Any], *parts: str) -> Any:
        """What a function makes of a file that may change: not made again while its content is the same."""
        content = self.read(*parts)
        if self._memory is None:
            return parse(content)
        known = self._memory.parsed.get(parts)
        if known is None or known[0] != content:
            self._memory.parsed[parts] = known = content, parse(content)
        return known[1]

    @property
    def can_create(self) -> bool:
        """Whether `create` works here."""
        return self.is_local or can_put(self.uri)

    def create(self, content: bytes, *parts: str) -> bool:
        """A file, whole under its name or not at all; on this machine it is on the disk: who loses its power
        after that has it still. False: there is one already."""
        if not self.is_local:
            with named(self.full(*parts)):
                return put_if_absent(self.uri, posixpath.join(*parts), content, _endpoint(), _region())
        target = self.path(*parts)
        written = f"{target}.{uuid4().hex[:8]}.part"
        with named(self.full(*parts)):
            try:
                with open(written, "xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(written, target)
                _sync_folder(os.path.dirname(target))
            except FileExistsError:
                return False
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(written)
        return True

    def make_folder(self, *parts: str) -> None:
        with named(self.full(*parts)):
            self.filesystem.create_dir(self.path(*parts), recursive=True)

    def delete_folder(self, *parts: str) -> None:
        """One that is empty; another stays."""
        with named(self.full(*parts)), suppress(OSError):
            os.rmdir(self.path(*parts))

    def delete(self, *parts: str) -> None:
        with named(self.full(*parts)):
            self.filesystem.delete_file(self.path(*parts))


def _sync_folder(path: str) -> None:
    """Names of a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remote(uri: str, scheme: str) -> tuple[Any, str]:
    try:
        if scheme in ("s3", "s3a"):
            split = urlsplit(uri)
            return _s3(_endpoint(), _region()), posixpath.join(split.netloc, split.path.strip("/"))
        found, path = fs.FileSystem.from_uri(uri)
        return found, path.rstrip("/")
    except (ValueError, OSError) as error:
        raise LakeError(f"{uri}: {error}") from error


def _endpoint() -> str:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


@lru_cache(maxsize=4)
def _s3(endpoint: str, region: str) -> Any:
    """One for all places of this process: it has the connections. A small file is one request, not four."""
    options: dict[str, Any] = {"allow_delayed_open": True}
    if region:
        options["region"] = region
    if endpoint:
        split = urlsplit(endpoint)
        options.update(endpoint_override=split.netloc, scheme=split.scheme)
    return fs.S3FileSystem(**options)


def _delta_options(scheme: str) -> dict[str, str]:
    """deltalake reads the environment itself; a plain http endpoint must be allowed by name. A log entry
    is put only if there is none of its number: of two builders one is refused, and no lock is needed."""
    if scheme not in ("s3", "s3a"):
        return {}
    options = {"aws_conditional_put": "etag"}
    if _endpoint():
        options["AWS_ENDPOINT_URL"] = _endpoint()
    if _endpoint().startswith("http://"):
        options["AWS_ALLOW_HTTP"] = "true"
    return options
