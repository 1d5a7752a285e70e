"""Small files read whole: schemas and configurations, and those that only their owner may read."""

import os
import stat
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pregao.model.errors import ConfigurationError

MAX_SIZE = 64 * 1024 * 1024


class ClosedAtExit:
    """What is closed at the end of its `with` block."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_small_file(path: str) -> bytes:
    """The bytes of a file; ConfigurationError when it cannot be read or is far too long."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_SIZE + 1)
    except OSError as error:
        raise ConfigurationError((error.strerror or str(error)).lower(), file=path) from error
    if len(content) > MAX_SIZE:
        raise ConfigurationError(f"longer than {MAX_SIZE} bytes", file=path)
    return content


# Files written from beginning to end: big buffers, and the name only when the file is whole.
#
#     with AppendFile(path) as file:
#         file.write(data)
#
# Until it is closed a file is called `….part`; a run that failed leaves none behind.


BUFFER_SIZE = 1 << 20
PART = ".part"  # of a file that is not whole yet


class AppendFile:
    """Pieces are kept until there is a buffer full of them, then written at once."""

    __slots__ = ("_descriptor", "_held", "_limit", "_pieces", "path", "written")

    def __init__(self, path: Path, buffer_size: int = BUFFER_SIZE) -> None:
        self.path = path
        self.written = 0  # bytes given to the system so far
        self._pieces: list[bytes] = []
        self._held, self._limit = 0, buffer_size
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor: int | None = os.open(self._part, flags, 0o644)
        except OSError as error:
            raise _failed(path, error) from error

    @property
    def _part(self) -> Path:
        return self.path.with_name(self.path.name + PART)

    def write(self, data: bytes) -> None:
        self._pieces.append(data)
        self._held += len(data)
        if self._held >= self._limit:
            self.flush()

    def flush(self) -> None:
        """Give all that is held to the system."""
        if not self._pieces or self._descriptor is None:
            return
        data = memoryview(b"".join(self._pieces))
        self._pieces.clear()
        self.written += self._held
        self._held = 0
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise _failed(self.path, error) from error

    def close(self) -> None:
        """The file is whole: it gets its name."""
        if self._descriptor is None:
            return
        try:
            self.flush()
            os.close(self._descriptor)
            self._descriptor = None
            os.replace(self._part, self.path)
        except (OSError, ConfigurationError) as error:
            self.discard()
            raise error if isinstance(error, ConfigurationError) else _failed(self.path, error) from error

    def discard(self) -> None:
        """The file will not be whole."""
        self._pieces.clear()
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def need_writable(folder: Path) -> None:
    """ConfigurationError where no file can be written there; the folder is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"?")
    except OSError as error:
        raise _failed(folder, error) from error


def _failed(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError((error.strerror or str(error)).lower(), file=str(path))


def write_whole(path: Path, data: bytes) -> None:
    """A small file, there whole or not at all."""
    with AppendFile(path) as file:
        file.write(data)


# Private files: their mode is looked at before they are read, and set before they are written.
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
