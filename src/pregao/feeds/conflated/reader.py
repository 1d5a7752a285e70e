"""Messages of PUMA Conflated to rows of `model.rows`, one at a time. `kernel_reader` is for many.

A 35=W is a SNAPSHOT row and its entries; 35=X and UTHP are entries; 35=f is a state or a phase; 35=y has a
DEFINITION row for each instrument; 35=B is a NEWS row. All else, totals and answers among it, is OTHER: it
says nothing of a book.
"""

from ctypes import string_at
from typing import Any, Final

import numpy as np

from pregao.codecs.fix import Dictionary, Entry, FixMessage, Unknowns, parse_message
from pregao.feeds import fix_values as values
from pregao.feeds.conflated import entries as e
from pregao.feeds.conflated.definitions import composition_of, definition_of, totals_of
from pregao.feeds.port import Array, ListedDefinition, Reading, RowFault
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import MarketTotal
from pregao.model.instruments import group_number
from pregao.model.market import EXCHANGE
from pregao.model.rows import FIRST_ENTRY_KIND, LAST_ENTRY_KIND, NO_ACTION, NULL, ROW, Flag, Kind, Rows

INSTRUMENT_TAGS: Final[tuple[int, ...]] = (48, 75)  # of a message that all its entries share


MOST_TOTALS: Final = 10_000


class ConflatedReader:
    """`unknowns` counts tags and values that the dictionary does not have."""

    def __init__(self, channel: int, dictionary: Dictionary) -> None:
        self._channel, self._dictionary = channel, dictionary
        self.unknowns = Unknowns()
        self._composition: dict[str, tuple[str, ...]] = {}  # of market totals
        self._known: tuple[bytes, FixMessage] | None = None  # a list of instruments, and what it says
        self._places: Array = np.zeros(0, np.int64)  # of the messages of the last reading
        self._sizes: Array = np.zeros(0, np.uint32)
        self._unit: Any = None  # the bytes of one that was read by itself

    def read(
        self, address: int, offsets: Array, lengths: Array, at: Array, epochs: Array, count: int | None = None
    ) -> Reading:
        count = len(offsets) if count is None else count
        self._places, self._sizes = address + offsets[:count], lengths[:count]
        faults: list[RowFault] = []
        found = [self._read_one(index, offsets, at, epochs, faults) for index in range(count)]
        return Reading(np.concatenate(found) if found else blank(0), faults, whole=True)

    def _read_one(self, index: int, offsets: Array, at: Array, epochs: Array, faults: list[RowFault]) -> Rows:
        try:
            rows = self._rows(self._text(index), index, faults)
        except DecodeError as error:
            faults.append(RowFault(error.fault, index, error.offset, 0))
            return blank(0)
        except OverflowError:  # a number that its field of the row cannot hold
            faults.append(RowFault(Fault.FIX_BEYOND_SCALE, index, 0, 0))
            return blank(0)
        rows["packet"], rows["at"], rows["sequence_version"] = index, at[index], epochs[index]
        rows["price"][_points_at(rows)] = int(offsets[index])
        return rows

    def _text(self, index: int) -> bytes:
        return string_at(int(self._places[index]), int(self._sizes[index]))

    def go_on(self) -> Reading:
        raise AssertionError("every reading is whole")

    def read_unit(self, payload: bytes) -> Reading:
        one = self._unit = np.frombuffer(payload or b"\0", np.uint8)
        zero = np.zeros(1, np.int64)
        return self.read(one.ctypes.data, zero, np.array([len(payload)], np.uint32), zero, zero)

    def _rows(self, text: bytes, unit: int, faults: list[RowFault]) -> Rows:
        message = parse_message(text, self._dictionary)
        self.unknowns.count(message, self._dictionary)
        kind = message.msg_type
        if message.structure is not None:  # groups that cannot be told apart
            problem = message.structure
            raise DecodeError(Fault.FIX_GROUP_COUNT, 0, f"{problem.reason.text}, tag {problem.tag}")
        if kind in (b"X", b"UTHP"):
            return self._entries(message, unit, faults)
        if kind == b"W":
            return self._snapshot(message, unit, faults)
        if kind == b"y":
            return self._definitions(message, len(text))
        row = blank(1)
        row["time_ns"] = values.timestamp_of(message.header, 52)
        row["flags"] = Flag.END_OF_EVENT
        if kind == b"f":
            _status(row[0], message.body)
        else:
            row["kind"] = Kind.NEWS if kind == b"B" else Kind.OTHER
            row["size"] = len(text)
        return row

    def _entries(self, message: FixMessage, unit: int, faults: list[RowFault]) -> Rows:
        """An event is one message: it ends with its last entry. What a history tells is told again."""
        rows = self._filled(message, unit, faults, snapshot=False)
        if message.msg_type == b"UTHP":
            rows["flags"] |= np.uint8(Flag.RECOVERY)
        if len(rows):
            rows["flags"][-1] |= np.uint8(Flag.END_OF_EVENT)
        return rows

    def _snapshot(self, message: FixMessage, unit: int, faults: list[RowFault]) -> Rows:
        """The row of the snapshot itself comes first. One of no instrument answers a filter that matches
        none (7.5.1)."""
        security_id = values.number_of(message.get(48))
        if security_id == NULL:
            return blank(0)
        before = len(faults)
        rows = self._filled(message, unit, faults, snapshot=True)
        if any(fault.lost for fault in faults[before:]):
            return _suspect(message.body)  # by half it would be wrong
        rows["flags"] |= np.uint8(Flag.NO_EVENT)
        first = blank(1)
        first["kind"], first["flags"], first["security_id"] = Kind.SNAPSHOT, Flag.NO_EVENT, security_id
        first["time_ns"], first["size"] = (
            values.timestamp_of(message.header, 52),
            e.quantity(message.body, 911),
        )
        booked = (rows["kind"] >= FIRST_ENTRY_KIND) & (rows["kind"] <= LAST_ENTRY_KIND)
        first["low"] = int((booked & (rows["side"] == 1)).sum())
        first["high"] = int((booked & (rows["side"] == 2)).sum())
        first["position"] = int((~booked).sum())
        return np.concatenate([first, rows])

    def _filled(self, message: FixMessage, unit: int, faults: list[RowFault], *, snapshot: bool) -> Rows:
        if not isinstance(message.body.get(268), list):
            raise DecodeError(Fault.FIX_GROUP_COUNT, 0, "268 is missing, or no number")
        shared = {tag: message.body[tag] for tag in INSTRUMENT_TAGS if tag in message.body}
        entries = message.group(268)
        rows = blank(sum(map(_rows_of, entries)))
        kept: list[int] = []
        place = 0
        for index, entry in enumerate(entries):
            try:
                finding = e.fill(rows[place], {**shared, **entry}, snapshot=snapshot)
                for part, underlying in enumerate(e.parts_of(entry), 1):
                    e.fill_part(rows[place + part], rows[place], underlying, part)
                if finding is not None:
                    faults.append(RowFault(finding.fault, unit, finding.offset, index, lost=False))
                kept += range(place, place + _rows_of(entry))
            except (DecodeError, OverflowError) as error:
                fault = error.fault if isinstance(error, DecodeError) else Fault.FIX_BEYOND_SCALE
                faults.append(RowFault(fault, unit, 0, index))
                if _is_of_book(entry):
                    rows[place : place + 1] = _suspect({**shared, **entry})
                    kept.append(place)
            rows["index"][place : place + _rows_of(entry)] = index
            place += _rows_of(entry)
        return rows[kept]

    def _definitions(self, message: FixMessage, size: int) -> Rows:
        listed = message.group(146)
        rows = blank(len(listed))
        rows["kind"], rows["flags"], rows["size"] = Kind.DEFINITION, Flag.END_OF_EVENT, size
        rows["high"] = max(0, values.number_of(message.get(393)))
        rows["low"] = rows["index"] = np.arange(len(rows))  # which of the message it is
        for row, entry in zip(rows, listed, strict=True):
            row["security_id"] = values.number_of(values.text_of(entry, 48))
            row["action"] = (values.text_of(entry, 980) or b"M")[0]
        return rows

    def definition(self, row: np.void) -> ListedDefinition | None:
        message = self._parsed(self.message(row))
        listed = message.group(146)
        found = definition_of(listed[int(row["low"])], self._channel)
        if found is None:
            return None
        ends = int(row["low"]) == len(listed) - 1 and message.flag(893)
        return ListedDefinition(found, max(0, values.number_of(message.get(393))), ends)

    def market_totals(self, row: np.void) -> list[MarketTotal]:
        """What an OTHER row of the last reading tells of the market, if it is a 35=UTOT."""
        message = self._parsed(self.message(row))
        if message.msg_type == b"UTOTC" and len(self._composition) < MOST_TOTALS:
            self._composition |= composition_of(message)
        return totals_of(message, self._composition) if message.msg_type == b"UTOT" else []

    def _parsed(self, text: bytes) -> FixMessage:
        """Once for all its instruments."""
        if self._known is None or self._known[0] != text:
            self._known = text, parse_message(text, self._dictionary)
        return self._known[1]

    def messages_at(self, rows: Rows) -> tuple[Array, Array]:
        packets = rows["packet"]
        return self._places[packets], self._sizes[packets].astype(np.int64)

    def message(self, row: np.void) -> bytes:
        return self._text(int(row["packet"]))


def blank(count: int) -> Rows:
    rows: Rows = np.zeros(count, ROW)
    for name in e.WIDE_FIELDS:
        rows[name] = NULL
    rows["action"] = NO_ACTION
    return rows


def _is_of_book(entry: Entry) -> bool:
    return entry.get(269) in (b"0", b"1", b"J", None)


def _suspect(entry: Entry) -> Rows:
    """An update of a book that cannot be read: its book is not known to be right any more."""
    row = blank(1)
    row["kind"], row["security_id"] = Kind.OTHER, values.number_of(values.text_of(entry, 48))
    return row


def _rows_of(entry: Entry) -> int:
    return 1 + len(e.parts_of(entry))


def _points_at(rows: Rows) -> Any:
    """Rows that say where their message is."""
    return np.isin(rows["kind"], (Kind.DEFINITION, Kind.NEWS, Kind.OTHER))


def _status(row: Any, body: Entry) -> None:
    """625 of groups, 326 of instruments (7.5.5); `02` is 2."""
    phase, state = e.small_of(values.text_of(body, 625)), e.small_of(values.text_of(body, 326))
    if (values.text_of(body, 207) or EXCHANGE.encode()) != EXCHANGE.encode():
        row["kind"] = Kind.OTHER
        return
    if 48 in body:
        row["kind"], row["security_id"] = Kind.STATE, values.number_of(values.text_of(body, 48))
        row["type"] = state or phase or 0
    else:
        row["kind"] = Kind.PHASE
        row["id"] = group_number((values.text_of(body, 1151) or b"").decode("latin-1"))
        row["type"] = phase or state or 0
    row["detail"] = e.small_of(values.text_of(body, 1174)) or 0
    row["session"] = e.small_of(values.text_of(body, 336)) or 0
    days = values.days_of(body, 75)
    row["trade_date"] = days if 0 < days < 1 << 16 else 0
    time_ns = values.timestamp_of(body, 60)
    row["time_ns"] = row["time_ns"] if time_ns == NULL else time_ns
    row["inserted_ns"] = values.timestamp_of(body, 342)
