"""How a market's channels are: one value, made when asked for."""

from dataclasses import dataclass

import numpy as np

from pregao.handler.handler import ChannelHandler
from pregao.market.live import Reception
from pregao.market.times import FeedTimes, Race, Spread
from pregao.model.streams import Feed
from pregao.recovery.counters import FeedCounters, feed_counters
from pregao.recovery.instruments import BookStatus, Mark
from pregao.recovery.progress import ChannelState
from pregao.recovery.sequence import FEEDS, SITE_OF, Site, number_of


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """`delay`: from sending to arrival, as far as both clocks agree."""

    feed: Feed
    counters: FeedCounters
    silent_ns: int  # since it was last heard
    delay: Spread | None

    @property
    def heard(self) -> bool:
        return self.counters.heard_ns > 0


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    channel: int
    state: ChannelState
    ready: bool
    silent: bool
    site: Site
    version: int  # of the sequence; -1: nothing was heard yet
    number: int  # of the last packet
    instruments: int  # that are listed
    clean: int
    unverified: int
    stale: int  # book or statistics
    held_rows: int
    waiting_packets: int  # out of order, for those before them
    feeds: tuple[FeedHealth, ...]
    counters: dict[str, int]
    race: Race | None

    @property
    def whole(self) -> bool:
        """Every instrument is as the exchange has it."""
        return self.ready and not self.silent and self.clean == self.instruments


@dataclass(frozen=True, slots=True)
class MarketHealth:
    time_ns: int
    ended: bool
    findings: int  # what was wrong with captures
    channels: tuple[ChannelHealth, ...]
    reception: Reception | None  # None: from captures

    @property
    def whole(self) -> bool:
        return bool(self.channels) and all(channel.whole for channel in self.channels)


def channel_health(handler: ChannelHandler, times: FeedTimes, now_ns: int) -> ChannelHealth:
    machine = handler.machine
    sync = machine.table.sync
    sync = sync[sync["marks"] & int(Mark.IGNORED) == 0]  # those deleted are nobody's concern
    known = np.minimum(sync["book"], sync["statistics"])
    # As `ChannelMachine.known` has it: nothing is heard, or a snapshot is ahead of the stream.
    doubtful = sync["covered"] > machine.at if not machine.sites.silent else np.ones(len(sync), np.bool_)
    known[doubtful] = np.minimum(known[doubtful], int(BookStatus.UNVERIFIED))
    counters = machine.counters.as_dict() | {
        "rows": handler.incremental.rows,
        "events_without_end": handler.incremental.forced,
        "recovery_packets_ignored": handler.ignored,
        "damaged_snapshots": handler.snapshots.damaged,
        "damaged_definitions": handler.definitions.damaged,
    }
    return ChannelHealth(
        channel=handler.channel,
        state=machine.state,
        ready=machine.ready,
        silent=machine.sites.silent,
        site=machine.sites.active,
        version=machine.arbiter.version,
        number=number_of(machine.at),
        instruments=len(sync),
        clean=int((known == BookStatus.CLEAN).sum()),
        unverified=int((known == BookStatus.UNVERIFIED).sum()),
        stale=int((known == BookStatus.STALE).sum()),
        held_rows=int(sync["held"].sum()),
        waiting_packets=machine.arbiter.held,
        feeds=tuple(_feed_health(handler, feed, times, now_ns) for feed in FEEDS),
        counters=counters,
        race=times.race(handler.channel),
    )


def _feed_health(handler: ChannelHandler, feed: Feed, times: FeedTimes, now_ns: int) -> FeedHealth:
    counters = feed_counters(handler.machine.sites.arbiters[SITE_OF[feed]], feed)
    silent_ns = max(now_ns - counters.heard_ns, 0) if counters.heard_ns else 0
    return FeedHealth(feed, counters, silent_ns, times.delay(handler.channel, feed))
