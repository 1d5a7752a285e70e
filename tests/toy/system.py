"""The toy system: wire to model. Plain Python, as slow as it likes."""

from collections.abc import Collection
from ctypes import c_int64, c_uint32, string_at
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pregao.feeds.identity import Glimpse
from pregao.feeds.port import (
    Came,
    ListedDefinition,
    Looked,
    Reading,
    RecoveryPolicy,
    RowFault,
    UnknownContent,
    WholePackets,
)
from pregao.kernels import Kernel
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import Definition, News
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import Action, DefinitionAction, PriceKind, TradeSubType
from pregao.model.packets import FOREIGN, NO_CHANNEL, NO_NEXT, Unit, Units
from pregao.model.rows import NULL, ROW, Flag, Kind, Rows
from pregao.model.scales import Scale
from pregao.model.streams import Stream
from tests.toy.decoding import ToyDecoding

Array = np.ndarray[Any, np.dtype[Any]]
MAGIC: Final = b"TOY"
_STREAM_OF: Final = (
    dict.fromkeys(b"OXTHVG", Stream.INCREMENTAL) | dict.fromkeys(b"D", Stream.DEFINITION)
    | dict.fromkeys(b"Ss", Stream.SNAPSHOT)
)  # fmt: skip


class ToyHeaders(WholePackets):
    def __init__(self) -> None:
        self._units = Units(64)

    def read(
        self, base: int, offsets: int, lengths: int, count: int, rows: int = 0, came: Came | None = None
    ) -> Units:
        found: list[tuple[int, int, Unit]] = []
        for index in range(count):
            row = c_uint32.from_address(rows + 4 * index).value if rows else index
            at, size = _number(c_int64, offsets, row), _number(c_uint32, lengths, row)
            found += [(row, at + place, unit) for place, unit in _split(string_at(base + at, size))]
        units = self._units
        if len(found) > units.room:
            units.make_room(2 * len(found))
        units.count = len(found)
        for index, (row, at, unit) in enumerate(found):
            units.row[index], units.channel[index], units.epoch[index] = row, unit.channel, unit.epoch
            units.number[index], units.offset[index] = unit.number, at
            units.length[index], units.sent_ns[index] = len(unit.payload), unit.sent_ns
            units.next_number[index] = unit.next_number
        return units

    def split(self, payload: bytes | memoryview, feed: int = 0, now_ns: int = 0) -> list[Unit]:
        return [unit for _, unit in _split(bytes(payload))]


def _number(kind: Any, column: int, row: int) -> int:
    return int(kind.from_address(column + (8 if kind is c_int64 else 4) * row).value)


def _split(packet: bytes) -> list[tuple[int, Unit]]:
    """Units with where they begin in their packet."""
    head, _, rest = packet.partition(b"\n")
    words = head.split()
    if len(words) != 5 or words[0] != MAGIC or not all(word.isdigit() for word in words[1:]):
        return [(0, Unit(NO_CHANNEL, 0, FOREIGN, 0, packet))]
    channel, epoch, number, sent_ns = map(int, words[1:])
    if number == 0:
        beat = rest.split()
        following = int(beat[1]) if len(beat) == 2 and beat[0] == b"B" and beat[1].isdigit() else NO_NEXT
        return [(0, Unit(channel, epoch, 0, sent_ns, packet, following))]
    units, at = [], len(head) + 1
    for line in rest.splitlines(keepends=True):
        units.append((at, Unit(channel, epoch, number + len(units), sent_ns, line.rstrip(b"\n"))))
        at += len(line)
    return units


class ToyReader:
    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._texts: list[bytes] = []
        self._places: Array = np.zeros(0, np.int64)

    def read(
        self, address: int, offsets: Array, lengths: Array, at: Array, epochs: Array, count: int | None = None
    ) -> Reading:
        count = len(offsets) if count is None else count
        self._texts = [string_at(address + int(offsets[i]), int(lengths[i])) for i in range(count)]
        self._places = address + offsets[:count]
        rows: Rows = np.zeros(count, ROW)
        faults: list[RowFault] = []
        kept = []
        for index, text in enumerate(self._texts):
            row = rows[index]
            row["packet"], row["at"], row["sequence_version"] = index, at[index], epochs[index]
            try:
                _fill(row, text.decode("ascii").split())
                kept.append(index)
            except (ValueError, KeyError, UnicodeDecodeError, OverflowError):
                faults.append(RowFault(Fault.BLOCK_PAST_MESSAGE, index, 0, 0))
        return Reading(rows[kept], faults, whole=True)

    def go_on(self) -> Reading:
        raise AssertionError("every reading is whole")

    def read_unit(self, payload: bytes) -> Reading:
        one = np.frombuffer(payload or b"\0", np.uint8)
        zero = np.zeros(1, np.int64)
        return self.read(one.ctypes.data, zero, np.array([len(payload)], np.uint32), zero, zero)

    def definition(self, row: np.void) -> ListedDefinition | None:
        words = self._texts[int(row["packet"])].decode("ascii").split()
        if len(words) not in (4, 7):
            raise DecodeError(Fault.BLOCK_PAST_MESSAGE, 0, "a definition has four words, or seven")
        instrument = Instrument(
            int(words[1]), words[2], self._channel, "TOYS", "TOY", SecurityType.CS, Product.EQUITY
        )
        if len(words) == 7:
            price, size, kind = map(int, words[4:])
            instrument = replace(
                instrument,
                price_exponent=price,
                size_exponent=size,
                price_kind=PriceKind(kind) if kind else None,
            )
        return ListedDefinition(Definition(instrument, DefinitionAction.ADD), int(words[3]))

    def messages_at(self, rows: Rows) -> tuple[Array, Array]:
        sizes = [len(self._texts[packet]) for packet in rows["packet"].tolist()]
        return self._places[rows["packet"]], np.array(sizes, np.int64)

    def message(self, row: np.void) -> bytes:
        return self._texts[int(row["packet"])]


def _fill(row: Any, words: list[str]) -> None:
    """The row of one message; ValueError or KeyError where it is none."""
    for name in ("security_id", "id", "price", "size", "other", "time_ns", "fine", "low", "high"):
        row[name] = NULL
    row["version"], row["flags"] = 0, Flag.END_OF_EVENT
    kind, numbers = words[0], [int(word) for word in words[1:] if word.lstrip("-").isdigit()]
    if kind == "D":
        row["kind"], row["security_id"], row["action"] = Kind.DEFINITION, numbers[0], DefinitionAction.ADD
        row["high"] = numbers[1]
    elif kind == "O":
        row["kind"], row["action"] = Kind.ORDER, Action.NEW
        row["security_id"], row["rpt_seq"], row["side"], row["id"], row["price"], row["size"] = numbers
    elif kind == "X":
        row["kind"], row["action"] = Kind.ORDER, Action.DELETE
        row["security_id"], row["rpt_seq"], row["side"], row["id"], row["price"] = numbers
    elif kind == "T":
        row["kind"] = Kind.TRADE
        row["security_id"], row["rpt_seq"], row["id"], row["price"], row["size"] = numbers
        row["detail"] = TradeSubType[words[6]] if len(words) > 6 else 0
    elif kind == "H":
        row["kind"], row["action"] = Kind.HIGH, Action.NEW
        row["security_id"], row["rpt_seq"], row["price"] = numbers
    elif kind == "V":
        row["kind"] = Kind.TOTALS
        row["security_id"], row["rpt_seq"], row["price"], row["size"], row["other"] = numbers
    elif kind == "G":
        row["kind"] = Kind.PRICE_BAND
        row["security_id"], row["rpt_seq"], row["low"], row["high"] = numbers
    elif kind == "S":
        row["kind"], row["flags"] = Kind.SNAPSHOT, Flag.NO_EVENT
        row["security_id"], row["price"], row["other"], row["size"] = numbers[:4]
        row["rpt_seq"], row["low"], row["high"] = numbers[4:]
    elif kind == "s":
        row["kind"], row["action"], row["flags"] = Kind.SNAPSHOT_ORDER, Action.NEW, Flag.NO_EVENT
        row["security_id"], row["side"], row["id"], row["price"], row["size"] = numbers
    else:
        row["kind"] = {"R": Kind.SEQUENCE_RESET, "B": Kind.SEQUENCE}[kind]


class ToyIdentity:
    """Marks are the first letters of messages."""

    def channel_of(self, payload: bytes | memoryview) -> int | None:
        channels = {unit.channel for _, unit in _split(bytes(payload))} - {NO_CHANNEL}
        return channels.pop() if channels else None

    def glimpse(self, payload: bytes | memoryview) -> Glimpse | None:
        units = [unit for _, unit in _split(bytes(payload)) if unit.number > 0]
        if not units:
            return None
        marks = frozenset(mark for unit in units for mark in unit.payload[:1])
        return Glimpse(units[0].channel, units[0].epoch, len(units), marks)

    def stream_of(self, marks: Collection[int]) -> Stream:
        found = {_STREAM_OF[mark] for mark in marks if mark in _STREAM_OF}
        return found.pop() if len(found) == 1 else Stream.UNKNOWN

    def settled_stream(self, marks: Collection[int], units: int) -> Stream:
        return self.stream_of(marks)


LETTERS: Final = b"DOXTHVGSsRB"


class ToyInspector:
    def look(self, base: int, offsets: Array, lengths: Array, seen: Array) -> Looked:
        places = zip(offsets.tolist(), lengths.tolist(), strict=True)
        marks = [string_at(base + at, min(size, 1)) for at, size in places]
        for mark in set(marks) - {b""}:
            seen[ord(mark)] = 1
        noted = [index for index, mark in enumerate(marks) if mark in (b"D", b"R")]
        return Looked(len(marks), np.array(noted, np.int64))

    def count(self, addresses: Array, lengths: Array) -> Array:
        return np.ones(len(addresses), np.int64)

    def unknown(self, base: int, offsets: Array, lengths: Array) -> list[UnknownContent]:
        """Letters that no message begins with."""
        found: dict[int, UnknownContent] = {}
        for unit, (at, size) in enumerate(zip(offsets.tolist(), lengths.tolist(), strict=True)):
            letter = string_at(base + at, min(size, 1))
            if letter not in LETTERS:
                known = found.get(ord(letter), UnknownContent("", ord(letter), 0, unit, 0))
                found[ord(letter)] = known._replace(times=known.times + 1)
        return list(found.values())


class NoNews:
    def receive(self, message: bytes, now_ns: int) -> list[News]:
        return []

    def next_timeout(self) -> int | None:
        return None

    def on_timeout(self, now_ns: int) -> list[News]:
        return []

    def flush(self) -> list[News]:
        return []


class Toy(ToyDecoding):
    name = "toy"
    title = "Toy lines"
    policy = RecoveryPolicy(
        own_bytes=0, last_epoch=1_000, reports_in_a_unit=1, definitions_end_by_count=False
    )
    identity = ToyIdentity()

    def headers(self, *, heartbeats: bool = True) -> ToyHeaders:
        return ToyHeaders()

    def inspector(self) -> ToyInspector:
        return ToyInspector()

    def reader(self, channel: int) -> ToyReader:
        return ToyReader(channel)

    def news_desk(self, channel: int) -> NoNews:
        return NoNews()

    def live_kernels(self) -> tuple[Kernel, ...]:
        return ()


class ToyBonds(Toy):
    """The same lines, of instruments with exponents of their own."""

    name = "toy-bonds"
    title = "Toy bonds"
    scale = Scale(price_exponent=-8)


TOY: Final = Toy()
BONDS: Final = ToyBonds()
