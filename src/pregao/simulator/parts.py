"""Events by channel: which of an event's updates go where."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from pregao.exchange.catalogues.entries import Catalogue
from pregao.model.events import (
    ChannelWasReset,
    Definition,
    Event,
    ExecutionStatistics,
    ExecutionSummary,
    HighPrice,
    Imbalance,
    IndexValue,
    LowPrice,
    News,
    OpeningPrice,
    OrderUpdate,
    PhaseChanged,
    TheoreticalPrice,
    Trade,
    Update,
)

_OF_INSTRUMENTS: Final = frozenset(
    (OrderUpdate, Trade, ExecutionSummary, ExecutionStatistics, HighPrice, LowPrice, OpeningPrice,
     TheoreticalPrice, Imbalance)
)  # fmt: skip
_security_id: Final = attrgetter("security_id")


class Parts:
    """Knows the channel of every instrument there is or was (`by_id`), and of every group."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.channels = catalogue.channels
        self.by_id = {each.security_id: each.channel for each in catalogue.instruments}
        self._by_group = {group.key: group.channel for group in catalogue.groups}

    def of(self, event: Event) -> Sequence[tuple[int, Event]]:
        """A mass cancel is over several channels, a news without instrument for all of them."""
        updates = event.updates
        if _OF_INSTRUMENTS.issuperset(map(type, updates)):  # what orders and trades bring about
            places = {*map(self.by_id.__getitem__, map(_security_id, updates))}
            if len(places) == 1:
                return ((places.pop(), event),)
        homes = [self._homes(update) for update in updates]
        first = homes[0]
        if all(home == first for home in homes):
            return [(channel, event) for channel in first]
        parts: dict[int, list[Update]] = {}
        for channels, update in zip(homes, event.updates, strict=True):
            for channel in channels:
                parts.setdefault(channel, []).append(update)
        return [(channel, Event(tuple(updates))) for channel, updates in parts.items()]

    def _homes(self, update: Update) -> tuple[int, ...]:
        if isinstance(update, PhaseChanged):
            return (self._by_group[update.group, update.exchange],)
        if isinstance(update, Definition):
            instrument = update.instrument
            self.by_id[instrument.security_id] = instrument.channel
            return (instrument.channel,)
        if isinstance(update, ChannelWasReset):
            return (update.channel,)
        if isinstance(update, IndexValue):
            return self.channels[:1]  # Binary UMDF does not send it: one place to count it is enough
        if isinstance(update, News) and update.security_id is None:
            return self.channels
        return (self.by_id[update.security_id or 0],)
