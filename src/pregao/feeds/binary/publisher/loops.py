"""A stream that says everything, from the first packet to a SequenceReset, again and again (6.5.8, 7.4)."""

from collections.abc import Callable, Iterator, Sequence

from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.publisher.packets import PacketStream
from pregao.feeds.publishers import PacedLoop
from pregao.feeds.publishing import BookSource, LoopPace
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction


class LoopingStream(PacedLoop[bytes]):
    """Packet by packet. Messages are asked for only when their packet is due, so what is said late in a loop
    is newer than what was said early. Without `sequence_reset` a loop just ends.
    """

    def __init__(
        self,
        packets: PacketStream,
        pace: LoopPace,
        begin: Callable[[], Iterator[bytes] | None],
        sequence_reset: bytes | None,
        now_ns: int,
    ) -> None:
        super().__init__(packets, pace, begin, now_ns)
        self.packets, self._sequence_reset = packets, sequence_reset
        self._ahead: bytes | None = None  # did not fit the packet before

    def restart(self) -> None:
        """Whoever sends from now on does not know how far the loop was: another one begins."""
        if self._messages is not None:
            self._messages = self._ahead = None
            self.packets.start_version()

    def send_some(self, now_ns: int) -> bool:
        messages, packets = self.messages(), self.packets
        if messages is None:
            return False
        message = self._ahead or next(messages, None)
        if message is None:
            if self._sequence_reset is not None:
                packets.send_alone(self._sequence_reset, now_ns)
            packets.start_version()
            self._messages = None
            return False
        while message is not None and packets.fits(message):
            packets.add(message, now_ns)
            message = next(messages, None)
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
