"""Exchange and listener of `fast-live-days`, each a process: the one sends a simulated day of UMDF FIX/FAST
to multicast groups and answers requests of a replayer, the other is a live market with the truth."""

import asyncio
import pickle
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple

from pregao.captures.subscriptions import load_subscriptions
from pregao.codecs.fix import load_builtin_dictionary
from pregao.feeds.publishing import PublishingSite
from pregao.handler.keeper import Observer
from pregao.io.clock import WallClock
from pregao.io.multicast import MulticastSender
from pregao.market.channels import Channels
from pregao.market.live import LivePackets
from pregao.market.replaying import open_replayer
from pregao.model.channel_map import LOOPBACK, load_channels
from pregao.model.streams import Feed, Stream
from pregao.sessions.replay import REPLAYER
from pregao.simulator.live.replayers import Replayer
from pregao.simulator.memory import BooksCheckpoint, CapturedPacket
from tests.proofs.day_report import DayReport
from tests.proofs.fast_truth import FastTruth, depth_of
from tests.proofs.truth_follower import DifferenceError
from tests.twins.position_books import messages_of

_BEAT_S = 0.05
_AFTER_THE_END = 20  # times that something comes after all is there
_PATIENCE_S = 10.0  # after the end of the day: a replayer is asked, then there are snapshots
_NUMBER = 0xFFFFFFFF
_WHOLE_SHARE = 0.03  # of the packets, at the beginning: who counts sequences has to hear the first


class Losses(NamedTuple):
    """Shares of datagrams of the incremental streams; `burst`: so many follow one that both feeds lose."""

    one: float
    both: float
    burst: int


# The exchange


class Sender:
    """Sends the day as it was captured, but for what it loses. What is behind the last packet is told by
    repeating it, and the last loops, until somebody says that it is enough."""

    def __init__(self, channels_file: Path, losses: Losses, seed: int, port: int) -> None:
        self._routes = {
            (entry.id.channel, entry.id.stream, entry.id.feed): (str(entry.address), entry.port)
            for entry in load_channels(channels_file.read_bytes(), str(channels_file))
        }
        self._losses, self._random, self._port = losses, Random(f"fast-live {seed}"), port
        self._clock = WallClock()
        self._replayer = Replayer(REPLAYER, ["CLIENT"], load_builtin_dictionary(), self._clock)
        self._replayer.archive.begin_day(1, 1)
        self._open: dict[int, list[bytes]] = {}  # chunks of a message that is not whole, by channel
        self._burst: dict[int, int] = {}
        self._lost: dict[int, bytes] = {}  # by channel: the last that A lost with B
        self.lost = 0

    async def run(self, packets: list[CapturedPacket], speed: float, pipe: Connection) -> None:
        await self._replayer.server.start(LOOPBACK, self._port)
        pipe.send("ready")
        while not pipe.poll():
            await asyncio.sleep(_BEAT_S)
        pipe.recv()
        with MulticastSender(LOOPBACK) as sender:
            start_ns, first_ns = self._clock.now_ns(), packets[0].ts_ns
            for place, packet in enumerate(packets):
                due_ns = start_ns + int((packet.ts_ns - first_ns) / speed)
                while (left_ns := due_ns - self._clock.now_ns()) > 0:
                    await asyncio.sleep(left_ns / 1e9)
                if place < len(packets) * _WHOLE_SHARE or not self._loses(packet):
                    sender.send(packet.payload, self._routes[packet.channel, packet.stream, packet.feed])
                self._keep(packet)
            pipe.send(self.lost)
            last = _last_of(packets)
            while not pipe.poll():
                await asyncio.sleep(_BEAT_S)
                for packet in last:
                    sender.send(packet.payload, self._routes[packet.channel, packet.stream, packet.feed])
        await self._replayer.server.close()

    def _loses(self, packet: CapturedPacket) -> bool:
        if packet.stream is not Stream.INCREMENTAL:
            return False
        if packet.feed is Feed.B and self._lost.get(packet.channel) == packet.payload:
            return True
        if self._random.random() < self._losses.one:
            self.lost += 1
            return True
        if packet.feed is Feed.A:
            burst = self._burst.get(packet.channel, 0)
            if burst or self._random.random() < self._losses.both:
                self._burst[packet.channel] = burst - 1 if burst else self._losses.burst
                self._lost[packet.channel] = packet.payload
                self.lost += 2
                return True
        return False

    def _keep(self, packet: CapturedPacket) -> None:
        """For the replayer: whole messages, as they were sent."""
        if packet.stream is not Stream.INCREMENTAL or packet.feed is not Feed.A:
            return
        chunks = self._open.setdefault(packet.channel, [])
        chunks.append(packet.payload)
        count, current = (int.from_bytes(packet.payload[at : at + 2], "big") for at in (4, 6))
        if current == count:
            for number, data in messages_of(chunks):
                self._replayer.archive.add(str(packet.channel), number, data, self._clock.now_ns())
            chunks.clear()


def _last_of(packets: list[CapturedPacket]) -> list[CapturedPacket]:
    """The last message of each incremental feed, and the last loop of the others."""
    found: dict[tuple[int, Stream, Feed], list[CapturedPacket]] = {}
    for packet in packets:
        told = found.setdefault((packet.channel, packet.stream, packet.feed), [])
        first = packet.payload[:4] == b"\0\0\0\1" and packet.payload[6:8] == b"\0\1"
        if packet.stream is Stream.INCREMENTAL:
            first = packet.payload[6:8] == b"\0\1"
        if first:
            told.clear()
        told.append(packet)
    return [packet for told in found.values() for packet in told]


def send_day(
    packets_file: Path, channels_file: Path, speed: float, losses: Losses, seed: int, port: int,
    pipe: Connection,
) -> None:  # fmt: skip
    """Says when it can be asked, waits for a word, sends the day, says what it lost; then repeats the end."""
    packets: list[CapturedPacket] = pickle.loads(packets_file.read_bytes())
    asyncio.run(Sender(channels_file, losses, seed, port).run(packets, speed, pipe))


# The listener


class FastListener:
    def __init__(self, channels_file: Path, truth_file: Path) -> None:
        config = str(channels_file)
        self.packets = LivePackets(
            load_subscriptions(config, (), None, "fast"), replayer=open_replayer(config, "fast")
        )
        self.channels = Channels(self.packets, lambda _: Observer(), exact=True, quotes=False, system="fast")
        checkpoints: list[BooksCheckpoint] = pickle.loads(truth_file.read_bytes())
        self.truths = {
            channel: FastTruth(
                [c for c in checkpoints if c.channel == channel and c.site is PublishingSite.PRIMARY],
                depth_of(channel),
            )
            for channel in self.channels.handlers
        }
        self.report = DayReport()

    def listen(self, pipe: Connection) -> None:
        """Until the exchange has sent its day and all of it was heard."""
        for _, events in self.channels.start():
            self.report.note(events)
        pipe.send("listening")
        left, ended_s = _AFTER_THE_END, 0.0
        while left and (not ended_s or monotonic() - ended_s < _PATIENCE_S):
            batch = self.channels.wait()
            self.report.packets += 0 if batch is None else batch.count
            for channel, events in self.channels.handle(batch):
                self.report.note(events)
                self._check(channel)
            if pipe.poll():
                ended_s = ended_s or monotonic()
                left -= all(truth.is_over for truth in self.truths.values())
        for channel, handler in self.channels.handlers.items():
            self.report.heals["replay"] += handler.machine.counters.healed_by_replay
            self.report.finish(handler, self.truths[channel])

    def _check(self, channel: int) -> None:
        handler = self.channels.handlers[channel]
        handler.machine.check_invariants()
        point = handler.machine.arbiter.version, handler.machine.at & _NUMBER
        try:
            self.truths[channel].at_point(point, handler)
        except DifferenceError as difference:
            raise DifferenceError(f"channel {channel} at {point}: {difference}") from difference


def hear_day(channels_file: Path, truth_file: Path, pipe: Connection) -> None:
    """Says when it listens, then what it heard: a report, or what is not as the exchange has it."""
    listener = FastListener(channels_file, truth_file)
    try:
        listener.listen(pipe)
        pipe.send(listener.report)
    except DifferenceError as difference:
        pipe.send(str(difference))
    finally:
        listener.packets.close()
