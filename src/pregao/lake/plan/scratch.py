"""Captures that cannot be read in pieces as they are: unpacked once, under a name that says from what."""

import hashlib
import os
import tempfile
from pathlib import Path

from pregao.io.captures import open_capture
from pregao.io.seekable import open_seekable
from pregao.lake.errors import LakeFullError, _is_full
from pregao.model.errors import CaptureError


def readable(path: str, scratch: str = "") -> str:
    """Where a capture can be read in pieces: itself, or its unpacked copy."""
    with open_capture(path) as source:
        if source.compression == "none" or (source.compression == "zstd" and _has_frames(path)):
            return path
        about = Path(path).stat()
        key = f"{os.path.abspath(path)}|{about.st_size}|{about.st_mtime_ns}"
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        folder = Path(scratch) if scratch else Path(tempfile.gettempdir()) / f"pregao-scratch-{os.getuid()}"
        target = folder / f"{name}.pcap"
        if not target.exists():
            _unpack(source, folder, target)
        return str(target)


def _has_frames(path: str) -> bool:
    with open_seekable(path) as recording:
        return recording.has_table


def _unpack(source: "object", folder: Path, target: Path) -> None:
    """What can be had of a damaged file is kept: it is said where it ends."""
    part = target.with_suffix(f".{os.getpid()}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            try:
                for window in source.windows():  # type: ignore[attr-defined]
                    file.write(window.data)
                    window.consumed = len(window.data)
            except CaptureError:
                pass
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        if _is_full(error):
            raise LakeFullError(str(target)) from error
        raise CaptureError(str(error).lower(), file=str(target)) from error
