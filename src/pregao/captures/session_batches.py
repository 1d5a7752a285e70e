"""What captures of sessions are read to: batches of messages, beginnings of connections, findings.

`RecordStamps` says which record of a capture brought a byte of a journal, and so when a message came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pregao.captures.decoded import Finding
from pregao.feeds.port import Array
from pregao.feeds.session_port import SessionMessage, SessionRun

_LETTERS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

_LONGEST_NAME: Final = 64


def source_of(client: str, server: str) -> str:
    """A session's name, as tables and paths have it: different sessions have different names."""
    return f"{_plain(client)}-{_plain(server)}"


def _plain(name: str) -> str:
    letters = name.encode("latin-1", "replace")[:_LONGEST_NAME]
    return "".join(chr(each) if each in _LETTERS else f".{each:02X}" for each in letters)


@dataclass(slots=True)
class SessionBatch:
    """Messages that follow each other. `line` and `epoch` say of which sequence of numbers of the session;
    `record_at` is where the record is that brought each message, in the (unpacked) file."""

    source: str
    line: int
    epoch: int
    numbers: Array
    sent_ns: Array  # 0: it does not say
    received_ns: Array
    record_at: Array
    file: str
    buffer: Array
    offsets: Array
    lengths: Array

    def __len__(self) -> int:
        return len(self.numbers)


class SessionBreak(NamedTuple):
    """A connection of a session begins: nothing is subscribed to any more. Also after bytes are missing."""

    source: str
    line: int
    ts_ns: int


class SessionFinding(NamedTuple):
    """`source`: empty where nobody knows whose session it is."""

    source: str
    finding: Finding
    ts_ns: int
    is_gap: bool = False  # messages of the session are missing


Item = SessionBatch | SessionBreak | SessionFinding
Stamp = tuple[int, int, int]  # ts_ns, record and offset


class RecordStamps:
    """Of pieces that a journal was just given, behind the `fed` bytes that it had: the record of each."""

    def __init__(
        self, source: str, line: int, fed: int, pieces: Sequence[bytes], stamps: list[Stamp]
    ) -> None:
        self._source, self._line, self._fed = source, line, fed
        self._ends = fed + np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        self._stamps = np.array(stamps or [(0, 0, 0)], np.int64)

    def _which(self, ends: Array) -> Array:
        found: Array = np.minimum(np.searchsorted(self._ends, ends), len(self._stamps) - 1)
        return found

    def stamp(self, offset: int) -> tuple[int, int, int]:
        ts_ns, record, at = self._stamps[self._which(np.array([offset + 1]))[0]].tolist()
        return ts_ns, record, at

    def of_run(self, run: SessionRun, file: str) -> SessionBatch:
        which = self._which(run.base + run.offsets + run.lengths)
        numbers = run.first + np.arange(len(run.offsets), dtype=np.int64)
        return SessionBatch(
            self._source, self._line, run.epoch, numbers, run.sent_ns, self._stamps[which, 0],
            self._stamps[which, 2], file, run.buffer, run.offsets, run.lengths,
        )  # fmt: skip

    def of_messages(self, messages: list[SessionMessage], file: str) -> SessionBatch:
        lengths = np.array([len(each.payload) for each in messages], np.uint32)
        which = self._which(np.array([each.offset + len(each.payload) for each in messages], np.int64))
        known = np.array([each.offset for each in messages], np.int64) >= self._fed
        received = np.where(known, self._stamps[which, 0], [each.received_ns for each in messages])
        return SessionBatch(
            self._source, self._line, messages[0].epoch,
            np.array([each.number for each in messages], np.int64),
            np.array([each.sent_ns for each in messages], np.int64), received, self._stamps[which, 2], file,
            np.frombuffer(b"".join(each.payload for each in messages), np.uint8),
            np.cumsum(lengths, dtype=np.int64) - lengths, lengths,
        )  # fmt: skip
