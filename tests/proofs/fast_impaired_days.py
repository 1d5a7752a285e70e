"""`fast-impaired-days`: the days and troubles of `impaired-days` as the exchange sends them in UMDF FIX/FAST,
on channels of orders, of levels and of the best level, against its own truth at the same sequence number.

Beside those troubles, messages come in chunks of which single ones are lost, by one feed or by both; a
replayer is there, is not, or answers when nobody waits any more; and the clock of the listener may jump.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Final

from pregao.feeds.fast.chunks import split_datagram
from pregao.feeds.fast.system import FAST
from pregao.feeds.publishing import ReplayablePublisher, SentMessage
from pregao.handler.replays import Answer, Replays
from pregao.market.replaying import client_settings
from pregao.model.streams import Stream
from pregao.recovery.events import Event
from pregao.simulator.memory import BooksCheckpoint, CapturedPacket, MemoryDay, MemoryOutput
from pregao.simulator.run import Simulation
from pregao.simulator.settings import Settings
from tests.kits.fast_chunks import ChunkLosses
from tests.kits.memory_replayer import MemoryReplayer
from tests.proofs.day_report import DayReport
from tests.proofs.fast_truth import FastTruth, HeardSequences, depth_of
from tests.proofs.impaired_days import Listener, settings_of
from tests.proofs.impaired_scenarios import Scenario, scenario_of
from tests.proofs.result import Result
from tests.proofs.truth_follower import DifferenceError, Point

NAME: Final = "fast-impaired-days"
SEEDS: Final = 200
MESSAGES: Final = 800
INSTRUMENTS, RELISTINGS, LOOPS = 12, 12, 40  # each instrument is on three channels
BOOKS: Final = range(166, 256)  # channels of orders, levels and best levels
REPLAYERS: Final = ("on", "off", "late")
JUMPS_OF: Final = 7  # one seed in so many has a clock that jumps
_MS: Final = 1_000_000
_LATE_NS: Final = 900 * _MS  # after an answer is not waited for any more
_AFTER_NS: Final = 5_000 * _MS  # after the last packet: what is asked for comes, or is given up
_AT_ONCE_NS: Final = 10 * _MS
_CALM_SHARE: Final = 0.15  # of the day, at its end: no chunks are lost
_FOREVER: Final = 1 << 62


class DayInTime:
    """A replayer that has what the exchange has sent by now; its answers may take longer."""

    def __init__(self, sent: dict[int, list[SentMessage]], kind: str) -> None:
        self._replayer = MemoryReplayer(
            FAST.number_of, is_there=kind != "off", settings=client_settings(FAST.policy, 2)
        )
        self._sent = deque(
            sorted(((each.sent_ns, channel, each) for channel in sent for each in sent[channel]),
                   key=lambda each: each[0])
        )  # fmt: skip
        self._delay_ns = _LATE_NS if kind == "late" else 0
        self._late: deque[tuple[int, Answer]] = deque()
        self._now_ns = 0
        self.ask = self._replayer.ask

    def next_timeout(self) -> int:
        due_ns = self._replayer.client.next_timeout()
        late_ns = self._late[0][0] if self._late else _FOREVER
        return min(_FOREVER if due_ns is None else due_ns, late_ns)

    def run(self, now_ns: int) -> None:
        self._now_ns = now_ns
        while self._sent and self._sent[0][0] <= now_ns:
            _, channel, message = self._sent.popleft()
            self._replayer.keep(channel, *message)
        self._replayer.run(now_ns)
        due_ns = now_ns + self._delay_ns
        self._late += [(due_ns, answer) for answer in self._replayer.take_answers()]

    def take_answers(self) -> list[Answer]:
        taken = []
        while self._late and self._late[0][0] <= self._now_ns:
            taken.append(self._late.popleft()[1])
        return taken


class FastListener(Listener):
    """Handlers of all channels with books, a replayer beside them."""

    system = FAST
    believes_phases = False  # snapshots tell them (11.4), and who never had market data has none (5.1.2)

    def __init__(
        self,
        day: MemoryDay,
        scenario: Scenario,
        sent: dict[int, list[SentMessage]],
        versions: dict[int, int],
        replayer: str,
    ) -> None:
        super().__init__(day, scenario)
        self._heard = {
            channel: HeardSequences(messages, versions[channel]) for channel, messages in sent.items()
        }
        self._replayer = DayInTime(sent, replayer)
        self._replays = Replays(self._replayer, self.handlers)
        self._looked_ns = day.packets[0].ts_ns

    def _truth(self, channel: int, checkpoints: list[BooksCheckpoint]) -> FastTruth:
        return FastTruth(checkpoints, depth_of(channel), counted=False)

    def _point(self, channel: int) -> Point | None:
        machine = self.handlers[channel].machine
        version = self._heard[channel].version(machine.arbiter.version)
        return None if version is None else (version, machine.at & 0xFFFFFFFF)

    def listen(self, day: MemoryDay) -> None:
        super().listen(day)
        self._wake(day.packets[-1].ts_ns + _AFTER_NS)

    def hear(self, packet: CapturedPacket) -> None:
        if packet.stream is Stream.INCREMENTAL:
            for chunk in split_datagram(packet.payload).chunks:
                if chunk.current == 1:
                    self._heard[packet.channel].hear(packet.payload[chunk.offset :])

    def _batches(self, packets: list[CapturedPacket], size: int) -> Iterator[list[CapturedPacket]]:
        """What a socket holds is milliseconds old: nobody waits for a batch to be full, and time goes on."""
        some: list[CapturedPacket] = []
        for packet in packets:
            if some and (len(some) == size or not 0 <= packet.ts_ns - some[0].ts_ns < _AT_ONCE_NS):
                yield some
                some = []
            some.append(packet)
        if some:
            yield some

    def _before(self, packets: list[CapturedPacket]) -> None:
        for packet in packets:
            self.hear(packet)

    def _wake(self, now_ns: int) -> None:
        """Everything that is due by now, in the order of its time."""
        earliest_ns = min(self._looked_ns + _MS, now_ns)  # a clock may be set back
        while (due_ns := max(self._next_due(), earliest_ns)) < now_ns:
            self._look(due_ns)
            earliest_ns = due_ns + _MS
        self._look(now_ns)
        self._looked_ns = now_ns

    def _next_due(self) -> int:
        times = [handler.next_timeout() for handler in self.handlers.values()]
        return min([self._replayer.next_timeout(), *(time for time in times if time is not None)])

    def _look(self, now_ns: int) -> None:
        super()._wake(now_ns)
        self._replayer.run(now_ns)
        for channel, events in self._replays.deliver(now_ns):
            self._note(events, now_ns)
            self._check(channel)

    def _note(self, events: list[Event], now_ns: int) -> None:
        super()._note(events, now_ns)
        self._replays.follow(events, now_ns)

    def finish(self) -> None:
        for channel, heard in self._heard.items():
            self.truths[channel].end_at(heard.last)  # heartbeats have numbers too: the last may be lost
        super().finish()
        for handler in self.handlers.values():
            self.report.heals["replay"] += handler.machine.counters.healed_by_replay


def simulate(settings: Settings) -> tuple[MemoryDay, dict[int, list[SentMessage]], dict[int, int]]:
    """A day of the exchange, with every message of its incremental streams and the sequence that each ends
    in."""
    output = MemoryOutput(settings)
    simulation = Simulation(settings, output=output)
    lines = [line for line in simulation.lines if line.channel in BOOKS]
    publishers = {line.channel: line.publisher for line in lines}
    for publisher in publishers.values():
        assert isinstance(publisher, ReplayablePublisher)
        publisher.keep_messages()
    for _ in simulation.days():
        pass
    sent = {channel: publisher.take_messages() for channel, publisher in publishers.items()}
    versions = {
        channel: publisher.point(Stream.INCREMENTAL).version for channel, publisher in publishers.items()
    }
    output.day.packets = [packet for packet in output.day.packets if packet.channel in BOOKS]
    return output.day, sent, versions


def fast_scenario(seed: int) -> Scenario:
    """Binary's, where every stream is on both feeds (5.2.3). Channels have so much less to tell that packets
    which are a hundred places late would be those of another hour."""
    scenario = scenario_of(seed)
    faults = scenario.faults.replace("@I+S", "@I+S+BI+BS").replace("gone=B", "gone=B+BI+BS")
    faults = faults.replace("reorder=40:100", "reorder=40:15")
    return replace(scenario, faults=faults, version=FAST.default_version)


def replayer_of(seed: int) -> str:
    return REPLAYERS[seed // 2 % len(REPLAYERS)]


def run_day(seed: int, messages: int = MESSAGES) -> DayReport:
    """One day; raises DifferenceError."""
    scenario = fast_scenario(seed)
    settings = settings_of(
        seed, scenario, messages, system=FAST.name, instruments=INSTRUMENTS, relistings=RELISTINGS,
        loops=LOOPS,
    )  # fmt: skip
    day, sent, versions = simulate(settings)
    listener = FastListener(day, scenario, sent, versions, replayer_of(seed))
    first_ns, last_ns = day.packets[0].ts_ns, day.packets[-1].ts_ns
    losses = ChunkLosses(seed, until_ns=last_ns - int((last_ns - first_ns) * _CALM_SHARE))
    day.packets = list(losses.impair(day.packets))
    jumps = _let_the_clock_jump(day, seed) if seed % JUMPS_OF == JUMPS_OF - 1 else 0
    listener.report.impairments = len(day.faults) + losses.lost + jumps
    listener.listen(day)
    listener.finish()
    return listener.report


def _let_the_clock_jump(day: MemoryDay, seed: int) -> int:
    """Seconds forth and back; how often."""
    chance, jump_ns, jumps = Random(f"jumps/{seed}"), 0, 0
    for place, packet in enumerate(day.packets):
        if chance.random() < 6 / len(day.packets):
            jump_ns += chance.choice((-5_000, 5_000)) * _MS
            jumps += 1
        day.packets[place] = packet._replace(ts_ns=packet.ts_ns + jump_ns)
    return jumps


def cases(seeds: int = SEEDS, first: int = 1) -> list[int]:
    return list(range(first, first + seeds))


def run_case(seed: int) -> tuple[Result, DayReport | None]:
    result = Result(NAME, trials=1)
    try:
        report = run_day(seed)
    except DifferenceError as difference:
        result.failures = 1
        words = f"{fast_scenario(seed)}, replayer {replayer_of(seed)}"
        result.failed.append(f"{NAME} seed {seed}, {words}: {difference}")
        return result, None
    result.comparisons, result.impairments = report.comparisons, report.impairments
    return result, report
