"""The snapshot stream of a capture (7): loops, and the snapshots in them, without keeping their rows.

A loop is what has one sequenceVersion there. It is complete when all its packets were heard, from number 1
to the SequenceReset, and each of its snapshots is whole.
"""

from typing import Any, Final

import numpy as np

from pregao.feeds.registry import DEFAULT
from pregao.lake.plan.captures import Packets
from pregao.lake.plan.index import LOOP, NUMBER_BITS, NUMBER_MASK, SNAPSHOT, Array
from pregao.lake.plan.readers import row_reader
from pregao.model.market import Side
from pregao.model.rows import FIRST_SPECIAL, NULL, Flag, Kind, Rows

_COUNTS: Final = ("bids", "offers", "statistics", "foreign")


def in_order(packets: Packets, keys: Array, sent: Array) -> tuple[Packets, Array, Array]:
    """Packets by their numbers, each once."""
    steps = np.diff(keys)
    if (steps > 0).all():
        return packets, keys, sent
    keys, firsts = np.unique(keys, return_index=True)
    return packets.pick(firsts), keys, sent[firsts]


class LoopReader:
    def __init__(self, system: str = DEFAULT) -> None:
        self._reader = row_reader("loops", system)
        self._headers: list[Array] = []
        self._totals: list[Array] = []  # entries of all snapshots up to each header
        self._running = np.zeros(len(_COUNTS), np.int64)
        self._current = 0  # whose snapshot it is
        self._loops: dict[int, dict[str, int]] = {}

    def take(self, packets: Packets, keys: Array, sent: Array) -> None:
        packets, keys, sent = in_order(packets, keys, sent)
        self._count_packets(keys, sent)
        versions = np.zeros(len(keys), np.uint16)
        reading = self._reader.read(
            0, np.ascontiguousarray(packets.address), np.ascontiguousarray(packets.length),
            np.ascontiguousarray(keys), versions,
        )  # fmt: skip
        while True:
            self._take_rows(reading.rows)
            if reading.whole:
                return
            reading = self._reader.go_on()

    def _count_packets(self, keys: Array, sent: Array) -> None:
        loops, firsts, counts = np.unique(keys >> NUMBER_BITS, return_index=True, return_counts=True)
        for loop, first, count in zip(loops.tolist(), firsts.tolist(), counts.tolist(), strict=True):
            last = first + count - 1
            known = self._loops.setdefault(
                loop, {"sent": int(sent[first]), "packets": 0, "greatest": 0, "reset": 0, "ended": 0}
            )
            known["packets"] += count
            known["greatest"] = max(known["greatest"], int(keys[last]) & NUMBER_MASK)
            known["ended"] = int(sent[last])

    def _take_rows(self, rows: Rows) -> None:
        kinds, sides = rows["kind"], rows["side"]
        headers = np.flatnonzero(kinds == Kind.SNAPSHOT)
        orders = kinds == Kind.SNAPSHOT_ORDER
        statistics = kinds < FIRST_SPECIAL
        owners = np.r_[self._current, rows["security_id"][headers]][np.cumsum(kinds == Kind.SNAPSHOT)]
        foreign = (orders | statistics) & (rows["security_id"] != owners)
        counts = (orders & (sides == Side.BUY), orders & (sides == Side.SELL), statistics, foreign)
        totals = np.stack([np.cumsum(each, dtype=np.int64) for each in counts], axis=1) + self._running
        self._headers.append(rows[headers].copy())
        self._totals.append(totals[headers])  # a header itself counts for nothing
        if len(rows):
            self._running, self._current = totals[-1], int(owners[-1])
        for key in rows["at"][kinds == Kind.SEQUENCE_RESET].tolist():
            self._loops[key >> NUMBER_BITS]["reset"] = key & NUMBER_MASK

    def finish(self) -> tuple[Array, Array]:
        """Snapshots, and loops."""
        if not self._headers:
            return np.zeros(0, SNAPSHOT), np.zeros(0, LOOP)
        headers = np.concatenate(self._headers)
        totals = np.concatenate([*self._totals, self._running[None, :]])
        found = _snapshots(headers, np.diff(totals, axis=0))
        return found, self._complete(found, headers)

    def _complete(self, snapshots: Array, headers: Any) -> Array:
        loops = np.zeros(len(self._loops), LOOP)
        order = np.argsort(snapshots["loop"], kind="stable")
        sorted_loops = snapshots["loop"][order]
        for row, (loop, known) in zip(loops, sorted(self._loops.items()), strict=True):
            first, last = np.searchsorted(sorted_loops, [loop, loop + 1])
            mine = order[first:last]
            all_there = known["packets"] == known["greatest"] == known["reset"]
            told = int(headers["size"][mine[-1]]) if len(mine) else 0
            row["loop"], row["sent_ns"], row["ended_ns"] = loop, known["sent"], known["ended"]
            row["snapshots"] = len(mine)
            row["complete"] = all_there and bool(snapshots["whole"][mine].all()) and told == len(mine)
        return loops


def _snapshots(headers: Any, counts: Array) -> Array:
    found = np.zeros(len(headers), SNAPSHOT)
    without = headers["flags"] & Flag.NO_REPORT != 0
    found["loop"] = headers["at"] >> NUMBER_BITS
    found["order"] = np.arange(len(headers))
    found["security_id"], found["number"] = headers["security_id"], headers["price"]
    found["version"] = np.where(headers["other"] == NULL, -1, headers["other"])
    found["rpt_seq"] = np.where(without, 0, headers["rpt_seq"])
    told = np.stack([headers["low"], headers["high"], headers["position"].astype(np.int64)], axis=1)
    told = np.where(told == NULL, 0, told)
    found["rows"] = told.sum(axis=1)
    found["alone"] = found["rows"] == 0
    found["whole"] = (counts[:, :3] == told).all(axis=1) & (counts[:, 3] == 0)
    found["in_first"] = headers["at"] & NUMBER_MASK == 1
    return found
