"""Which stream, feed and channel the packets of a replay belong to: configuration, then file name, then
content."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pregao.feeds.binary.channels import ChannelMap
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.streams import Feed, Stream, StreamId, stream_of_file_name
from pregao.model.packets import MAX_SOURCES
from pregao.services.decode import CaptureDecoder, DecodedPacket, load_schema
from pregao.services.decoded import Endpoint

GUESSED_PACKETS = 20_000  # looked at to tell the streams of a file that nothing else tells


@dataclass(frozen=True, slots=True)
class ReplaySource:
    """Where packets come from; `id` says what is not known with UNKNOWN and None."""

    id: StreamId
    destination: Endpoint
    file: str  # the first in which it was met


class Sources:
    """Numbered as they are met. Rotated files of one stream have one source."""

    def __init__(self, channels: ChannelMap | None) -> None:
        self.all: list[ReplaySource] = []
        self._channels = channels
        self._numbers: dict[tuple[StreamId, Endpoint, str], int] = {}

    def of_file(self, file: str) -> "FileSources":
        return FileSources(self, file, self._channels)

    def number(self, source: ReplaySource) -> int:
        """More sources than a batch can tell apart share the last number."""
        known = source.id.channel is not None and source.id.stream and source.id.feed
        key = (source.id, source.destination, "" if known else source.file)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = min(len(self.all), MAX_SOURCES - 1)
            if number == len(self.all):
                self.all.append(source)
        return number


class FileSources:
    """The sources of one file, by destination."""

    def __init__(self, sources: Sources, file: str, channels: ChannelMap | None) -> None:
        self._sources, self._file, self._channels = sources, file, channels
        self._by_name = stream_of_file_name(file)
        self._guessed: dict[Endpoint, Stream] | None = None
        self._numbers: dict[Endpoint, int] = {}

    def number(self, destination: Endpoint, payload: memoryview) -> int:
        """The number of a destination; `payload` is its first packet, whose header names the channel."""
        number = self._numbers.get(destination)
        if number is None:
            identity = self._identify(destination, payload)
            source = ReplaySource(identity, destination, self._file)
            number = self._numbers[destination] = self._sources.number(source)
        return number

    def _identify(self, destination: Endpoint, payload: memoryview) -> StreamId:
        version, address, port = destination.ip_version, destination.address, destination.port
        configured = self._channels and self._channels.lookup(address, port, version)
        if configured:
            return configured
        channel, stream, feed = self._by_name
        if stream is Stream.UNKNOWN:
            stream = self._guess(destination)
        if channel is None and len(payload) >= PacketHeader.SIZE:
            channel = PacketHeader.decode(payload).channel
        if feed is Feed.UNKNOWN and stream in (Stream.DEFINITION, Stream.SNAPSHOT):
            feed = Feed.A  # as by name (6.1)
        return StreamId(channel, stream, feed)

    def _guess(self, destination: Endpoint) -> Stream:
        if self._guessed is None:
            self._guessed = _guess_streams(self._file)
        return self._guessed.get(destination, Stream.UNKNOWN)


def _guess_streams(file: str) -> dict[Endpoint, Stream]:
    streams: dict[Endpoint, Stream] = {}
    for packet in islice(_packets(file), GUESSED_PACKETS):
        streams[packet.flow.destination] = packet.flow.stream
    return streams


def _packets(file: str) -> Iterator[DecodedPacket]:
    for item in CaptureDecoder(load_schema()).packets(file):
        if isinstance(item, DecodedPacket):
            yield item
