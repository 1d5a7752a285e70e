"""Captures that cannot be read in pieces as they are: unpacked once a machine, under a name that says from
what, so that a slice on another machine than the scan unpacks the same again. What nobody has used for a
day goes with the next unpacking.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

from pregao.io.clock import system_time_ns
from pregao.io.compression import CompressionError, compression_of, gzip_chunks, zstd_chunks
from pregao.io.seekable import SeekableFile
from pregao.lake.errors import LakeFullError, is_full
from pregao.lake.plan.stored import Stored, open_stored, told
from pregao.model.errors import CaptureError

_CHUNKS: Final[dict[str, Callable[[BinaryIO], Iterator[bytes]]]] = {"gzip": gzip_chunks, "zstd": zstd_chunks}
_UNUSED_NS: Final = 86_400 * 1_000_000_000


class Form(Enum):
    """How the content of a capture can be read in pieces."""

    PLAIN = "plain"
    FRAMES = "frames"  # zstd with a table of its frames
    UNPACKED = "unpacked"  # only from a copy


def form_of(path: str) -> Form:
    with told(path), open_stored(path) as file:
        compression = compression_of(file.read(4))
        if compression == "none":
            return Form.PLAIN
        has_frames = compression == "zstd" and SeekableFile(file, path).has_table
        return Form.FRAMES if has_frames else Form.UNPACKED


def unpacked(stored: Stored, scratch: str) -> Path:
    """The content of a compressed capture as a file of this machine."""
    name = hashlib.sha256("|".join(map(str, stored)).encode()).hexdigest()[:24]
    folder = Path(scratch) if scratch else Path(tempfile.gettempdir()) / f"pregao-scratch-{os.getuid()}"
    target = folder / f"{name}.pcap"
    try:
        os.utime(target)  # it is in use
    except OSError:
        _unpack(stored.path, folder, target)
    return target


def _unpack(path: str, folder: Path, target: Path) -> None:
    """What can be had of a damaged file is kept: the scan says where its last record was cut."""
    part = folder / f"{uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_unused(folder)
        with open_stored(path) as source, part.open("wb") as file:
            head = source.read(4)
            source.seek(0)
            with suppress(CompressionError):
                for chunk in _CHUNKS[compression_of(head)](source):
                    file.write(chunk)
        os.replace(part, target)
    except OSError as error:
        if is_full(error):
            raise LakeFullError(str(target)) from error
        raise CaptureError(str(error).lower(), file=str(target)) from error
    finally:
        part.unlink(missing_ok=True)


def _remove_unused(folder: Path) -> None:
    oldest = system_time_ns() - _UNUSED_NS
    for file in (*folder.glob("*.pcap"), *folder.glob("*.part")):
        with suppress(OSError):  # somebody else has removed it
            if file.stat().st_mtime_ns < oldest:
                file.unlink()
