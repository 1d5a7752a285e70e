"""How many messages each update of an event becomes: a news several, a sweep of deletions one for all."""

from collections.abc import Sequence, Set
from typing import Final

from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.publishing import NOT_SENT
from pregao.feeds.sweeps import swept
from pregao.model.events import (
    IndexValue,
    News,
    OpenInterest,
    OrderUpdate,
    SettlementPrice,
    SideDeleted,
    Update,
)
from pregao.model.market import Action

# News have parts; some versions have no message for the others. Each comes first in its event.
_ODD: Final = frozenset((News, IndexValue, SettlementPrice, OpenInterest))


class MessageCounts:
    """Of one wire version. `muted` are the instruments whose book updates are not sent now."""

    def __init__(self, writer: MessageWriter, muted: Set[int]) -> None:
        self._writer, self._muted, self._by_position = writer, muted, writer.by_position

    def of(self, updates: Sequence[Update]) -> Sequence[int] | None:
        """As `Publisher.message_counts`: None where each became one."""
        by_position = self._by_position and len(updates) > 1
        if not updates or not (by_position or self._muted or type(updates[0]) in _ODD):
            return None
        counts = [self._alone(update) for update in updates]
        if by_position:
            self._join_sweeps(updates, counts)
        return counts

    def _alone(self, update: Update) -> int:
        if isinstance(update, News):
            return len(self._writer.news(update, 0, 0))
        muted = isinstance(update, OrderUpdate | SideDeleted) and update.security_id in self._muted
        return NOT_SENT if muted or not self._writer.sends(type(update)) else 1

    def _join_sweeps(self, updates: Sequence[Update], counts: list[int]) -> None:
        sent = [index for index, count in enumerate(counts) if count != NOT_SENT]
        place = 0
        for message in swept([updates[index] for index in sent]):
            run = 1
            if isinstance(message, SideDeleted) and message.action is Action.DELETE_FROM:
                run = message.position or 1
            for index in sent[place + 1 : place + run]:
                counts[index] = 0
            place += run
