"""Messages of UMDF FIX/FAST to rows of `model.rows`, one at a time. `kernel_reader` is for many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.codecs.fast import FastMessageDecoder, Templates
from pregao.codecs.fast.decoder import TemplateMessage
from pregao.feeds.fast import entries as e
from pregao.feeds.fast.definitions import definition_of, findings_of
from pregao.feeds.fast.heads import HEARTBEAT, Head, Heads
from pregao.feeds.fast.identity import mark_of, msg_type
from pregao.feeds.fast.news import finding_of
from pregao.feeds.fast.times import date_days, timestamp_ns
from pregao.feeds.one_by_one import OneByOneReader, blank, joined
from pregao.feeds.port import Array, ListedDefinition, RowFault
from pregao.model.errors import DecodeError, Fault
from pregao.model.instruments import group_number
from pregao.model.market import EXCHANGE
from pregao.model.rows import FIRST_ENTRY_KIND, LAST_ENTRY_KIND, NULL, Flag, Kind, Rows

_LIST: Final = ord("y")
_MOST_LISTS: Final = 1 << 11  # messages: a channel has some thousand instruments, and some in a message


@dataclass(slots=True)
class BookShape:
    """What the books of a channel are: orders, or price levels of a depth (9). Snapshots tell it (264), and
    lists of instruments (1022 and 264, which come with levels only); None: neither has yet. 0 is no depth:
    all of the book."""

    by_level: bool | None = None
    depth: int = 0

    def learn(self, depth: int | None, *, has_rows: bool = False) -> None:
        """264, or that there is none. That a list has none, or a snapshot without rows, is no news where
        something was told: 1022 is not sent any more by some, and where no rows are nothing is of a kind."""
        if depth or has_rows or self.by_level is None:
            self.by_level, self.depth = bool(depth), depth or 0

    def to_bytes(self) -> bytes:
        """Empty: nothing is known."""
        return b"" if self.by_level is None else f"{int(self.by_level)} {self.depth}".encode()

    def take_bytes(self, learned: bytes) -> None:
        if learned:
            by_level, self.depth = map(int, learned.split())
            self.by_level = bool(by_level)

    def is_by_level(self, entries: Iterable[Mapping[str, Any]]) -> bool:
        """Of a message; until it is told, by what only orders have."""
        if self.by_level is not None:
            return self.by_level
        return all(
            entry.get("OrderID") is None for entry in entries if entry.get("MDEntryType") in ("0", "1")
        )


class KnownList(NamedTuple):
    message: TemplateMessage
    findings: list[tuple[int, DecodeError]]  # of which of its entries


class KnownLists:
    """Lists of instruments, which are sent again and again, on both feeds: decoded once. Number and time,
    which are others each time, are not of what is kept."""

    def __init__(self, templates: Templates) -> None:
        self.heads = Heads(templates)
        self._decoder = FastMessageDecoder(templates)
        self._known: dict[bytes, KnownList] = {}  # by digest

    def decoded(self, text: bytes) -> TemplateMessage:
        return self.read(text).message

    def read(self, text: bytes) -> KnownList:
        head, at = self._split(text)
        digest = blake2b(head + text[at:], digest_size=16).digest()
        known = self._known.get(digest)
        if known is None:
            message = self._decoder.decode(text)
            known = KnownList(message, findings_of(message.fields["RelatedSym"]))
            if len(self._known) >= _MOST_LISTS:
                self._known.clear()
            self._known[digest] = known
        return known

    def body_at(self, text: bytes) -> int:
        """Where number and time end; 0: they cannot be told apart from the rest."""
        return self._split(text)[1]

    def _split(self, text: bytes) -> tuple[bytes, int]:
        try:
            return self.heads.body_of(text)
        except DecodeError:  # whoever decodes it says what is wrong
            return b"", 0


class FastReader(OneByOneReader):
    """`shape` is that of the channel's books, which all its readers share."""

    beyond_scale = Fault.FAST_BEYOND_SCALE

    def __init__(
        self, channel: int, templates: Templates, shape: BookShape | None = None,
        lists: "KnownLists | None" = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._channel, self.shape = channel, shape or BookShape()
        self._decoder = FastMessageDecoder(templates)
        self._kinds = {template.id: msg_type(template) for template in templates}
        self._lists = lists or KnownLists(templates)

    def _rows(self, text: bytes, unit: int, faults: list[RowFault]) -> Rows:
        mark = mark_of(text)
        body = self._lists.body_at(text) if mark in (_LIST, HEARTBEAT) else 0
        head = self._lists.heads.of(text) if body else None
        if head is None or not head.sent_ns:  # whoever decodes it says what is wrong
            return self._decoded(text, unit, faults)
        if mark == _LIST:
            return self._definitions(text, unit, faults)
        return _heartbeat(head) if body == len(text) else self._decoded(text, unit, faults)

    def _decoded(self, text: bytes, unit: int, faults: list[RowFault]) -> Rows:
        message = self._decoder.decode(text)
        kind, fields = self._kinds.get(message.template.id, ""), message.fields
        sent_ns = timestamp_ns(fields.get("SendingTime"))
        if kind == "X":
            return self._entries(fields, unit, faults)
        if kind == "W":
            return self._snapshot(fields, sent_ns, unit, faults)
        if kind == "y":
            return self._definitions(text, unit, faults)
        row = blank(1)
        row["time_ns"] = NULL if sent_ns is None else sent_ns
        row["flags"] = Flag.END_OF_EVENT
        if kind == "f":
            _status(row[0], fields)
            finding = e.unknown_session(fields)
            if finding is not None:
                faults.append(_finding(finding, unit, 0))
        elif kind in ("0", "4"):
            # Heartbeats have numbers of the sequence themselves: the next is theirs plus one.
            row["kind"] = Kind.SEQUENCE if kind == "0" else Kind.SEQUENCE_RESET
            row["price"] = fields["MsgSeqNum"] + 1 if kind == "0" else fields["NewSeqNo"]
            row["flags"] = Flag.NO_EVENT
        else:
            row["kind"] = Kind.NEWS if kind == "B" else Kind.OTHER
            row["size"], row["other"] = len(text), message.template.id
            finding = finding_of(fields) if kind == "B" else None
            if finding is not None:
                faults.append(_finding(finding, unit, 0))
        return row

    def _entries(self, fields: Mapping[str, Any], unit: int, faults: list[RowFault]) -> Rows:
        """An event is one message: it ends with its last entry."""
        rows = self._filled(fields, {}, unit, faults, snapshot=False)
        if len(rows):
            rows["flags"][-1] |= np.uint8(Flag.END_OF_EVENT)
        return rows

    def _snapshot(
        self, fields: Mapping[str, Any], sent_ns: int | None, unit: int, faults: list[RowFault]
    ) -> Rows:
        """The row of the snapshot itself comes first. Nothing in it says which sequence 369 is of but the
        time when it was sent (5.2.8)."""
        has_rows = any(entry.get("MDEntryType") in ("0", "1") for entry in fields["MDEntries"])
        self.shape.learn(fields.get("MarketDepth"), has_rows=has_rows)
        head = {"SecurityID": fields.get("SecurityID"), "RptSeq": fields.get("RptSeq")}
        before = len(faults)
        rows = self._filled(fields, head, unit, faults, snapshot=True)
        if any(fault.lost for fault in faults[before:]):
            return blank(0)  # by half it would be wrong
        rows["flags"] |= np.uint8(Flag.NO_EVENT)
        first = _snapshot_row(fields, rows)
        first["time_ns"] = NULL if sent_ns is None else sent_ns
        first["firm"] = self.shape.depth
        return joined([first, rows])

    def _filled(
        self, fields: Mapping[str, Any], head: Mapping[str, Any], unit: int, faults: list[RowFault], *,
        snapshot: bool,
    ) -> Rows:  # fmt: skip
        entries = fields["MDEntries"]
        by_level, rows = self.shape.is_by_level(entries), blank(sum(map(_rows_of, entries)))
        kept: list[int] = []
        place = 0
        for index, entry in enumerate(entries):
            try:
                finding = e.fill(rows[place], {**entry, **head}, by_level=by_level, snapshot=snapshot)
                kept.append(place)
                try:
                    kept += self._fill_parts(rows, place, entry)
                    finding = finding or e.unknown_part(_parts(entry))
                except DecodeError as error:
                    finding = error
                if finding is not None:
                    is_unread = rows[place]["kind"] == Kind.UNREAD and e.is_told_of(entry)
                    doubts = entry.get("SecurityID") if is_unread and not snapshot else None
                    faults.append(_finding(finding, unit, index, doubts))
            except DecodeError as error:
                faults.append(RowFault(error.fault, unit, error.offset, index, detail=error.detail))
            except OverflowError:  # a number that its field of the row cannot hold
                faults.append(RowFault(Fault.FAST_BEYOND_SCALE, unit, 0, index))
            place += _rows_of(entry)
        rows["index"] = np.arange(len(rows))
        return rows[kept]

    def _fill_parts(self, rows: Rows, place: int, entry: Mapping[str, Any]) -> Iterable[int]:
        """Of a composite: which rows they are."""
        parts = _parts(entry)
        for part, underlying in enumerate(parts, 1):
            e.fill_part(rows[place + part], rows[place], underlying, part)
        return range(place + 1, place + 1 + len(parts))

    def _definitions(self, text: bytes, unit: int, faults: list[RowFault]) -> Rows:
        known = self._lists.read(text)
        faults += [_finding(error, unit, index) for index, error in known.findings]
        fields = known.message.fields
        rows = blank(len(fields["RelatedSym"]))
        rows["kind"], rows["flags"] = Kind.DEFINITION, Flag.END_OF_EVENT
        rows["size"], rows["other"] = len(text), known.message.template.id
        rows["high"] = fields["TotNoRelatedSym"]
        rows["low"] = np.arange(len(rows))  # which of the message it is
        for row, entry in zip(rows, fields["RelatedSym"], strict=True):
            row["security_id"], row["action"] = (
                entry["SecurityID"],
                ord((entry["SecurityUpdateAction"] or " ")[0]),
            )
        return rows

    def definition(self, row: np.void) -> ListedDefinition | None:
        message = self._lists.decoded(self.message(row))
        entry = message.fields["RelatedSym"][int(row["low"])]
        self.shape.learn(_depth_of(entry, self._channel))
        found = definition_of(entry, self._channel)
        # 893 is of the message: its last instrument ends the loop.
        is_last_of_message = int(row["low"]) == len(message.fields["RelatedSym"]) - 1
        ends = is_last_of_message and message.fields["LastFragment"] in ("Y", "1")
        return ListedDefinition(found, message.fields["TotNoRelatedSym"], ends)

    def messages_at(self, rows: Rows) -> tuple[Array, Array]:
        """Without number and time, which are others each time it is told."""
        packets, which = np.unique(rows["packet"], return_inverse=True)
        bodies = np.array([self._lists.body_at(self._text(each)) for each in packets.tolist()], np.int64)
        sizes = self._sizes[packets].astype(np.int64) - bodies
        return (self._places[packets] + bodies)[which], sizes[which]


def _heartbeat(head: Head) -> Rows:
    """It has a number of the sequence itself: the next is that plus one."""
    row = blank(1)
    row["time_ns"] = head.sent_ns
    row["kind"], row["price"], row["flags"] = Kind.SEQUENCE, head.number + 1, Flag.NO_EVENT
    return row


def _finding(error: DecodeError, unit: int, index: int, doubts: int | None = None) -> RowFault:
    return RowFault(error.fault, unit, error.offset, index, lost=False, detail=error.detail, doubts=doubts)


def _parts(entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return entry.get("Underlyings") or () if entry.get("MDEntryType") == "D" else ()


def _rows_of(entry: Mapping[str, Any]) -> int:
    return 1 + len(_parts(entry))


def _depth_of(entry: Mapping[str, Any], channel: int) -> int | None:
    """264 of this channel; None: it tells orders (1022 is not sent of those)."""
    for each in entry.get("ApplIDs") or ():
        if e.number_of(each["ApplID"]) in (channel, NULL) or len(entry["ApplIDs"]) == 1:
            for kind in each.get("FeedTypes") or ():
                return int(kind["MarketDepth"])
    return None


def _snapshot_row(fields: Mapping[str, Any], entries: Rows) -> Rows:
    """The row of a snapshot, which comes before its entries."""
    row = blank(1)
    row["kind"], row["flags"], row["security_id"] = Kind.SNAPSHOT, Flag.NO_EVENT, fields["SecurityID"]
    row["rpt_seq"], row["price"] = fields["RptSeq"], fields["LastMsgSeqNumProcessed"]
    row["size"] = fields.get("TotNumReports") or 0
    booked = (entries["kind"] >= FIRST_ENTRY_KIND) & (entries["kind"] <= LAST_ENTRY_KIND)
    row["low"] = int((booked & (entries["side"] == 1)).sum())
    row["high"] = int((booked & (entries["side"] == 2)).sum())
    row["position"] = int((~booked).sum())
    return row


def _status(row: Any, fields: Mapping[str, Any]) -> None:
    """625 of groups, 326 of instruments (11): 1151 is looked for first, and 625 with it is of the group, even
    if an instrument is named beside it."""
    security_id, group = fields.get("SecurityID"), (fields.get("SecurityGroup") or "").strip()
    number = e.number_of(fields.get("TradingSessionSubID"))
    state = fields.get("SecurityTradingStatus")
    if (fields.get("SecurityExchange") or EXCHANGE) != EXCHANGE:
        row["kind"] = Kind.OTHER  # groups of other exchanges have names of their own (11)
        return
    if security_id is None or (group and state is None and number != NULL):
        row["kind"] = Kind.PHASE
        row["id"] = group_number(group)
        row["type"] = number if 0 <= number < 256 else state or 0
    else:
        row["kind"], row["security_id"] = Kind.STATE, security_id
        row["type"] = (state or 0) if state is not None else number if 0 <= number < 256 else 0
    row["detail"], row["session"] = (
        fields.get("SecurityTradingEvent") or 0,
        fields.get("TradingSessionID") or 0,
    )
    row["trade_date"] = max(0, date_days(fields.get("TradeDate")) or 0)
    time_ns = timestamp_ns(fields.get("TransactTime"))
    ends_ns = timestamp_ns(fields.get("TradSesOpenTime"))
    row["time_ns"] = NULL if time_ns is None else time_ns
    row["inserted_ns"] = NULL if ends_ns is None else ends_ns
