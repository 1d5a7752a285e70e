"""From a stream of bytes to messages, without I/O.

A message is what begins with 8=, says its length in 9 and has 10= right behind that length. What is not one
is garbled: it is dropped with a named fault, its number is not used, and reading goes on behind it. Where a
message says too long a length, the next trailer behind that length ends it, so that it may take the message
after it along: nobody can tell where it should have ended.

The buffer never holds more than one message of the greatest size and what was fed last.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pregao.codecs.fix.message import byte_sum
from pregao.model.errors import Fault

MAX_MESSAGE = 8 << 20
MAX_SHOWN = 200  # bytes of a garbled message that are kept for a person

_BEGIN = re.compile(rb"8=([^\x01]{1,20})\x01")
_START, _SURE_START = b"8=", b"8=FIX"
_PART_OF_LENGTH = re.compile(rb"(9(=[0-9]{0,9})?)?")
_LENGTH = re.compile(rb"9=([0-9]{1,9})\x01")
_TRAILER = re.compile(rb"10=([0-9]{3})\x01")
_LONGEST_START = len(b"8=\x019=\x01") + 20 + 9
TRAILER_SIZE = len(b"10=000\x01")


@dataclass(frozen=True, slots=True)
class Framed:
    """A message whose length and sum are right; `begin_string` is its 8."""

    data: bytes
    begin_string: bytes


@dataclass(frozen=True, slots=True)
class Garbled:
    """Bytes that were dropped: what was wrong, where they began in the stream, and how many they were."""

    fault: Fault
    offset: int
    length: int
    shown: bytes


class Framer:
    """Cuts a stream into messages: `feed` bytes, get messages and what was garbled, in order."""

    def __init__(self, max_message: int = MAX_MESSAGE) -> None:
        self.max_message = max_message
        self.offset = 0  # of the buffer's first byte in the stream
        self._buffer = b""
        self._before = 1  # the byte before the buffer: a stream begins where a field may

    @property
    def waiting(self) -> int:
        """Bytes of a message that is not complete."""
        return len(self._buffer)

    def take_waiting(self) -> bytes:
        """The beginning of a message that is not complete, for somebody else to go on with."""
        waiting, self._buffer = self._buffer, b""
        return waiting

    def feed(self, data: bytes) -> list[Framed | Garbled]:
        self._buffer += data
        found: list[Framed | Garbled] = []
        at = 0
        for size, item in self._items():
            at += size
            found.append(item)
        self._buffer = self._buffer[at:]
        self.offset += at
        return found

    def _items(self) -> Iterator[tuple[int, Framed | Garbled]]:
        """What can be cut off the buffer, each with its size."""
        buffer, at = self._buffer, 0
        while at < len(buffer):
            start = self._find_start(buffer, at)
            if start > at:  # bytes before the next 8=
                yield start - at, self._garbled(Fault.FIX_NOISE, at, start)
                self._before = buffer[start - 1]
                at = start
                continue
            if len(buffer) - at < len(_SURE_START):
                return
            end, item = self._cut(buffer, at)
            if item is None:
                return
            yield end - at, item
            self._before = buffer[end - 1]
            at = end

    def _cut(self, buffer: bytes, at: int) -> tuple[int, Framed | Garbled | None]:
        """One message at a place that begins with 8=: where it ends, or None while bytes are missing."""
        begin = _BEGIN.match(buffer, at)
        if begin is None:
            complete = len(buffer) - at >= _LONGEST_START
            return self._skip(buffer, at, Fault.FIX_BEGIN_STRING) if complete else (at, None)
        length = _LENGTH.match(buffer, begin.end())
        if length is None:
            partly = _PART_OF_LENGTH.fullmatch(buffer, begin.end())
            return (at, None) if partly else self._skip(buffer, at, Fault.FIX_BODY_LENGTH)
        body_end = length.end() + int(length[1])
        if body_end + TRAILER_SIZE - at > self.max_message:
            return self._skip(buffer, at, Fault.FIX_TOO_LARGE)
        if len(buffer) < body_end + TRAILER_SIZE:
            return at, None
        trailer = _TRAILER.match(buffer, body_end)
        if trailer is None or buffer[body_end - 1] != 1:
            return self._skip_to_trailer(buffer, at, body_end)
        end = trailer.end()
        fault = Fault.NONE
        if byte_sum(buffer[at:body_end]) % 256 != int(trailer[1]):
            fault = Fault.FIX_CHECK_SUM
        elif not buffer.startswith(b"35=", length.end()):
            fault = Fault.FIX_MSG_TYPE
        if fault:
            return end, self._garbled(fault, at, end)
        return end, Framed(buffer[at:end], begin[1])

    def _skip_to_trailer(self, buffer: bytes, at: int, body_end: int) -> tuple[int, Garbled | None]:
        """A length that is wrong: drop up to the next trailer behind it. Where a length is right but 10 is of
        another form than three digits, that trailer is its own."""
        place = buffer.find(b"\x0110=", max(body_end - 1, at))
        end = buffer.find(b"\x01", place + 4) if place >= 0 else -1
        if end >= 0:
            fault = Fault.FIX_CHECK_SUM if place == body_end - 1 else Fault.FIX_BODY_LENGTH
            return end + 1, self._garbled(fault, at, end + 1)
        if len(buffer) - at > self.max_message:
            return self._skip(buffer, at, Fault.FIX_BODY_LENGTH)
        return at, None

    def _skip(self, buffer: bytes, at: int, fault: Fault) -> tuple[int, Garbled]:
        """Drop up to the next place that begins like a message."""
        end = self._find_start(buffer, at + 1)
        return end, self._garbled(fault, at, end)

    def _garbled(self, fault: Fault, at: int, end: int) -> Garbled:
        return Garbled(fault, self.offset + at, end - at, self._buffer[at : min(end, at + MAX_SHOWN)])

    def _find_start(self, buffer: bytes, at: int) -> int:
        """Where the next message may begin: 8= at the beginning of a field, or 8=FIX anywhere. What may
        become one of these with the next bytes counts too; the end of the buffer where nothing does."""
        while True:
            place = buffer.find(b"8", at)
            if place < 0:
                return len(buffer)
            before = buffer[place - 1] if place else self._before
            wanted = _START if before == 1 else _SURE_START
            if wanted.startswith(buffer[place : place + len(wanted)]):
                return place
            at = place + 1
