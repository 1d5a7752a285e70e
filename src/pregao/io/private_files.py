"""Files that only their owner may read: mode 0600, looked at before they are read, made so before they are
written."""

import os
import stat
from pathlib import Path
from typing import Final

from pregao.model.errors import ConfigurationError

MODE: Final = 0o600
MAX_BYTES: Final = 16 * 1024 * 1024


def read_private(path: str | Path) -> str:
    """The text of a file, or a ConfigurationError: it is not there, too large, or others may reach it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigurationError(f"cannot be read: {error.strerror}", file=str(path)) from error
    state = os.fstat(descriptor)
    mode = stat.S_IMODE(state.st_mode)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise ConfigurationError("is no file", file=str(path))
    with open(descriptor, "rb") as file:
        if mode & ~MODE:
            wanted = f"others may read or write it (mode {mode:04o}): chmod 600"
            raise ConfigurationError(wanted, file=str(path))
        if state.st_size > MAX_BYTES:
            raise ConfigurationError(f"has more than {MAX_BYTES} bytes", file=str(path))
        try:
            return file.read(MAX_BYTES).decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"is not UTF-8 at byte {error.start}", file=str(path)) from None


def write_private(path: str | Path, text: str) -> None:
    """Whole or not at all: beside it first, on the disk, then in its place."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
        try:
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, MODE)  # whatever the umask took or left
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(descriptor)
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigurationError(f"cannot be written: {error.strerror}", file=str(path)) from error
