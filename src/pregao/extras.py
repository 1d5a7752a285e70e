"""Libraries that `pip install pregao` does not bring, and the extra of the package that does.

Whoever needs one imports it where it is used. Without it people read one line that says what to install.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from pregao.model.errors import MissingExtraError

LIBRARIES: Final = {
    "lake": ("deltalake", "duckdb", "obstore", "pandas", "pyspark", "py4j"),
    "frames": ("polars",),
    "certify": ("fpdf",),
}


@contextmanager
def name_missing_extra() -> Iterator[None]:
    """An import that fails inside for want of an extra is an error that names it."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        extra = _extra_of(library)
        if extra is None:
            raise
        raise MissingExtraError(library, extra) from error


def need(library: str) -> None:
    """Fail at once where work would begin that cannot be finished without it."""
    extra = _extra_of(library)
    if extra is not None and find_spec(library) is None:
        raise MissingExtraError(library, extra)


def is_installed(extra: str) -> bool:
    return all(find_spec(library) is not None for library in LIBRARIES[extra])


def _extra_of(library: str) -> str | None:
    return next((extra for extra, libraries in LIBRARIES.items() if library in libraries), None)
