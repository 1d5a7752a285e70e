"""What a multicast system says of its sequences, as data: `feeds.port` hands it on, machines obey it."""

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from pregao.model.rows import place
from pregao.model.streams import Feed
from pregao.recovery.instruments import VerifiedPart

__all__ = ["number_of", "place"]

_SECOND_NS = 1_000_000_000
_NOTHING = VerifiedPart(0)


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """A unit is what has a number of its own: a packet, or a message. An epoch is what numbers begin again
    in: a sequence version."""

    own_bytes: int = 0  # at the beginning of a unit, each feed's own: they promise the rest to be the same
    first_epoch: int = 1
    last_epoch: int = 65_534  # then the first again
    tells_epochs: bool = True  # a unit says its epoch; else it is inferred from numbers and times
    heartbeat_ns: int = _SECOND_NS
    silent_intervals: int = 3  # of heartbeats: then a feed is silent
    reports_in_a_unit: int = 1  # at most: so many reports of an instrument may be in one that is lost
    definitions_end_by_count: bool = True  # a loop of definitions may end without a mark
    reset_clears: VerifiedPart = VerifiedPart.BOOK  # what a channel reset empties of every instrument
    snapshots_end_by_count: bool = False  # a loop of snapshots may, too
    created_follow: bool = True  # an instrument created in a session is in its group's phase at once
    loops_tell_phases: bool = True  # a loop of snapshots without any phase is none as the exchange sends it
    reset_doubts: VerifiedPart = _NOTHING  # what else is not known to be right after it
    resyncs_by_snapshot: bool = False  # in a new epoch nothing is told again: snapshots have it
    ask_ns: int | None = None  # a gap so old is asked for from a replayer; None: there is none
    ask_most: int = 2_000  # units: a longer gap is left to snapshots
    hold_units: int = 0  # at least so many may be held for those before them
    transacts_from: int = 0  # version of messages from which orders and trades tell when they were matched
    ask_tries: int = 1  # how often a gap is asked for
    ask_pause_ns: int = 0  # between two of them
    answer_ns: int = 0  # so long an answer is waited for before the gap is given up
    epochs_by_time: bool = False  # units do not say their epoch: whoever listens counts them
    has_streams: bool = False  # data of an instrument is of one of several streams (MDStreamID)
    tells_executions: bool = True  # matching events, and so which trades are of the end of an auction
    dates_by_time: bool = False  # dates that messages tell may be old: a day is the exchange's calendar day

    def next_epoch(self, epoch: int) -> int:
        return self.first_epoch if epoch >= self.last_epoch else epoch + 1

    def later(self, epoch: int, count: int) -> int:
        """So many epochs after it."""
        return self.first_epoch + (epoch - self.first_epoch + count) % self._span

    @property
    def _span(self) -> int:
        return self.last_epoch - self.first_epoch + 1

    def distance(self, epoch: int, since: int) -> int:
        """How many epochs after `since`, by the shorter way round: negative where it is older."""
        span = self._span
        steps = (epoch - since) % span
        return steps if steps <= span // 2 else steps - span

    def is_newer(self, epoch: int, than: int) -> bool:
        return self.distance(epoch, than) > 0


# What may be configured of a channel's machine. Every bound of its memory is here.


_MILLISECOND_NS = 1_000_000
_DEFAULT_POLICY = RecoveryPolicy()


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """Defaults are for production: B may be some milliseconds behind A. `policy` is what the system says of
    itself."""

    policy: RecoveryPolicy = _DEFAULT_POLICY

    hold_ns: int = 50 * _MILLISECOND_NS  # how long a packet out of order waits for those before it
    hold_packets: int = 1_024
    hold_bytes: int = 4 << 20
    hash_ring: int = 1 << 14  # accepted packets whose bytes are compared with repetitions

    heartbeat_ns: int | None = None  # None: as often as the system says
    takeover_ns: int = 5 * _SECOND_NS  # both feeds silent: the contingency site is asked
    return_ns: int = 3 * _SECOND_NS  # so long the primary site must be heard before it is believed again

    held_rows: int = 1 << 18  # of all instruments together, 128 bytes each
    instruments: int = 1 << 17
    snapshot_ahead: int = 1 << 20  # packets that a snapshot may be ahead of us

    interest: Set[int] | None = None  # securityIDs; None: all
    asks: bool = True  # somebody asks a replayer for what is missing, where the system has one

    @property
    def silence_ns(self) -> int:
        return self.beat_ns * self.policy.silent_intervals

    @property
    def beat_ns(self) -> int:
        return self.policy.heartbeat_ns if self.heartbeat_ns is None else self.heartbeat_ns


def settings_of(policy: RecoveryPolicy, settings: ChannelSettings | None) -> ChannelSettings:
    """What is set, or the defaults, for a system of this policy."""
    settings = settings or _DEFAULT_SETTINGS
    if not settings.asks:
        policy = replace(policy, ask_ns=None)
    units = max(settings.hold_packets, policy.hold_units)
    room = settings.hold_bytes * units // settings.hold_packets
    return replace(settings, policy=policy, hold_packets=units, hold_bytes=room)


_DEFAULT_SETTINGS = ChannelSettings()


# Numbers of units and where they stand in their stream; which feeds carry one sequence.


NUMBER_BITS: Final = 32
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1


def number_of(at: int) -> int:
    return at & NUMBER_MASK


# Feeds and sites (6.1, 6.5.3): A and B are one sequence, C is another site with its own.


FEEDS: Final = (Feed.A, Feed.B, Feed.C)  # without UNKNOWN, which no machine is given


class Site(IntEnum):
    PRIMARY = 0
    CONTINGENCY = 1

    @property
    def feeds(self) -> tuple[Feed, ...]:
        return (Feed.A, Feed.B) if self is Site.PRIMARY else (Feed.C,)


SITE_OF: Final = {feed: site for site in Site for feed in site.feeds}


class RecoveryStream(IntEnum):
    """The two streams that loop; the numbers are those of the wire side's `Stream`."""

    DEFINITIONS = 2
    SNAPSHOTS = 3


def earlier(time_ns: int | None, other_ns: int | None) -> int | None:
    """Of two times at which something is due; None: never."""
    if time_ns is None or other_ns is None:
        return other_ns if time_ns is None else time_ns
    return min(time_ns, other_ns)
