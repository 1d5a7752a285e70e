"""Which stream and feed each flow of a file belongs to: see `captures.streams`."""

from pregao.captures.decoded import Endpoint, Flow
from pregao.captures.file_names import stream_of_file_name
from pregao.captures.streams import CaptureStreams
from pregao.codecs.pcap.outcomes import Datagram
from pregao.feeds.registry import DEFAULT
from pregao.model.channel_map import ChannelMap
from pregao.model.streams import Destination

MAX_FLOWS = 4096  # the packets of more are still decoded, as one flow from nowhere to nowhere

_Key = tuple[int, int, int, int, int]


class Flows:
    """The flows of one capture file."""

    def __init__(self, file: str, channels: ChannelMap | None, system: str = DEFAULT) -> None:
        self._file, self._streams = file, CaptureStreams([file], channels, system)
        self._flows: dict[_Key, Flow] = {}
        self._others = Flow(Endpoint(4, 0, 0), Endpoint(4, 0, 0))

    def of(self, datagram: Datagram, channel: int) -> Flow:
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

    def _begin(self, key: _Key, datagram: Datagram, channel: int) -> Flow:
        if len(self._flows) >= MAX_FLOWS:
            return self._others
        version = datagram.ip_version
        source = Endpoint(version, datagram.src, datagram.src_port)
        destination = Endpoint(version, datagram.dst, datagram.dst_port)
        known = self._streams.of(self._file, Destination(version, datagram.dst, datagram.dst_port), channel)
        number = known.channel or stream_of_file_name(self._file).channel
        flow = self._flows[key] = Flow(source, destination, known.stream, known.feed, number)
        return flow
