"""Messages that the plan itself must know: resets, phases, definitions, parts of news."""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from pregao.feeds.registry import DEFAULT
from pregao.lake.plan.captures import Packets
from pregao.lake.plan.dates import calendar_day
from pregao.lake.plan.index import MARK, Array, Defined, NewsMessage
from pregao.lake.plan.kernels import hash_messages
from pregao.lake.plan.readers import row_reader
from pregao.model.errors import PregaoError
from pregao.model.rows import Kind, Rows
from pregao.model.streams import Stream

_MARKED: Final = (Kind.PHASE, Kind.CHANNEL_RESET, Kind.EMPTY_BOOK, Kind.SEQUENCE_RESET, Kind.DEFINITION)


class MarkReader:
    def __init__(self, channel: int, stream: Stream, system: str = DEFAULT) -> None:
        self._reader, self._channel, self._stream = row_reader("marks", system), channel, stream
        self._marks: list[Array] = []
        self._definitions: list[Defined] = []
        self._news: list[NewsMessage] = []
        self._known: dict[int, tuple[int, int]] = {}  # by id: hash of its definition, and the day it was told

    def take(self, packets: Packets, keys: Array, sent: Array) -> None:
        reading = self._reader.read(
            0, np.ascontiguousarray(packets.address), np.ascontiguousarray(packets.length),
            np.ascontiguousarray(keys), np.zeros(len(keys), np.uint16),
        )  # fmt: skip
        while True:
            self._take_rows(reading.rows, sent, packets.ts)
            if reading.whole:
                return
            reading = self._reader.go_on()

    def _take_rows(self, rows: Rows, sent: Array, received: Array) -> None:
        kinds = rows["kind"]
        if self._stream is Stream.INCREMENTAL:
            marked = rows[np.isin(kinds, _MARKED)]
            marks = np.zeros(len(marked), MARK)
            marks["kind"], marks["key"], marks["index"] = marked["kind"], marked["at"], marked["index"]
            marks["sent_ns"], marks["security_id"] = sent[marked["packet"]], marked["security_id"]
            marks["trade_date"] = np.where(marked["kind"] == Kind.PHASE, marked["trade_date"], 0)
            self._marks.append(marks)
            for row in rows[kinds == Kind.NEWS]:
                packet = int(row["packet"])
                self._news.append(self._part(row, int(sent[packet]), int(received[packet])))
        self._take_definitions(rows[kinds == Kind.DEFINITION], sent)

    def _take_definitions(self, rows: Any, sent: Array) -> None:
        if not len(rows):
            return
        places, sizes = self._reader.messages_at(rows)
        hashes = np.empty(len(rows), np.int64)
        hash_messages(places.ctypes.data, sizes.ctypes.data, len(rows), hashes.ctypes.data)
        for row, value in zip(rows, hashes.tolist(), strict=True):
            sent_ns = int(sent[row["packet"]])
            if self._stream is Stream.DEFINITION:
                # Loops tell the same again and again: once a day is enough, for a file may be of several.
                security_id, told = int(row["security_id"]), (value, calendar_day(sent_ns))
                if self._known.get(security_id) == told:
                    continue
                self._known[security_id] = told
            self._define(row, sent_ns)

    def _define(self, row: Any, sent_ns: int) -> None:
        try:
            listed = self._reader.definition(row)
        except PregaoError:
            return
        if listed is not None:
            instrument = replace(listed.definition.instrument, channel=self._channel)
            key = int(row["at"]) if self._stream is Stream.INCREMENTAL else -1
            self._definitions.append(
                Defined(instrument, listed.definition.action, sent_ns, key, int(row["index"]))
            )

    def _part(self, row: Any, sent_ns: int, received_ns: int) -> NewsMessage:
        return NewsMessage(int(row["at"]), int(row["index"]), sent_ns, self._reader.message(row), received_ns)

    def finish(self) -> tuple[Array, list[Defined], list[NewsMessage]]:
        marks = np.concatenate(self._marks) if self._marks else np.zeros(0, MARK)
        return marks, self._definitions, self._news
