"""`hostile-packets`: days on which somebody else sends too. Nothing that comes may crash the handler, and a
book that it shows as clean after the exchange's own packet is the exchange's.

A forged packet that is the next in sequence cannot be told from the real one until that comes: then the two
differ, and every book is unverified. So the comparison is made after the exchange's packets. The recovery
streams have one feed and no signature, so nothing can tell a forged snapshot from a real one: there the
contents of packets are left as they are, and everything else is done to them.
"""

from collections import deque
from random import Random

from pregao.feeds.publishing import Habits
from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import CapturedPacket, MemoryDay, short_day, simulate_in_memory
from tests.proofs.day_report import DayReport
from tests.proofs.impaired_days import Listener
from tests.proofs.impaired_scenarios import NEW, OLD, Scenario
from tests.proofs.result import Result
from tests.proofs.truth_follower import DifferenceError

NAME = "hostile-packets"
PACKETS = 100_000
A_DAY = 5_000
MESSAGES = 1_500
_CALM_SHARE = 0.25  # of the day, at its end: everything must heal
_RECENT = 256


class Attacker:
    """Makes packets of those that the exchange has sent."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(f"hostile/{seed}")
        self._recent: deque[CapturedPacket] = deque(maxlen=_RECENT)
        self.kinds = (
            self._mutated, self._truncated, self._replayed, self._wrong_channel, self._absurd_number,
            self._absurd_version, self._noise, self._forged_next, self._other_stream,
        )  # fmt: skip

    def hear(self, packet: CapturedPacket) -> None:
        self._recent.append(packet)

    def attack(self) -> CapturedPacket | None:
        if not self._recent:
            return None
        packet = self._chance.choice(self._recent)
        return self._chance.choice(self.kinds)(packet)

    def _mutated(self, packet: CapturedPacket) -> CapturedPacket:
        if packet.stream is not Stream.INCREMENTAL:
            return packet
        payload = bytearray(packet.payload)
        for _ in range(self._chance.randint(1, 6)):
            # Behind the header, so that it is a repetition with other bytes.
            payload[self._chance.randrange(16, len(payload))] = self._chance.randrange(256)
        return packet._replace(payload=bytes(payload))

    def _truncated(self, packet: CapturedPacket) -> CapturedPacket:
        return packet._replace(payload=packet.payload[: self._chance.randrange(len(packet.payload))])

    def _replayed(self, packet: CapturedPacket) -> CapturedPacket:
        return packet

    def _wrong_channel(self, packet: CapturedPacket) -> CapturedPacket:
        return packet._replace(payload=bytes([self._chance.randrange(256)]) + packet.payload[1:])

    def _absurd_number(self, packet: CapturedPacket) -> CapturedPacket:
        number = self._chance.choice((0xFFFFFFFF, 1 << 31, self._chance.randrange(1 << 32), 0))
        return self._numbered(packet, packet.payload[2:4], number)

    def _absurd_version(self, packet: CapturedPacket) -> CapturedPacket:
        version = self._chance.randrange(1 << 16).to_bytes(2, "little")
        return self._numbered(packet, version, self._chance.choice((1, 2, self._chance.randrange(1 << 32))))

    def _noise(self, packet: CapturedPacket) -> CapturedPacket:
        return packet._replace(payload=self._chance.randbytes(self._chance.randrange(200)))

    def _forged_next(self, packet: CapturedPacket) -> CapturedPacket:
        """The next number, with the contents of another packet."""
        latest = next((p for p in reversed(self._recent) if p.channel == packet.channel
                       and p.stream is Stream.INCREMENTAL), packet)  # fmt: skip
        number = int.from_bytes(latest.payload[4:8], "little") + self._chance.randint(1, 3)
        forged = packet._replace(stream=latest.stream, feed=latest.feed)
        return self._numbered(forged, latest.payload[2:4], number & 0xFFFFFFFF)

    def _other_stream(self, packet: CapturedPacket) -> CapturedPacket:
        """Known to none of the streams it comes by: definitions and snapshots have numbers of their own."""
        if packet.stream is Stream.INCREMENTAL:
            return packet._replace(stream=self._chance.choice((Stream.DEFINITION, Stream.SNAPSHOT)))
        return packet._replace(stream=Stream.INCREMENTAL, feed=self._chance.choice((Feed.A, Feed.B)))

    @staticmethod
    def _numbered(packet: CapturedPacket, version: bytes, number: int) -> CapturedPacket:
        payload = packet.payload
        return packet._replace(payload=payload[:2] + version + number.to_bytes(4, "little") + payload[8:])


def _point(packet: CapturedPacket) -> tuple[int, int]:
    return int.from_bytes(packet.payload[2:4], "little"), int.from_bytes(packet.payload[4:8], "little")


class AttackedListener(Listener):
    believes_phases = False

    def __init__(self, day: MemoryDay, scenario: Scenario) -> None:
        super().__init__(day, scenario)
        self._sent: dict[int, tuple[int, int]] = {}

    def attack(self, day: MemoryDay, attacker: Attacker, attacks: int) -> int:
        """The day with so many hostile packets in it; how many there were."""
        calm = int(len(day.packets) * (1 - _CALM_SHARE))
        each, done = max(1, calm // attacks), 0
        for number, packet in enumerate(day.packets):
            self._wake(packet.ts_ns)
            if number < calm and number % each == 0:
                for _ in range(max(1, attacks // calm)):
                    hostile = attacker.attack()
                    if hostile is not None:
                        handler = self.handlers[hostile.channel]
                        handler.receive(hostile.payload, hostile.stream, hostile.feed, packet.ts_ns)
                        done += 1
            handler = self.handlers[packet.channel]
            self.report.note(handler.receive(packet.payload, packet.stream, packet.feed, packet.ts_ns))
            handler.machine.check_invariants()
            if self._is_there(packet):
                self._check(packet.channel)
            attacker.hear(packet)
        return done

    def _is_there(self, packet: CapturedPacket) -> bool:
        """The handler has come as far as this packet of the exchange, and no further: what is beyond it
        was forged, and the real one is still to come."""
        if packet.stream is Stream.INCREMENTAL:
            point = _point(packet)
            if point[1]:  # no heartbeat
                self._sent[packet.channel] = max(point, self._sent.get(packet.channel, point))
        return self._point(packet.channel) == self._sent.get(packet.channel)


def run_case(seed: int) -> tuple[Result, DayReport | None]:
    result = Result(NAME)
    version = OLD if seed % 4 == 3 else NEW
    settings = short_day(seed=seed, messages=MESSAGES, version=version, checkpoint_events=50)
    (day,) = simulate_in_memory(settings)
    scenario = Scenario(
        "attacked", "", version, every_event=False, joins_at=0.0, mid_week=False, batch=0, quiet=False,
        habits=Habits(),
    )  # fmt: skip
    listener = AttackedListener(day, scenario)
    try:
        result.trials = result.impairments = listener.attack(day, Attacker(seed), A_DAY)
        listener.finish()
    except DifferenceError as difference:
        result.failures = 1
        result.failed.append(f"{NAME} seed {seed}: {difference}")
    result.comparisons = listener.report.comparisons
    return result, listener.report


def cases(packets: int = PACKETS, first: int = 1) -> list[int]:
    return list(range(first, first - (-packets // A_DAY)))
