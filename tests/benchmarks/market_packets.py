"""Incremental packets of a busy channel, from one simulated day: what the handler benchmarks are fed with.

The simulated day has some two hundred instruments on four channels. Here they are all on one channel, and
the market is there many times over, side by side, each copy with securityIDs and groups of its own and a
little later than the one before: so many times the packets and the instruments, with rptSeq as the exchange
counted it. Heartbeats are left out, as a channel so busy has none, and so is the end of the week before.

The `opening` comes first: definitions, empty books, orders carried over and news, up to the first state
or statistic of each copy.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import CapturedPacket, simulate_in_memory
from pregao.simulator.settings import Settings

MESSAGES = 100_000
CHANNEL, VERSION = 84, 1
SEED = 8
_ID_STEP = 1 << 48  # past every securityID
_LATER_NS = 400_000_000  # a copy of the market than the one before
_SQUEEZE = 40  # a day of sixteen minutes: nothing here depends on its clock
_SEQUENCE_RESET, _NEWS, _EMPTY_BOOK, _PHASE, _CHANNEL_RESET, _DEFINITION, _ORDER = 1, 5, 9, 10, 11, 12, 50
_OPENING = frozenset((_DEFINITION, _EMPTY_BOOK, _CHANNEL_RESET, _ORDER, _NEWS))
_RESETS, _OPENS, _TRADES = range(3)  # stages: a ChannelReset empties all books, so they all come first
_GROUP_AT = {_PHASE: 0, _DEFINITION: 13}  # in the block; three characters
_WITHOUT_ID = frozenset((_SEQUENCE_RESET, 2, _PHASE, _CHANNEL_RESET))
_BLOCK = 12  # from the framing header of a message
_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_KEPT = Path("build/bench-market-1.npz")
Array = np.ndarray


@dataclass(frozen=True)
class MarketPackets:
    """Packets in sequence, from number 1 on; the first `opening` of them are the opening."""

    data: Array  # uint8
    offset: Array  # int64
    length: Array  # uint32
    opening: int
    messages: int  # after the opening
    instruments: int

    def __len__(self) -> int:
        return len(self.offset)

    def payload(self, index: int) -> bytes:
        start = int(self.offset[index])
        return self.data[start : start + int(self.length[index])].tobytes()


@dataclass(frozen=True)
class _Day:
    """One copy of the market: packets, and where in them is what differs between copies."""

    data: Array
    offset: Array
    length: Array
    sent_ns: Array
    messages: Array  # of each packet
    stage: Array
    ids: Array  # places of securityIDs
    groups: Array  # places of names of groups
    instruments: int


def market_packets(copies: int) -> MarketPackets:
    """The market so many times over."""
    day = _load_day()
    count, size = len(day.offset), len(day.data)
    data = np.concatenate([_copy(day, number) for number in range(copies)])
    copy = np.repeat(np.arange(copies), count)
    packet = np.tile(np.arange(count), copies)
    stage = day.stage[packet]
    sent_ns = day.sent_ns[packet] + copy * _LATER_NS
    order = np.lexsort((packet, copy, sent_ns, stage))
    offset = (day.offset[packet] + copy * size)[order]
    packets = MarketPackets(
        data, offset, day.length[packet][order], int((stage < _TRADES).sum()),
        int(day.messages[day.stage == _TRADES].sum()) * copies, day.instruments * copies,
    )  # fmt: skip
    _put(data, offset, np.full(len(offset), CHANNEL, "u1"))
    _put(data, offset + 2, np.full(len(offset), VERSION, "<u2"))
    _put(data, offset + 4, np.arange(1, len(offset) + 1).astype("<u4"))
    return packets


def packets_of_a_copy() -> int:
    """Without the opening."""
    return int((_load_day().stage == _TRADES).sum())


def _copy(day: _Day, number: int) -> Array:
    data = day.data.copy()
    _put(data, day.ids, _get(data, day.ids, "<i8") + number * _ID_STEP)
    names = data[day.groups[:, None] + np.arange(3)]
    known = np.unique(names, axis=0)
    for place, name in enumerate(known):
        code = number * len(known) + place
        letters = [_LETTERS[code // 3844 % 62], _LETTERS[code // 62 % 62], _LETTERS[code % 62]]
        names[(data[day.groups[:, None] + np.arange(3)] == name).all(axis=1)] = letters
    data[day.groups[:, None] + np.arange(3)] = names
    return data


def _load_day() -> _Day:
    """Made once."""
    if not _KEPT.exists():
        _KEPT.parent.mkdir(exist_ok=True)
        np.savez(_KEPT, **vars(_make_day()))
    with np.load(_KEPT) as kept:
        columns = {name: kept[name] for name in kept.files}
    return _Day(**columns | {"instruments": int(columns["instruments"])})


def _make_day() -> _Day:
    settings = Settings(out=Path(), messages=MESSAGES, seed=SEED, squeeze=_SQUEEZE, loops=4, truth=False)
    (day,) = simulate_in_memory(settings)
    packets = [p for p in day.packets if p.stream is Stream.INCREMENTAL and p.feed is Feed.A and _number(p)]
    maker = _Maker()
    for packet in packets:
        maker.take(packet)
    return maker.day(len(day.instruments))


def _number(packet: CapturedPacket) -> int:
    return int.from_bytes(packet.payload[4:8], "little")


class _Maker:
    def __init__(self) -> None:
        self._opened: set[int] = set()  # channels
        self._parts: list[bytes] = []
        self._size = 0
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._ids: list[int] = []
        self._groups: list[int] = []

    def take(self, packet: CapturedPacket) -> None:
        payload, at, templates = packet.payload, 16, []
        while at < len(payload):
            template = int.from_bytes(payload[at + 6 : at + 8], "little")
            block = at + _BLOCK
            if template in _GROUP_AT:
                self._groups.append(self._size + block + _GROUP_AT[template])
            if template not in _WITHOUT_ID and any(payload[block : block + 8]):
                self._ids.append(self._size + block)
            templates.append(template)
            at += int.from_bytes(payload[at : at + 2], "little")
        if _SEQUENCE_RESET in templates:
            return
        if not _OPENING.issuperset(templates):
            self._opened.add(packet.channel)
        sent_ns = int.from_bytes(payload[8:16], "little")
        opens = _RESETS if _CHANNEL_RESET in templates else _OPENS
        stage = _TRADES if packet.channel in self._opened else opens
        self._rows.append((self._size, len(payload), sent_ns, len(templates), stage))
        self._parts.append(payload)
        self._size += len(payload)

    def day(self, instruments: int) -> _Day:
        offset, length, sent_ns, messages, stage = np.array(self._rows).T
        return _Day(
            np.frombuffer(b"".join(self._parts), np.uint8), offset, length.astype(np.uint32), sent_ns,
            messages, stage, np.array(self._ids), np.array(self._groups), instruments,
        )  # fmt: skip


def _get(data: Array, places: Array, kind: str) -> Array:
    return data[places[:, None] + np.arange(np.dtype(kind).itemsize)].view(kind).ravel()


def _put(data: Array, places: Array, numbers: Array) -> None:
    """Numbers at places that need not be aligned."""
    size = numbers.dtype.itemsize
    data[places[:, None] + np.arange(size)] = np.ascontiguousarray(numbers)[:, None].view(np.uint8)
