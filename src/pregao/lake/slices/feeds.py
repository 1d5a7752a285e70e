"""Packets of a slice: those of both feeds merged by sequence number (design, "Arbitration in files")."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pregao.feeds.binary.streams import Feed
from pregao.lake.plan.captures import Packets, PieceReader
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK, Array
from pregao.lake.plan.kernels import read_headers
from pregao.lake.plan.slicing import COOL_PACKETS, TO_LAST, FilePart, Slice
from pregao.lake.slices.merging.kernels import LATE, MERGED_FIELDS, merge_feeds

_NOTHING: Final = np.zeros(0, np.int64)


@dataclass(slots=True)
class FeedPackets:
    """Packets of one feed by place, each once; `copies` says how often it came."""

    place: Array
    ts: Array
    sent: Array
    address: Array
    length: Array
    state: Array
    copies: Array


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

    def __len__(self) -> int:
        return len(self.place)


def read_packets(part: FilePart, owners: list[Any]) -> tuple[Packets, Array, Array]:
    """(packets, keys, sending times) of a stream's pieces, in the order of the file."""
    reader, found, headers = PieceReader(part.layout), [], []
    local = {version: number for number, version in enumerate(part.versions)}
    for number in range(len(part.layout.pieces)):
        packets = reader.read(number)
        header = np.empty((len(packets), 4), np.int64)
        read_headers(
            0, packets.address.ctypes.data, packets.length.ctypes.data, len(packets), header.ctypes.data
        )
        mine = (packets.flow == part.flow) & (header[:, 0] == part.channel) & (header[:, 2] > 0)
        if not mine.all():
            packets, header = packets.pick(mine), header[mine]
        owners.append(packets.owner)
        found.append(packets)
        headers.append(header)
    reader.close()
    if not found:
        return Packets(_NOTHING, _NOTHING, _NOTHING.astype(np.uint32), _NOTHING, None), _NOTHING, _NOTHING
    header = np.concatenate(headers)
    versions, places = np.unique(header[:, 1], return_inverse=True)
    numbers = np.array([local.get(int(version), -1) for version in versions], np.int64)
    keys = numbers[places] << NUMBER_BITS | header[:, 2]
    columns = [np.concatenate([getattr(each, name) for each in found]) for name in Packets._fields[:4]]
    whole = Packets(columns[0], columns[1], columns[2], columns[3], None)
    return whole, keys, header[:, 3]


def _feed(parts: list[FilePart], first: int, end: int, owners: list[Any]) -> FeedPackets:
    """Packets with places above `first` and below `end`."""
    columns: list[tuple[Array, ...]] = []
    for part in parts:
        packets, keys, sent = read_packets(part, owners)
        inside = (keys >= part.first) & (keys < part.end) & (keys >= 0)
        packets, keys, sent = packets.pick(inside), keys[inside], sent[inside]
        place = part.appearances[keys >> NUMBER_BITS] << NUMBER_BITS | (keys & NUMBER_MASK)
        wanted = (place > first) & (place < end)
        packets = packets.pick(wanted)
        place = place[wanted]
        late = place < np.maximum.accumulate(place) if len(place) else place != place
        columns.append((place, packets.ts, sent[wanted], packets.address, packets.length, late))
    place, ts, sent, address, length, late = (np.concatenate(each) for each in zip(*columns, strict=True))
    if (np.diff(place) <= 0).any():
        order = np.argsort(place, kind="stable")
        place, firsts, copies = np.unique(place[order], return_index=True, return_counts=True)
        chosen = order[firsts]
        ts, sent, address, length, late = (each[chosen] for each in (ts, sent, address, length, late))
    else:
        copies = np.ones(len(place), np.int64)
    return FeedPackets(place, ts, sent, address, length.astype(np.int64), late * LATE, copies)


def merge(slice_: Slice) -> Merged:
    owners: list[Any] = []
    end = slice_.stop if slice_.stop == TO_LAST else slice_.stop + COOL_PACKETS
    none = FeedPackets(*(np.zeros(0, np.int64) for _ in range(7)))
    a, b = (
        _feed(slice_.feeds[feed], slice_.warm, end, owners) if slice_.feeds.get(feed) else none
        for feed in (Feed.A, Feed.B)
    )
    room = len(a.place) + len(b.place)
    out = np.empty((len(MERGED_FIELDS), max(room, 1)), np.int64)
    given = [np.ascontiguousarray(getattr(feed, name), np.int64) for feed in (a, b) for name in _GIVEN]
    addresses = np.array([each.ctypes.data for each in given], np.int64)
    targets = np.array([each.ctypes.data for each in out], np.int64)
    count = merge_feeds(
        addresses.ctypes.data, len(a.place), len(b.place), targets.ctypes.data, int(slice_.one_clock)
    )
    merged = dict(zip(MERGED_FIELDS, (each[:count] for each in out), strict=True))
    versions = np.array(slice_.versions, np.uint16)[merged["place"] >> NUMBER_BITS]
    return Merged(**merged, version=versions, owners=owners)


_GIVEN: Final = ("place", "ts", "sent", "address", "length", "state", "copies")


def gaps_of(merged: Merged, warm: int) -> list[tuple[int, int]]:
    """(place of the last packet lost, how many) before packets whose predecessor neither feed has."""
    if not len(merged):
        return []
    before = np.r_[warm if warm >= 0 else merged.place[0] - 1, merged.place[:-1]]
    same = before >> NUMBER_BITS == merged.place >> NUMBER_BITS
    expected = np.where(same, before + 1, (merged.place >> NUMBER_BITS << NUMBER_BITS) + 1)
    lost = np.flatnonzero(merged.place > expected)
    return [(int(merged.place[row]) - 1, int(merged.place[row] - expected[row])) for row in lost.tolist()]
