"""The streams of a run as clients find them: a file with addresses, and packets by multicast on loopback."""

import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pregao.certification.memory import STREAMS
from pregao.feeds.decoding import PackagedSchema
from pregao.feeds.publishing import OutgoingPacket
from pregao.feeds.registry import load_decoding
from pregao.io.multicast import MulticastSender
from pregao.model.channel_map import LOOPBACK, default_channels
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream


def _own_group(stream: Stream) -> str:
    """Another run on this machine must not be heard: groups are of this process, ports of channels."""
    number = os.getpid()
    return f"239.{192 + (number >> 8) % 63}.{number & 255}.{1 + list(STREAMS).index(stream)}"


def with_addresses(config: Mapping[str, Any], replayers: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """The same configuration, each stream with the group and port that it is sent to, each session with the
    host and port where it is served."""
    if "session" in config:
        return dict(config)
    channels = {each["channel"] for each in config["streams"]}
    places = {
        (entry.id.channel, STREAMS[entry.id.stream]): (_own_group(entry.id.stream), entry.port)
        for entry in default_channels(channels)
        if entry.id.feed is Feed.A and entry.id.stream in STREAMS
    }
    streams = []
    for each in config["streams"]:
        group, port = places[each["channel"], each["stream"]]
        streams.append({**each, "group": group, "port": port})
    sessions = {
        name: {**each, "host": replayers[name][0], "port": replayers[name][1]}
        for name, each in config["sessions"].items()
    }
    return {**config, "interface": LOOPBACK, "streams": streams, "sessions": sessions}


def _write_schema(system: str, folder: Path) -> str:
    """The templates, schema or dictionary that messages are written with, as a file of the client's."""
    decoding: object = load_decoding(system)
    if not isinstance(decoding, PackagedSchema):
        raise ConfigurationError(f"the system {system!r} has no schema of its own", key="system")
    file = folder / decoding.schema_file
    file.write_bytes(resources.files("pregao.codecs").joinpath("schemas", decoding.schema_file).read_bytes())
    return str(file.resolve())


class SentStreams:
    """The file that a client is given, and the streams that it names."""

    def __init__(
        self, config: Mapping[str, Any], folder: Path, name: str, replayers: Mapping[str, tuple[str, int]]
    ) -> None:
        addressed = with_addresses(config, replayers) | {"templates": _write_schema(config["system"], folder)}
        self.file = folder / f"{name}.json"
        self.file.write_text(json.dumps(addressed, indent=1), "utf-8")
        self._places = {
            (each["channel"], each["stream"]): (each["group"], each["port"])
            for each in addressed["streams"]
            if "group" in each
        }
        self._sender = MulticastSender(LOOPBACK)
        self.close = self._sender.close

    def send(self, channel: int, packet: OutgoingPacket) -> bool:
        """Whether it is of a stream that a client knows."""
        place = self._places.get((channel, STREAMS[packet.stream]))
        if place is not None:
            self._sender.send(packet.payload, place)
        return place is not None
