"""Errors with names, each with the ids that let a person find the byte.

    PregaoError
    ├── SchemaError            a schema file contradicts itself, or is hostile
    ├── CaptureError           a capture file cannot be opened or read at all
    ├── ConfigurationError     a channel configuration is wrong
    ├── MissingExtraError      a library that an extra of the package brings is not installed
    ├── EncodeError            our side asked for a message that cannot be encoded
    └── DecodeError            bytes from outside are wrong; carries a Fault and an offset
"""

from pregao.model.faults import Fault


class PregaoError(Exception):
    """Base of every error this project raises on purpose."""


class SchemaError(PregaoError):
    """A schema file that cannot be used: says file, line and element."""

    def __init__(self, reason: str, *, file: str = "", line: int = 0, element: str = "") -> None:
        self.reason, self.file, self.line, self.element = reason, file, line, element
        where = f"{file}:{line}" if file else f"line {line}" if line else "schema"
        super().__init__(f"{where}: {element + ': ' if element else ''}{reason}")


class CaptureError(PregaoError):
    """A capture file that cannot be opened, or is not a capture; `offset` where a byte of it is at fault."""

    def __init__(self, reason: str, *, file: str, offset: int | None = None) -> None:
        self.reason, self.file, self.offset = reason, file, offset
        super().__init__(f"{file}: {reason}" + ("" if offset is None else f" at byte {offset}"))


class ConfigurationError(PregaoError):
    """A channel configuration that contradicts itself."""

    def __init__(self, reason: str, *, file: str = "", key: str = "") -> None:
        self.reason, self.file, self.key = reason, file, key
        super().__init__(": ".join(part for part in (file, key, reason) if part))


class MissingExtraError(PregaoError, ImportError):
    """A library is not installed that `pip install 'pregao[extra]'` brings."""

    def __init__(self, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{library} is not installed: pip install 'pregao[{extra}]'")


class EncodeError(PregaoError):
    """Values that no message of this schema version can carry."""

    def __init__(self, reason: str, *, message: str, field: str = "") -> None:
        self.reason, self.message, self.field = reason, message, field
        super().__init__(f"{message}{'.' + field if field else ''}: {reason}")


class DecodeError(PregaoError):
    """Bytes that are not what they say they are.

    `offset` counts from the start of the buffer given to the decoder; whoever knows the file
    and packet adds them with `Finding`.
    """

    def __init__(self, fault: Fault, offset: int, detail: str = "") -> None:
        self.fault, self.offset, self.detail = fault, offset, detail
        super().__init__(f"{fault.label} at byte {offset}{': ' + detail if detail else ''}")
