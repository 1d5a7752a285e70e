"""Where rows came from, as columns: the same for every table."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pregao.books.store import BookStore
from pregao.feeds.port import RecoveryPolicy
from pregao.feeds.registry import load_tabled_system
from pregao.kernels import Context
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK
from pregao.lake.plan.slicing import Slice
from pregao.lake.slices.feeds import Merged
from pregao.lake.slices.kernels.merging import CONFLICT
from pregao.lake.slices.known import NO_INDEX, NO_PACKET
from pregao.lake.slices.states import STATE_MASK, phase_of, state_of
from pregao.lake.tables import types as words
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.arrays import microseconds, moments
from pregao.lake.tasks.arrays import NO_WORD, Array, ColumnRows, constant, names, or_null
from pregao.lake.tasks.kernels import (
    BY_VERSION,
    ENTRY,
    SEND,
    TRACE_FIELDS,
    TRANSACT,
    trace,
)
from pregao.lake.tasks.scaling import Scaling
from pregao.model.rows import NULL, Kind

_PACKED: Final = range(STATE_MASK + 1)
_PHASE_CODES: Final = np.array(
    [-1 if (phase := phase_of(each)) is None else words.PHASES.index(phase.name) for each in _PACKED], np.int8
)
_STATE_CODES: Final = np.array(
    [-1 if (state := state_of(each)) is None else words.TRADING_STATES.index(state.name) for each in _PACKED],
    np.int8,
)


def in_state(packed: Array) -> dict[str, Array]:
    """Columns of what instruments are in, from phases and own states as kernels pack them."""
    return {"phase": _PHASE_CODES[packed], "state": _STATE_CODES[packed]}


FIELDS: Final = ("kind", "at", "packet", "index", "rpt_seq", "security_id", "number", "time_ns", "version",
                 "quality")  # fmt: skip
_Range = slice  # in `Lineage` the name is that of a field
_WHOSE_TIME: Final = np.full(256, ENTRY, np.uint8)  # by kind (9)
_WHOSE_TIME[[Kind.ORDER, Kind.SIDE, Kind.TRADE, Kind.BUST, Kind.EXECUTION]] = BY_VERSION
_WHOSE_TIME[[Kind.STATE, Kind.PHASE]] = TRANSACT
_WHOSE_TIME[Kind.SNAPSHOT_ORDER] = SEND


def whose_time(told_by: Array, transacts_from: int) -> Array:
    """Of rows by kind and, above it, version of their messages."""
    whose = _WHOSE_TIME[told_by & 0xFF]
    transacted = np.where(told_by >> 8 >= transacts_from, TRANSACT, ENTRY)
    found: Array = np.where(whose == BY_VERSION, transacted, whose)
    return found


@dataclass(slots=True)
class Lineage:
    """Of one slice."""

    slice: Slice
    merged: Merged
    build_id: str
    security_ids: Array  # by number of the instrument + 1; NULL for none
    ranks: Array
    codes: Array  # of symbols
    texts: list[str]
    book_streams: Array  # MDStreamID by number of the book + 1
    scaling: Scaling | None = None
    renamed: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # codes by time

    @property
    def transacts_from(self) -> int:
        return self.policy.transacts_from

    @property
    def policy(self) -> RecoveryPolicy:
        return load_tabled_system(self.slice.system).policy

    @classmethod
    def of(cls, slice_: Slice, merged: Merged, store: BookStore, build_id: str) -> "Lineage":
        security_ids = np.array([NULL, *store.numbering.security_ids])
        order = np.argsort(security_ids, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        streams = np.zeros(len(order), np.uint8)
        if load_tabled_system(slice_.system).policy.has_streams:
            streams[1:] = [store.book_stream(number) for number in range(len(store))]
        scaling = Scaling.of(slice_.scales, security_ids)
        codes = np.full(len(order), -1)
        found = cls(slice_, merged, build_id, security_ids, ranks, codes, [], streams, scaling)
        found._name()
        return found

    def _name(self) -> None:
        """There are thousands, and all of them in every slice: nearly all have one symbol."""
        codes: dict[str, int] = {}
        firsts = []
        for number, told in enumerate(map(self.slice.symbols.get, self.security_ids.tolist())):
            firsts.append(codes.setdefault(told[0][1], len(codes)) if told else -1)
            if told and len(told) > 1:
                self.renamed[number] = [(since, codes.setdefault(name, len(codes))) for since, name in told]
        self.codes, self.texts = np.array(firsts), list(codes)

    def unnamed(self) -> list[int]:
        """Ids that nothing has defined yet."""
        found: list[int] = self.security_ids[(self.codes < 0) & (self.security_ids >= 0)].tolist()
        return found

    def symbols(self, numbers: Array, sent: Array) -> Any:
        """As they were when it was sent: an id may come again with another symbol."""
        codes = self.codes[numbers]
        for number, told in self.renamed.items():
            mine = np.flatnonzero(numbers == number)
            since = np.array([since_ns for since_ns, _ in told[1:]], np.int64)
            which = np.searchsorted(since, sent[mine], side="right")
            codes[mine] = np.array([code for _, code in told])[which]
        return names(codes, self.texts)

    def packets(self, numbers: Array | _Range) -> dict[str, Any]:
        """Times of packets by their number in the slice."""
        if not isinstance(numbers, _Range) and (numbers == NO_PACKET).any():
            missing = numbers == NO_PACKET
            known = np.where(missing, 0, numbers)
            return {
                name: np.where(missing, NULL, column[known]) if len(column) else np.full(len(numbers), NULL)
                for name, column in self._times().items()
            }
        return {name: column[numbers] for name, column in self._times().items()}

    def _times(self) -> dict[str, Array]:
        return {"ts_send": self.merged.sent, "ts_recv_a": self.merged.recv_a, "ts_recv_b": self.merged.recv_b}

    def places(self, at: Array) -> dict[str, Any]:
        versions = np.array(self.slice.versions or [0], np.int64)
        return {"seq_version": versions[at >> NUMBER_BITS], "seq_num": at & NUMBER_MASK}

    def of_rows(self, rows: ColumnRows, entries: Array | None = None) -> dict[str, Any]:
        """Of rows that are already in order."""
        traced = self._traced(rows)
        return {
            "security_id": rows["security_id"],
            "symbol": self.symbols(rows["number"], traced["ts_send"]),
            "msg_index": or_null(rows["index"], NO_INDEX),
            "entry": np.zeros(len(rows), np.int32) if entries is None else entries,
            "rpt_seq": or_null(rows["rpt_seq"]),
            **traced,
            "time": microseconds(traced["time"]),
            **self.common(len(rows)),
        }

    def scale(
        self, columns: dict[str, Any], numbers: Array, prices: Iterable[str] = (), sizes: Iterable[str] = (),
        *, with_kind: bool = False,
    ) -> None:  # fmt: skip
        """Columns of mantissas as tables have them, and exactly, where instruments have exponents of their
        own. Where they have not, nothing is to be done."""
        if self.scaling is None:
            return
        scales = self.scaling.rows(numbers, columns["ts_send"])
        scales.scale(columns, prices, sizes)
        if with_kind:
            columns["price_kind"] = np.where(numbers == 0, NO_WORD, scales.kinds())

    def _traced(self, rows: ColumnRows) -> dict[str, Array]:
        """Places and times of rows, and whether the feeds differ about them."""
        merged, context = self.merged, Context(TRACE_FIELDS)
        made = {name: np.empty(len(rows), kind) for name, kind in _TRACED.items()}
        made["quality"] = rows["quality"].astype(np.int16)
        context.set(
            **{name: rows[name] for name in ("packet", "at", "time_ns", "kind", "version")},
            sent=merged.sent, recv_a=merged.recv_a, recv_b=merged.recv_b,
            differs=(merged.state_a & CONFLICT != 0).astype(np.uint8),
            versions=np.array(self.slice.versions or [0], np.int64), times=_WHOSE_TIME,
            transacts_from=self.transacts_from, **made,
        )  # fmt: skip
        trace(context.address, len(rows))
        return made

    def times(self, times: Array, sent: Array, kinds: Array) -> tuple[Array, Array]:
        """What tells no time has that of its packet."""
        missing = times == NULL
        if not missing.any():
            return times, kinds
        return np.where(missing, sent, times), np.where(missing, SEND, kinds)

    def moments(self, times: Array, kinds: Array) -> dict[str, Any]:
        return {"ts_event": times, "time": moments(times), "ts_event_kind": kinds}

    def common(self, count: int) -> dict[str, Any]:
        channel = None if self.slice.source else np.full(count, self.slice.channel, np.int32)
        return {"channel": channel, "build_id": constant(self.build_id, count)}

    def differing(self, packets: Array) -> Any:
        """The flag of rows from packets that the feeds have differently."""
        conflicts = self.merged.state_a & CONFLICT != 0
        if not conflicts.any():
            return 0
        known = np.where(packets == NO_PACKET, 0, packets)
        return np.where(conflicts[known] & (packets != NO_PACKET), int(Quality.FEEDS_DIFFER), 0)


_TRACED: Final = {
    **dict.fromkeys(("ts_send", "ts_recv_a", "ts_recv_b", "ts_event", "time", "seq_num"), np.int64),
    "ts_event_kind": np.int8, "seq_version": np.int32,
}  # fmt: skip
