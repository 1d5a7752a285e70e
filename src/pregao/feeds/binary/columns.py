"""Captures as columns: the driver of the kernels.

    decoder = ColumnDecoder(load_builtin_schema())
    for batch in decoder.batches(source.windows()):
        orders = batch["Order_MBO_50"]
        orders["mDEntryPx"]        # int64 mantissas, one per message
        batch.to_arrow()           # record batches by table, with memory of their own
        batch.findings             # what was wrong in the capture, in its order

Ordinary packets go through the kernels in runs; a record that is unusual in any way is judged by
the plain chain of `codecs.pcap` and, when it holds a datagram, decoded by the same kernels.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pregao.codecs.pcap.kernels import ENDED_FULL
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.pcap.runs import CaptureRuns, Took
from pregao.codecs.sbe.kernels import drain
from pregao.codecs.sbe.plan import make_plan
from pregao.codecs.sbe.schema import Schema
from pregao.feeds.binary.batch import UNKNOWN, ColumnBatch
from pregao.feeds.binary.kernels.packets import (
    ENDED_OUTPUT,
    RUN_PACKETS,
    RUN_ROWS,
    decode,
    has_room,
    read_packets,
)
from pregao.feeds.binary.storage import Workspace, allocate
from pregao.feeds.decoding import CaptureWindow
from pregao.model.errors import CaptureError, Fault

DEFAULT_ROWS = 1 << 18  # fewer are more calls a row; more leave the cache
_DATA_BYTES = 4 << 20
_FULL = "the columns are full"

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class ColumnFinding:
    """What is wrong, and where: the record's number and the byte in the capture file.

    `offset` is None inside a datagram that was put together from fragments.
    """

    fault: Fault
    packet: int
    offset: int | None
    index: int = 0  # of the message in its packet
    left: int = 0  # bytes of the file that were not read because of this


class BinaryColumnDecoder:
    """Decodes captures of one schema to columns, at most about `rows` rows of a table a batch."""

    def __init__(self, schema: Schema, rows: int = DEFAULT_ROWS) -> None:
        self.schema = schema
        self.plan = make_plan(schema)
        self.work = Workspace(schema, self.plan)
        # Whatever a run holds must always fit.
        self.most_rows, self.most_data = rows + RUN_ROWS, _DATA_BYTES + RUN_ROWS
        self.most_packets = rows + RUN_PACKETS
        self.storage = allocate(self.plan, self.most_rows, self.most_packets, self.most_data)
        self.work.attach(self.storage)

    def batches(self, windows: Iterable[CaptureWindow]) -> Iterator[ColumnBatch]:
        """Every message of a capture, a batch at a time; the next batch overwrites the one before.

        A decoder does one capture at a time.
        """
        return _Decoding(self).run(windows)

    def tables(self) -> list[str]:
        """Without that of unknown templates, which have no columns of their own."""
        return [table.name for table in self.plan.tables if table.name != UNKNOWN]

    def empty(self, name: str) -> Any:
        """A table without rows, as `ColumnBatch.with_lineage` gives it."""
        self.storage.clear()
        nothing = ColumnBatch(self.plan, self.storage, findings=[], records=0, skipped={}, other_flows={})
        (table,) = (each for each in nothing.tables if each.name == name)
        return nothing.shaped(table)


class _Decoding:
    """One capture on its way through a decoder."""

    def __init__(self, decoder: BinaryColumnDecoder) -> None:
        self._decoder, self._storage = decoder, decoder.storage
        self._storage.clear()
        self._work = decoder.work
        self._work.skipped[:] = 0
        self._runs = CaptureRuns()
        self._findings: list[ColumnFinding] = []
        self._flows: dict[int, tuple[int, int, int]] = {}  # flows that are not IPv4: see _flow_of
        self._first_packet = 1

    def run(self, windows: Iterable[CaptureWindow]) -> Iterator[ColumnBatch]:
        end, error = 0, None
        try:
            for window in windows:
                if window.skipped:
                    self._runs.reader.skip_to(window.base, window.skipped)
                    self._first_packet = self._runs.next_number
                yield from self._window(window)
                window.consumed = self._runs.position - window.base
                end = window.base + len(window.data)
        except CaptureError as damaged:  # in its compression: what came before is good
            error = damaged
        for damage in self._runs.reader.finish(end):
            self._damaged(damage)
        yield from self._full()
        if error is not None:
            raise error

    def _window(self, window: CaptureWindow) -> Iterator[ColumnBatch]:
        buffer = _bytes_of(window.data)

        def take(start: int) -> Took[str]:
            return self._kernel(buffer, start, window.base)

        for outcome in self._runs.through(window.data, window.base, take):
            if isinstance(outcome, str):
                yield from self._full()
                continue
            if isinstance(outcome, Datagram) and not self._has_room():
                yield from self._full()
            self._plain(outcome)

    def _has_room(self) -> bool:
        decoder = self._decoder
        if self._storage.packet_count + RUN_PACKETS > decoder.most_packets:
            return False
        return bool(has_room(self._work.columns.address, decoder.most_rows, decoder.most_data))

    def _kernel(self, buffer: Bytes, start: int, base: int) -> Took[str]:
        """Decode runs from `start` on, until the columns are full or the kernel must stop."""
        decoder, work, runs, storage = self._decoder, self._work, self._runs, self._storage
        position, row, number, why = decode(
            buffer.ctypes.data, start, len(buffer), runs.shape, runs.next_number, work.feed.address,
            storage.packet_count, decoder.most_packets, work.columns.address, decoder.most_rows,
            decoder.most_data,
        )  # fmt: skip
        storage.packets["offset"][storage.packet_count : row] += base
        storage.packet_count = row
        self._keep_faults(base)
        full = _FULL if why == ENDED_OUTPUT else None
        return Took(position, number, why in (ENDED_FULL, ENDED_OUTPUT), full)

    def _keep_faults(self, base: int | None) -> None:
        """Name the faults of the last run; `base` None: of a datagram put together."""
        numbers = self._storage.packets["number"]
        for fault, offset, packet, place in self._work.take_faults():
            at = None if base is None else base + offset
            self._findings.append(ColumnFinding(Fault(fault), int(numbers[packet]), at, place))

    def _plain(self, outcome: Datagram | Skip | Damage) -> None:
        """What the plain chain made of a record."""
        if isinstance(outcome, Skip):
            self._work.skipped[outcome] += 1
        elif isinstance(outcome, Damage):
            self._damaged(outcome)
        else:
            self._datagram(outcome)

    def _damaged(self, damage: Damage) -> None:
        self._findings.append(ColumnFinding(damage.fault, damage.number, damage.offset, left=damage.left))

    def _datagram(self, datagram: Datagram) -> None:
        """Decode one datagram by the kernels, as a run of one."""
        work, storage = self._work, self._storage
        buffer, row = _bytes_of(datagram.payload), storage.packet_count
        values = (datagram.ts_ns, 0, len(buffer), self._flow_of(datagram), datagram.number)
        for name, value in zip(("ts_recv", "offset", "length", "flow", "number"), values, strict=True):
            storage.packets[name][row] = value
        read_packets(buffer.ctypes.data, work.feed.address, row, row + 1, -1, work.columns.address)
        drain(buffer.ctypes.data, work.columns.address)
        # Where the payload is in the file, not where it was for the kernel.
        storage.packets["offset"][row] = -1 if datagram.payload_offset is None else datagram.payload_offset
        storage.packet_count += 1
        self._keep_faults(datagram.payload_offset)

    def _flow_of(self, datagram: Datagram) -> int:
        """IPv4: address and port in one number. Other destinations are numbered below zero."""
        if datagram.ip_version == 4:
            return datagram.dst << 16 | datagram.dst_port
        destination = (datagram.ip_version, datagram.dst, datagram.dst_port)
        for flow, known in self._flows.items():
            if known == destination:
                return flow
        flow = -1 - len(self._flows)
        self._flows[flow] = destination
        return flow

    def _full(self) -> Iterator[ColumnBatch]:
        """Give the batch that is full; once it is done with, its columns are empty again."""
        work = self._work
        yield ColumnBatch(
            self._decoder.plan,
            self._storage,
            findings=self._findings,
            records=self._runs.next_number - self._first_packet,
            skipped={Skip(code): int(work.skipped[code]) for code in Skip if work.skipped[code]},
            other_flows=dict(self._flows),
        )
        self._findings, self._first_packet = [], self._runs.next_number
        work.skipped[:] = 0
        self._storage.clear()


def with_only(schema: Schema, table: str) -> Schema:
    """The schema with the message that a table is of, or that its group is of: messages of all other
    templates are passed over, not decoded."""
    message = table.partition(".")[0]
    chosen = tuple(each for each in schema.messages if each.name == message)
    return replace(schema, messages=chosen, _views={})


def _bytes_of(data: memoryview) -> Bytes:
    """A view whose address the kernels can take; numpy makes none of nothing."""
    return np.frombuffer(data if len(data) else b"\0", np.uint8)[: len(data)]
