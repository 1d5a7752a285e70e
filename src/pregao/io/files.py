"""Small files read whole: schemas and configurations."""

from pathlib import Path

from pregao.model.errors import ConfigurationError

MAX_SIZE = 64 * 1024 * 1024


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
