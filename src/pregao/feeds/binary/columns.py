"""Captures as columns: the driver of the kernels.

    decoder = ColumnDecoder(load_builtin_schema())
    for batch in decoder.batches(source.windows()):
        orders = batch["Order_MBO_50"]
        orders["mDEntryPx"]        # int64 mantissas, one per message
        batch.to_arrow()           # record batches by table, decimals and nulls as such
        batch.findings             # what was wrong in the capture, in its order

Ordinary packets go through the kernels in runs; a record that is unusual in any way is judged by
the plain chain of `codecs.pcap` and, when it holds a datagram, decoded by the same kernels.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pregao.codecs.pcap.kernels import ENDED_UNUSUAL, ENDED_WINDOW
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.pcap.runs import Bytes, CaptureRuns
from pregao.codecs.sbe.kernels import LEVEL_SIZE, Buckets, Faults, Messages, sort
from pregao.codecs.sbe.plan import Plan, make_plan
from pregao.codecs.sbe.reader import MAX_GROUP_DEPTH
from pregao.codecs.sbe.schema import Schema
from pregao.feeds.binary.batch import ColumnBatch
from pregao.feeds.binary.kernels import (
    ENDED_OUTPUT,
    HEADER_LENGTH,
    RUN_MESSAGES,
    RUN_PACKETS,
    RUN_ROWS,
    Packets,
    decode,
    drain,
    has_room,
    index_packets,
)
from pregao.feeds.binary.packets import SBE_BIG_ENDIAN, SBE_LITTLE_ENDIAN
from pregao.feeds.binary.storage import Storage, allocate
from pregao.model.faults import Fault

DEFAULT_ROWS = 1 << 19
_DATA_BYTES = 4 << 20


class Window(Protocol):
    """A stretch of a capture: see `io.captures`."""

    base: int
    data: memoryview
    consumed: int


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


@dataclass(slots=True)
class _Workspace:
    """Arrays that a run goes through; reused for every run."""

    run: tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]
    packets: Packets
    messages: Messages
    buckets: Buckets
    faults: Faults
    skipped: np.ndarray[tuple[int], np.dtype[np.int64]] = field(
        default_factory=lambda: np.zeros(256, np.int64)
    )


class ColumnDecoder:
    """Decodes captures of one schema to columns, at most about `rows` rows of a table a batch."""

    def __init__(self, schema: Schema, rows: int = DEFAULT_ROWS) -> None:
        self.schema = schema
        self.plan = make_plan(schema)
        self._rows = rows + RUN_ROWS  # a run must always fit
        self._data_bytes = _DATA_BYTES + RUN_ROWS
        self._header = _header_of(schema)
        self._work = _workspace(self.plan)
        self._storage: Storage | None = None

    def batches(self, windows: Iterable[Window], reuse: bool = False) -> Iterator[ColumnBatch]:
        """Every message of a capture, a batch at a time.

        With `reuse` all batches share one memory, which the next one overwrites: for consumers that
        are done with a batch before they ask for another.
        """
        return _Decoding(self, reuse).run(windows)

    def storage(self, reuse: bool) -> Storage:
        """Empty columns: new ones, or those of the batch before."""
        if self._storage is None or not reuse:
            self._storage = allocate(self.plan, self._rows, self._data_bytes)
        self._storage.columns.rows[:] = 0
        self._storage.columns.data_used[:] = 0
        return self._storage


class _Decoding:
    """One capture on its way through a decoder."""

    def __init__(self, decoder: ColumnDecoder, reuse: bool) -> None:
        self._decoder, self._reuse = decoder, reuse
        self._work = decoder._work
        self._work.skipped[:] = 0
        self._runs = CaptureRuns()
        self._storage = decoder.storage(reuse)
        self._findings: list[ColumnFinding] = []
        self._flows: dict[int, tuple[int, int, int]] = {}  # flows that are not IPv4: see _flow_of
        self._first_packet = 1

    def run(self, windows: Iterable[Window]) -> Iterator[ColumnBatch]:
        end = 0
        for window in windows:
            yield from self._window(window)
            window.consumed = self._runs.position - window.base
            end = window.base + len(window.data)
        for damage in self._runs.reader.finish(end):
            self._damaged(damage)
        yield self._take()

    def _window(self, window: Window) -> Iterator[ColumnBatch]:
        buffer = _bytes_of(window.data)
        while True:
            why = ENDED_UNUSUAL
            if self._runs.begin(window.data):
                why = self._kernel(buffer, window.base)
            if why == ENDED_OUTPUT:
                yield self._take()
            elif why in (ENDED_UNUSUAL, ENDED_WINDOW):
                # At the window's end the plain reader says whether a record is cut or damaged.
                outcomes = self._runs.step(window.data, window.base)
                if outcomes is None:
                    return
                for outcome in outcomes:
                    if isinstance(outcome, Datagram) and not self._has_room():
                        yield self._take()
                    self._plain(outcome)

    def _has_room(self) -> bool:
        decoder = self._decoder
        return bool(has_room(self._storage.columns, decoder._rows, decoder._data_bytes))

    def _kernel(self, buffer: Bytes, base: int) -> int:
        """Decode runs from where the reader is; why the kernel came back."""
        decoder, work, runs, storage = self._decoder, self._work, self._runs, self._storage
        start = runs.position - base
        position, records, _, why = decode(
            buffer, start, len(buffer), runs.shape, runs.interfaces, runs.next_number, decoder._header,
            decoder.plan.kernel, decoder.plan.is_group, work.run, work.packets, work.messages, work.buckets,
            storage.columns, storage.lineage, decoder._rows, decoder._data_bytes, work.faults, work.skipped,
        )  # fmt: skip
        runs.took(position - start, records)
        self._keep_faults(base)
        return int(why)

    def _keep_faults(self, base: int | None) -> None:
        """Name the faults of the last run; `base` None: of a datagram put together."""
        faults, numbers = self._work.faults, self._work.run[4]
        for at in range(int(faults.noted[0])):
            offset = None if base is None else base + int(faults.offset[at])
            number = int(numbers[faults.packet[at]])
            fault = Fault(int(faults.fault[at]))
            self._findings.append(ColumnFinding(fault, number, offset, int(faults.place[at])))
        faults.noted[0] = 0

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
        decoder, work, storage = self._decoder, self._work, self._storage
        buffer = _bytes_of(datagram.payload)
        values = (datagram.ts_ns, 0, len(buffer), self._flow_of(datagram), datagram.number)
        for array, value in zip(work.run, values, strict=True):
            array[0] = value
        count = index_packets(
            buffer, work.run, 0, 1, 0, decoder._header, work.packets, work.messages, work.faults
        )
        plan, base = decoder.plan, np.uint64(buffer.ctypes.data)
        sort(base, work.messages, 0, count, plan.kernel, work.buckets, storage.columns, work.faults)
        drain(
            buffer, work.run, work.packets, work.messages, plan.kernel, plan.is_group, work.buckets,
            storage.columns, storage.lineage,
        )  # fmt: skip
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

    def _take(self) -> ColumnBatch:
        """The batch that is full, and empty columns for the next."""
        storage, work = self._storage, self._work
        batch = ColumnBatch(
            self._decoder.plan,
            storage,
            rows=storage.columns.rows.copy(),
            data_used=storage.columns.data_used.copy(),
            findings=self._findings,
            records=self._runs.next_number - self._first_packet,
            skipped={Skip(code): int(work.skipped[code]) for code in Skip if work.skipped[code]},
            other_flows=dict(self._flows),
        )
        self._findings, self._first_packet = [], self._runs.next_number
        work.skipped[:] = 0
        self._storage = self._decoder.storage(self._reuse)
        return batch


def _bytes_of(data: memoryview) -> Bytes:
    """A view for the kernels: always read-only, so that they are compiled for one kind of array."""
    return np.frombuffer(data.toreadonly(), np.uint8) if len(data) else np.frombuffer(b"\0", np.uint8)[:0]


def _header_of(schema: Schema) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    encoding = SBE_LITTLE_ENDIAN if schema.byte_order == "<" else SBE_BIG_ENDIAN
    members = [number for offset, primitive in schema.header.members() for number in (offset, primitive.size)]
    plain = schema.header.is_plain and schema.byte_order == "<"
    header = np.array(
        [schema.header.size, plain, encoding, schema.id, schema.byte_order == ">", *members], np.int64
    )
    assert len(header) == HEADER_LENGTH
    return header


def _workspace(plan: Plan) -> _Workspace:
    layouts = len(plan.kernel.table_of)
    # Roots cannot be more than the messages of a run; a hostile run may hold an entry a byte.
    sizes = np.where(plan.is_group[plan.kernel.table_of], RUN_ROWS, RUN_MESSAGES)
    total = int(sizes.sum())
    messages = [np.zeros(RUN_MESSAGES, kind) for kind in ("i8", "i8", "u2", "u2", "u2", "i4", "u2")]
    return _Workspace(
        run=tuple(np.zeros(RUN_PACKETS, np.int64) for _ in range(5)),
        packets=Packets(*(np.zeros(RUN_PACKETS, kind) for kind in ("u1", "u2", "u4", "u8"))),
        messages=Messages(*messages),
        buckets=Buckets(
            start=np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64),
            filled=np.zeros(layouts, np.int64),
            body=np.empty(total, np.int64),
            row=np.empty(total, np.int64),
            origin=np.empty(total, np.int64),
            length=np.empty(total, np.uint16),
            flags=np.empty(total, np.uint8),
            scratch=np.empty(RUN_ROWS * max(plan.longest_block, 1), np.uint8),
            used=np.zeros(1, np.int64),
            stack=np.zeros((MAX_GROUP_DEPTH + 2, LEVEL_SIZE), np.int64),
        ),
        faults=Faults(
            np.zeros(1, np.int64),
            *(np.zeros(RUN_MESSAGES, kind) for kind in ("u1", "i8", "i4", "i4")),
        ),
    )
