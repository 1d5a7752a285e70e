"""How a market's channels are: one value, made when asked for."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from pregao.feeds.session_port import SessionStatus
from pregao.handler.handler import ChannelHandler
from pregao.handler.views import Handler
from pregao.market.live import Reception
from pregao.market.times import FeedTimes, Race, Spread
from pregao.model.streams import Feed
from pregao.recovery.counters import FeedCounters, feed_counters
from pregao.recovery.instruments import SYNC, SYNC_SIZE, BookStatus, Mark
from pregao.recovery.policy import FEEDS, SITE_OF, Site, number_of
from pregao.recovery.progress import ChannelState


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
    sessions: tuple[SessionStatus, ...] = ()

    @property
    def whole(self) -> bool:
        return bool(self.channels) and all(channel.whole for channel in self.channels)


def channel_health(handler: ChannelHandler, times: FeedTimes, now_ns: int) -> ChannelHealth:
    counters = {
        "events_without_end": handler.incremental.forced,
        "recovery_packets_ignored": handler.ignored,
        "damaged_snapshots": handler.snapshots.damaged,
        "damaged_definitions": handler.definitions.damaged,
    }
    feeds = tuple(_feed_health(handler, feed, times, now_ns) for feed in FEEDS)
    return _health(handler, counters, feeds, times.race(handler.channel))


def session_health(handler: Handler) -> ChannelHealth:
    """Books of a session: it has no feeds."""
    return _health(handler, {}, (), None)


def _health(
    handler: Handler, counters: dict[str, int], feeds: tuple[FeedHealth, ...], race: Race | None
) -> ChannelHealth:
    machine = handler.machine
    sync = machine.table.sync
    sync = sync[sync["marks"] & int(Mark.IGNORED) == 0]  # those deleted are nobody's concern
    known = np.minimum(sync["book"], sync["statistics"])
    # As `ChannelMachine.known` has it: nothing is heard, or a snapshot is ahead of the stream.
    doubtful = sync["covered"] > machine.at if not machine.sites.silent else np.ones(len(sync), np.bool_)
    known[doubtful] = np.minimum(known[doubtful], int(BookStatus.UNVERIFIED))
    return ChannelHealth(
        channel=handler.channel,
        state=machine.state,
        ready=machine.ready,
        silent=machine.sites.silent or machine.state is ChannelState.SILENT,
        site=machine.sites.active,
        version=machine.at >> 32 if not feeds else machine.arbiter.version,
        number=number_of(machine.at),
        instruments=len(sync),
        clean=int((known == BookStatus.CLEAN).sum()),
        unverified=int((known == BookStatus.UNVERIFIED).sum()),
        stale=int((known == BookStatus.STALE).sum()),
        held_rows=int(sync["held"].sum()),
        waiting_packets=machine.arbiter.held,
        feeds=feeds,
        counters=machine.counters.as_dict() | {"rows": handler.incremental.rows} | counters,
        race=race,
    )


def _feed_health(handler: ChannelHandler, feed: Feed, times: FeedTimes, now_ns: int) -> FeedHealth:
    counters = feed_counters(handler.machine.sites.arbiters[SITE_OF[feed]], feed)
    silent_ns = max(now_ns - counters.heard_ns, 0) if counters.heard_ns else 0
    return FeedHealth(feed, counters, silent_ns, times.delay(handler.channel, feed))


# How far each book of a channel is to be believed, and when that changes. `ChannelMachine.known` says it of
# one instrument; this is the same for many at once, which is cheap enough to look after every packet.


_NO_STATUS: Final = 255
_IGNORED, _UNVERIFIED, _STALE = int(Mark.IGNORED), int(BookStatus.UNVERIFIED), int(BookStatus.STALE)
_BOOK, _MARKS = (SYNC.fields[name][1] for name in ("book", "marks"))  # type: ignore[index]
_OF: Final = struct.Struct(f"<q{_BOOK - 8}xB{_MARKS - _BOOK - 1}xB").unpack_from
_STATUSES: Final = tuple(BookStatus)

Statuses = np.ndarray[tuple[int], np.dtype[np.uint8]]
Indexes = np.ndarray[tuple[int], np.dtype[np.int64]]


class BookStatuses:
    def __init__(self, handler: Handler) -> None:
        self._machine = handler.machine
        self._last_statuses: Statuses = np.full(64, _NO_STATUS, np.uint8)
        self._count = 0  # of instruments that were looked at
        self._ahead = False  # a book comes from a snapshot that the stream has not reached

    def of(self, indexes: list[int]) -> list[BookStatus]:
        """Of some books; not worth a column when there are few."""
        machine, memory = self._machine, self._machine.table.sync.view(np.uint8).data
        silent, at = machine.sites.silent, machine.at
        statuses = []
        for index in map(machine.table.numbering.first_of, indexes):
            covered, book, marks = _OF(memory, index * SYNC_SIZE)
            most = _UNVERIFIED if silent or covered > at else book
            statuses.append(_STATUSES[_STALE if marks & _IGNORED else min(most, book)])
        return statuses

    @property
    def may_change(self) -> bool:
        """Whether a packet can change one without a word of the channel: an instrument is new, or the
        stream comes up to a snapshot."""
        return self._ahead or len(self._machine.table) != self._count

    def changes(self, indexes: Iterable[int] | None) -> Iterator[tuple[int, BookStatus | None, BookStatus]]:
        """Index, status before and now of each book whose status is another than last time. Only these,
        and those that are new, can have changed; None: any can."""
        looked_at = self._indexes(indexes)
        now, before = self._look(looked_at), self._last_statuses[looked_at]
        self._last_statuses[looked_at] = now
        changed = now != before
        for index, was, status in zip(
            looked_at[changed].tolist(), before[changed].tolist(), now[changed].tolist(), strict=True
        ):
            yield index, None if was == _NO_STATUS else _STATUSES[was], _STATUSES[status]

    def settle(self) -> None:
        """What is now counts as told."""
        everything = self._indexes(None)
        self._last_statuses[everything] = self._look(everything)

    def _indexes(self, indexes: Iterable[int] | None) -> Indexes:
        count = len(self._machine.table)
        if count > len(self._last_statuses):
            more = np.full(max(count, 2 * len(self._last_statuses)), _NO_STATUS, np.uint8)
            more[: len(self._last_statuses)] = self._last_statuses
            self._last_statuses = more
        new, self._count = range(self._count, count), count
        others = self._machine.table.numbering.other_books  # they are as their instrument is
        if indexes is None or self._ahead:
            every = np.arange(count)
            return every[~np.isin(every, list(others))] if others else every
        return np.array(sorted({*indexes, *new}.difference(others)), np.int64)

    def _look(self, indexes: Indexes) -> Statuses:
        machine = self._machine
        sync = machine.table.sync
        status, ahead = sync["book"][indexes], sync["covered"][indexes] > machine.at
        self._ahead = bool(ahead.any())
        doubtful = np.ones(len(indexes), np.bool_) if machine.sites.silent else ahead
        status[doubtful & (status > _UNVERIFIED)] = _UNVERIFIED
        status[sync["marks"][indexes] & _IGNORED != 0] = _STALE
        return status
