"""One JSON object a line, exactly as the design has it (The command line)."""

from decimal import Decimal
from json import JSONEncoder
from math import isfinite
from typing import Any

from pregao.captures.decoded import DecodedMessage
from pregao.feeds.decoding import Decoder, TaggedDecoder
from pregao.model.errors import ConfigurationError

# Values of messages as JSON: decimals as strings with their full scale, plain bytes as hex.


def _default(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"no JSON for {type(value).__name__}")


_encode = JSONEncoder(separators=(",", ":"), default=_default, allow_nan=False).encode


def to_json(value: Any) -> str:
    """Compact and ASCII."""
    try:
        return _encode(value)
    except ValueError:  # JSON has no NaN and no infinity; B3's schemas have no floats
        return _encode(_spelled(value))


def _spelled(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _spelled(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(member) for member in value]
    return value


class JsonFormat:
    """The lineage is written by hand, the fields by the encoder of the standard library."""

    def __init__(self) -> None:
        self._file = ""
        self._quoted = '""'
        self._names: dict[str | None, str] = {None: "null"}

    def header(self) -> str:
        return ""

    def file(self, path: str) -> str:
        return ""

    def message(self, decoded: DecodedMessage) -> str:
        message, header = decoded.message, decoded.header
        if decoded.file != self._file:
            self._file, self._quoted = decoded.file, to_json(decoded.file)
        name = self._names.get(message.name)
        if name is None:
            name = self._names[message.name] = to_json(message.name)
        fields = "null" if message.fields is None else to_json(message.fields)
        return (
            f'{{"file":{self._quoted},"packet":{decoded.packet},"ts_ns":{decoded.ts_ns},'
            f'"channel":{_number(decoded.channel)},"seq_version":{_number(header.sequence_version)},'
            f'"seq_num":{header.sequence_number},"sending_time":{header.sending_time_ns},'
            f'"template_id":{message.template_id},"version":{_number(message.version)},'
            f'"name":{name},"fields":{fields}}}\n'
        )


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


# Messages that are FIX underneath, as `tag=value|`, one a line.


class FixFormat:
    def __init__(self, decoder: Decoder) -> None:
        if not isinstance(decoder, TaggedDecoder):
            raise ConfigurationError("messages of this system have no FIX tags", key="format")
        self._decoder = decoder

    def header(self) -> str:
        return ""

    def file(self, path: str) -> str:
        return ""

    def message(self, decoded: DecodedMessage) -> str:
        return self._decoder.fix(decoded.message) + "\n"
