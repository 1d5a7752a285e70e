"""Which stream, feed and channel each destination of captures is.

In this order: the channel configuration; what is inside, where that proves a stream; the file's name; what
is inside, where that only makes a stream likely (`feeds.identity`). So a name is believed as long as
nothing contradicts it, and files of any name, with one stream or all of them, are read all the same.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from pregao.captures.decoded import CaptureFlow, SocketAddress
from pregao.captures.glance import MOST_FLOWS, FlowFacts, FlowKey, Survey, glance, name_feeds
from pregao.codecs.pcap.outcomes import Datagram
from pregao.feeds.identity import UNTOLD_CHANNEL, Identity
from pregao.feeds.registry import DEFAULT, load_identity
from pregao.model.channel_map import ChannelMap
from pregao.model.errors import CaptureError
from pregao.model.streams import MOST_CHANNEL, Destination, Feed, Stream, StreamId

# What a capture's file name says of the stream in it, when it is one of B3's usual ones.


# A word ends before anything but a letter, or before "Feed": IncrementalFeedA.
_END: Final = r"(?=feed|[^a-z]|$)"
_STREAM_WORDS: Final = {
    Stream.INCREMENTAL: re.compile(rf"(?<![a-z])incremental{_END}"),
    Stream.DEFINITION: re.compile(rf"(?<![a-z])(?:instrument|security)[ _-]?(?:definition|list){_END}"
                                  rf"|(?<![a-z])instruments?{_END}(?![ _-]?(?:definition|list))"),
    Stream.SNAPSHOT: re.compile(rf"(?<![a-z])snapshot(?:[ _-]?recovery)?{_END}"),
}  # fmt: skip
_FEED: Final = re.compile(r"feed[ _-]?([abc])(?![a-z0-9])")
_CHANNEL: Final = re.compile(r"(?<![a-z])(?:channel|canal|ch)[ _-]?(\d{1,3})(?![0-9a-z])")
_DATE: Final = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d[-_. ]?\d\d[-_. ]?\d\d|\d\d[-_. ]\d\d[-_. ](?:19|20)\d\d)(?!\d)"
)
_SHORT_NUMBER: Final = re.compile(r"(?<![0-9a-z])\d{1,3}(?![0-9a-z])")


def stream_of_file_name(name: str) -> StreamId:
    """What a capture's file name says; folders before it and its endings do not matter.

    Known forms: `084_Incremental_FeedA.pcap`, `20250331_MBO_084_EQT_SnapshotRecovery.pcap.zst`,
    `78_Instrument.pcap`, `Channel_084_InstrumentDefinition.pcapng`. Definitions and snapshots
    are on feed A (6.1) unless the name says otherwise. The channel is the number after the word
    "channel", or else the only number of one to three digits before the stream's name once
    dates are set aside; where several could be meant it stays unknown.
    """
    base = re.split(r"[/\\]", name)[-1].lower()
    found = {stream: match for stream, word in _STREAM_WORDS.items() if (match := word.search(base))}
    stream, match = next(iter(found.items())) if len(found) == 1 else (Stream.UNKNOWN, None)
    return StreamId(_channel_in(base, match.start() if match else 0), stream, _feed_in(base, stream))


def _feed_in(base: str, stream: Stream) -> Feed:
    letters = set(_FEED.findall(base))
    if len(letters) == 1:
        return Feed[letters.pop().upper()]
    if not letters and stream in (Stream.DEFINITION, Stream.SNAPSHOT):
        return Feed.A
    return Feed.UNKNOWN


def _channel_in(base: str, stream_at: int) -> int | None:
    named = {int(number) for number in _CHANNEL.findall(base)}
    numbers = [int(number) for number in _SHORT_NUMBER.findall(_DATE.sub("date", base[:stream_at]))]
    candidates = list(named) or numbers
    return candidates[0] if len(candidates) == 1 and candidates[0] <= MOST_CHANNEL else None


SURVEYED: Final = 500_000  # packets; further ones only where they go to a destination not met among these
_GLANCE: Final = 512  # packets; enough where a name says what the file is
_PLAIN = 20_000  # packets that are looked at without kernels, which take longer than that to load
_EVERYTHING: Final = 1 << 62
_ENOUGH_TO_JUDGE: Final = 64  # units of a flow, of which some message is known if it is of the system at all


class CaptureStreams:
    """Of some files, which are looked at when this is made: shortly where their names say all."""

    def __init__(
        self, paths: Iterable[str], channels: ChannelMap | None = None, system: str = DEFAULT
    ) -> None:
        self._channels, self._system = channels, system
        self.identity = load_identity(system)
        self._surveys: dict[str, Survey] = {}
        self._missed: set[tuple[str, FlowKey]] = set()
        self._known: dict[tuple[str, Destination, int], StreamId] = {}
        for path in paths:
            self._surveys[path] = self._look(path)
        self._settle()

    def of(self, path: str, destination: Destination, channel: int) -> StreamId:
        """What packets of a channel to a destination are in a file."""
        key = path, destination, channel
        known = self._known.get(key)
        if known is None:
            known = self._find(path, destination, channel)
            if len(self._known) < MOST_FLOWS:
                self._known[key] = known
        return known

    def _find(self, path: str, destination: Destination, channel: int) -> StreamId:
        configured = configured_stream(self._channels, destination)
        if configured is not None:
            return configured
        flow, named = self._flow(path, (destination, channel)), stream_of_file_name(path)
        number = named.channel or channel if channel == UNTOLD_CHANNEL else channel
        if flow is None:
            return StreamId(number, named.stream, named.feed)
        return StreamId(number, flow.stream, flow.feed)

    @property
    def untold(self) -> list[str]:
        """For people: flows whose stream cannot be told, file by file."""
        return [
            f"{path}: {flow.why_untold()}"
            for path, found in self._surveys.items()
            for flow in found.flows.values()
            if flow.stream is Stream.UNKNOWN and configured_stream(self._channels, flow.destination) is None
        ]

    def _flow(self, path: str, key: FlowKey) -> FlowFacts | None:
        found = self._surveys[path]
        if key not in found.flows and not found.whole and (path, key) not in self._missed:
            self._missed.add((path, key))
            self._surveys[path] = found = self._all(path)
            self._settle()
        return found.flows.get(key)

    def _look(self, path: str) -> Survey:
        """A file whose name says stream and feed is believed when its beginning is one flow, and fits."""
        named = stream_of_file_name(path)
        try:
            found = glance(path, _GLANCE, self._system)
            if not found.whole and not _fits(found, named, self.identity):
                found = glance(path, _PLAIN, self._system)
                found = found if found.whole else _survey(path, SURVEYED, self._system)
        except CaptureError:  # whoever reads it says why
            return Survey()
        return found

    def _all(self, path: str) -> Survey:
        try:
            return _survey(path, _EVERYTHING, self._system)
        except CaptureError:
            return Survey()

    def _settle(self) -> None:
        """Again from the beginning: one more flow of a channel may change which feed the others are."""
        self._known.clear()
        everything = []
        for path, found in self._surveys.items():
            named = stream_of_file_name(path)
            flows = list(found.flows.values())
            identify(flows, named, self._channels, self.identity)
            everything += flows
        name_feeds(everything)


def configured_stream(channels: ChannelMap | None, destination: Destination) -> StreamId | None:
    if channels is None:
        return None
    return channels.lookup(destination.address, destination.port, destination.ip_version)


def identify(
    flows: Collection[FlowFacts], named: StreamId, channels: ChannelMap | None,
    identity: Identity,
) -> None:  # fmt: skip
    """Streams and feeds of the flows of one file, by all that can tell them; either may stay UNKNOWN."""
    of_channel = Counter(flow.channel for flow in flows)
    for flow in flows:
        configured = configured_stream(channels, flow.destination)
        if configured is not None:
            flow.stream, flow.feed = configured.stream, configured.feed
            continue
        flow.feed = named.feed
        if not flow.marks and flow.units >= _ENOUGH_TO_JUDGE:
            continue  # of another system, whatever the name says: files of several may lie in one folder
        likely = identity.settled_stream(flow.marks, flow.units)
        # A name means the only flow there is; of several it is the last that is asked.
        answers = [identity.stream_of(flow.marks), named.stream, likely]
        if of_channel[flow.channel] > 1:
            answers = [likely, named.stream]
        flow.stream = next((stream for stream in answers if stream is not Stream.UNKNOWN), Stream.UNKNOWN)
    _forget_shared_feeds([flow for flow in flows if configured_stream(channels, flow.destination) is None])


def _forget_shared_feeds(flows: Iterable[FlowFacts]) -> None:
    """A name that says a feed cannot mean two flows of one stream."""
    alike: dict[tuple[int, Stream, Feed], list[FlowFacts]] = {}
    for flow in flows:
        alike.setdefault((flow.channel, flow.stream, flow.feed), []).append(flow)
    for each in alike.values():
        if len(each) > 1:
            for flow in each:
                flow.feed = Feed.UNKNOWN


def _survey(path: str, most_packets: int, system: str) -> Survey:
    """Kernels take a while to load, and most files need none."""
    from pregao.captures.survey import survey

    return survey(path, most_packets, system)


def _fits(found: Survey, named: StreamId, identity: Identity) -> bool:
    if len(found.flows) > 1 or named.stream is Stream.UNKNOWN or named.feed is Feed.UNKNOWN:
        return False
    streams = {identity.stream_of(flow.marks) for flow in found.flows.values()}
    return streams <= {Stream.UNKNOWN, named.stream}


# Which stream and feed each flow of a file belongs to: see `captures.streams`.


MAX_FLOWS = 4096  # the packets of more are still decoded, as one flow from nowhere to nowhere

_Key = tuple[int, int, int, int, int]


class Flows:
    """The flows of one capture file."""

    def __init__(self, file: str, channels: ChannelMap | None, system: str = DEFAULT) -> None:
        self._file, self._streams = file, CaptureStreams([file], channels, system)
        self._flows: dict[_Key, CaptureFlow] = {}
        self._others = CaptureFlow(SocketAddress(4, 0, 0), SocketAddress(4, 0, 0))

    def of(self, datagram: Datagram, channel: int) -> CaptureFlow:
        """The flow of a packet of a channel."""
        key = (datagram.ip_version, datagram.src, datagram.src_port, datagram.dst, datagram.dst_port)
        flow = self._flows.get(key)
        if flow is None:
            flow = self._begin(key, datagram, channel)
        return flow

    @property
    def untold(self) -> list[str]:
        """A line for each flow whose stream cannot be told."""
        return self._streams.untold

    def _begin(self, key: _Key, datagram: Datagram, channel: int) -> CaptureFlow:
        if len(self._flows) >= MAX_FLOWS:
            return self._others
        version = datagram.ip_version
        source = SocketAddress(version, datagram.src, datagram.src_port)
        destination = SocketAddress(version, datagram.dst, datagram.dst_port)
        known = self._streams.of(self._file, Destination(version, datagram.dst, datagram.dst_port), channel)
        number = known.channel or stream_of_file_name(self._file).channel
        flow = self._flows[key] = CaptureFlow(source, destination, known.stream, known.feed, number)
        return flow
