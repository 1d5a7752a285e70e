"""Messages of UMDF FIX/FAST to rows of `model.rows`, one at a time: plain Python, no kernel yet."""

from collections.abc import Mapping
from ctypes import string_at
from typing import Any

import numpy as np

from pregao.codecs.fast import FastMessageDecoder, Templates
from pregao.feeds.fast import entries as e
from pregao.feeds.fast.definitions import definition_of
from pregao.feeds.fast.identity import NO_EPOCH, msg_type
from pregao.feeds.fast.times import date_days, timestamp_ns
from pregao.feeds.port import Array, ListedDefinition, Reading, RowFault
from pregao.model.errors import DecodeError
from pregao.model.rows import NO_ACTION, NULL, ROW, Flag, Kind, Rows


class FastReader:
    """`by_level`: the channel tells price levels (MBP, TOB), not orders."""

    def __init__(self, channel: int, templates: Templates, *, by_level: bool = False) -> None:
        self._channel, self._by_level = channel, by_level
        self._decoder = FastMessageDecoder(templates)
        self._kinds = {template.id: msg_type(template) for template in templates}
        self._texts: list[bytes] = []
        self._places: Array = np.zeros(0, np.int64)

    def read(
        self, address: int, offsets: Array, lengths: Array, at: Array, epochs: Array, count: int | None = None
    ) -> Reading:
        count = len(offsets) if count is None else count
        self._texts = [string_at(address + int(offsets[i]), int(lengths[i])) for i in range(count)]
        self._places = address + offsets[:count]
        found: list[Rows] = []
        faults: list[RowFault] = []
        for index, text in enumerate(self._texts):
            try:
                rows = self._rows(text, index, faults)
            except DecodeError as error:
                faults.append(RowFault(error.fault, index, error.offset, 0))
                continue
            rows["packet"], rows["at"], rows["sequence_version"] = index, at[index], epochs[index]
            rows["price"][_points_at(rows)] = int(offsets[index])
            found.append(rows)
        return Reading(np.concatenate(found) if found else np.zeros(0, ROW), faults, whole=True)

    def go_on(self) -> Reading:
        raise AssertionError("every reading is whole")

    def read_unit(self, payload: bytes) -> Reading:
        one = np.frombuffer(payload or b"\0", np.uint8)
        zero = np.zeros(1, np.int64)
        return self.read(one.ctypes.data, zero, np.array([len(payload)], np.uint32), zero, zero)

    def _rows(self, text: bytes, unit: int, faults: list[RowFault]) -> Rows:
        message = self._decoder.decode(text)
        kind, fields = self._kinds.get(message.template.id, ""), message.fields
        sent_ns = timestamp_ns(fields.get("SendingTime"))
        if kind in ("X", "W"):
            return self._entries(fields, kind == "W", unit, faults)
        if kind == "y":
            return self._definitions(fields, len(text), message.template.id)
        row = _blank(1)
        row["time_ns"] = NULL if sent_ns is None else sent_ns
        row["flags"] = Flag.END_OF_EVENT
        if kind == "f":
            _status(row[0], fields)
        elif kind in ("0", "4"):
            # Heartbeats have numbers of the sequence themselves: the next is theirs plus one.
            row["kind"] = Kind.SEQUENCE if kind == "0" else Kind.SEQUENCE_RESET
            row["price"] = fields["MsgSeqNum"] + 1 if kind == "0" else fields["NewSeqNo"]
            row["flags"] = Flag.NO_EVENT
        else:
            row["kind"] = Kind.NEWS if kind == "B" else Kind.OTHER
            row["size"], row["other"] = len(text), message.template.id
        return row

    def _entries(self, fields: Mapping[str, Any], snapshot: bool, unit: int, faults: list[RowFault]) -> Rows:
        """An event is one message: it ends with its last entry."""
        head = {"SecurityID": fields.get("SecurityID"), "RptSeq": fields.get("RptSeq")} if snapshot else {}
        rows = _blank(len(fields["MDEntries"]))
        kept = []
        for index, entry in enumerate(fields["MDEntries"]):
            try:
                e.fill(rows[index], {**entry, **head}, by_level=self._by_level, snapshot=snapshot)
                kept.append(index)
            except DecodeError as error:
                faults.append(RowFault(error.fault, unit, error.offset, index))
        rows = rows[kept]
        if snapshot:
            rows["flags"] |= np.uint8(Flag.NO_EVENT)
            return np.concatenate([_snapshot(fields, rows), rows])
        if len(rows):
            rows["flags"][-1] |= np.uint8(Flag.END_OF_EVENT)
        return rows

    def _definitions(self, fields: Mapping[str, Any], size: int, template: int) -> Rows:
        rows = _blank(len(fields["RelatedSym"]))
        rows["kind"], rows["flags"] = Kind.DEFINITION, Flag.END_OF_EVENT
        rows["size"], rows["other"], rows["high"] = size, template, fields["TotNoRelatedSym"]
        rows["low"] = np.arange(len(rows))  # which of the message it is
        for row, entry in zip(rows, fields["RelatedSym"], strict=True):
            row["security_id"], row["action"] = (
                entry["SecurityID"],
                ord((entry["SecurityUpdateAction"] or " ")[0]),
            )
        return rows

    def definition(self, row: np.void) -> ListedDefinition | None:
        message = self._decoder.decode(self._texts[int(row["packet"])])
        entry = message.fields["RelatedSym"][int(row["low"])]
        found = definition_of(entry, self._channel)
        return None if found is None else ListedDefinition(found, message.fields["TotNoRelatedSym"])

    def messages_at(self, rows: Rows) -> tuple[Array, Array]:
        sizes = [len(self._texts[packet]) for packet in rows["packet"].tolist()]
        return self._places[rows["packet"]], np.array(sizes, np.int64)

    def message(self, row: np.void) -> bytes:
        return self._texts[int(row["packet"])]


def _blank(count: int) -> Rows:
    rows: Rows = np.zeros(count, ROW)
    for name in (
        "security_id",
        "id",
        "price",
        "size",
        "other",
        "time_ns",
        "inserted_ns",
        "fine",
        "low",
        "high",
    ):
        rows[name] = NULL
    rows["action"] = NO_ACTION
    return rows


def _points_at(rows: Rows) -> Any:
    """Rows that say where their message is."""
    return np.isin(rows["kind"], (Kind.DEFINITION, Kind.NEWS))


def _snapshot(fields: Mapping[str, Any], entries: Rows) -> Rows:
    """The row of a snapshot, which comes before its entries."""
    row = _blank(1)
    row["kind"], row["flags"], row["security_id"] = Kind.SNAPSHOT, Flag.NO_EVENT, fields["SecurityID"]
    row["rpt_seq"], row["price"] = fields["RptSeq"], fields["LastMsgSeqNumProcessed"]
    row["other"], row["size"] = NO_EPOCH, fields.get("TotNumReports") or 0
    booked = np.isin(entries["kind"], (Kind.SNAPSHOT_ORDER, Kind.SNAPSHOT_LEVEL))
    row["low"] = int((booked & (entries["side"] == 1)).sum())
    row["high"] = int((booked & (entries["side"] == 2)).sum())
    row["position"] = int((~booked).sum())
    return row


def _status(row: Any, fields: Mapping[str, Any]) -> None:
    """625 of groups, 326 of instruments (11)."""
    security_id = fields.get("SecurityID")
    number = e.number_of(fields.get("TradingSessionSubID"))
    state = fields.get("SecurityTradingStatus")
    if security_id is None:
        row["kind"] = Kind.PHASE
        row["id"] = int.from_bytes(
            (fields.get("SecurityGroup") or "").encode("latin-1")[:8], "little", signed=True
        )
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
