"""Which stream, feed and channel the packets of a replay belong to: see `captures.streams`."""

from collections.abc import Sequence
from dataclasses import dataclass

from pregao.captures.decoded import Endpoint
from pregao.captures.file_names import stream_of_file_name
from pregao.captures.streams import CaptureStreams
from pregao.feeds.registry import DEFAULT
from pregao.model.channel_map import ChannelMap
from pregao.model.packets import MAX_SOURCES
from pregao.model.streams import Destination, StreamId


@dataclass(frozen=True, slots=True)
class ReplaySource:
    """Where packets come from; `id` says what is not known with UNKNOWN and None."""

    id: StreamId
    destination: Endpoint
    file: str  # the first in which it was met


class Sources:
    """Numbered as they are met. Rotated files of one stream have one source."""

    def __init__(self, files: Sequence[str], channels: ChannelMap | None, system: str = DEFAULT) -> None:
        self.all: list[ReplaySource] = []
        self.streams = CaptureStreams(files, channels, system)
        self._numbers: dict[tuple[StreamId, Endpoint, str], int] = {}

    def of_file(self, file: str) -> "FileSources":
        return FileSources(self, file)

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

    def __init__(self, sources: Sources, file: str) -> None:
        self._sources, self._file = sources, file
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
        channel = self._sources.streams.identity.channel_of(payload)
        if channel is None:
            return stream_of_file_name(self._file)
        place = Destination(destination.ip_version, destination.address, destination.port)
        return self._sources.streams.of(self._file, place, channel)
