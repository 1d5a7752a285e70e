"""A look at the beginning of a capture: which flows are in it, and what each of them carries.

Plain, and without arrays: `survey` is the same by kernel, for many packets.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pregao.captures.feeds import FlowFacts
from pregao.captures.reader import CaptureReader
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.feeds.identity import Identity
from pregao.feeds.registry import DEFAULT, load_identity
from pregao.io.captures import open_capture
from pregao.model.errors import CaptureError, Fault
from pregao.model.streams import Destination

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
