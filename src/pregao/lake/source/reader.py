"""The data source as Spark knows it. A partition is a capture file, or a part of a large plain one.

Decoders are imported where they are needed: every session of ours registers the source, few use it.
"""

import glob
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pregao.feeds.registry import DEFAULT, load_decoding
from pregao.io.files import read_small_file
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.plan.scanning import WantedCaptures, may_have
from pregao.lake.source import FORMAT
from pregao.lake.store.location import is_remote
from pregao.model.channel_map import ChannelMap, load_channels
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Stream

if TYPE_CHECKING:
    from pregao.captures.runs import CapturePart

# What was asked for, as options of `spark.read`; a mistake is told when the frame is made.


KNOWN: Final = ("path", "paths", "message", "template", "channel", "schema", "config", "rows", "system",
                "stream", "start", "end", "split")  # fmt: skip
_MAGIC: Final = frozenset("*?[")
SPLIT_BYTES: Final = 256 << 20
DEFAULT_ROWS: Final = 1 << 15  # of a batch


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """`message` is the table whose columns are wanted, "" for rows of all messages."""

    paths: tuple[str, ...]
    message: str = ""
    templates: frozenset[int] = frozenset()
    channels: frozenset[int] = frozenset()
    schema: bytes | None = None  # a schema file of the system's kind; None: its own
    schema_file: str = ""
    config: bytes | None = None  # which address carries which stream
    rows: int = DEFAULT_ROWS
    system: str = DEFAULT
    streams: frozenset[Stream] = frozenset()
    since_ns: int = -(1 << 63)  # when captured
    until_ns: int = (1 << 63) - 1  # exclusive
    split: int = SPLIT_BYTES  # plain captures that are longer are read in parts; 0: never

    def load_schema(self) -> Any:
        return load_decoding(self.system).load_schema(self.schema, self.schema_file)

    def load_channels(self) -> ChannelMap | None:
        return None if self.config is None else load_channels(self.config)


def request_of(options: Mapping[str, str]) -> SourceRequest:
    given = {name.lower(): text for name, text in options.items()}
    for name in sorted(given.keys() - set(KNOWN)):
        raise ConfigurationError(f"umdf has no such option; there are {', '.join(KNOWN[2:])}", key=name)
    paths = json.loads(given["paths"]) if "paths" in given else [given["path"]] if "path" in given else []
    if not paths:
        raise ConfigurationError("umdf needs captures: load(path)", key="path")
    schema_file = given.get("schema", "")
    request = SourceRequest(
        tuple(paths), schema=read_small_file(schema_file) if schema_file else None, schema_file=schema_file,
        config=read_small_file(given["config"]) if "config" in given else None,
        system=given.get("system", DEFAULT),
    )  # fmt: skip
    names = load_decoding(request.system).decoder(request.load_schema()).names()
    return replace(
        request, message=_table_name(given.get("message", ""), names),
        templates=frozenset(_template(each, names) for each in _words(given.get("template"))),
        channels=frozenset(_number(each, "channel") for each in _words(given.get("channel"))),
        split=_number(given["split"], "split") if "split" in given else SPLIT_BYTES,
        streams=frozenset(_stream(each) for each in _words(given.get("stream"))),
        since_ns=_time(given["start"], "start") if "start" in given else request.since_ns,
        until_ns=_time(given["end"], "end") if "end" in given else request.until_ns,
        rows=max(_number(given["rows"], "rows"), 1) if "rows" in given else DEFAULT_ROWS,
    )  # fmt: skip


def captures_of(request: SourceRequest) -> list[str]:
    """Files as given, those below folders, and what patterns match."""
    found: list[str] = []
    for path in request.paths:
        found += sorted(glob.glob(path, recursive=True)) if _MAGIC & set(path) else [path]
    files = find_captures(found)
    if not files:
        raise ConfigurationError("there is no capture here", file=", ".join(request.paths))
    wanted = WantedCaptures(request.channels or None, begins_before_ns=request.until_ns)
    return [file for file in files if may_have(file, wanted, request.system)]


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _number(text: str, option: str) -> int:
    if not text.strip().isdigit():
        raise ConfigurationError(f"{text!r} is not a whole number", key=option)
    return int(text)


Names = Mapping[int, Sequence[str]]  # of messages, by template


def _stream(text: str) -> Stream:
    known = {stream.name.lower(): stream for stream in Stream if stream is not Stream.UNKNOWN}
    if text.lower() not in known:
        raise ConfigurationError(f"{text!r} is no stream; there are {', '.join(known)}", key="stream")
    return known[text.lower()]


def _time(text: str, option: str) -> int:
    """Nanoseconds, or a date and time, UTC unless it says otherwise."""
    if text.strip().isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ConfigurationError(f"{text!r} is no time as 2026-11-16T13:00:00", key=option) from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000


def _template(text: str, names: Names) -> int:
    if text.isdigit():
        return int(text)
    for template_id, known in names.items():
        if text in known:
            return template_id
    raise ConfigurationError(f"no message is called {text!r}", key="template")


def _table_name(text: str, names: Names) -> str:
    """A message by name or number, or a group of it as `Message.group`; which groups it has, the reader
    knows."""
    if not text.isdigit():
        return text
    known = names.get(int(text))
    if not known:
        raise ConfigurationError(f"no message has the number {text}", key="message")
    return known[-1]


class UmdfDataSource(DataSource):
    """Captures of multicast. Options: message, template, channel, stream, start, end, schema, config,
    rows, split, system."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from pregao.lake.source import messages
        from pregao.lake.source import messages as tables

        request = request_of(self.options)
        return from_arrow_schema(tables.schema_of(request) if request.message else messages.SCHEMA)

    def reader(self, schema: StructType) -> "UmdfReader":

        return UmdfReader(request_of(self.options))


class CapturePartition(InputPartition):
    def __init__(self, path: str, part: "CapturePart | None" = None) -> None:
        super().__init__((path, part))
        self.path, self.part = path, part


class UmdfReader(DataSourceReader):
    def __init__(self, request: "SourceRequest") -> None:
        self._request = request

    def partitions(self) -> Sequence[InputPartition]:
        from pregao.captures.runs import parts_of

        size, found = self._request.split, list[InputPartition]()
        for path in captures_of(self._request):
            parts = parts_of(path, size) if size and not is_remote(path) else []
            found += [CapturePartition(path, part) for part in parts] or [CapturePartition(path)]
        return found

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from pregao.lake.source import messages
        from pregao.lake.source import messages as tables

        if not isinstance(partition, CapturePartition):
            return  # Spark asks once where there is no partition: nothing of what is here is wanted
        if self._request.message:
            yield from tables.TableReader(self._request).batches(partition.path, partition.part)
        else:
            yield from messages.batches(self._request, partition.path, partition.part)
