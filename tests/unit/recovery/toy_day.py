"""A day of the toy exchange through a bad network to a toy client."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random
from typing import Any

from pregao.recovery.events import Event
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import ChannelSettings, RecoveryPolicy, Site, number_of
from tests.unit.recovery.toy_client import ToyClient
from tests.unit.recovery.toy_exchange import LAST_VERSION, MILLISECOND, SECOND, Sent, ToyExchange

START_NS = 1_000 * SECOND
SETTINGS = ChannelSettings(
    RecoveryPolicy(own_bytes=16, reports_in_a_unit=35),
    hold_ns=20 * MILLISECOND, hold_packets=64, hash_ring=256, held_rows=4_096, instruments=64,
    heartbeat_ns=SECOND,
)  # fmt: skip


@dataclass
class Weather:
    """What the network does. Chances are of a packet."""

    loss: float = 0.0  # on each feed by itself
    both: float = 0.0  # on all feeds at once
    burst: int = 1  # packets that `both` takes
    loops: float = 0.0  # on the looping streams
    dup: float = 0.0
    late: float = 0.0
    late_ns: int = 10 * MILLISECOND
    lose: Callable[[Sent], bool] | None = None  # of the incremental stream, on all feeds


@dataclass
class Day:
    """Steps of about a millisecond. `deeds`: what the exchange does at a step."""

    seed: int
    steps: int = 3_000
    weather: Weather = field(default_factory=Weather)
    settings: ChannelSettings = SETTINGS
    deeds: dict[int, Callable[["Day"], None]] = field(default_factory=dict)
    exchange: Any = None
    quiet_from: int | None = None  # the exchange does nothing from here on
    silent: tuple[int, int] = (0, 0)  # steps in which nothing of the primary site arrives
    join_at: int = 0
    busy: float = 0.7  # packets in a step
    standby: Any = None  # the exchange of the contingency site
    hostile: float = 0.0  # forged packets in a step

    def __post_init__(self) -> None:
        self.random = Random(f"network/{self.seed}")
        self.exchange = self.exchange or ToyExchange(self.seed)
        truths = {Site.PRIMARY: self.exchange.truth}
        if self.standby is not None:
            truths[Site.CONTINGENCY] = self.standby.truth
        self.client = ToyClient(truths, self.settings)
        self._past: list[Sent] = []
        self.now_ns = START_NS
        self.skew_ns = 0  # of the client's clock
        self._air: list[tuple[int, int, str, Sent]] = []
        self._flying = self._burst = 0
        # Snapshots are always a little old, more or less so.
        self.snapshot_age_ns = (0, 30, 150)[self.seed % 3] * MILLISECOND
        self.step = 0

    @property
    def events(self) -> list[Event]:
        return self.client.events

    def run(self) -> "Day":
        while self.step < self.steps:
            self._one_step(calm=False)
            self.step += 1
        self.weather = Weather()
        self.hostile = 0.0
        while self.step < self.steps + 6_000:
            self._one_step(calm=True)
            self.step += 1
            if self.step > self.steps + 100 and not self.unhealed():
                break
        return self

    def unhealed(self) -> list[int]:
        machine = self.client.machine
        ids = machine.table.security_ids
        clean = (BookStatus.CLEAN, BookStatus.CLEAN)
        ignored = machine.table.sync["marks"] & 1
        return [one for at, one in enumerate(ids) if not ignored[at] and machine.known(at) != clean]

    def _one_step(self, *, calm: bool) -> None:
        self.now_ns += MILLISECOND
        exchange = self.exchange
        deed = self.deeds.get(self.step)
        if deed is not None:
            deed(self)
        quiet = self.quiet_from is not None and self.step >= self.quiet_from
        for each in (exchange, self.standby):
            if each is None:
                continue
            if not quiet and self.random.random() < (0.1 if calm else self.busy):
                each.act(self.now_ns)
            each.advance(self.now_ns)
            sent, each.sent = each.sent, []
            for packet in sent:
                self._send(packet, standby=each is self.standby)
        if self.random.random() < self.hostile:
            self._forge()
        while self._air and self._air[0][0] <= self.now_ns:
            arrival_ns, _, feed, packet = heappop(self._air)
            self.client.receive(feed, packet, arrival_ns + self.skew_ns)
        self.client.pass_time(self.now_ns + self.skew_ns)

    def _send(self, packet: Sent, *, standby: bool) -> None:
        weather, random = self.weather, self.random
        if standby:
            if random.random() >= weather.loss:
                self._fly("C" + packet.stream.strip("I"), packet, self.now_ns)
            return
        if self.step < self.join_at or self.silent[0] <= self.step < self.silent[1]:
            return
        if packet.stream != "I":
            if random.random() >= weather.loops:
                age_ns = self.snapshot_age_ns if packet.stream == "S" else 0
                self._fly(packet.stream, packet, self.now_ns + age_ns)
            return
        if self._burst == 0 and random.random() < weather.both:
            self._burst = weather.burst
        if self._burst and packet.number:
            self._burst -= 1
            return
        if weather.lose is not None and packet.number and weather.lose(packet):
            return
        for feed in ("A", "B"):
            if random.random() < weather.loss:
                continue
            behind_ns = random.randrange(2 * MILLISECOND)
            if random.random() < weather.late:
                behind_ns += random.randrange(weather.late_ns)
            self._fly(feed, packet, self.now_ns + behind_ns)
            if random.random() < weather.dup:
                self._fly(feed, packet, self.now_ns + behind_ns + random.randrange(5 * MILLISECOND))

    def _forge(self) -> None:
        """Replays, other bytes under a known number, numbers and versions from nowhere."""
        random, exchange = self.random, self.exchange
        machine = self.client.machine
        feed = random.choice("AB")
        chance = random.random()
        if chance < 0.3 and self._past:
            packet = random.choice(self._past)
            known = packet.version == machine.arbiter.version and packet.number <= number_of(machine.at)
            if chance < 0.05 and known:
                packet = replace(packet, messages=())
        elif chance < 0.6:
            packet = Sent("I", 0, exchange.version, exchange.number + random.randrange(80, 1 << 31), ())
        elif chance < 0.62:
            packet = Sent("I", 0, exchange.version % LAST_VERSION + 1, 1, ())
        elif chance < 0.8:
            packet = Sent("I", 0, random.randrange(1 << 16), random.randrange(1, 1 << 32), ())
        else:
            beat = ("sequence", random.randrange(1 << 32))
            version = random.choice((exchange.version, random.randrange(1 << 16)))
            packet = Sent("I", 0, version, 0, (beat,))
        self._fly(feed, packet, self.now_ns)

    def _fly(self, feed: str, packet: Sent, arrival_ns: int) -> None:
        self._flying += 1
        if packet.stream == "I" and packet.number:
            self._past.append(packet)
        heappush(self._air, (arrival_ns, self._flying, feed, packet))
