"""Which feeds are heard, and which site is followed (6.1, 6.2, 6.5.3).

The contingency site has its own sequence: it never fills a gap of the primary one. It is followed when
nothing was heard from the primary site for some time, and left when that is heard again for some time,
or when it falls silent itself. Each change is a failover: everything before it is missing.
"""

from pregao.model.streams import Feed
from pregao.recovery.arbitration import Arbiter, Output
from pregao.recovery.arbitration_state import APPEARANCE, HEARD_NS, LAST_NS, RECEIVED
from pregao.recovery.events import ChannelSilent, Event, FailedOver, FeedAlive, FeedSilent
from pregao.recovery.policy import FEEDS, SITE_OF, ChannelSettings, Site

_SITES = tuple(Site)
_FEEDS_OF = {site: site.feeds for site in Site}
_LOOKS = 1_000  # in an interval of heartbeats: batches come more often than that


class Sites:
    """The arbiters of both sites. Events go to `tell`."""

    def __init__(self, channel: int, settings: ChannelSettings, tell: list[Event]) -> None:
        self._channel, self._settings, self._tell = channel, settings, tell
        self._silence_ns = settings.silence_ns
        self._appearances = 0
        self.arbiters = {site: Arbiter(channel, site.feeds, settings, self._appear) for site in Site}
        self.active = Site.PRIMARY
        self.silent = False  # nothing is heard from the active site, or nothing was shown since
        self._alive: dict[Feed, bool | None] = dict.fromkeys(FEEDS)  # None: not heard of yet
        self._site_since_ns: dict[Site, int | None] = dict.fromkeys(Site)  # heard without a pause since
        self._started_ns: int | None = None
        self._now_ns = 0
        self._look_ns = 0  # until then nothing can have fallen silent that matters
        self._shown_ns = 0  # the arbiter's last step when silence began

    @property
    def arbiter(self) -> Arbiter:
        return self.arbiters[self.active]

    @property
    def appearance(self) -> int:
        return self.arbiter.state.get(APPEARANCE)

    def hear_standby(self, feed: Feed, now_ns: int, packets: int = 1) -> None:
        """Packets of the site that is not followed: it is alive, no more."""
        state = self.arbiters[SITE_OF[feed]].state
        state.add_feed(feed, RECEIVED, packets)
        state.set_feed(feed, HEARD_NS, now_ns)

    def follows(self, feed: Feed) -> bool:
        return SITE_OF[feed] is self.active

    def next_timeout(self) -> int | None:
        """When a packet has waited long enough, or a silence is one."""
        due_ns = self.arbiter.next_timeout()
        times = [] if due_ns is None else [due_ns]
        for feed in FEEDS:
            if self._alive[feed]:
                times.append(self._heard_ns(feed) + self._silence_ns)
        if self._started_ns is not None and not self._any_alive(self.active):
            # The clock is asked again while there is something to wait for.
            times.append(self._now_ns + self._settings.beat_ns)
        return min(times) if times else None

    def on_timeout(self, now_ns: int) -> list[Output]:
        return self.arbiter.on_timeout(now_ns)

    def watch(self, now_ns: int) -> bool:
        """Feeds that fell silent or are heard again; True when another site is followed from now on."""
        if self._now_ns <= now_ns < self._look_ns and not self.silent:
            self._now_ns = now_ns
            return False
        if self._started_ns is None or now_ns < self._started_ns:
            self._started_ns = now_ns
        self._now_ns, self._look_ns = now_ns, now_ns + self._settings.beat_ns // _LOOKS
        for feed in FEEDS:
            self._watch_feed(feed, now_ns)
        for site in _SITES:
            if not self._any_alive(site):
                self._site_since_ns[site] = None
            elif self._site_since_ns[site] is None:
                self._site_since_ns[site] = now_ns
        self._watch_silence()
        other = Site(1 - self.active)
        if not self._should_change(other, now_ns):
            return False
        self._change(other)
        return True

    def _watch_feed(self, feed: Feed, now_ns: int) -> None:
        heard_ns = self._heard_ns(feed)
        if heard_ns > now_ns:  # the clock was put back
            heard_ns = now_ns
            self.arbiters[SITE_OF[feed]].state.set_feed(feed, HEARD_NS, now_ns)
        since_ns = heard_ns or self._started_ns or 0
        alive = heard_ns > 0 and now_ns - since_ns < self._silence_ns
        known = self._alive[feed]
        if alive and not known:
            self._alive[feed] = True
            self._tell.append(FeedAlive(self._channel, feed))
        elif not alive and known is not False and now_ns - since_ns >= self._silence_ns:
            self._alive[feed] = False
            # A contingency site that was never there is not missed.
            if known or feed is not Feed.C:
                self._tell.append(FeedSilent(self._channel, feed))

    def _watch_silence(self) -> None:
        arbiter = self.arbiter
        if all(self._alive[feed] is False for feed in self.active.feeds):
            if not self.silent:
                self.silent = True
                self._shown_ns = arbiter.state.get(LAST_NS)
                self._tell.append(ChannelSilent(self._channel, self.active))
        elif self.silent and arbiter.whole and arbiter.state.get(LAST_NS) != self._shown_ns:
            self.silent = False

    def _should_change(self, other: Site, now_ns: int) -> bool:
        since_ns = self._site_since_ns[other]
        if since_ns is None:
            return False
        if other is Site.PRIMARY and now_ns - since_ns >= self._settings.return_ns:
            return True
        last_ns = max(self._heard_ns(feed) for feed in self.active.feeds) or self._started_ns or 0
        return not self._any_alive(self.active) and now_ns - last_ns >= self._settings.takeover_ns

    def _change(self, site: Site) -> None:
        self.active = site
        self.silent = False
        self.arbiter.restart()
        self._tell.append(FailedOver(self._channel, site))

    def _any_alive(self, site: Site) -> bool:
        return any(map(self._alive.get, _FEEDS_OF[site]))

    def _heard_ns(self, feed: Feed) -> int:
        return self.arbiters[SITE_OF[feed]].state.feed(feed, HEARD_NS)

    def _appear(self) -> int:
        self._appearances += 1
        return self._appearances
