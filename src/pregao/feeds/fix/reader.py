"""Messages of FIX sessions to rows of `model.rows`, one at a time: what all such systems have alike.

A 35=W is a SNAPSHOT row and its entries; 35=X are entries; 35=f is a state or a phase; 35=y has a DEFINITION
row for each instrument; 35=B is a NEWS row. All else is OTHER: it says nothing of a book. What entries and
definitions say a system has: `_fill_entries`, `_name_definitions`, `_definition_of` and `_fill_status`.
"""

import re
from typing import Any, Final

import numpy as np

from pregao.codecs.fix import Dictionary, Entry, FixMessage, Unknowns, parse_message
from pregao.feeds import fix_values as values
from pregao.feeds.one_by_one import OneByOneReader, blank
from pregao.feeds.port import Array, ListedDefinition, RowFault
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import Definition
from pregao.model.rows import FIRST_ENTRY_KIND, LAST_ENTRY_KIND, NULL, Flag, Kind, Rows

SHARED_TAGS: Final[tuple[int, ...]] = (48, 75, 1021)  # of a message, by all its entries
INCREMENTAL, SNAPSHOT, LIST, STATUS, NEWS = b"X", b"W", b"y", b"f", b"B"
_OF_BOOKS: Final = re.compile(rb"8=[^\x01]*\x019=[0-9]*\x0135=[XW]\x01")
_SECURITY_ID: Final = re.compile(rb"\x0148=([0-9]{1,18})(?=\x01)")


class FixReader(OneByOneReader):
    """`unknowns` counts tags and values that the dictionary does not have; `incremental` are the types of
    messages that have entries of an event."""

    beyond_scale = Fault.FIX_BEYOND_SCALE
    pointing = (Kind.DEFINITION, Kind.NEWS, Kind.OTHER)
    incremental = frozenset({INCREMENTAL})

    def __init__(self, channel: int, dictionary: Dictionary) -> None:
        super().__init__()
        self._channel, self._dictionary = channel, dictionary
        self.unknowns = Unknowns()
        self._known: tuple[bytes, FixMessage] | None = None  # a list of instruments, and what it says

    # What a system has of its own

    def _fill_entries(
        self, message: FixMessage, unit: int, faults: list[RowFault], *, snapshot: bool
    ) -> Rows:
        """Rows of the entries of 268."""
        raise NotImplementedError

    def _name_definitions(self, rows: Rows, listed: list[Entry], unit: int, faults: list[RowFault]) -> Rows:
        """SecurityID and action of each DEFINITION row; those that are to be kept."""
        raise NotImplementedError

    def _definition_of(self, entry: Entry) -> Definition | None:
        raise NotImplementedError

    def _fill_status(self, row: Any, body: Entry) -> None:
        raise NotImplementedError

    def _unreadable(self, text: bytes) -> Rows:
        return suspects_in(text)

    # The port

    def definition(self, row: np.void) -> ListedDefinition | None:
        message = self._parsed(self.message(row))
        listed = message.group(146)
        found = self._definition_of(listed[int(row["low"])])
        if found is None:
            return None
        ends = int(row["low"]) == len(listed) - 1 and message.flag(893)
        return ListedDefinition(found, max(0, values.number_of(message.get(393))), ends)

    def messages_at(self, rows: Rows) -> tuple[Array, Array]:
        packets = rows["packet"]
        return self._places[packets], self._sizes[packets].astype(np.int64)

    def _parsed(self, text: bytes) -> FixMessage:
        """Once for all its instruments."""
        if self._known is None or self._known[0] != text:
            self._known = text, parse_message(text, self._dictionary)
        return self._known[1]

    # Messages

    def _rows(self, text: bytes, unit: int, faults: list[RowFault]) -> Rows:
        message = parse_message(text, self._dictionary)
        self.unknowns.count(message, self._dictionary)
        kind = message.msg_type
        if message.structure is not None:  # groups that cannot be told apart
            problem = message.structure
            raise DecodeError(Fault.FIX_GROUP_COUNT, 0, f"{problem.reason.text}, tag {problem.tag}")
        if kind in self.incremental:
            return self._entries(message, unit, faults)
        if kind == SNAPSHOT:
            return self._snapshot(message, unit, faults)
        if kind == LIST:
            return self._definitions(message, len(text), unit, faults)
        row = blank(1)
        row["time_ns"] = values.timestamp_of(message.header, 52)
        row["flags"] = Flag.END_OF_EVENT
        if kind == STATUS:
            self._fill_status(row[0], message.body)
        else:
            row["kind"] = Kind.NEWS if kind == NEWS else Kind.OTHER
            row["size"] = len(text)
        return row

    def _entries(self, message: FixMessage, unit: int, faults: list[RowFault]) -> Rows:
        """An event is one message: it ends with its last entry."""
        rows = self._fill_entries(message, unit, faults, snapshot=False)
        if len(rows):
            rows["flags"][-1] |= np.uint8(Flag.END_OF_EVENT)
        return rows

    def _snapshot(self, message: FixMessage, unit: int, faults: list[RowFault]) -> Rows:
        """The row of the snapshot itself comes first. One of no instrument answers a filter that matches
        none; one of which a part cannot be read is none at all."""
        security_id = values.number_of(message.get(48))
        if security_id == NULL:
            return blank(0)
        before = len(faults)
        rows = self._fill_entries(message, unit, faults, snapshot=True)
        if any(fault.lost for fault in faults[before:]):
            return suspect(message.body)  # by half it would be wrong
        rows["flags"] |= np.uint8(Flag.NO_EVENT)
        first = blank(1)
        first["kind"], first["flags"], first["security_id"] = Kind.SNAPSHOT, Flag.NO_EVENT, security_id
        first["time_ns"] = values.timestamp_of(message.header, 52)
        first["size"] = values.scaled(message.body, 911, 0)
        booked = (rows["kind"] >= FIRST_ENTRY_KIND) & (rows["kind"] <= LAST_ENTRY_KIND)
        first["low"] = int((booked & (rows["side"] == 1)).sum())
        first["high"] = int((booked & (rows["side"] == 2)).sum())
        first["position"] = int((~booked).sum())
        return np.concatenate([first, rows])

    def _definitions(self, message: FixMessage, size: int, unit: int, faults: list[RowFault]) -> Rows:
        listed = message.group(146)
        rows = blank(len(listed))
        rows["kind"], rows["flags"], rows["size"] = Kind.DEFINITION, Flag.END_OF_EVENT, size
        rows["high"] = max(0, values.number_of(message.get(393)))
        rows["low"] = rows["index"] = np.arange(len(rows))  # which of the message it is
        return self._name_definitions(rows, listed, unit, faults)


def entries_of(message: FixMessage) -> tuple[Entry, list[Entry]]:
    """What all entries of 268 share, and the entries."""
    if not isinstance(message.body.get(268), list):
        raise DecodeError(Fault.FIX_GROUP_COUNT, 0, "268 is missing, or no number")
    shared: Entry = {tag: message.body[tag] for tag in SHARED_TAGS if tag in message.body}
    return shared, message.group(268)


def suspect(entry: Entry) -> Rows:
    """An update of a book that cannot be read: its book is not known to be right any more."""
    row = blank(1)
    row["kind"], row["security_id"] = Kind.OTHER, values.number_of(values.text_of(entry, 48))
    return row


def suspects_in(text: bytes) -> Rows:
    """All instruments that a message about books names, where it cannot be read: groups whose entries cannot
    be told apart, say. What it says of them is lost."""
    found = _OF_BOOKS.match(text) and dict.fromkeys(_SECURITY_ID.findall(text))
    return np.concatenate([blank(0), *(suspect({48: each}) for each in found or ())])


def fill_status_head(row: Any, body: Entry) -> None:
    """Trade date, time and the planned end of a 35=f."""
    days, time_ns = values.days_of(body, 75), values.timestamp_of(body, 60)
    row["trade_date"] = days if 0 < days < 1 << 16 else 0
    row["time_ns"] = row["time_ns"] if time_ns == NULL else time_ns
    row["inserted_ns"] = values.timestamp_of(body, 342)
