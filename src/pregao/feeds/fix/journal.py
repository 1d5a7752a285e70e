"""What a server sent in a session to its messages: each once, in the order of their numbers.

A connection is compressed or plain, which its first byte tells. Numbers begin again with a logon of
number 1: that is another epoch. A message that came too early waits for those before it, which the server
sends again when it is asked to (43=Y); where they never come, what is missing is told and reading goes on.
"""

import re
from typing import Final, NamedTuple

import numpy as np

from pregao.codecs.fix import Dictionary, Framed, Framer, load_builtin_dictionary
from pregao.codecs.fix.columns import find_messages
from pregao.codecs.fix.compression import StreamInflater
from pregao.codecs.fix.framing import MAX_MESSAGE
from pregao.codecs.fix.kernels.heads import read_heads
from pregao.codecs.fix.types import ValueFormatError, parse_timestamp
from pregao.feeds.port import Array
from pregao.feeds.session_port import JournalFault, SessionMessage, SessionRun
from pregao.model.errors import DecodeError, Fault

MOST_HELD: Final = 10_000  # messages that wait for those before them
MOST_HELD_BYTES: Final = 32 << 20
_LOGON, _SEQUENCE_RESET = b"A", b"4"
_ADMIN: Final = frozenset({b"0", b"1", b"2", b"3", b"4", b"5", b"A"})
_IS_ADMIN: Final = np.zeros(257, np.bool_)  # by the letter of MsgType; the last: longer ones
_IS_ADMIN[[each[0] for each in _ADMIN]] = True
_HEADER_SIZE: Final = 512  # the header is in the first bytes, whatever its order
_TYPE = re.compile(rb"\x0135=([^\x01]*)\x01")
_NUMBER = re.compile(rb"\x0134=([0-9]{1,18})\x01")
_SENT = re.compile(rb"\x0152=([^\x01]*)\x01")
_REPEATED = re.compile(rb"\x0143=Y\x01")
_NEXT = re.compile(rb"\x0136=([0-9]{1,18})\x01")
_GAP_FILL = re.compile(rb"\x01123=Y\x01")

Found = list[SessionMessage | JournalFault]
Runs = list[SessionRun | SessionMessage | JournalFault]


class FixJournal:
    """Offsets of messages are those of the inflated bytes of all connections together."""

    def __init__(self, dictionary: Dictionary | None = None, max_message: int = MAX_MESSAGE) -> None:
        self._dictionary, self._max_message = dictionary or load_builtin_dictionary(), max_message
        self._epoch, self._expected = 0, 1
        self._joins = False
        self._held: dict[int, SessionMessage | None] = {}  # None: a number that says nothing
        self._held_bytes = 0
        self._offset = 0  # of this connection's first inflated byte
        self._begin()

    def _begin(self) -> None:
        self._framer, self._inflater = Framer(self._max_message), StreamInflater()
        self._broken = False

    @property
    def epoch(self) -> int:
        """How often numbers began again."""
        return self._epoch

    def receive(self, data: bytes, now_ns: int) -> Found:
        found: Found = []
        if self._broken:
            return found
        try:
            for piece in self._inflater.feed(data):
                self._take_piece(piece, now_ns, found)
        except DecodeError as error:
            self._broken = True  # nothing behind it can be read
            found.append(JournalFault(error.fault, self._offset + self._inflater.inflated, error.detail))
        return found

    def receive_runs(self, data: bytes, now_ns: int) -> list[SessionRun | SessionMessage | JournalFault]:
        """The same: what simply follows comes as runs, all else a message at a time."""
        found: list[SessionRun | SessionMessage | JournalFault] = []
        if self._broken:
            return found
        try:
            piece = b"".join(self._inflater.feed(data))
        except DecodeError as error:
            self._broken = True
            found.append(JournalFault(error.fault, self._offset + self._inflater.inflated, error.detail))
            return found
        whole = self._framer.take_waiting() + piece
        offsets, lengths, garbled, used = find_messages(whole, self._dictionary, self._max_message)
        if garbled:  # the plain framer says where
            self._take_piece(whole, now_ns, found)  # type: ignore[arg-type]
            return found
        self._take_many(whole, offsets, lengths, now_ns, found)
        self._framer.offset += used
        self._take_piece(whole[used:], now_ns, found)  # type: ignore[arg-type]
        return found

    def _take_many(
        self, whole: bytes, offsets: Array, lengths: Array, now_ns: int,
        found: list[SessionRun | SessionMessage | JournalFault],
    ) -> None:  # fmt: skip
        count, buffer = len(offsets), np.frombuffer(whole, np.uint8)
        kinds, numbers, repeated, sent = heads_of(buffer, offsets, lengths)
        ordinary = ~_IS_ADMIN[np.minimum(kinds, 256)] & (repeated == 0) & (kinds > 0)
        done, place = 0, self._offset + self._framer.offset
        while done < count:
            follows = ordinary[done:] & (numbers[done:] == self._expected + np.arange(count - done))
            end = done + (count - done if follows.all() else int(np.argmin(follows)))
            if end > done and not self._held and not self._joins:
                sizes = lengths[done:end].astype(np.uint32)
                taken = slice(done, end)
                run = SessionRun(
                    self._epoch, self._expected, now_ns, buffer, offsets[taken], sizes, place, sent[taken]
                )
                found.append(run)
                self._expected += end - done
                done = end
            else:
                at, size = int(offsets[done]), int(lengths[done])
                self._take(whole[at : at + size], place + at, now_ns, found)  # type: ignore[arg-type]
                done += 1

    def _take_piece(self, piece: bytes, now_ns: int, found: Found) -> None:
        place = self._offset + self._framer.offset
        for item in self._framer.feed(piece):
            if isinstance(item, Framed):
                self._take(item.data, place, now_ns, found)
                place += len(item.data)
            else:
                found.append(JournalFault(item.fault, self._offset + item.offset, f"{item.length} bytes"))
                place = self._offset + item.offset + item.length

    def _take(self, data: bytes, place: int, now_ns: int, found: Found) -> None:
        head = data[:_HEADER_SIZE]
        kind, number = _TYPE.search(head), _NUMBER.search(head)
        if kind is None or number is None:
            found.append(JournalFault(Fault.FIX_FIELD, place, "a message without 35 or 34"))
            return
        place_in_order = int(number[1])
        if self._joins and kind[1] != _SEQUENCE_RESET and _REPEATED.search(head) is None:
            self._join_at(place_in_order, place, found)
        if kind[1] == _LOGON and place_in_order == 1:
            self._begin_again(place, found)
        if kind[1] == _SEQUENCE_RESET:
            self._reset(data, place_in_order, place, found)
            return
        if place_in_order < self._expected or place_in_order in self._held:
            if _REPEATED.search(head) is None:
                found.append(JournalFault(Fault.FIX_REPEATED, place, f"number {place_in_order} again"))
            return
        message = None
        if kind[1] not in _ADMIN:
            sent_ns = _sent_ns(head)
            message = SessionMessage(self._epoch, place_in_order, sent_ns, now_ns, place, data)
        self._held[place_in_order] = message
        self._held_bytes += len(data)
        self._release(found)
        if len(self._held) > MOST_HELD or self._held_bytes > MOST_HELD_BYTES:
            self._give_up(place, found)

    def join(self) -> None:
        """Bytes before those that follow are missing: the first message that comes is the next. What was
        missed is only known where something came before."""
        self._joins = True

    def _join_at(self, number: int, place: int, found: Found) -> None:
        self._joins = False
        self._give_up(place, found)
        if number > self._expected:
            if self._expected > 1:
                missing = f"{self._expected} to {number - 1} are missing"
                found.append(JournalFault(Fault.FIX_NUMBERS_MISSING, place, missing))
            self._expected = number

    def _begin_again(self, place: int, found: Found) -> None:
        self._give_up(place, found)
        if self._expected > 1:
            self._epoch += 1
        self._expected = 1

    def _reset(self, data: bytes, number: int, place: int, found: Found) -> None:
        """35=4: numbers up to 36 will not come. A gap fill counts in its turn."""
        following = _NEXT.search(data)
        if following is None:
            found.append(JournalFault(Fault.FIX_FIELD, place, "35=4 without 36"))
            return
        if _GAP_FILL.search(data) is not None and number > self._expected:
            for each in range(number, min(int(following[1]), number + MOST_HELD)):
                self._held.setdefault(each, None)
        else:
            self._expected = max(self._expected, int(following[1]))
            for each in [held for held in self._held if held < self._expected]:
                self._forget(each)
        self._release(found)

    def _release(self, found: Found) -> None:
        while self._expected in self._held:
            message = self._forget(self._expected)
            self._expected += 1
            if message is not None:
                found.append(message)

    def _forget(self, number: int) -> SessionMessage | None:
        message = self._held.pop(number)
        self._held_bytes -= 0 if message is None else len(message.payload)
        return message

    def _give_up(self, place: int, found: Found) -> None:
        """What is missing will not come: go on without it."""
        while self._held:
            following = min(self._held)
            missing = f"{self._expected} to {following - 1} are missing"
            found.append(JournalFault(Fault.FIX_NUMBERS_MISSING, place, missing))
            self._expected = following
            self._release(found)
        self._held_bytes = 0

    def connected(self) -> list[JournalFault]:
        """Another connection. What waits for earlier messages goes on to: they may be sent again in it."""
        return self._cut()

    def finish(self) -> list[JournalFault]:
        """Nothing more will come. Messages that still waited are told by `rest`."""
        return self._cut()

    def rest(self) -> Found:
        """Those that waited for others to the end, and what was missing before them."""
        found: Found = []
        self._give_up(self._offset, found)
        return found

    def _cut(self) -> list[JournalFault]:
        waiting, end = self._framer.waiting, self._offset + self._framer.offset
        faults = []
        if waiting:
            faults.append(JournalFault(Fault.FRAME_TRUNCATED, end, f"{waiting} bytes of a message"))
        self._offset = end + waiting
        self._begin()
        return faults


class Heads(NamedTuple):
    """Of many messages: MsgType as a number, MsgSeqNum, whether it was sent again, SendingTime."""

    kinds: Array
    numbers: Array
    repeated: Array
    sent_ns: Array


def heads_of(buffer: Array, offsets: Array, lengths: Array) -> Heads:
    """Offsets and lengths are int64."""
    count = len(offsets)
    kinds, numbers, sent = np.empty((3, count), np.int64)
    found = Heads(kinds, numbers, np.empty(count, np.uint8), sent)
    wanted = np.ascontiguousarray(offsets), np.ascontiguousarray(lengths)
    where = buffer.ctypes.data, *(each.ctypes.data for each in wanted)
    read_heads(*where, count, *(each.ctypes.data for each in found))
    return found


def _sent_ns(head: bytes) -> int:
    """52, or 0 where it is none."""
    found = _SENT.search(head)
    try:
        return parse_timestamp(found[1]) if found is not None else 0
    except ValueFormatError:
        return 0
