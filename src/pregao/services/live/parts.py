"""Events by channel: which of an event's updates go where."""

from collections.abc import Iterable, Iterator

from pregao.exchange.catalogues.entries import Catalogue
from pregao.model.events import ChannelWasReset, Definition, Event, IndexValue, News, PhaseChanged, Update


class Parts:
    """Knows the channel of every instrument there is or was, and of every group."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.channels = catalogue.channels
        self._by_id = {each.security_id: each.channel for each in catalogue.instruments}
        self._by_group = {group.key: group.channel for group in catalogue.groups}

    def of(self, event: Event) -> Iterator[tuple[int, Event]]:
        """A mass cancel is over several channels, a news without instrument for all of them."""
        parts: dict[int, list[Update]] = {}
        for update in event.updates:
            for channel in self._homes(update):
                parts.setdefault(channel, []).append(update)
        for channel, updates in parts.items():
            yield channel, event if len(updates) == len(event.updates) else Event(tuple(updates))

    def _homes(self, update: Update) -> Iterable[int]:
        if isinstance(update, PhaseChanged):
            return (self._by_group[update.group, update.exchange],)
        if isinstance(update, Definition):
            instrument = update.instrument
            self._by_id[instrument.security_id] = instrument.channel
            return (instrument.channel,)
        if isinstance(update, ChannelWasReset):
            return (update.channel,)
        if isinstance(update, IndexValue):
            return ()  # Binary UMDF does not send it
        if isinstance(update, News) and update.security_id is None:
            return self.channels
        return (self._by_id[update.security_id or 0],)
