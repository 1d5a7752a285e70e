"""A stream that says everything, from the first packet to a SequenceReset, again and again (6.5.8, 7.4)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.publisher.packets import PacketStream
from pregao.feeds.publishing import BookSource, LoopPace
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction

_CATCH_UP: Final = 64  # packets that a late call may send at once


class LoopingStream:
    """Sends the messages of `begin` packet by packet as time passes, then starts over.

    `begin` gives the messages of one loop, or None while there is nothing to say: then only
    heartbeats go out. Messages are asked for only when their packet is due, so what is said late
    in a loop is newer than what was said early. Without `sequence_reset` a loop just ends.
    """

    def __init__(
        self,
        packets: PacketStream,
        pace: LoopPace,
        begin: Callable[[], Iterator[bytes] | None],
        sequence_reset: bytes | None,
        now_ns: int,
    ) -> None:
        self.packets, self._pace, self._begin = packets, pace, begin
        self._sequence_reset = sequence_reset
        self._messages: Iterator[bytes] | None = None
        self._ahead: bytes | None = None  # did not fit the packet before
        self.due_ns = now_ns  # when the next packet of a loop is
        self.held = False  # no other loop begins

    @property
    def under_way(self) -> bool:
        """Whether a loop has begun and not ended."""
        return self._messages is not None

    def advance(self, now_ns: int) -> None:
        """Send the packets that are due; a long absence is not made up for."""
        if self.due_ns <= now_ns:
            interval_ns, pause_ns = self._pace
            self.due_ns = max(self.due_ns, now_ns - _CATCH_UP * interval_ns)
            while self.due_ns <= now_ns:
                going_on = self._send_packet(now_ns)
                self.due_ns = self.due_ns + interval_ns if going_on else now_ns + max(pause_ns, interval_ns)
        self.packets.on_timeout(now_ns)

    def restart(self) -> None:
        """Whoever sends from now on does not know how far the loop was: another one begins."""
        if self._messages is not None:
            self._messages = self._ahead = None
            self.packets.start_version()

    def hold(self, now_ns: int, *, held: bool) -> None:
        """Held, a loop that is under way ends and none begins; released, one begins at once."""
        self.held = held
        if not held:
            self.due_ns = now_ns

    def _send_packet(self, now_ns: int) -> bool:
        """One packet of the loop; False at its end, or where there is none."""
        if self._messages is None:
            self._messages = None if self.held else self._begin()
            if self._messages is None:
                return False
        packets = self.packets
        message = self._ahead or next(self._messages, None)
        if message is None:
            if self._sequence_reset is not None:
                packets.send_alone(self._sequence_reset, now_ns)
            packets.start_version()
            self._messages = None
            return False
        while message is not None and packets.fits(message):
            packets.add(message, now_ns)
            message = next(self._messages, None)
        self._ahead = message
        packets.flush(now_ns)
        return True


# The instrument definition stream: every listed instrument, in loops (6.4, 6.5.8).


class DefinitionLoop:
    """The messages of a loop. An instrument deleted while a loop runs is still in it, as its length
    (totNoRelatedSym) was already told, and not in the next."""

    def __init__(self, source: BookSource, writer: MessageWriter) -> None:
        self._source, self._writer = source, writer
        # Definitions hardly change; encoding one costs more than sending it.
        self._encoded: dict[int, tuple[Instrument, int, bytes]] = {}

    def begin(self) -> Iterator[bytes] | None:
        instruments = list(self._source.definitions())
        if not instruments:
            return None
        listed = {instrument.security_id for instrument in instruments}
        self._encoded = {key: value for key, value in self._encoded.items() if key in listed}
        return self._messages(instruments)

    def _messages(self, instruments: Sequence[Instrument]) -> Iterator[bytes]:
        total = len(instruments)
        for instrument in instruments[:-1]:
            kept = self._encoded.get(instrument.security_id)
            if kept is None or kept[0] is not instrument or kept[1] != total:
                kept = instrument, total, self._encode(instrument, total, last=False)
                self._encoded[instrument.security_id] = kept
            yield kept[2]
        yield self._encode(instruments[-1], total, last=True)

    def _encode(self, instrument: Instrument, total: int, *, last: bool) -> bytes:
        return self._writer.definition(instrument, DefinitionAction.ADD, total, last=last)
