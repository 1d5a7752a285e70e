"""Units of a slice: those of both feeds merged by sequence number (design, "Arbitration in files")."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.feeds.registry import load_system
from pregao.lake.plan.captures import PieceReader, flow_headers, read_units
from pregao.lake.plan.index import NUMBER_BITS, Array
from pregao.lake.plan.slicing import COOL_PACKETS, TO_LAST, FilePart, Slice
from pregao.lake.slices.kernels.merging import (
    ABSENT,
    MERGED_FIELDS,
    PLACED_FIELDS,
    REACH,
    merge_feeds,
    place_units,
)
from pregao.model.streams import Feed


@dataclass(slots=True)
class Merged:
    """Packets of the slice by place. `owners` keeps the memory that addresses point to."""

    place: Array
    address: Array
    length: Array
    sent: Array
    recv_a: Array
    recv_b: Array
    state_a: Array
    state_b: Array
    copies_a: Array
    copies_b: Array
    version: Array
    owners: list[Any]
    carried: int = 0  # the first of them are those that the window before ended with

    def __len__(self) -> int:
        return len(self.place)

    def after(self, before: "Merged", first: int) -> "Merged":
        """With the packets of the window before from its `first` on in front, without their bytes."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(before, name)[first:], getattr(self, name)]) for name in _COLUMNS
        }
        carried = len(before) - first
        columns["address"][:carried] = columns["length"][:carried] = 0
        return Merged(**columns, owners=self.owners, carried=carried)


_REACH: Final = REACH // 8
_COLUMNS: Final = (*MERGED_FIELDS, "version")


class PlacedUnits(NamedTuple):
    """Packets of a stream in the order of its files. The state of one is LATE, or nothing: a late one comes
    after one of a greater place."""

    place: Array
    ts: Array
    sent: Array
    address: Array
    length: Array
    state: Array
    copies: Array | None = None  # how often each came, where they are in order; None: all once


def read_placed(parts: Sequence[FilePart], after: int, before: int, owners: list[Any]) -> PlacedUnits:
    """Units with places above `after` and below `before`. What their addresses point to belongs to
    `owners`."""
    packets_in_all = sum(piece.packets for part in parts for piece in part.layout.pieces)
    columns = np.empty((len(PLACED_FIELDS), max(packets_in_all, 1)), np.int64)
    targets = _addresses(columns)
    done = 0
    for part in parts:
        reader, headers = PieceReader(part.layout), flow_headers(part.system, part.channel)
        stream = _stream(part, after, before)
        for number in range(len(part.layout.pieces)):
            packets, before_it = reader.read(number), done
            if part.reached is not None:  # also in pieces that are not read here
                stream[_REACH] = max(stream[_REACH], part.reached[number])
            resume = None if part.resumes is None else part.resumes[number]
            units = read_units(headers, packets, part.flow, resume)
            if done + units.count > columns.shape[1]:  # a packet may have several
                columns = _grown(columns, done, units.count)
                targets = _addresses(columns)
            done = place_units(
                packets.ts.ctypes.data, packets.flow.ctypes.data, *units.addresses[:7], units.count,
                stream.ctypes.data, targets.ctypes.data, done,
            )  # fmt: skip
            if done > before_it:
                owners.append(packets.owner)
                owners.extend(headers.joined())
        reader.close()
    return PlacedUnits(*(each[:done] for each in columns))


def _addresses(columns: Array) -> Array:
    return np.array([each.ctypes.data for each in columns], np.int64)


def _grown(columns: Array, done: int, more: int) -> Array:
    grown = np.empty((len(columns), 2 * (done + more)), np.int64)
    grown[:, :done] = columns[:, :done]
    return grown


def _stream(part: FilePart, after: int, before: int) -> Array:
    """As `place_units` wants it."""
    about = [part.flow, part.channel, part.first, part.end, after, before, len(part.versions), -1]
    both = zip(part.versions, part.appearances.tolist(), strict=True)
    return np.array([*about, *(word for each in both for word in each)], np.int64)


def _feed(parts: Sequence[FilePart], first: int, end: int, owners: list[Any]) -> PlacedUnits:
    """Packets with places above `first` and below `end`, each once."""
    placed = read_placed(parts, first, end, owners)
    if (placed.place[1:] > placed.place[:-1]).all():
        return placed
    order = np.argsort(placed.place, kind="stable")
    place, firsts, copies = np.unique(placed.place[order], return_index=True, return_counts=True)
    chosen = order[firsts]
    return PlacedUnits(
        place, placed.ts[chosen], placed.sent[chosen], placed.address[chosen], placed.length[chosen],
        placed.state[chosen], copies,
    )  # fmt: skip


def merge_windows(slice_: Slice) -> Iterator[Merged]:
    """The units of a slice, as many at once as memory should hold. What was given before goes."""
    after = slice_.warm
    for window in slice_.windows:
        yield _merge(slice_, window.feeds, after, window.stop)
        after = window.stop - 1
    if not slice_.windows:
        yield merge(slice_)


def merge(slice_: Slice) -> Merged:
    """All at once."""
    end = slice_.stop if slice_.stop == TO_LAST else slice_.stop + COOL_PACKETS
    return _merge(slice_, slice_.feeds, slice_.warm, end)


def _merge(slice_: Slice, feeds: Mapping[Feed, Sequence[FilePart]], after: int, end: int) -> Merged:
    owners: dict[Feed, list[Any]] = {Feed.A: [], Feed.B: []}
    none = PlacedUnits(*(np.zeros(0, np.int64) for _ in PLACED_FIELDS))
    a, b = (_feed(feeds[feed], after, end, owners[feed]) if feeds.get(feed) else none for feed in owners)
    room = len(a.place) + len(b.place)
    out = np.empty((len(MERGED_FIELDS), max(room, 1)), np.int64)
    kept = [None if each is None else np.ascontiguousarray(each, np.int64) for each in (*a, *b)]
    addresses = np.array([0 if each is None else each.ctypes.data for each in kept], np.int64)
    targets = np.array([each.ctypes.data for each in out], np.int64)
    count = merge_feeds(
        addresses.ctypes.data, len(a.place), len(b.place), targets.ctypes.data, int(slice_.one_clock),
        load_system(slice_.system).policy.own_bytes,
    )  # fmt: skip
    merged: dict[str, Any] = dict(zip(MERGED_FIELDS, (each[:count] for each in out), strict=True))
    versions = np.array(slice_.versions, np.uint16)[merged["place"] >> NUMBER_BITS]
    alone = merged["address"][merged["state_a"] == ABSENT]  # whose packets are those of B
    return Merged(**merged, version=versions, owners=owners[Feed.A] + _holding(owners[Feed.B], alone))


def _holding(owners: list[Any], addresses: Array) -> list[Any]:
    """Those in which an address is: the others' memory is given back."""
    found = np.sort(addresses)
    starts = np.array([owner.ctypes.data for owner in owners], np.int64)
    ends = starts + np.array([len(owner) for owner in owners], np.int64)
    counts = np.searchsorted(found, ends) - np.searchsorted(found, starts)
    return [owner for owner, count in zip(owners, counts.tolist(), strict=True) if count]


def gaps_of(merged: Merged, warm: int) -> list[tuple[int, int]]:
    """(place of the last packet lost, how many) before packets whose predecessor neither feed has. `warm` is
    what the slice reads after, where no packets are carried."""
    place = merged.place[merged.carried :]
    if not len(place):
        return []
    if merged.carried:
        warm = int(merged.place[merged.carried - 1])
    before = np.r_[warm if warm >= 0 else place[0] - 1, place[:-1]]
    same = before >> NUMBER_BITS == place >> NUMBER_BITS
    expected = np.where(same, before + 1, (place >> NUMBER_BITS << NUMBER_BITS) + 1)
    lost = np.flatnonzero(place > expected)
    return [(int(place[row]) - 1, int(place[row] - expected[row])) for row in lost.tolist()]
