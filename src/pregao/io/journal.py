"""A journal: records appended to a file, each on the disk before `append` returns.

    journal = Journal(path)
    journal.recovered                         the records of a run before; None where there is no file
    journal.start_over(first)                 a new file of that name: what came before is in `first`
    journal.append(record)

A record is a mark, its length, a checksum over its number and its bytes, and the bytes. A kill can leave
the last record unfinished: it is passed over, as nobody was told of it. A bad record with a good one behind
it is damage, and refused.

A new file gets its name when it is whole and on the disk, so there is always a journal to read. After an
append that failed nothing can be said of the file's end: the journal is over then.
"""

import fcntl
import os
import struct
import zlib
from pathlib import Path
from typing import Final, NamedTuple

from pregao.model.errors import ConfigurationError

MAX_RECORD: Final = 256 * 1024 * 1024
_MARK: Final = b"\xf5PJ1"
_HEAD: Final = struct.Struct("<4sII")
_NUMBER: Final = struct.Struct("<Q")


class JournalError(ConfigurationError):
    """A journal that cannot be written, or is not one."""


class JournalContents(NamedTuple):
    records: list[bytes]
    dropped: int  # bytes at the end that are no whole record


def encode_record(number: int, record: bytes) -> bytes:
    """The bytes of the record with this number, counted from 0, in its file."""
    if len(record) > MAX_RECORD or _MARK in record:
        raise ValueError(f"a record of {len(record)} bytes, or with the mark of records in it")
    return _HEAD.pack(_MARK, len(record), _checksum(number, record)) + record


def decode_records(data: bytes, file: str = "") -> JournalContents:
    """All whole records; JournalError with the byte where one is bad though others follow."""
    records: list[bytes] = []
    offset = 0
    while (record := _record_at(data, offset, len(records))) is not None:
        records.append(record)
        offset += _HEAD.size + len(record)
    if not records:
        raise JournalError("is not a journal of ours, or its first record is damaged", file=file)
    if _has_later_record(data, offset + 1, len(records)):
        raise JournalError(f"record {len(records)} at byte {offset} is damaged", file=file)
    return JournalContents(records, len(data) - offset)


def _record_at(data: bytes, offset: int, number: int) -> bytes | None:
    if len(data) - offset < _HEAD.size:
        return None
    mark, length, checksum = _HEAD.unpack_from(data, offset)
    start = offset + _HEAD.size
    if mark != _MARK or length > len(data) - start:
        return None
    record = data[start : start + length]
    return record if _checksum(number, record) == checksum else None


def _has_later_record(data: bytes, offset: int, number: int) -> bool:
    """Whether a record behind the bad one, which has this number, is whole."""
    while (offset := data.find(_MARK, offset)) >= 0:
        number += 1
        if _record_at(data, offset, number) is not None:
            return True
        offset += 1
    return False


def _checksum(number: int, record: bytes) -> int:
    return zlib.crc32(record, zlib.crc32(_NUMBER.pack(number)))


class FileJournal:
    """A journal of one process: another one that opens it is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._count = self.length = 0
        self._lock = _lock(path)
        try:
            self.recovered = _read(path)
        except JournalError:
            self.close()
            raise

    def append(self, record: bytes) -> None:
        """On the disk when it returns; JournalError when it is not, and no other will be."""
        if self._descriptor is None:
            raise JournalError("is closed", file=str(self.path))
        data = encode_record(self._count, record)
        try:
            _write_all(self._descriptor, data)
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._cut_off()
            raise _failed(self.path, error) from error
        self._count += 1
        self.length += len(data)

    def start_over(self, first: bytes) -> None:
        """JournalError when the new file cannot be written; the old one goes on if it is still open."""
        data, part = encode_record(0, first), self.path.with_name(self.path.name + ".part")
        descriptor = folder = -1
        try:
            folder = os.open(self.path.parent, os.O_RDONLY)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
            _write_all(descriptor, data)
            os.fsync(descriptor)
            os.replace(part, self.path)
            self._close_file()
            self._descriptor, self._count, self.length = descriptor, 1, len(data)
            os.fsync(folder)
        except OSError as error:
            if self._descriptor == descriptor:  # were the old name to come back, records would be lost
                self._close_file()
            elif descriptor >= 0:
                os.close(descriptor)
                part.unlink(missing_ok=True)
            raise _failed(self.path, error) from error
        finally:
            if folder >= 0:
                os.close(folder)

    def close(self) -> None:
        self._close_file()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _cut_off(self) -> None:
        """What was half written goes, if that still works; reading passes over it otherwise."""
        try:
            if self._descriptor is not None:
                os.ftruncate(self._descriptor, self.length)
        except OSError:
            pass
        self._close_file()

    def _close_file(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def is_open(self) -> bool:
        return self._descriptor is not None


def _read(path: Path) -> JournalContents | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(path, error) from error
    return decode_records(data, str(path))


def _lock(path: Path) -> int:
    """Held until the process ends, however it ends."""
    file = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _failed(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise JournalError("another process has it open", file=str(path)) from error
    return descriptor


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _failed(path: Path, error: OSError) -> JournalError:
    return JournalError((error.strerror or str(error)).lower(), file=str(path))
