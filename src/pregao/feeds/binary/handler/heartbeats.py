"""Heartbeats of the incremental stream (7.5): a Sequence message in a packet without a number."""

from typing import Final

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.handler.kernels.heartbeats import FRAMING_AT, HEADER_AT, SHAPE_FIELDS
from pregao.feeds.binary.packets import SBE_LITTLE_ENDIAN
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.binary.workspace import Context
from pregao.model.rows import Kind

_MESSAGE, _FIELD, _FIELD_SIZE = "Sequence_2", "nextSeqNo", 4
_NO_SHAPE: Final = -1  # the size of no packet


class Heartbeats:
    """`shape` is the address of what `kernels.heartbeats` compares with; `reader` reads all others."""

    def __init__(self, schema: Schema, reader: RowReader) -> None:
        self._reader = reader
        self._shape = Context(SHAPE_FIELDS)
        self._shape.set(**_shape_of(schema))
        self.shape = self._shape.address

    def read(self, payload: bytes) -> int | None:
        """The next number that a packet tells; None: it is no heartbeat."""
        rows = self._reader.read_packet(payload).rows
        beats = rows[rows["kind"] == Kind.SEQUENCE]
        return int(beats[0]["price"]) if len(beats) else None


def _shape_of(schema: Schema) -> dict[str, int]:
    """A packet with one such message and no more, where all versions have it alike."""
    found = {
        (block.id, block.block_length, field.offset)
        for version in schema.breakpoints
        for block in schema.at(version).messages.values()
        if block.name == _MESSAGE
        for field in block.fields
        if (field.name, field.size) == (_FIELD, _FIELD_SIZE)
    }
    if len(found) != 1:
        return {"size": _NO_SHAPE}
    template, length, offset = found.pop()
    body = HEADER_AT + schema.header.size
    size = body + length
    return {
        "size": size,
        "framing": size - FRAMING_AT | SBE_LITTLE_ENDIAN << 16,
        "header": length | template << 16 | schema.id << 32,
        "next_at": body + offset,
    }
