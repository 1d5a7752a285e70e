"""Which stream and feed each flow of a file belongs to: configuration, then file name, then content."""

from pregao.codecs.pcap.outcomes import Datagram
from pregao.feeds.binary.channels import ChannelMap
from pregao.feeds.binary.packets import Packet
from pregao.feeds.binary.streams import Stream, StreamGuesser, stream_of_file_name
from pregao.services.decoded import Endpoint, Flow

MAX_FLOWS = 4096  # the packets of more are still decoded, as one flow from nowhere to nowhere

_Key = tuple[int, int, int, int, int]


class Flows:
    """The flows of one capture file."""

    def __init__(self, file: str, channels: ChannelMap | None) -> None:
        self._channels = channels
        self._by_name = stream_of_file_name(file)
        self._flows: dict[_Key, Flow] = {}
        self._guessers: dict[_Key, StreamGuesser] = {}
        self._others = Flow(Endpoint(4, 0, 0), Endpoint(4, 0, 0))

    def of(self, datagram: Datagram, packet: Packet) -> Flow:
        """The flow of a packet, which may help to tell what its stream is."""
        key = (datagram.ip_version, datagram.src, datagram.src_port, datagram.dst, datagram.dst_port)
        flow = self._flows.get(key)
        if flow is None:
            flow = self._begin(key, datagram)
        if flow.stream is Stream.UNKNOWN and key in self._guessers:
            self._guess(key, flow, packet)
        return flow

    def _begin(self, key: _Key, datagram: Datagram) -> Flow:
        if len(self._flows) >= MAX_FLOWS:
            return self._others
        version = datagram.ip_version
        source = Endpoint(version, datagram.src, datagram.src_port)
        destination = Endpoint(version, datagram.dst, datagram.dst_port)
        configured = self._channels and self._channels.lookup(datagram.dst, datagram.dst_port, version)
        known = configured or self._by_name
        flow = self._flows[key] = Flow(source, destination, known.stream, known.feed)
        if flow.stream is Stream.UNKNOWN:
            self._guessers[key] = StreamGuesser()
        return flow

    def _guess(self, key: _Key, flow: Flow, packet: Packet) -> None:
        guesser, header = self._guessers[key], packet.header
        templates = [placed.message.header.template_id for placed in packet.messages]
        flow.stream = guesser.observe(header.sequence_version, header.sequence_number, templates)
        if guesser.decided:
            del self._guessers[key]
