"""The one way from the exchange to those who publish it, on a virtual clock or live: every event goes to the
books and outlets of its channels, at the time each outlet sends it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pregao.feeds.publishing import Publisher
from pregao.model.events import Event, OrderUpdate
from pregao.simulator.routing import JointRouting, Routing
from pregao.simulator.venue import OBSERVED, ChannelBooks


class Outlet(Protocol):
    """A publisher on its clock: one channel at one site."""

    @property
    def instant_ns(self) -> int:
        """When what was published last is sent: nothing is sent before it any more."""

    def send_at(self, now_ns: int) -> int:
        """When what happens now is sent."""

    def publish(self, event: Event, send_ns: int) -> None: ...

    def is_checkpoint_due(self, event: Event) -> bool:
        """Whether its books are to be kept as they are after this event, which was just published."""


class Immediate:
    """An outlet that sends at once, and of which nothing is kept."""

    instant_ns = 0  # times given to it never go back

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.publish = publisher.publish

    def send_at(self, now_ns: int) -> int:
        return now_ns

    def is_checkpoint_due(self, event: Event) -> bool:
        return False


class Witness(Protocol):
    """Is told of every event, whole: servers, which have no channels."""

    def publish(self, event: Event, now_ns: int) -> None: ...


class Distribution:
    """`outlets` has those of each channel, the primary site's first: it says when a checkpoint is due."""

    def __init__(
        self,
        routing: Routing | JointRouting,
        books: Mapping[int, ChannelBooks],
        outlets: Mapping[int, Sequence[Outlet]],
    ) -> None:
        self.routing, self._books, self._outlets = routing, books, outlets
        self.witnesses: list[Witness] = []

    def publish(self, events: Sequence[Event], now_ns: int, apart_ns: int = 0) -> Sequence[int]:
        """Events of one moment, which leave together or one after the other, `apart_ns`. Gives the channels
        of which a checkpoint is due."""
        for witness in self.witnesses:
            for event in events:
                witness.publish(event, now_ns)
        order = only_order(events)
        if order is not None:
            return self._publish_order(order.security_id, events[0], now_ns)
        due: dict[int, None] = {}
        starts: dict[Outlet, int] = {}  # when the first of them leaves
        for place, event in enumerate(events):
            for channel, part in self.routing.split(event):
                books, outlets = self._books[channel], self._outlets[channel]
                books.now_ns = now_ns
                for update in part.updates:
                    if type(update) in OBSERVED:
                        books.observe(update)
                for outlet in outlets:
                    send_ns = starts.get(outlet) or starts.setdefault(outlet, outlet.send_at(now_ns))
                    outlet.publish(part, max(send_ns + place * apart_ns, outlet.instant_ns))
                if outlets and outlets[0].is_checkpoint_due(part):
                    due[channel] = None
        return list(due)

    def _publish_order(self, security_id: int, event: Event, now_ns: int) -> Sequence[int]:
        """Most of the traffic: no book has to be told of it."""
        due = []
        for channel in self.routing.by_id[security_id]:
            outlets = self._outlets[channel]
            for outlet in outlets:
                outlet.publish(event, outlet.send_at(now_ns))
            if outlets and outlets[0].is_checkpoint_due(event):
                due.append(channel)
        return due


def only_order(events: Sequence[Event]) -> OrderUpdate | None:
    """The update of an order that came, changed or went, and nothing happened besides."""
    if len(events) != 1 or len(events[0].updates) != 1:
        return None
    update = events[0].updates[0]
    return update if isinstance(update, OrderUpdate) else None
