"""What can go wrong with a lake, by name.

LakeError
├── OldLakeError           tables are laid out as an older pregao did it: says how to build it again
├── NoLakeError            there is no lake at that place, or not that version of it
├── LakeConflictError      somebody else has changed the lake meanwhile
│   └── StaleReadError     what a commit was made from is no longer so: plan it again
├── LakeDamagedError       a file of the lake is missing or cannot be read: says which
│   ├── FileMissingError   the store says that there is no such file
│   └── NotWholeError      its bytes were read, and are not what they should be
├── StoreError             a store does not answer, or refuses: that says nothing of its files; try again
├── FewerCapturesError     a unit would be replaced by one of fewer captures
├── LakeFullError          no room to write
├── WrongIntentError       a commit that cannot be: files that are not there, removed twice, …
└── QueryError             Spark refuses or fails a query
JavaError                  no usable Java
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pregao.model.errors import PregaoError


class LakeError(PregaoError):
    """Base of all that concerns a lake."""


class NoLakeError(LakeError):
    pass


class OldLakeError(LakeError):
    pass


class LakeConflictError(LakeError):
    pass


class StaleReadError(LakeConflictError):
    pass


class LakeDamagedError(LakeError):
    def __init__(self, reason: str, *, file: str) -> None:
        self.reason, self.file = reason, file
        super().__init__(f"{file}: {reason}")


class FileMissingError(LakeDamagedError):
    def __init__(self, *, file: str) -> None:
        super().__init__("file is missing", file=file)


class NotWholeError(LakeDamagedError):
    pass


class StoreError(LakeError):
    def __init__(self, reason: str, *, file: str) -> None:
        self.reason, self.file = reason, file
        super().__init__(f"{file}: the store does not give it now: {reason}")


class FewerCapturesError(LakeError):
    pass


class LakeFullError(LakeError):
    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(f"{file}: no space left on the device; nothing of this commit is visible")


class WrongIntentError(LakeError):
    pass


class QueryError(LakeError):
    pass


class JavaError(PregaoError):
    pass


_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
_PASSING: Final = frozenset(
    (
        errno.EIO, errno.EAGAIN, errno.EBUSY, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE,
        errno.EACCES, errno.EPERM, errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNREFUSED, errno.ECONNABORTED,
        errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPIPE, errno.ENOTCONN, errno.EREMOTEIO,
    )
)  # fmt: skip
_PASSING_WORDS: Final = re.compile(
    r"AWS Error (?!NO_SUCH|RESOURCE_NOT_FOUND)|Generic \w+ error|error sending request|after \d+ retries"
    r"|timed? ?out|connection (?:refused|reset|closed)|Curl returned error",
    re.IGNORECASE,
)
_FULL_WORDS: Final = re.compile(r"no space left|os error 28|disk quota|StorageFull", re.IGNORECASE)


@contextmanager
def named(file: str) -> Iterator[None]:
    """Errors of the system, of Arrow and of deltalake inside become ours, with the file's name.

    Arrow's ArrowInvalid is a ValueError, deltalake's DeltaError a plain Exception that keeps the
    system's error only as text."""
    try:
        yield
    except PregaoError:
        raise
    except FileNotFoundError as error:
        raise FileMissingError(file=file) from error
    except Exception as error:
        if is_full(error):
            raise LakeFullError(file) from error
        if is_passing(error):
            raise StoreError(_first_line(error), file=file) from error
        raise LakeDamagedError(_first_line(error), file=file) from error


def is_full(error: Exception) -> bool:
    return getattr(error, "errno", None) in _FULL or bool(_FULL_WORDS.search(str(error)))


def is_passing(error: Exception) -> bool:
    """Whether it is the way to the file that failed. What is wrong with the bytes of a file has no number of
    the system's, and does not come from a client of a store."""
    return getattr(error, "errno", None) in _PASSING or bool(_PASSING_WORDS.search(str(error)))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
