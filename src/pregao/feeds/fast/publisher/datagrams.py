"""Numbered messages of one stream, with technical headers, in datagrams of at most 1,420 bytes (5.2.4).

Messages of one instant share a datagram as they fit. One that does not fit a datagram goes in chunks, each
in a datagram of its own. Heartbeats have numbers of the sequence, as on real traffic.
"""

from typing import Final

from pregao.feeds.fast.chunks import HEADER, write_chunks
from pregao.feeds.fast.publisher.writing import Prepared
from pregao.feeds.publishing import OutgoingPacket, SentMessage, SequencePoint
from pregao.model.streams import Feed, Stream

MAX_DATAGRAM: Final = 1_420
LAST_VERSION: Final = 65_534
_HEADER_SIZE: Final = HEADER.size
_ROOM: Final = MAX_DATAGRAM - _HEADER_SIZE
NO_UNITS: Final = (0,)  # a heartbeat, or the rest of a message in chunks
_new_tuple: Final = tuple.__new__


class MessageStream:
    """Appends datagrams to `out`, in which others find them."""

    def __init__(
        self,
        stream: Stream,
        feeds: tuple[Feed, ...],
        heartbeat: Prepared,
        out: list[OutgoingPacket],
        *,
        now_ns: int,
        heartbeat_ns: int,
        start: SequencePoint | None = None,
    ) -> None:
        self._stream, self._feeds, self._heartbeat, self.out = stream, feeds, heartbeat, out
        self.version, self.next_number = start or SequencePoint()
        self._heartbeat_ns = heartbeat_ns
        self.silent_ns = now_ns + heartbeat_ns  # when a heartbeat is due
        self._parts: list[bytes] = []
        self._units: list[int] = []
        self._size = self._first = 0
        self.kept: list[SentMessage] | None = None  # for replayers; None: nobody asks

    @property
    def point(self) -> SequencePoint:
        """Where a publisher that goes on from here would start."""
        return SequencePoint(self.version, self.next_number)

    def add(self, prepared: Prepared, now_ns: int, entries: int = 1) -> None:
        """The next message; it has so many entries."""
        number = self.next_number
        message = prepared.numbered(number, now_ns)
        self.next_number = number + 1
        if self.kept is not None:
            self.kept.append(SentMessage(number, message, now_ns))
        size = _HEADER_SIZE + len(message)
        if self._parts and self._size + size > MAX_DATAGRAM:
            self.flush(now_ns)
        if size > MAX_DATAGRAM:
            units: tuple[int, ...] = (entries,)
            for chunk in write_chunks(number, message, _ROOM):
                self._send(chunk, number, units, now_ns)
                units = ()  # told once, with its first chunk
            return
        if not self._parts:
            self._first = number
        self._parts.append(HEADER.pack(number, 1, 1, len(message)) + message)
        self._units.append(entries)
        self._size += size

    def flush(self, now_ns: int) -> None:
        """The instant is over: what was added leaves."""
        parts = self._parts
        if parts:
            payload = parts[0] if len(parts) == 1 else b"".join(parts)
            self._send(payload, self._first, tuple(self._units), now_ns)
            parts.clear()
            self._units.clear()
            self._size = 0

    def restart(self) -> None:
        """The next message has number 1: a sequence reset told it (5.2.8)."""
        self.version = 1 if self.version >= LAST_VERSION else self.version + 1
        self.next_number = 1

    def on_timeout(self, now_ns: int) -> None:
        """A heartbeat after so much silence (5.1.1, 5.2.7)."""
        if self._parts:
            self.flush(now_ns)
        if now_ns >= self.silent_ns:
            number = self.next_number
            message = self._heartbeat.numbered(number, now_ns)
            self.next_number = number + 1
            if self.kept is not None:
                self.kept.append(SentMessage(number, message, now_ns))
            self._send(HEADER.pack(number, 1, 1, len(message)) + message, number, NO_UNITS, now_ns)

    def _send(self, payload: bytes, number: int, units: tuple[int, ...], now_ns: int) -> None:
        # Heartbeats and resets have no entries and count as no message.
        messages = len(units) - units.count(0)
        # As OutgoingPacket(…) does, which takes twice as long to get there.
        sent = (self._stream, self._feeds, payload, now_ns, self.version, number, messages, units or NO_UNITS)
        self.out.append(_new_tuple(OutgoingPacket, sent))
        self.silent_ns = now_ns + self._heartbeat_ns
