"""The channels of a live market: the books and the publishers of each, at every site that publishes, and the
one way from the exchange to them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pregao.exchange.commands import Rejection, RejectReason
from pregao.feeds.publishing import (
    HoldingPublisher,
    OutgoingPacket,
    Publisher,
    PublisherSetup,
    PublishingSite,
    PublishingSystem,
    ReplayablePublisher,
    SentMessage,
    SequencePoint,
)
from pregao.feeds.registry import load_publishing_system
from pregao.model.streams import Stream
from pregao.recovery.policy import RecoveryPolicy
from pregao.simulator.desks import DeskBooks, Exchange, LiveDesks, books_of, clearing_of
from pregao.simulator.distribution import Distribution, Immediate
from pregao.simulator.live.resets import HoldSnapshots, Reset, ResetBook, carry_out
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.live.state import SentVersions
from pregao.simulator.routing import routing_of

_VERSION_STEP_NS: Final = 4_000_000_000
_STREAMS: Final = (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT)  # as SentVersions has them


class LiveChannels:
    """`sites` are those that publish; each has a publisher for every channel. `sent` is what a run before
    left behind, by channel and site; `version_before` comes before the first sequenceVersion of every other
    channel."""

    def __init__(
        self,
        venue: Exchange,
        settings: LiveSettings,
        sites: Sequence[PublishingSite],
        now_ns: int,
        sent: Mapping[tuple[int, str], SentVersions],
        version_before: int,
    ) -> None:
        self._venue, self._settings = venue, settings
        systems = [load_publishing_system(name) for name in (settings.system, *settings.beside)]
        self.policy, self.routing = systems[0].policy, routing_of(venue.catalogue, systems)
        self.clearing = clearing_of(venue)
        system_of = {
            channel: system
            for system in systems
            for channel in routing_of(venue.catalogue, [system]).channels
        }
        self.books = {
            channel: books_of(system, channel, venue, self.routing, self.clearing, settings.habits)
            for channel, system in system_of.items()
        }
        for books in self.books.values():
            if isinstance(books, DeskBooks):
                books.lists_funds = settings.lists_funds
        self.publishers: dict[tuple[int, PublishingSite], Publisher] = {}
        for channel, system in system_of.items():
            for site in sites:
                starts = _starts(sent.get((channel, site.value)), version_before, system.policy)
                self.publishers[channel, site] = self._publisher(system, channel, site, now_ns, starts)
        at_sites = {channel: [self.publishers[channel, site] for site in sites] for channel in self.books}
        outlets = {channel: [Immediate(each) for each in some] for channel, some in at_sites.items()}
        self.distribution = Distribution(self.routing, self.books, outlets)
        self.desks = LiveDesks(
            venue, self.clearing, systems, self.books, at_sites, settings.desks_ns,
            lending_beside=settings.habits.lending_beside,
        )  # fmt: skip

    def _publisher(
        self,
        system: PublishingSystem,
        channel: int,
        site: PublishingSite,
        now_ns: int,
        starts: tuple[SequencePoint, SequencePoint],
    ) -> Publisher:
        settings, first = self._settings, system.name == self._settings.system
        paces = settings.paces
        if not first:
            paces = paces._replace(heartbeat_ns=settings.beside_heartbeat_ns or system.policy.heartbeat_ns)
        version = settings.version if first else system.default_version
        habits = settings.habits._replace(levels=settings.levels)
        publisher = system.publisher(
            PublisherSetup(channel, version, self.books[channel], now_ns, site, paces, habits, *starts)
        )
        if settings.replayers is not None and isinstance(publisher, ReplayablePublisher):
            publisher.keep_messages()
        return publisher

    def set_time(self, now_ns: int) -> None:
        for books in self.books.values():
            books.now_ns = now_ns

    def start_week(self, now_ns: int) -> None:
        for publisher in self.publishers.values():
            publisher.start_week(now_ns)

    def next_timeout(self) -> int:
        return min(publisher.next_timeout() for publisher in self.publishers.values())

    def on_timeout(self, now_ns: int) -> None:
        """The instant is over; and everything that is due by now."""
        for publisher in self.publishers.values():
            publisher.flush(now_ns)
            if publisher.next_timeout() <= now_ns:
                publisher.on_timeout(now_ns)

    def take(self) -> Iterator[tuple[int, OutgoingPacket]]:
        for (channel, _), publisher in self.publishers.items():
            for packet in publisher.take():
                yield channel, packet

    def take_messages(self) -> Iterator[tuple[int, list[SentMessage]]]:
        """What replayers are to know, of the primary site."""
        for (channel, site), publisher in self.publishers.items():
            if site is PublishingSite.PRIMARY and isinstance(publisher, ReplayablePublisher):
                yield channel, publisher.take_messages()

    def sent_versions(self) -> Iterator[SentVersions]:
        """The sequenceVersion of every stream, as it is now."""
        for (channel, site), publisher in self.publishers.items():
            versions = (publisher.point(stream).version for stream in _STREAMS)
            yield SentVersions(channel, site.value, *versions)

    def reset(self, command: Reset, now_ns: int) -> Rejection | None:
        if isinstance(command, ResetBook):
            market = self._venue.engine.floor.markets.get(command.security_id)
            if market is None:
                return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(command.security_id))
            channels = self.routing.channels_of(market.instrument)
        else:
            channels = (command.channel,)
        for channel in channels:
            publisher = self.publishers.get((channel, command.site))
            if publisher is None:
                nowhere = f"no channel {channel} at the {command.site.value} site"
                return Rejection(RejectReason.NOT_NOW, nowhere)
            if isinstance(command, HoldSnapshots) and not isinstance(publisher, HoldingPublisher):
                return Rejection(RejectReason.NOT_NOW, f"the snapshots of channel {channel} cannot be held")
            carry_out(command, publisher, now_ns)
        return None


def _starts(
    sent: SentVersions | None, version_before: int, policy: RecoveryPolicy
) -> tuple[SequencePoint, SequencePoint]:
    """Where the incremental stream and the loops begin: behind every version that was sent (6.5.5.1)."""
    if sent is None:
        first = SequencePoint(policy.next_epoch(version_before))
        return first, first
    loops = sent.snapshots if policy.is_newer(sent.snapshots, sent.definitions) else sent.definitions
    return SequencePoint(policy.next_epoch(sent.incremental)), SequencePoint(policy.next_epoch(loops))


def version_at(now_ns: int, policy: RecoveryPolicy) -> int:
    """A sequenceVersion that grows with the clock, for an exchange that keeps nothing: it rolls over after
    three days, and a restart within four seconds may give one again."""
    return policy.later(policy.first_epoch, now_ns // _VERSION_STEP_NS)
