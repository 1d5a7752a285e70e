"""Every message of a capture as a row, whatever it is: where it came from, and its fields as JSON in the
words of `pregao decode --format json`. What is damaged is a row too, with `fault` and no message."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from pregao.captures.streams import CaptureStreams
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Damage, Datagram
from pregao.codecs.sbe.values import to_json
from pregao.feeds.binary.packets import PacketDecoder
from pregao.io.captures import CaptureSource, open_capture
from pregao.lake.source.options import Request
from pregao.model.errors import CaptureError, DecodeError
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


def batches(request: Request, path: str) -> Iterator[Any]:
    rows: list[Row] = []
    for row in MessageReader(request, path).rows():
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

    def __init__(self, request: Request, path: str) -> None:
        self._request, self._path = request, path
        self._decoder = PacketDecoder(request.load_schema())
        self._reader = DatagramReader()
        self._streams = CaptureStreams([path], request.load_channels())

    def rows(self) -> Iterator[Row]:
        with open_capture(self._path) as source:
            try:
                yield from self._windows(source)
            except CaptureError as error:
                if source.compression == "none":
                    raise
                yield self._fault(0, f"compression-damaged: {error}")
            for damage in self._reader.finish(source.length):
                yield self._damaged(damage)

    def _windows(self, source: CaptureSource) -> Iterator[Row]:
        for window in source.windows():
            for outcome in self._reader.outcomes(window.data):
                if isinstance(outcome, Datagram):
                    yield from self._datagram(outcome)
                elif isinstance(outcome, Damage):
                    yield self._damaged(outcome)
            window.consumed = self._reader.position - window.base

    def _datagram(self, datagram: Datagram) -> Iterator[Row]:
        try:
            packet = self._decoder.decode(datagram.payload)
        except DecodeError as error:
            yield self._fault(datagram.number, str(error))
            return
        header = packet.header
        if self._request.channels and header.channel not in self._request.channels:
            return
        destination = Destination(datagram.ip_version, datagram.dst, datagram.dst_port)
        known = self._streams.of(self._path, destination, header.channel)
        stream = None if known.stream is Stream.UNKNOWN else known.stream.name
        feed = None if known.feed is Feed.UNKNOWN else known.feed.name
        sent = header.sending_time_ns if header.sending_time_ns <= _LARGEST else None
        for placed in packet.messages:
            message = placed.message
            if self._request.templates and message.header.template_id not in self._request.templates:
                continue
            fields = message.fields
            security_id = None if fields is None else fields.get("securityID")
            yield (
                self._path, datagram.number, header.channel, stream, feed, header.sequence_version,
                header.sequence_number, placed.index, sent, datagram.ts_ns, message.header.template_id,
                message.header.version, message.name,
                security_id if isinstance(security_id, int) and security_id <= _LARGEST else None,
                None if fields is None else to_json(fields), None,
            )  # fmt: skip
        for damage in packet.damage:
            yield self._fault(datagram.number, str(damage.error), header.channel)

    def _damaged(self, damage: Damage) -> Row:
        return self._fault(damage.number, f"{damage.fault.label} at byte {damage.offset}")

    def _fault(self, number: int, text: str, channel: int | None = None) -> Row:
        return (self._path, number, channel, *(None,) * 12, text)
