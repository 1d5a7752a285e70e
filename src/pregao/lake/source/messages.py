"""Every message of a capture as a row, whatever it is: where it came from, and its fields as JSON in the
words of `pregao decode --format json`. What is damaged is a row too, with `fault` and no message."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pregao.captures.decode import CaptureDecoder, DecodedMessage, Finding, Selection
from pregao.captures.formats.lines import to_json
from pregao.captures.runs import CapturePart
from pregao.captures.streams import CaptureStreams
from pregao.feeds.registry import load_columns
from pregao.io.captures import open_capture
from pregao.lake.source.reader import SourceRequest
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Destination, Feed, Stream

SCHEMA: Final = pa.schema(
    [
        ("file", pa.string()), ("packet", pa.int64()), ("channel", pa.int16()), ("stream", pa.string()),
        ("feed", pa.string()), ("seq_version", pa.int32()), ("seq_num", pa.int64()),
        ("msg_index", pa.int32()), ("ts_send", pa.int64()), ("ts_recv", pa.int64()),
        ("template_id", pa.int32()), ("version", pa.int32()), ("name", pa.string()),
        ("security_id", pa.int64()), ("fields", pa.string()), ("fault", pa.string()),
    ]
)  # fmt: skip
Row = tuple[Any, ...]
_LARGEST: Final = (1 << 63) - 1


def batches(request: SourceRequest, path: str, part: CapturePart | None = None) -> Iterator[Any]:
    rows: list[Row] = []
    for row in MessageReader(request, path, part).rows():
        rows.append(row)
        if len(rows) == request.rows:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[Row]) -> Any:
    arrays = [
        pa.array(column, member.type) for column, member in zip(zip(*rows, strict=True), SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


class MessageReader:
    """One pass over one capture."""

    def __init__(self, request: SourceRequest, path: str, part: CapturePart | None = None) -> None:
        selection = Selection(
            request.channels, request.templates, streams=request.streams, since_ns=request.since_ns,
            until_ns=request.until_ns, only_marked=True,
        )  # fmt: skip
        self._decoder = CaptureDecoder(
            request.load_schema(), request.load_channels(), selection, system=request.system
        )
        self._path, self._part = path, part

    def rows(self) -> Iterator[Row]:
        for item in self._decoder.packets(self._path, self._part):
            if isinstance(item, Finding):
                yield _fault(item)
            else:
                yield from map(_row, self._decoder.selected(item))


def _row(decoded: DecodedMessage) -> Row:
    header, message, flow = decoded.header, decoded.message, decoded.flow
    security_id, sent = decoded.security_id, header.sending_time_ns
    return (
        decoded.file, decoded.packet, header.channel,
        None if flow.stream is Stream.UNKNOWN else flow.stream.name,
        None if flow.feed is Feed.UNKNOWN else flow.feed.name,
        header.sequence_version, header.sequence_number, decoded.index, sent if sent <= _LARGEST else None,
        decoded.ts_ns, message.template_id, message.version, message.name,
        security_id if security_id is not None and security_id <= _LARGEST else None,
        None if message.fields is None else to_json(message.fields), None,
    )  # fmt: skip


def _fault(finding: Finding) -> Row:
    where = "" if finding.offset is None else f" at byte {finding.offset}"
    detail = f": {finding.detail}" if finding.detail else ""
    return (finding.file, finding.packet, finding.channel, *(None,) * 12, f"{finding.name}{where}{detail}")


# One message's own columns (docs/columns.md), or those of one of its groups, decoded by kernel.


# Spark has no unsigned numbers, no narrow decimals, no dictionaries.
_WIDER: Final = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


class TableReader:
    """Arrow batches of one table of one capture after another."""

    def __init__(self, request: SourceRequest, rows: int | None = None) -> None:
        self._request = request
        system, schema = load_columns(request.system), request.load_schema()
        self._reader = system.columns(schema, rows or request.rows, only=request.message)
        if request.message not in self._reader.tables():
            tables = system.columns(schema, 1).tables()
            reason = f"there is no table {request.message!r}; there are {', '.join(sorted(tables))}"
            raise ConfigurationError(reason, key="message")

    @property
    def schema(self) -> Any:
        """Of its batches, known without a capture."""
        return _shaped("", self._reader.empty(self._request.message)).schema

    def batches(self, path: str, part: CapturePart | None = None) -> Iterator[Any]:
        streams = None
        if self._request.streams:
            streams = CaptureStreams([path], self._request.load_channels(), self._request.system)
        with open_capture(path) as source:
            windows = source.windows() if part is None else source.part(*part)
            for batch in self._reader.batches(windows):
                rows = batch.with_lineage(self._request.message)
                if rows is not None:
                    yield from self._wanted(path, _shaped(path, rows), streams)

    def _wanted(self, path: str, rows: Any, streams: CaptureStreams | None) -> Iterator[Any]:
        request = self._request
        if request.channels:
            chosen = pa.array(sorted(request.channels), pa.int16())
            rows = rows.filter(pc.is_in(rows.column("channel"), chosen))
        captured = rows.column("ts_recv_ns")
        inside = pc.greater_equal(captured, request.since_ns), pc.less(captured, request.until_ns)
        rows = rows.filter(pc.and_(*inside))
        if streams is not None and rows.num_rows:
            rows = rows.filter(self._of_streams(path, rows, streams))
        if rows.num_rows:
            yield rows

    def _of_streams(self, path: str, rows: Any, streams: CaptureStreams) -> Any:
        """Which rows are of the streams that are wanted: a stream is what a flow of a channel is."""
        pairs = list(zip(rows.column("flow").to_pylist(), rows.column("channel").to_pylist(), strict=True))
        known = {
            (flow, channel): streams.of(path, Destination.of_flow(flow), channel).stream
            for flow, channel in set(pairs)
            if flow >= 0
        }
        return pa.array([known.get(pair) in self._request.streams for pair in pairs], pa.bool_())


def _shaped(path: str, rows: Any) -> Any:
    """The file first, then all columns as Spark takes them."""
    file = pa.array([path], pa.string()).take(pa.nulls(rows.num_rows, pa.int32()).fill_null(0))
    columns = {"file": file} | {name: as_spark(rows.column(name)) for name in rows.schema.names}
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def schema_of(request: SourceRequest) -> Any:
    return spark_schema(TableReader(request, rows=1).schema)


def spark_type(given: Any) -> Any:
    """The Arrow type that Spark reads in its place."""
    if pa.types.is_dictionary(given):
        return spark_type(given.value_type)
    if pa.types.is_decimal(given):
        return pa.decimal128(given.precision, given.scale)
    if given == pa.uint64():
        return pa.int64()
    if pa.types.is_struct(given):
        return pa.struct([(member.name, spark_type(member.type)) for member in given])
    return _WIDER.get(given, given)


def spark_schema(given: Any) -> Any:
    return pa.schema([(member.name, spark_type(member.type)) for member in given])


def as_spark(column: Any) -> Any:
    """A column of that type. What needs the 64th bit of an unsigned number is null: never a wrap."""
    wanted = spark_type(column.type)
    if column.type == wanted:
        return column
    if pa.types.is_dictionary(column.type):
        return as_spark(column.dictionary_decode())
    if pa.types.is_struct(column.type):
        members = [as_spark(column.field(place)) for place in range(column.type.num_fields)]
        mask = pc.is_null(column) if column.null_count else None
        return pa.StructArray.from_arrays(members, fields=list(wanted), mask=mask)
    if column.type == pa.uint64():
        fits = pc.less_equal(column, pa.scalar(_LARGEST, pa.uint64()))
        column = pc.if_else(fits, column, pa.scalar(None, pa.uint64()))
    return column.cast(wanted)
