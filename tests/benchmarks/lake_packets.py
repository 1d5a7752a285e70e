"""Packets of a capture, and copies of them with ids, groups, symbols and numbers of their own."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

Array = np.ndarray

_ID_STEP = 1 << 48  # past every securityID
_RECORD, _FRAME, _PACKET = 16, 42, 16  # bytes of a record's header; Ethernet, IPv4 and UDP; a packet's header
_BLOCK = 12  # of a message, from its framing header
_LETTERS = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", np.uint8)
_SEQUENCE_RESET, _SEQUENCE, _NEWS, _PHASE, _CHANNEL_RESET, _HEADER = 1, 2, 5, 10, 11, 30
_DEFINITIONS = (4, 12)
_WITHOUT_ID = (_SEQUENCE_RESET, _SEQUENCE, _PHASE, _CHANNEL_RESET)


@dataclass(frozen=True)
class Base:
    """Records of a capture in order, and where in them is what differs between copies. Places of fields
    are of the file."""

    data: Array
    offset: Array  # of the record
    length: Array
    copied: Array  # whether it is there for every copy
    version: Array
    ids: Array
    groups: Array
    symbols: Array
    news: Array
    totals: Array  # counts of instruments
    processed: Array  # lastMsgSeqNumProcessed
    next: Array  # nextSeqNo of heartbeats
    packets: int
    messages: int


def read_base(file: Path, *, heartbeats: bool = True) -> Base:
    """Without the end of an older sequence, which the first packets of a day may be."""
    data = np.fromfile(file, np.uint8)
    raw = data.tobytes()
    rows: list[tuple[int, int, bool, int]] = []
    found: dict[str, list[int]] = {name: [] for name in ("ids", "groups", "symbols", "news", "totals",
                                                         "processed", "next")}  # fmt: skip
    at, messages, end_of_older = 24, 0, True
    while at < len(raw):
        captured = int.from_bytes(raw[at + 8 : at + 12], "little")
        start, stop = at + _RECORD + _FRAME, at + _RECORD + captured
        number = int.from_bytes(raw[start + 4 : start + 8], "little")
        version = int.from_bytes(raw[start + 2 : start + 4], "little")
        templates = _fields(raw, start + _PACKET, stop, found)
        end_of_older = end_of_older and number != 1
        if not (end_of_older and _SEQUENCE_RESET in templates) and (number or heartbeats):
            copied = number != 0 and templates != [_SEQUENCE_RESET]
            rows.append((at, stop - at, copied, version))
            messages += len(templates) * copied
        at = stop
    offset, length, copied, version = np.array(rows, np.int64).T
    return Base(
        data, offset, length, copied.astype(bool), version,
        **{name: np.array(places, np.int64) for name, places in found.items()},
        packets=int(copied.sum()), messages=messages,
    )  # fmt: skip


def _fields(raw: bytes, at: int, stop: int, found: dict[str, list[int]]) -> list[int]:
    templates = []
    while at < stop:
        template, block = int.from_bytes(raw[at + 6 : at + 8], "little"), at + _BLOCK
        templates.append(template)
        if template in _DEFINITIONS:
            found["groups"].append(block + 13)
            found["symbols"].append(block + 16)
            found["totals"].append(block + 40)
        elif template == _PHASE:
            found["groups"].append(block)
        elif template == _HEADER:
            found["processed"].append(block + 8)
            found["totals"].append(block + 12)
        elif template == _NEWS:
            found["news"].append(block + 16)
        elif template == _SEQUENCE:
            found["next"].append(block)
        if template not in _WITHOUT_ID and any(raw[block : block + 8]):
            found["ids"].append(block)
        at += int.from_bytes(raw[at : at + 2], "little")
    return templates


def copy_packets(base: Base, chosen: slice, copies: int) -> tuple[Array, Array, Array]:
    """The records `chosen` of a capture for so many copies, the copies of each one after the other: their
    bytes, the length and number of each."""
    times = np.where(base.copied[chosen], copies, 1)
    record, copy = _spread(times)
    number = _numbers(base, chosen, copies)[record] + copy
    number[(_number(base, chosen) == 0)[record]] = 0
    return (*_copied(base, chosen, record, copy, np.arange(len(record)), number, copies), number)


def copy_loop(base: Base, chosen: slice, copies: int) -> Array:
    """The records of a loop for so many copies: the whole loop for each, for what tells one instrument may
    be in many packets; what ends the loop comes once."""
    times = np.where(base.copied[chosen], copies, 1)
    record, copy = _spread(times)
    order = np.lexsort((record, np.where(base.copied[chosen][record], copy, copies)))
    number = np.argsort(order) + 1
    return _copied(base, chosen, record, copy, order, number, copies)[0]


def _spread(times: Array) -> tuple[Array, Array]:
    record = np.repeat(np.arange(len(times)), times)
    return record, np.arange(len(record)) - (np.cumsum(times) - times)[record]


def _copied(
    base: Base, chosen: slice, record: Array, copy: Array, order: Array, number: Array, copies: int
) -> tuple[Array, Array]:
    """Bytes and lengths, in that order of the copies."""
    offset = base.offset[chosen]
    lengths = base.length[chosen][record][order]
    starts = np.cumsum(lengths) - lengths
    data = base.data[np.repeat(offset[record][order] - starts, lengths) + np.arange(int(lengths.sum()))]
    at = np.empty_like(starts)
    at[order] = starts
    _put(data, at + _RECORD + _FRAME + 4, number.astype("<u4"))
    _change(base, chosen, data, at, np.bincount(record, minlength=len(offset)), copies)
    return data, lengths


def _numbers(base: Base, chosen: slice, copies: int) -> Array:
    """The number of the first copy of each record; of a heartbeat the next one."""
    heartbeat = _number(base, slice(None)) == 0
    steps = np.where(base.copied, copies, np.where(heartbeat, 0, 1))
    before = np.cumsum(steps) - steps
    begins = np.flatnonzero(np.diff(base.version, prepend=-1))
    since = before[begins][np.searchsorted(begins, np.arange(len(before)), side="right") - 1]
    return (before - since + 1)[chosen]


def _number(base: Base, chosen: slice) -> Array:
    return _get(base.data, base.offset[chosen] + _RECORD + _FRAME + 4, "<u4")


def _change(base: Base, chosen: slice, data: Array, starts: Array, times: Array, copies: int) -> None:
    """What differs between copies; `starts` are those of the copies of each record in turn."""
    offset, first = base.offset[chosen], np.cumsum(times) - times

    def places(fields: Array) -> tuple[Array, Array, Array]:
        """Of the fields in these records: where they are now, in which record, and of which copy."""
        mine = fields[(fields >= offset[0]) & (fields < offset[-1] + base.length[chosen][-1])]
        owner = np.searchsorted(offset, mine, side="right") - 1
        count = times[owner]
        which = np.repeat(np.arange(len(mine)), count)
        copy = np.arange(len(which)) - (np.cumsum(count) - count)[which]
        now = starts[first[owner[which]] + copy] + (mine - offset[owner])[which]
        return now, owner[which], copy

    at, _, copy = places(base.ids)
    _put(data, at, _get(data, at, "<i8") + copy * _ID_STEP)
    at, _, copy = places(base.news)
    _put(data, at, _get(data, at, "<i8") + (copy << 40))
    at, _, _ = places(base.totals)
    _put(data, at, _get(data, at, "<u4") * np.uint32(copies))
    at, _, _ = places(base.processed)
    _put(data, at, _get(data, at, "<u4") * np.uint32(copies))
    at, owner, _ = places(base.next)
    _put(data, at, _numbers(base, chosen, copies)[owner].astype("<u4"))
    at, _, copy = places(base.groups)
    _rename_groups(base, data, at, copy)
    at, _, copy = places(base.symbols)
    for place, number in zip(at[copy > 0].tolist(), copy[copy > 0].tolist(), strict=True):
        end = place + int(np.argmin(data[place : place + 20]))
        data[end : end + 3] = (ord("."), _LETTERS[number // 62], _LETTERS[number % 62])


def _rename_groups(base: Base, data: Array, at: Array, copy: Array) -> None:
    if not len(at):
        return
    three = np.arange(3)
    known = np.unique(base.data[base.groups[:, None] + three], axis=0)
    names = data[at[:, None] + three]
    which = (names[:, None, :] == known[None]).all(axis=2).argmax(axis=1)
    code = copy * len(known) + which
    data[at[:, None] + three] = _LETTERS[np.stack((code // 3844 % 62, code // 62 % 62, code % 62), axis=1)]


def _get(data: Array, places: Array, kind: str) -> Array:
    return data[places[:, None] + np.arange(np.dtype(kind).itemsize)].view(kind).ravel()


def _put(data: Array, places: Array, numbers: Array) -> None:
    """Numbers at places that need not be aligned."""
    size = numbers.dtype.itemsize
    data[places[:, None] + np.arange(size)] = np.ascontiguousarray(numbers)[:, None].view(np.uint8)
