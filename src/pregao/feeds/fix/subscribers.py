"""What one session has subscribed to, and what of a bulletin is for it.

35=X comes once however many subscriptions have an instrument, and only once its 35=W has gone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from pregao.codecs.fix.bodies import EncodedEntries
from pregao.feeds.fix.bulletins import Listing, Notice, Refresh
from pregao.feeds.serving import Permissions
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction

MOST_BYTES: Final = 1 << 20  # of the entries of a message


class Matcher(Protocol):
    """Which instruments a request is for."""

    def matches(self, instrument: Instrument) -> bool: ...


@dataclass(slots=True)
class ClientSubscription:
    """`wanted` are the instruments that match. `by_level`: of their books the levels, not the orders."""

    filter: Matcher
    wanted: set[int]
    by_level: bool = False


@dataclass(slots=True)
class Subscriber:
    """The subscriptions of a session: market data by MDReqID, lists of instruments by SecurityReqID."""

    permissions: Permissions
    market_data: dict[str, ClientSubscription] = field(default_factory=dict)
    lists: dict[str, Matcher] = field(default_factory=dict)
    totals: set[str] = field(default_factory=set)
    live: set[int] = field(default_factory=set)  # whose 35=X it gets
    orders: set[int] = field(default_factory=set)  # and whose books by order
    levels: set[int] = field(default_factory=set)  # or by level
    _groups: Counter[str] = field(default_factory=Counter)

    def start(self, instrument: Instrument, *, by_level: bool = False) -> None:
        """Its 35=W has gone."""
        (self.levels if by_level else self.orders).add(instrument.security_id)
        if instrument.security_id not in self.live:
            self.live.add(instrument.security_id)
            self._groups[instrument.group] += 1

    def stop(self, instrument: Instrument | None, security_id: int) -> None:
        """Unless another subscription wants it."""
        wanting = [each.by_level for each in self.market_data.values() if security_id in each.wanted]
        if True not in wanting:
            self.levels.discard(security_id)
        if False not in wanting:
            self.orders.discard(security_id)
        if not wanting and security_id in self.live:
            self.live.discard(security_id)
            if instrument is not None:
                self._groups[instrument.group] -= 1

    def has_group(self, group: str) -> bool:
        return self._groups[group] > 0

    def wants(self, notice: Notice) -> bool:
        if notice.security_id is not None:
            return notice.security_id in self.live
        if notice.group is not None:
            return self.has_group(notice.group)
        return bool(self.market_data)

    def wants_listing(self, listing: Listing) -> bool:
        instrument = listing.instrument
        return self.permissions.allows(instrument) and any(
            each.matches(instrument) for each in self.lists.values()
        )

    def follow(self, listing: Listing) -> list[str]:
        """An instrument came or went; the requests that a new one is of, whose 35=W may be wanted first."""
        instrument, security_id = listing.instrument, listing.instrument.security_id
        if listing.action is DefinitionAction.DELETE:
            for subscription in self.market_data.values():
                subscription.wanted.discard(security_id)
            self.stop(instrument, security_id)
        elif listing.action is DefinitionAction.ADD and self.permissions.allows(instrument):
            found = {name: each for name, each in self.market_data.items() if each.filter.matches(instrument)}
            for subscription in found.values():
                subscription.wanted.add(security_id)
                self.start(instrument, by_level=subscription.by_level)
            return list(found)
        return []

    def share(self, refresh: Refresh) -> list[tuple[int, ...]]:
        """Its instruments of a 35=X: of one message, or of several where their entries are very many."""
        # Who has all of it shares one body with all others who do.
        ids = refresh.security_ids
        live = self.live if not refresh.is_book else self.levels if refresh.by_level else self.orders
        found = tuple(refresh.parts) if ids <= live else tuple(live & ids)  # two sets: the smaller is walked
        if not found:
            return []
        if refresh.size <= MOST_BYTES:
            return [found]
        return list(_bounded(found, refresh.parts))


def _bounded(found: Iterable[int], parts: Mapping[int, EncodedEntries]) -> Iterator[tuple[int, ...]]:
    some: list[int] = []
    size = 0
    for security_id in found:
        more = parts[security_id].size
        if some and size + more > MOST_BYTES:
            yield tuple(some)
            some, size = [], 0
        some.append(security_id)
        size += more
    yield tuple(some)
