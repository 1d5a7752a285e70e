"""`pregao exchange` as a process: real multicast on loopback, a real operator, a real signal."""

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import Packet, PacketDecoder
from pregao.io.multicast import MulticastReceiver, MulticastSender
from pregao.model.channel_map import channels_toml, default_channels
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream
from pregao.simulator.live.settings import load_settings
from tests.kits.operator import load_default_catalogue

CHANNEL = 84  # has PETR4
HEARTBEAT = 2
SECURITY_DEFINITION, SNAPSHOT_HEADER, ORDER = 12, 30, 50
QUIET_S = 1.5
Key = tuple[int, Stream, Feed]


@pytest.fixture(scope="module")
def multicast() -> None:
    """Skips where the machine has no multicast on loopback."""
    try:
        with MulticastReceiver("239.255.0.1", 0) as receiver, MulticastSender("127.0.0.1") as sender:
            sender.send(b"?", ("239.255.0.1", receiver.port))
            if receiver.receive(1.0) == b"?":
                return
    except (OSError, ConfigurationError) as error:
        pytest.skip(f"NO MULTICAST ON LOOPBACK HERE, SO THE LIVE EXCHANGE IS NOT TESTED: {error}")
    pytest.skip("NO MULTICAST ON LOOPBACK HERE, SO THE LIVE EXCHANGE IS NOT TESTED")


@dataclass
class Live:
    """A running exchange and sockets on all its groups of one channel."""

    process: "subprocess.Popen[str]"
    file: Path
    url: str
    receivers: dict[Key, MulticastReceiver]

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)

    def collect(self, seconds: float, enough: Any = lambda packets: False) -> dict[Key, list[Packet]]:
        """What comes on every socket, for so long or until it is enough; all of it must be sound."""
        decoder, until = PacketDecoder(load_builtin_schema()), time.monotonic() + seconds
        packets: dict[Key, list[Packet]] = {key: [] for key in self.receivers}
        while (left := until - time.monotonic()) > 0 and not enough(packets):
            ready, _, _ = select.select(list(self.receivers.values()), [], [], left)
            for key, receiver in self.receivers.items():
                if receiver in ready and (payload := receiver.receive(0)) is not None:
                    packet = decoder.decode(payload)
                    assert not packet.damage
                    packets[key].append(packet)
        return packets

    def drain(self) -> None:
        for receiver in self.receivers.values():
            while receiver.receive(0) is not None:
                pass


def configuration(folder: Path, receivers: dict[Key, MulticastReceiver]) -> Path:
    """The default groups, with ports that the system found free."""
    lines = []
    for entry in default_channels(load_default_catalogue().channels):
        text = channels_toml([entry])
        receiver = receivers.get((entry.id.channel or 0, entry.id.stream, entry.id.feed))
        lines.append(text if receiver is None else text.replace(str(entry.port), str(receiver.port)))
    (folder / "channels.toml").write_text("\n".join(lines))
    file = folder / "exchange.toml"
    file.write_text('[multicast]\nchannels = "channels.toml"\n[publisher]\nloop_pause_ms = 1500\n')
    assert load_settings(str(file)).channels is not None
    return file


@pytest.fixture(scope="module")
def live(multicast: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with ExitStack() as stack:
        receivers: dict[Key, MulticastReceiver] = {}
        for entry in default_channels((CHANNEL,)):
            receiver = stack.enter_context(MulticastReceiver(str(entry.address), 0))
            receivers[CHANNEL, entry.id.stream, entry.id.feed] = receiver
        file = configuration(tmp_path_factory.mktemp("live"), receivers)
        with started("--config", str(file), "--flow", "0") as process:
            yield Live(process, file, _url(process), receivers)


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "pregao", "exchange", "--port", "0", *arguments]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _url(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("operator interface: "):
            return line.split(": ")[1].strip().rstrip("/")
    raise AssertionError("".join(said))


def templates(packets: list[Packet]) -> set[int]:
    return {each.message.template_id for packet in packets for each in packet.messages}


def test_all_streams_come_on_all_feeds(live: Live) -> None:
    packets = live.collect(3.0)
    assert all(packets.values()), {key: len(found) for key, found in packets.items()}
    assert SECURITY_DEFINITION in templates(packets[CHANNEL, Stream.DEFINITION, Feed.A])
    assert SNAPSHOT_HEADER in templates(packets[CHANNEL, Stream.SNAPSHOT, Feed.A])
    a, b = (
        [packet.header for packet in packets[CHANNEL, Stream.INCREMENTAL, feed]] for feed in (Feed.A, Feed.B)
    )
    assert set(b) <= set(a) or set(a) <= set(b)
    for stream in (Stream.DEFINITION, Stream.SNAPSHOT):
        _check_sequence(packets[CHANNEL, stream, Feed.A])


def _check_sequence(packets: list[Packet]) -> None:
    numbers = [
        (packet.header.sequence_version, packet.header.sequence_number)
        for packet in packets
        if packet.header.sequence_number
    ]
    for (version, number), following in pairwise(numbers):
        assert following in ((version, number + 1), (version + 1, 1))


def test_an_order_entered_is_an_order_sent_on_every_feed(live: Live) -> None:
    live.drain()
    body = {"security_id": "PETR4", "side": "BUY", "quantity": 300, "price": "36.05", "firm": 72}
    answer = live.ask("/v1/orders/new", body)
    told = answer["events"][0][0]
    incremental = [(CHANNEL, Stream.INCREMENTAL, feed) for feed in (Feed.A, Feed.B, Feed.C)]

    def orders(packets: dict[Key, list[Packet]], key: Key) -> list[Any]:
        messages = [each.message for packet in packets[key] for each in packet.messages]
        return [message.fields for message in messages if message.template_id == ORDER]

    packets = live.collect(3.0, lambda found: all(orders(found, key) for key in incremental))
    for key in incremental:
        (fields,) = orders(packets, key)
        assert fields["secondaryOrderID"] == told["order_id"]
        assert (fields["mDEntrySize"], fields["enteringFirm"]) == (300, 72)
    assert live.ask("/v1/books/PETR4")["bids"][0]["shown"] == 300


def test_silence_is_broken_by_heartbeats(live: Live) -> None:
    live.drain()
    feed_a = (CHANNEL, Stream.INCREMENTAL, Feed.A)
    packets = live.collect(QUIET_S, lambda found: bool(found[feed_a]))
    (packet,) = packets[feed_a]
    assert packet.header.sequence_number == 0
    assert templates([packet]) == {HEARTBEAT}


def test_a_stream_reset_starts_another_sequence_version(live: Live) -> None:
    live.drain()
    live.ask("/v1/resets/stream", {"channel": CHANNEL})
    feed_a = (CHANNEL, Stream.INCREMENTAL, Feed.A)
    packets = live.collect(2.0, lambda found: len(found[feed_a]) > 1)[feed_a]
    last, first = packets[0].header, packets[1].header
    assert first.sequence_number == 1
    assert first.sequence_version == last.sequence_version + 1


def test_a_signal_ends_it_well(live: Live) -> None:
    live.process.send_signal(signal.SIGTERM)
    assert live.process.wait(10) == 0


def test_an_interrupt_ends_it_well_in_mid_flow(live: Live) -> None:
    with started("--config", str(live.file), "--flow", "500", "--schema-version", "8") as process:
        _url(process)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
