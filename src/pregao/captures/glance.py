"""A look at the beginning of a capture: which flows are in it, and what each of them carries.

Plain, and without arrays: `survey` is the same by kernel, for many packets.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.feeds.binary.flows import FlowFacts
from pregao.feeds.binary.packets import FRAMING_SIZE, PacketHeader
from pregao.io.captures import open_capture
from pregao.model.errors import CaptureError
from pregao.model.streams import Destination

MOST_FLOWS: Final = 4096  # what further ones carry is not looked at
MOST_TEMPLATE: Final = 255  # greater ones are looked up as this
_WINDOW: Final = 1 << 20
_FRAME: Final = Struct("<HHHH")  # length, encoding; blockLength, templateId
_LEAST: Final = FRAMING_SIZE + 8

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


def glance(path: str, most_packets: int) -> Survey:
    """Of so many packets. What cannot be read ends it in silence: whoever reads the file will say so;
    CaptureError only where it cannot be opened."""
    found, reader = Survey(), DatagramReader()
    with open_capture(path) as source:
        try:
            for window in source.windows(_WINDOW):
                for outcome in reader.outcomes(window.data):
                    if isinstance(outcome, Datagram):
                        _take(found, outcome)
                        if found.packets >= most_packets:
                            found.whole = False
                            return found
                window.consumed = reader.position - window.base
        except CaptureError:
            pass
    return found


def _take(found: Survey, datagram: Datagram) -> None:
    found.packets += 1
    payload = datagram.payload
    if len(payload) < PacketHeader.SIZE:
        return
    header = PacketHeader.decode(payload)
    if not header.sequence_number:  # a heartbeat is no part of the sequence (6.5.10)
        return
    flow = found.flow(Destination(datagram.ip_version, datagram.dst, datagram.dst_port), header.channel)
    if flow is not None:
        flow.packets += 1
        flow.versions.add(header.sequence_version)
        flow.templates.update(_templates(payload))


def _templates(payload: memoryview) -> Iterator[int]:
    at = PacketHeader.SIZE
    while at + _LEAST <= len(payload):
        length, _, _, template = _FRAME.unpack_from(payload, at)
        if length < _LEAST or at + length > len(payload):
            return
        yield min(template, MOST_TEMPLATE)
        at += length
