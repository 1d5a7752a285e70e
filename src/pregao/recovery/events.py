"""What the machine of a channel or session tells people, in the order in which it happened: of its packets,
streams and sites here, of instruments in `instrument_events`."""

from pregao.model.records import record
from pregao.model.streams import Feed
from pregao.recovery.instrument_events import (
    HistoryFilled,
    InstrumentHealed,
    InstrumentStale,
    InstrumentsUnverified,
)
from pregao.recovery.policy import RecoveryStream, Site, number_of


@record
class GapDetected:
    """Packets that no feed has."""

    channel: int
    version: int
    first: int  # at
    last: int

    @property
    def packets(self) -> int:
        return number_of(self.last) - number_of(self.first) + 1

    def __str__(self) -> str:
        first, last = number_of(self.first), number_of(self.last)
        return f"channel {self.channel}: packets {first} to {last} of version {self.version} are lost"


@record
class UnitsWanted:
    """To the shell, of a system that has a replayer: ask it for these. Not yet lost: what comes in time fills
    the gap."""

    channel: int
    version: int
    first: int  # at
    last: int

    def __str__(self) -> str:
        first, last = number_of(self.first), number_of(self.last)
        return f"channel {self.channel}: units {first} to {last} of version {self.version} are asked for"


@record
class PacketConflict:
    """The same number twice, with different bytes: nobody can say which was right."""

    channel: int
    version: int
    at: int
    feed: Feed

    def __str__(self) -> str:
        number = number_of(self.at)
        return f"channel {self.channel}: feed {self.feed.name} repeats packet {number} with other messages"


@record
class PacketDamaged:
    """A packet that cannot be read to its end."""

    channel: int
    at: int
    what: str
    byte: int  # of its payload

    def __str__(self) -> str:
        packet = f"channel {self.channel}: packet {number_of(self.at)}"
        return f"{packet} is damaged at byte {self.byte}: {self.what}"


@record
class SequenceStarted:
    """The first packet of a site: nothing is known of what came before it."""

    channel: int
    version: int
    missing: int  # the place before it

    def __str__(self) -> str:
        number = number_of(self.missing) + 1
        return f"channel {self.channel}: begins with packet {number} of sequence version {self.version}"


@record
class SequenceVersionChanged:
    """The sequence starts over. `clean`: nothing of the old one can be missing. `missing` is the place
    before the first packet of the new one."""

    channel: int
    before: int
    version: int
    missing: int
    clean: bool

    def __str__(self) -> str:
        how = "in order" if self.clean else "the end of the old one is not known"
        return f"channel {self.channel}: sequence version {self.before} → {self.version}, {how}"


@record
class StreamReset:
    """SequenceReset on the incremental stream (6.5.11)."""

    channel: int
    at: int

    def __str__(self) -> str:
        return f"channel {self.channel}: sequence ends at packet {number_of(self.at)}"


@record
class ChannelWasCleared:
    """ChannelReset: every book is empty (6.5.12)."""

    channel: int
    at: int

    def __str__(self) -> str:
        return f"channel {self.channel}: all books emptied at packet {number_of(self.at)}"


@record
class FeedSilent:
    channel: int
    feed: Feed

    def __str__(self) -> str:
        return f"channel {self.channel}: feed {self.feed.name} is silent"


@record
class FeedAlive:
    channel: int
    feed: Feed

    def __str__(self) -> str:
        return f"channel {self.channel}: feed {self.feed.name} is heard"


@record
class ChannelSilent:
    """No feed of the site is heard: books are inconsistent until shown otherwise (6.2)."""

    channel: int
    site: Site

    def __str__(self) -> str:
        return f"channel {self.channel}: nothing is heard from the {self.site.name.lower()} site"


@record
class FailedOver:
    """From now on this site's feeds are used."""

    channel: int
    to: Site

    def __str__(self) -> str:
        return f"channel {self.channel}: the {self.to.name.lower()} site takes over"


@record
class QueueOverflow:
    """No room to hold another row. `instruments` waited for held rows and wait for a newer snapshot now;
    those that are clean wait for nothing and stay clean."""

    channel: int
    rows: int
    instruments: int
    at: int

    def __str__(self) -> str:
        dropped = f"channel {self.channel}: queue full, {self.rows} held rows dropped"
        return f"{dropped}, recovery of {self.instruments} instruments starts again"


@record
class DefinitionsComplete:
    channel: int
    instruments: int

    def __str__(self) -> str:
        return f"channel {self.channel}: all {self.instruments} definitions received"


@record
class SnapshotLoopComplete:
    channel: int
    version: int
    reports: int

    def __str__(self) -> str:
        return (
            f"channel {self.channel}: snapshot loop {self.version} complete with {self.reports} instruments"
        )


@record
class ChannelReady:
    """Start-up is over (6.5.9)."""

    channel: int
    instruments: int
    unhealed: int

    def __str__(self) -> str:
        return f"channel {self.channel}: ready, {self.instruments} instruments, {self.unhealed} not yet whole"


@record
class JoinStream:
    """To the shell: listen to this recovery stream."""

    channel: int
    stream: RecoveryStream
    site: Site

    def __str__(self) -> str:
        return f"channel {self.channel}: join {self.stream.name.lower()} of the {self.site.name.lower()} site"


@record
class LeaveStream:
    channel: int
    stream: RecoveryStream
    site: Site

    def __str__(self) -> str:
        return (
            f"channel {self.channel}: leave {self.stream.name.lower()} of the {self.site.name.lower()} site"
        )


@record
class TradeDateChanged:
    channel: int
    before: int
    trade_date: int  # days since 1970

    def __str__(self) -> str:
        return f"channel {self.channel}: trade date {self.before} → {self.trade_date}"


@record
class SessionStarted:
    """Logged on to a server of the session; `epoch` counts how often."""

    channel: int
    endpoint: str
    epoch: int

    def __str__(self) -> str:
        return f"logged on to the {self.endpoint} (logon {self.epoch})"


@record
class SessionEnded:
    """The connection is gone, or could not be made. Books are stale until their next snapshot."""

    channel: int
    endpoint: str
    reason: str

    def __str__(self) -> str:
        return f"the session with the {self.endpoint} is over: {self.reason}"


@record
class RequestRefused:
    """What a server of a session does not give."""

    channel: int
    request: str
    reason: str

    def __str__(self) -> str:
        return f"{self.request} was refused: {self.reason}"


Event = (
    GapDetected | PacketConflict | PacketDamaged | SequenceStarted | SequenceVersionChanged | StreamReset
    | ChannelWasCleared | FeedSilent | FeedAlive | ChannelSilent | FailedOver | InstrumentsUnverified
    | InstrumentStale | InstrumentHealed | QueueOverflow | DefinitionsComplete | SnapshotLoopComplete
    | ChannelReady | JoinStream | LeaveStream | TradeDateChanged | UnitsWanted
    | SessionStarted | SessionEnded | RequestRefused | HistoryFilled
)  # fmt: skip
