"""Every message of a capture as a row, whatever it is: where it came from, and its fields as JSON in the
words of `pregao decode --format json`. What is damaged is a row too, with `fault` and no message."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from pregao.captures.decode import CaptureDecoder, DecodedMessage, Finding, Selection
from pregao.captures.parts import Part
from pregao.codecs.sbe.values import to_json
from pregao.lake.source.options import Request
from pregao.model.streams import Feed, Stream

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


def batches(request: Request, path: str, part: Part | None = None) -> Iterator[Any]:
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

    def __init__(self, request: Request, path: str, part: Part | None = None) -> None:
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
