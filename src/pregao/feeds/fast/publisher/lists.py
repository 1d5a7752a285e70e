"""Lists of instruments (35=y): several a message; 393 is how many there are in all, 893 the last (5.2.5)."""

from collections.abc import Iterator, Sequence
from operator import is_
from typing import Final, NamedTuple

from pregao.feeds.fast.publisher.listings import instrument_entry
from pregao.feeds.fast.publisher.writing import LIST, MessageWriter, Prepared
from pregao.model.events import Definition
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction

LISTED: Final = 12  # instruments of a message


class _Key(NamedTuple):
    """What a message says besides its instruments, and which they are."""

    listed: int  # with it and those before it
    total: int
    actions: tuple[DefinitionAction, ...]
    ids: tuple[int, ...]


class InstrumentLists:
    """Of one channel. Definitions hardly change, and encoding them takes long: messages of the list before
    are sent again, be it in the loop or among incremental messages."""

    def __init__(self, writer: MessageWriter, channel: int, depth: int | None) -> None:
        self._writer, self._channel, self._depth = writer, channel, depth
        self._kept: dict[_Key, tuple[Sequence[Instrument], Prepared]] = {}

    def messages(self, definitions: Sequence[Definition]) -> Iterator[tuple[Prepared, int]]:
        """Each with the number of its instruments."""
        before, total = self._kept, len(definitions)
        kept = self._kept = {}
        for first in range(0, total, LISTED):
            some = definitions[first : first + LISTED]
            instruments = [each.instrument for each in some]
            key = _Key(
                min(first + LISTED, total), total, tuple(each.action for each in some),
                tuple(each.security_id for each in instruments),
            )  # fmt: skip
            known = before.get(key)
            if known is None or not all(map(is_, known[0], instruments)):
                known = instruments, self._prepared(some, key)
            kept[key] = known
            yield known[1], len(some)

    def _prepared(self, some: Sequence[Definition], key: _Key) -> Prepared:
        fields = {
            "TotNoRelatedSym": key.total,
            "LastFragment": "Y" if key.listed == key.total else "N",
            "RelatedSym": [
                instrument_entry(each.instrument, each.action, self._channel, self._depth) for each in some
            ],
        }
        return self._writer.prepared(LIST, fields)
