"""The snapshot stream of a capture (7): loops, and the snapshots in them, without keeping their rows.

A loop is what has one sequenceVersion there. It may begin in one file and end in another: an index has what
of it is in its file, and `followed_loops` puts the files of a stream together.
"""

from collections import Counter
from typing import Any, Final

import numpy as np

from pregao.feeds.port import UnitReader
from pregao.feeds.registry import DEFAULT
from pregao.lake.plan.captures import PiecePackets, row_reader
from pregao.lake.plan.index import (
    LOOP,
    NUMBER_BITS,
    NUMBER_MASK,
    SNAPSHOT,
    Array,
    renumbered,
)
from pregao.model.market import Side
from pregao.model.rows import FIRST_ENTRY_KIND, FIRST_SPECIAL, LAST_ENTRY_KIND, NULL, Flag, Kind, Rows

_COUNTS: Final = ("bids", "offers", "statistics", "foreign")


def in_order(packets: PiecePackets, keys: Array, sent: Array) -> tuple[PiecePackets, Array, Array]:
    """Packets by their numbers, each once."""
    steps = np.diff(keys)
    if (steps > 0).all():
        return packets, keys, sent
    keys, firsts = np.unique(keys, return_index=True)
    return packets.pick(firsts), keys, sent[firsts]


class LoopReader:
    """`reader`: its own, where a channel must have one."""

    def __init__(self, system: str = DEFAULT, reader: UnitReader | None = None) -> None:
        self._system, self._own = system, reader
        self._headers: list[Array] = []
        self._totals: list[Array] = []  # entries of all snapshots up to each header
        self._running = np.zeros(len(_COUNTS), np.int64)
        self._current = 0  # whose snapshot it is
        self._loops: dict[int, dict[str, int]] = {}
        self._lead: dict[str, int] = {}  # entries before the first header
        self._lead_ids: Counter[int] = Counter()  # and whose they are

    def take(self, packets: PiecePackets, keys: Array, sent: Array) -> None:
        packets, keys, sent = in_order(packets, keys, sent)
        self._count_packets(keys, sent)
        versions = np.zeros(len(keys), np.uint16)
        reader = self._own or row_reader("loops", self._system)
        reading = reader.read(
            0, np.ascontiguousarray(packets.address), np.ascontiguousarray(packets.length),
            np.ascontiguousarray(keys), versions,
        )  # fmt: skip
        while True:
            self._take_rows(reading.rows)
            if reading.whole:
                return
            reading = reader.go_on()

    def _count_packets(self, keys: Array, sent: Array) -> None:
        loops, firsts, counts = np.unique(keys >> NUMBER_BITS, return_index=True, return_counts=True)
        for loop, first, count in zip(loops.tolist(), firsts.tolist(), counts.tolist(), strict=True):
            last = first + count - 1
            least, greatest = int(keys[first]) & NUMBER_MASK, int(keys[last]) & NUMBER_MASK
            known = self._loops.setdefault(loop, {"sent_ns": int(sent[first]), "least": least, "ends": 0})
            known["least"] = min(known["least"], least)
            known["greatest"] = max(known.get("greatest", 0), greatest)
            known["ended_ns"] = int(sent[last])

    def _take_rows(self, rows: Rows) -> None:
        kinds, sides = rows["kind"], rows["side"]
        headers = np.flatnonzero(kinds == Kind.SNAPSHOT)
        orders = (kinds >= FIRST_ENTRY_KIND) & (kinds <= LAST_ENTRY_KIND)
        statistics = kinds < FIRST_SPECIAL
        owners = np.r_[self._current, rows["security_id"][headers]][np.cumsum(kinds == Kind.SNAPSHOT)]
        foreign = (orders | statistics) & (rows["security_id"] != owners)
        bids, offers = orders & (sides == Side.BUY), orders & (sides == Side.SELL)
        if not any(map(len, self._headers)):
            before = np.cumsum(kinds == Kind.SNAPSHOT) == 0
            for name, each in (("bids", bids), ("offers", offers), ("statistics", statistics)):
                self._lead[name] = self._lead.get(name, 0) + int((each & before).sum())
            self._lead_ids.update(rows["security_id"][before & (orders | statistics)].tolist())
        counts = (bids, offers, statistics, foreign)
        totals = np.stack([np.cumsum(each, dtype=np.int64) for each in counts], axis=1) + self._running
        self._headers.append(rows[headers].copy())
        self._totals.append(totals[headers])  # a header itself counts for nothing
        if len(rows):
            self._running, self._current = totals[-1], int(owners[-1])
        for key in rows["at"][kinds == Kind.SEQUENCE_RESET].tolist():
            self._loops[key >> NUMBER_BITS]["ends"] = key & NUMBER_MASK

    def append(self, later: "LoopReader", versions: Array) -> None:
        """What a later range of the same file has; `versions` are its loops as this one numbers them. What it
        begins with, before its first header, is of the snapshot that is open here."""
        foreign = self._lead_foreign(later)
        headers = [each.copy() for each in later._headers]
        for each in headers:
            each["at"] = renumbered(each["at"], versions)
        if not any(map(len, self._headers)):
            for name, count in later._lead.items():
                self._lead[name] = self._lead.get(name, 0) + count
            self._lead_ids.update(later._lead_ids)
        if any(map(len, headers)):
            self._current = later._current
        self._headers += headers
        self._totals += [totals + self._running + foreign for totals in later._totals]
        self._running = later._running + self._running + foreign
        for loop, known in later._loops.items():
            self._append_loop(int(versions[loop]), known)

    def _lead_foreign(self, later: "LoopReader") -> Array:
        """What is to be added to its counts: it did not know whose snapshot it begins in."""
        took, is_ours = later._lead_ids[0], later._lead_ids[self._current]  # it began with an id of 0
        return np.array([took - is_ours if name == "foreign" else 0 for name in _COUNTS], np.int64)

    def _append_loop(self, loop: int, known: dict[str, int]) -> None:
        mine = self._loops.get(loop)
        if mine is None:
            self._loops[loop] = dict(known)
            return
        mine["least"] = min(mine["least"], known["least"])
        mine["greatest"] = max(mine["greatest"], known["greatest"])
        mine["ended_ns"] = known["ended_ns"]
        mine["ends"] = known["ends"] or mine["ends"]

    def finish(self) -> tuple[Array, Array]:
        """Snapshots, and loops."""
        if not self._headers:
            return np.zeros(0, SNAPSHOT), np.zeros(0, LOOP)
        headers = np.concatenate(self._headers)
        totals = np.concatenate([*self._totals, self._running[None, :]])
        found = _snapshots(headers, np.diff(totals, axis=0))
        loops = np.zeros(len(self._loops), LOOP)
        listed = dict(zip(found["loop"].tolist(), headers["size"].tolist(), strict=True))
        for row, (loop, known) in zip(loops, sorted(self._loops.items()), strict=True):
            row["loop"], row["lead_id"] = loop, NULL
            for name, value in known.items():
                row[name] = value
            row["listed"] = listed.get(loop, 0)
        self._add_lead(loops)
        return found, loops

    def _add_lead(self, loops: Array) -> None:
        if len(self._lead_ids) == 1:
            loops["lead_id"][0] = next(iter(self._lead_ids))
        for name, count in self._lead.items():
            loops[f"lead_{name}"][0] = count


def _snapshots(headers: Any, counts: Array) -> Array:
    found = np.zeros(len(headers), SNAPSHOT)
    without = headers["flags"] & Flag.NO_REPORT != 0
    found["loop"] = headers["at"] >> NUMBER_BITS
    found["security_id"], found["number"] = headers["security_id"], headers["price"]
    found["version"] = np.where(headers["other"] == NULL, -1, headers["other"])
    found["rpt_seq"] = np.where(without, 0, headers["rpt_seq"])
    for name, column in (("bids", "low"), ("offers", "high"), ("statistics", "position")):
        promised = headers[column].astype(np.int64)
        found[f"promised_{name}"] = np.where(promised == NULL, 0, promised)
    for name, each in zip(_COUNTS, counts.T, strict=True):
        found[name] = each
    found["unit"] = headers["at"] & NUMBER_MASK
    found["in_first"] = found["unit"] == 1
    timed = (headers["other"] == NULL) & (headers["time_ns"] != NULL)
    found["sent_ns"] = np.where(timed, headers["time_ns"], 0)
    found["depth"] = headers["firm"]
    return found
