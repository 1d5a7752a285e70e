"""Events by channel: which of an event's updates go where. The system says which channels an instrument is on
(`PublishingSystem.channels_of`): one, or several that carry it in different forms."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from pregao.exchange.catalogues.rules import Catalogue
from pregao.feeds.publishing import PublishingSystem
from pregao.model.errors import ConfigurationError
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
from pregao.model.instruments import Instrument

ChannelsOf = Callable[[Instrument], tuple[int, ...]]
OwnChannels = Callable[[Update], tuple[int, ...] | None]

_OF_INSTRUMENTS: Final = frozenset(
    (OrderUpdate, Trade, ExecutionSummary, ExecutionStatistics, HighPrice, LowPrice, OpeningPrice,
     TheoreticalPrice, Imbalance)
)  # fmt: skip
_security_id: Final = attrgetter("security_id")


class Routing:
    """Knows the channels of every instrument there is or was (`by_id`), and of every group: those of its
    instruments."""

    def __init__(
        self,
        catalogue: Catalogue,
        channels_of: ChannelsOf,
        own_channels: OwnChannels = lambda update: None,
        extra_channels: Sequence[int] = (),
    ) -> None:
        """`own_channels` of updates that do not go where their instrument is, `extra_channels` for them."""
        self.channels_of, self._own_channels = channels_of, own_channels
        self.by_id: dict[int, tuple[int, ...]] = {}
        self._by_group: dict[tuple[str, str], tuple[int, ...]] = {}
        by_home: dict[int, tuple[int, ...]] = {}
        for instrument in catalogue.instruments:
            channels = self._add(instrument)
            by_home[instrument.channel] = _joined(by_home.get(instrument.channel, ()), channels)
        for group in catalogue.groups:  # one without instruments has phases: they go where its neighbours' go
            self._by_group.setdefault(group.key, by_home.get(group.channel, (group.channel,)))
        self._of_groups = tuple(sorted({each for some in self._by_group.values() for each in some}))
        self.channels = tuple(sorted({*self._of_groups, *extra_channels}))

    def _add(self, instrument: Instrument) -> tuple[int, ...]:
        channels = self.channels_of(instrument)
        self.by_id[instrument.security_id] = channels
        key = instrument.group, instrument.exchange
        self._by_group[key] = _joined(self._by_group.get(key, ()), channels)
        return channels

    def of_group(self, key: tuple[str, str]) -> tuple[int, ...]:
        """The channels that have the phases of a group, by its code and exchange."""
        return self._by_group[key]

    def split(self, event: Event) -> Sequence[tuple[int, Event]]:
        """What each channel gets of an event. A mass cancel is over several channels, a news without
        instrument for all of them."""
        updates = event.updates
        if _OF_INSTRUMENTS.issuperset(map(type, updates)):  # what orders and trades bring about
            places = {*map(self.by_id.__getitem__, map(_security_id, updates))}
            if len(places) == 1:
                return [(channel, event) for channel in places.pop()]
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
        own = self._own_channels(update)
        if own is not None:
            return own
        if isinstance(update, PhaseChanged):
            return self._by_group[update.group, update.exchange]
        if isinstance(update, Definition):
            return self._add(update.instrument)
        if isinstance(update, ChannelWasReset):
            return (update.channel,)
        if isinstance(update, IndexValue):
            return self._of_groups[:1]  # Binary UMDF does not send it: one place to count it is enough
        if isinstance(update, News) and update.security_id is None:
            return self._of_groups
        return self.by_id[update.security_id or 0]


def _joined(some: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return some if some == others else tuple(sorted({*some, *others}))


class JointRouting:
    """That of several systems, whose channels have different numbers: each gets every event."""

    def __init__(self, parts: Sequence[Routing]) -> None:
        self._parts = parts
        self.channels = tuple(channel for part in parts for channel in part.channels)
        if len(set(self.channels)) < len(self.channels):
            raise ConfigurationError("two systems have channels of the same number", key="systems")
        self.by_id: dict[int, tuple[int, ...]] = {}
        for security_id in parts[0].by_id:
            self._join(security_id)

    def _join(self, security_id: int) -> None:
        self.by_id[security_id] = tuple(each for part in self._parts for each in part.by_id[security_id])

    def channels_of(self, instrument: Instrument) -> tuple[int, ...]:
        return tuple(channel for part in self._parts for channel in part.channels_of(instrument))

    def of_group(self, key: tuple[str, str]) -> tuple[int, ...]:
        return tuple(channel for part in self._parts for channel in part.of_group(key))

    def split(self, event: Event) -> Sequence[tuple[int, Event]]:
        found = [each for part in self._parts for each in part.split(event)]
        for update in event.updates:
            if type(update) is Definition:
                self._join(update.instrument.security_id)
        return found


def routing_of(catalogue: Catalogue, systems: Sequence[PublishingSystem]) -> "Routing | JointRouting":
    """That of systems which publish side by side."""
    parts = [
        Routing(catalogue, each.channels_of, each.channels_of_update, each.extra_channels) for each in systems
    ]
    return parts[0] if len(parts) == 1 else JointRouting(parts)
