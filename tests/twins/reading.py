"""Packets through the row kernel and through the plain reader, and the first thing in which they differ."""

import ctypes
from collections.abc import Sequence

import numpy as np

from pregao.codecs.sbe import SbeMessage, Schema
from pregao.feeds.binary.packets import PacketDecoder, PacketMessage
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.binary.reading.values import TranslatedMessage
from pregao.feeds.port import RowFault
from pregao.model.errors import DecodeError
from pregao.model.rows import ROW, Kind, Rows
from tests.twins.rows import row_of
from tests.twins.windows import GuardedMemory

POINTERS = (Kind.DEFINITION, Kind.NEWS, Kind.OTHER)
CHANNEL = 84
_HEADERS = 12  # framing and message header


class RowComparer:
    """Holds the two readers of one schema against each other. `rows` is what one reading may have."""

    def __init__(self, schema: Schema, rows: int = 4096, faults: int = 64) -> None:
        self._decoder, self.plain = PacketDecoder(schema), PlainReader(CHANNEL)
        self.reader = RowReader(schema, rows, faults)
        self._memory = GuardedMemory(1 << 22)
        self.told: list[TranslatedMessage] = []  # of the last comparison

    def compare(self, payloads: Sequence[bytes]) -> tuple[int, int]:
        """How many rows and faults both have."""
        lengths = np.array([len(payload) for payload in payloads], np.uint32)
        offsets = np.cumsum(lengths, dtype=np.int64) - lengths
        at = np.arange(len(lengths), dtype=np.int64) * 3 + (1 << 33)
        versions = (np.arange(len(lengths)) * 7 % 65_535).astype(np.uint16)
        expected, faults, messages = self._plain(payloads, offsets.tolist(), at.tolist(), versions.tolist())
        rows, noted, decoded = self._kernel(b"".join(payloads), offsets, lengths, at, versions)
        assert noted == faults
        same_rows(rows, expected)
        assert repr(decoded) == repr(messages)
        return len(rows), len(noted)

    def _kernel(
        self, raw: bytes, offsets: Rows, lengths: Rows, at: Rows, versions: Rows
    ) -> tuple[Rows, list[RowFault], list[SbeMessage]]:
        view = self._memory.hold(raw)
        address = (
            ctypes.addressof(ctypes.c_char.from_buffer(self._memory._map)) + self._memory.size - len(raw)
        )
        parts, faults, messages = [], list[RowFault](), list[SbeMessage]()
        reading = self.reader.read(address, offsets, lengths, at, versions)
        while True:
            parts.append(reading.rows.copy())
            faults += reading.faults
            pointers = reading.rows[np.isin(reading.rows["kind"], POINTERS)]
            messages += [self.reader.decode(row) for row in pointers]
            if reading.whole:
                break
            reading = self.reader.go_on()
        del view
        return np.concatenate(parts), faults, messages

    def _plain(
        self, payloads: Sequence[bytes], offsets: list[int], at: list[int], versions: list[int]
    ) -> tuple[Rows, list[RowFault], list[SbeMessage]]:
        rows, faults, messages = list[np.void](), list[RowFault](), list[SbeMessage]()
        self.told = []
        for number, payload in enumerate(payloads):
            try:
                packet = self._decoder.decode(payload)
            except DecodeError as error:
                faults.append(RowFault(error.fault, number, error.offset, 0))
                continue
            faults += [RowFault(d.error.fault, number, d.offset, d.index) for d in packet.damage]
            for item in packet.messages:
                for told in self.plain.read(item.message, item.index):
                    self.told.append(told)
                    row = row_of(told, packet=number, at=at[number], sequence_version=versions[number])
                    if row["kind"] in POINTERS:
                        _point(row, item, payload, offsets[number])
                        messages.append(item.message)
                    rows.append(row)
        return np.array(rows, ROW), faults, messages


def _point(row: np.void, item: PacketMessage, payload: bytes, offset: int) -> None:
    length = int.from_bytes(payload[item.offset : item.offset + 2], "little")
    row["price"] = offset + item.offset + _HEADERS
    row["size"] = length - _HEADERS
    row["other"] = item.message.template_id
    row["low"] = item.message.header.block_length


def same_rows(rows: Rows, expected: Rows) -> None:
    assert len(rows) == len(expected), f"{len(rows)} rows, plain {len(expected)}"
    if rows.tobytes() == expected.tobytes():
        return
    for number, (row, other) in enumerate(zip(rows, expected, strict=True)):
        different = {
            name: (row[name].item(), other[name].item())
            for name in ROW.names or ()
            if row[name] != other[name]
        }
        assert not different, f"row {number}, {Kind(int(other['kind'])).name}: kernel, plain {different}"
