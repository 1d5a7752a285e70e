"""The instrument definition stream: every listed instrument, in loops (6.4, 6.5.8)."""

from collections.abc import Iterator, Sequence

from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.publishing import BookSource
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction


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
