"""A look at the beginning of a capture: which flows are in it, and what each of them carries.

Plain, and without arrays: `survey` is the same by kernel, for many packets.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from pregao.captures.feeds import FlowFacts
from pregao.captures.reader import CaptureReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.feeds.identity import Identity
from pregao.feeds.registry import DEFAULT, load_identity
from pregao.io.captures import open_capture
from pregao.model.errors import CaptureError
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
