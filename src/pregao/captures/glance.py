"""A look at the beginning of a capture: which flows are in it, and what each of them carries.

Plain, and without arrays: `survey` is the same by kernel, for many packets.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pregao.captures.reader import CaptureReader
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.feeds.identity import Identity
from pregao.feeds.registry import DEFAULT, load_identity
from pregao.io.captures import open_capture
from pregao.model.errors import CaptureError, Fault
from pregao.model.streams import Destination, Feed, Stream

# What is known of flows, and which feeds they are, told by sequences.
#
# A flow is what one destination gets of one channel. Feeds are not told by packets. A and B have the same
# sequenceVersions (6.1), C numbers by itself (6.5.3): flows of a channel that share no version are of
# different sites, and the site with more flows is the primary. Of one site the lower address is A, the next
# B: which is which is a matter of names, but always the same.


@dataclass(slots=True)
class FlowFacts:
    """What is known of a flow: what was seen in it, then what it is."""

    channel: int
    destination: Destination
    marks: set[int] = field(default_factory=set)  # see `feeds.identity`
    versions: set[int] = field(default_factory=set)
    units: int = 0  # that have a number: without heartbeats
    stream: Stream = Stream.UNKNOWN
    feed: Feed = Feed.UNKNOWN

    def why_untold(self) -> str:
        """For people, of a flow that has packets and whose stream cannot be told."""
        seen = ", ".join(map(str, sorted(self.marks)))
        if not seen:
            return f"{self.units:,} packets to {self.destination} have no message that this system knows"
        return (
            f"the stream of {self.units:,} packets of channel {self.channel} to {self.destination}"
            f" cannot be told from templates {seen}"
        )


def name_feeds(flows: Iterable[FlowFacts]) -> None:
    """Gives a feed to all flows whose stream is known and whose feed is not."""
    by_channel: dict[int, list[FlowFacts]] = {}
    for flow in flows:
        by_channel.setdefault(flow.channel, []).append(flow)
    for mine in by_channel.values():
        mine.sort(key=lambda flow: flow.destination)
        incremental = [flow for flow in mine if flow.stream is Stream.INCREMENTAL]
        _name_incremental(incremental)
        for stream in (Stream.DEFINITION, Stream.SNAPSHOT):
            _name_loops([flow for flow in mine if flow.stream is stream], incremental)


def _name_incremental(flows: Sequence[FlowFacts]) -> None:
    known = {flow.destination: flow.feed for flow in flows if flow.feed is not Feed.UNKNOWN}
    for flow in flows:  # one that a file's name tells is the same in another file
        if flow.feed is Feed.UNKNOWN:
            flow.feed = known.get(flow.destination, Feed.UNKNOWN)
    sites = _sites(flows)
    for number, site in enumerate(sites):
        free = [Feed.C] if number else [Feed.A, Feed.B]
        taken = {flow.feed for flow in site}
        free = [feed for feed in free if feed not in taken] or free[-1:]
        named: dict[Destination, Feed] = {}
        for flow in site:
            if flow.feed is Feed.UNKNOWN:
                if flow.destination not in named:
                    named[flow.destination] = free[min(len(named), len(free) - 1)]
                flow.feed = named[flow.destination]


def _sites(flows: Sequence[FlowFacts]) -> list[list[FlowFacts]]:
    """Flows that share sequenceVersions, or a destination; the primary site first."""
    sites: list[list[FlowFacts]] = []
    for flow in flows:
        near = [site for site in sites if any(_together(flow, other) for other in site)]
        sites = [site for site in sites if site not in near]
        sites.append([each for site in near for each in site] + [flow])
    for site in sites:
        site.sort(key=lambda flow: flow.destination)
    return sorted(sites, key=lambda site: (_is_contingency(site), -_destinations(site), site[0].destination))


def _together(flow: FlowFacts, other: FlowFacts) -> bool:
    known_feeds = {flow.feed, other.feed} - {Feed.UNKNOWN}
    if Feed.C in known_feeds and len(known_feeds) > 1:
        return False
    return flow.destination == other.destination or not flow.versions.isdisjoint(other.versions)


def _is_contingency(site: Sequence[FlowFacts]) -> bool:
    return any(flow.feed is Feed.C for flow in site)


def _destinations(site: Sequence[FlowFacts]) -> int:
    return len({flow.destination for flow in site})


def _name_loops(flows: Sequence[FlowFacts], incremental: Sequence[FlowFacts]) -> None:
    """A site has one each (6.1). Where there are two sites the loops lie in the order of their incremental
    streams."""
    unnamed = list(dict.fromkeys(flow.destination for flow in flows if flow.feed is Feed.UNKNOWN))
    contingency = [flow.destination for flow in incremental if flow.feed is Feed.C]
    primary = [flow.destination for flow in incremental if flow.feed is not Feed.C]
    names = dict.fromkeys(unnamed, Feed.A)
    if len(unnamed) > 1 and contingency:
        is_last = not primary or contingency[0] > primary[0]
        names[unnamed[-1 if is_last else 0]] = Feed.C
    elif contingency and not primary:
        names = dict.fromkeys(unnamed, Feed.C)
    for flow in flows:
        if flow.feed is Feed.UNKNOWN:
            flow.feed = names[flow.destination]


MOST_FLOWS: Final = 4096  # what further ones carry is not looked at

FlowKey = tuple[Destination, int]  # and the channel


@dataclass(slots=True)
class Survey:
    flows: dict[FlowKey, FlowFacts] = field(default_factory=dict)
    packets: int = 0
    whole: bool = True  # up to the end of the file

    def flow(self, destination: Destination, channel: int) -> FlowFacts | None:
        """None: there are too many."""
        known = self.flows.get((destination, channel))
        if known is None and len(self.flows) < MOST_FLOWS:
            known = self.flows[destination, channel] = FlowFacts(channel, destination)
        return known


def glance(path: str, most_packets: int, system: str = DEFAULT) -> Survey:
    """Of so many packets. What cannot be read ends it in silence: whoever reads the file will say so;
    CaptureError only where it cannot be opened."""
    found, identity = Survey(), load_identity(system)
    with open_capture(path) as source, suppress(CaptureError):
        for item in CaptureReader(path).read(source):
            if isinstance(item, Datagram):
                _take(found, item, identity)
                if found.packets >= most_packets:
                    found.whole = False
                    break
    return found


def _take(found: Survey, datagram: Datagram, identity: Identity) -> None:
    found.packets += 1
    seen = identity.glimpse(datagram.payload)
    if seen is None:
        return
    flow = found.flow(Destination(datagram.ip_version, datagram.dst, datagram.dst_port), seen.channel)
    if flow is not None:
        flow.units += seen.units
        flow.versions.add(seen.epoch)
        flow.marks.update(seen.marks)


# Captures of which nothing can be read: what is inside decides, and what cannot be told is said aloud.


EMPTY: Final = "is empty"
_GLANCE: Final = 64 * 1024


def why_unreadable(path: str | Path) -> str | None:
    """Why nothing can be read of a capture, judged by its beginning; None where something can. CaptureError
    when it cannot be opened."""
    reader = DatagramReader()
    with open_capture(path) as source:
        if not source.size:
            return EMPTY
        try:
            window = next(source.windows(_GLANCE), None)
        except CaptureError as error:
            return error.reason
        if window is None:
            return EMPTY
        for outcome in reader.outcomes(window.data[:_GLANCE]):
            if isinstance(outcome, Damage) and outcome.fault is Fault.NOT_A_CAPTURE:
                return "is not a capture"
            if outcome is not Skip.UNKNOWN_LINK:
                return None
        if any(each.fault is Fault.NOT_A_CAPTURE for each in reader.finish(len(window.data))):
            return "is not a capture"
    if reader.unknown_links:
        return f"link type {min(reader.unknown_links)} is unknown: none of its packets can be read"
    return None


def need_readable(paths: Sequence[str | Path]) -> None:
    """CaptureError where nothing can be read of any of them; one that can is reason enough to go on."""
    first: CaptureError | None = None
    for path in paths:
        reason = why_unreadable(path)
        if reason is None:
            return
        first = first or CaptureError(reason, file=str(path))
    if first is not None:
        raise first
