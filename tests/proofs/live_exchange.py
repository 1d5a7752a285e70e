"""The exchange of `live-days`: a process that sends the packets of a simulated day to multicast groups, at a
multiple of real time, as they would have come: with what was lost on the way left out, late ones late."""

import pickle
from multiprocessing.connection import Connection
from pathlib import Path

from pregao.io.clock import Metronome
from pregao.io.multicast import Destination, MulticastSender
from pregao.model.channel_map import LOOPBACK, load_channels
from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import CapturedPacket

_BEAT_S = 0.05
_NUMBER = slice(4, 8)

Route = tuple[int, Stream, Feed]


def send_day(packets_file: Path, channels_file: Path, speed: float, pipe: Connection) -> None:
    """Waits for a word, sends the day, says how many packets that were; then heartbeats until another."""
    packets: list[CapturedPacket] = pickle.loads(packets_file.read_bytes())
    routes = {
        (entry.id.channel, entry.id.stream, entry.id.feed): (str(entry.address), entry.port)
        for entry in load_channels(channels_file.read_bytes(), str(channels_file))
    }
    pipe.recv()
    with MulticastSender(LOOPBACK) as sender:
        _send(packets, routes, speed, sender)
        pipe.send(sender.sent)
        beats = _last_beats(packets)
        while not pipe.poll(_BEAT_S):
            for route, payload in beats.items():
                sender.send(payload, routes[route])


def _send(
    packets: list[CapturedPacket], routes: dict[Route, Destination], speed: float, sender: MulticastSender
) -> None:
    metronome = Metronome()
    start_ns, first_ns = metronome.now_ns(), packets[0].ts_ns
    for packet in packets:
        metronome.wait_until(start_ns + int((packet.ts_ns - first_ns) / speed))
        sender.send(packet.payload, routes[packet.channel, packet.stream, packet.feed])


def _last_beats(packets: list[CapturedPacket]) -> dict[Route, bytes]:
    """The last heartbeat of each incremental feed: nothing has come after it but more of them."""
    return {
        (packet.channel, packet.stream, packet.feed): packet.payload
        for packet in packets
        if packet.stream is Stream.INCREMENTAL and not any(packet.payload[_NUMBER])
    }
