"""Where rows came from, as columns: the same for every table."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pregao.books.store import BookStore
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK
from pregao.lake.plan.slicing import Slice
from pregao.lake.slices.feeds import Merged
from pregao.lake.slices.merging.kernels import CONFLICT
from pregao.lake.slices.rows import NO_INDEX, NO_PACKET, ColumnRows
from pregao.lake.tables.arrays import moments
from pregao.lake.tables.quality import Quality
from pregao.lake.tasks.arrays import Array, constant, names, or_null
from pregao.model.rows import NULL, Kind

FIRST_TRANSACTED: Final = 15  # wire version (9)
ENTRY, TRANSACT, SEND = 0, 1, 2  # of ts_event_kind
FIELDS: Final = ("kind", "at", "packet", "index", "rpt_seq", "security_id", "number", "time_ns", "version",
                 "quality")  # fmt: skip
_TRANSACTED: Final = (Kind.ORDER, Kind.SIDE, Kind.TRADE, Kind.BUST, Kind.EXECUTION)
_STATED: Final = (Kind.STATE, Kind.PHASE)


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
    renamed: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # codes by time

    @classmethod
    def of(cls, slice_: Slice, merged: Merged, store: BookStore, build_id: str) -> "Lineage":
        security_ids = np.array([NULL, *(store.security_id(number) for number in range(len(store)))])
        order = np.argsort(security_ids, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        found = cls(slice_, merged, build_id, security_ids, ranks, np.full(len(order), -1), [])
        found._name()
        return found

    def _name(self) -> None:
        codes: dict[str, int] = {}
        for number, security_id in enumerate(self.security_ids.tolist()):
            told = self.slice.symbols.get(security_id, [])
            each = [(since_ns, codes.setdefault(symbol, len(codes))) for since_ns, symbol in told]
            if each:
                self.codes[number] = each[0][1]
            if len(each) > 1:
                self.renamed[number] = each
        self.texts = list(codes)

    def symbols(self, numbers: Array, sent: Array) -> Any:
        """As they were when it was sent: an id may come again with another symbol."""
        codes = self.codes[numbers]
        for number, told in self.renamed.items():
            mine = np.flatnonzero(numbers == number)
            since = np.array([since_ns for since_ns, _ in told[1:]], np.int64)
            which = np.searchsorted(since, sent[mine], side="right")
            codes[mine] = np.array([code for _, code in told])[which]
        return names(codes, self.texts)

    def packets(self, numbers: Array) -> dict[str, Any]:
        """Times of packets by their number in the slice."""
        if (numbers == NO_PACKET).any():
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
        packets = self.packets(rows["packet"])
        times, kinds = self.times(rows["time_ns"], packets["ts_send"], self._kinds(rows))
        return {
            "security_id": rows["security_id"],
            "symbol": self.symbols(rows["number"], packets["ts_send"]),
            **self.moments(times, kinds),
            **self.places(rows["at"]),
            "msg_index": or_null(rows["index"], NO_INDEX),
            "entry": np.zeros(len(rows), np.int64) if entries is None else entries,
            "rpt_seq": or_null(rows["rpt_seq"]),
            **packets,
            **self.common(len(rows)),
            "quality": rows["quality"].astype(np.int64) | self.differing(rows["packet"]),
        }

    def times(self, times: Array, sent: Array, kinds: Array) -> tuple[Array, Array]:
        """What tells no time has that of its packet."""
        missing = times == NULL
        if not missing.any():
            return times, kinds
        return np.where(missing, sent, times), np.where(missing, SEND, kinds)

    def moments(self, times: Array, kinds: Array) -> dict[str, Any]:
        return {"ts_event": times, "time": moments(times), "ts_event_kind": kinds}

    def common(self, count: int) -> dict[str, Any]:
        return {"build_id": constant(self.build_id, count)}

    def differing(self, packets: Array) -> Any:
        """The flag of rows from packets that the feeds have differently."""
        conflicts = self.merged.state_a & CONFLICT != 0
        if not conflicts.any():
            return 0
        known = np.where(packets == NO_PACKET, 0, packets)
        return np.where(conflicts[known] & (packets != NO_PACKET), int(Quality.FEEDS_DIFFER), 0)

    def _kinds(self, rows: ColumnRows) -> Array:
        kinds, versions = rows["kind"], rows["version"]
        table = np.zeros(256, np.bool_)
        table[list(_TRANSACTED)] = True
        found = np.where(table[kinds] & (versions >= FIRST_TRANSACTED), TRANSACT, ENTRY)
        found[np.isin(kinds, _STATED)] = TRANSACT
        found[kinds == Kind.SNAPSHOT_ORDER] = SEND
        return found
