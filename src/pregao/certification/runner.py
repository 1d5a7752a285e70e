"""Plays sections of the script step by step, in memory or not: it only sees a desk and a client's end.

runner = ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES))
results = runner.play(section)          one for each step
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from pregao.certification import scenario as s
from pregao.certification.derived import DerivedTruth, WireBooks
from pregao.certification.desk import CertificationDesk
from pregao.certification.desk_truth import BookRows
from pregao.certification.judging import StepTruth
from pregao.certification.replay_play import ReplayPlay
from pregao.certification.results import BoxResult, Line, StepResult, Verdict
from pregao.certification.taps import Seen, Tap, TappedMessage
from pregao.feeds.publishing import OutgoingPacket
from pregao.model.streams import Stream

_MOST_LOOPS: Final = 40  # while a client starts


class ClientEnd(Protocol):
    """The client that is judged, as the runner drives it. `trouble`: why it can be judged no more; `can_ask`:
    whether it can be told what to ask a replayer for."""

    trouble: str | None
    can_ask: bool

    def tell(self, command: Mapping[str, Any]) -> None: ...

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        """What the exchange sent; the client sees it if it is connected."""

    def is_heard(self) -> bool:
        """False: it may not have joined yet, as one that has just been started."""

    def settle(self) -> Sequence[Line]:
        """What it said since the last call, once it has taken in everything."""


class Judge(Protocol):
    """Says what a client has not seen, or not rightly."""

    def begin(self, lines: Iterable[Line]) -> None:
        """What was seen while nothing was judged."""

    def reasons(self, step: s.Step, box: s.Box, lines: Sequence[Line]) -> Iterator[str]: ...


class ScriptRunner:
    """Without a client the exchange alone is judged: every step must be valid."""

    def __init__(
        self, desk: CertificationDesk, client: ClientEnd | None = None, judge: Judge | None = None
    ) -> None:
        self.desk, self.client, self.judge = desk, client, judge
        self._tap = Tap(desk.system.name)
        self._wire = WireBooks() if desk.system.derives else None
        self._messages: list[TappedMessage] = []
        self._packets: list[tuple[int, OutgoingPacket]] = []
        self._channels = frozenset(desk.script_channels())
        self._is_connected = False
        self._looks: bool | None = None  # at definitions; None: at nothing, while it prepares
        self._replays = ReplayPlay(desk.history, None if client is None else client.tell, self._pass_time)

    def play(self, section: s.Section, skipped: frozenset[str] = frozenset()) -> list[StepResult]:
        return list(self.steps(section, skipped))

    def steps(self, section: s.Section, skipped: frozenset[str] = frozenset()) -> Iterator[StepResult]:
        """Each as it is asked for. `skipped` steps are played unjudged."""
        self.prepare(section)
        last: StepResult | None = None
        for place, step in enumerate(section.steps):
            together = [step, *_played_with(section.steps[place + 1 :], step)]
            last = self._play_step(section, step, together, last if _is_with(step) else None)
            if step.id in skipped:
                last.boxes = tuple(BoxResult(each.box, Verdict.NOT_RUN) for each in last.boxes)
            elif last.is_replay:
                self._excuse(last)
            self._looks = None
            yield last

    def _excuse(self, result: StepResult) -> None:
        """Whoever cannot be asked for a replay recovers otherwise: N/E (D2, D3)."""
        if self.client is not None and not self.client.can_ask:
            reason = ("a client that reads no commands cannot be asked for a replay",)
            result.boxes = tuple(
                BoxResult(each.box, Verdict.NOT_RUN, reason, excused=True) for each in result.boxes
            )

    def idle(self, by_ns: int) -> None:
        """Time passes between steps: loops and heartbeats go on."""
        self._pass_time(by_ns)

    def prepare(self, section: s.Section) -> None:
        """The client is away meanwhile, unless the section never connects it (B3): then it goes on. Where a
        run begins there, it is connected unjudged."""
        connects = any(_connects(action) for action in section.steps[0].actions)
        if connects and self._is_connected:
            self._tell({"do": "disconnect"})
        self._looks = None
        self.desk.begin_section()
        for command in section.preparation:
            self.desk.do(command)
        self.desk.pass_tick()
        if not connects and not self._is_connected:
            self._client_acts(("connect",))
        self.desk.take_written()
        self._pump()
        lines = self.client.settle() if self.client is not None else ()
        if self.judge is not None:
            self.judge.begin(lines)

    def _play_step(
        self, section: s.Section, step: s.Step, together: Sequence[s.Step], before: StepResult | None
    ) -> StepResult:
        books = {box: self._books(box) for box in step.boxes}
        self._messages = list(before.messages) if before is not None else []
        self._packets = list(before.packets) if before is not None else []
        self._replays.begin()
        lines: list[Line] = list(before.lines) if before is not None else []
        demands = [each for some in step.demands.values() for each in some]
        self._looks = any(isinstance(each, s.MessageDemand) and each.kind == "y" for each in demands)
        for action in step.actions:
            self._act(action)
        self.desk.pass_tick()
        self._pump()
        wire_faults = () if self._wire is None else tuple(self._wire.take_faults())
        if self.client is not None:
            lines += self.client.settle()
        self._replays.collect()
        if self.judge is not None:
            self.judge.begin(lines)
        if before is not None:
            books = {box: {self.desk.about: before.books[box][0]} for box in step.boxes}
        others = [*together[1:], *([] if before is None else [before.step])]
        boxes = []
        for box in step.boxes:
            allowed = [demand for other in others for demand in other.demands.get(box, ())]
            faults = tuple(self._truth(step, box, books[box], allowed, wire_faults).faults())
            boxes.append(self._judge(step, box, faults, lines))
        after = {box: self.desk.book(self.desk.about, box) for box in step.boxes}
        kept = {box: (books[box].get(self.desk.about, BookRows()), after[box]) for box in step.boxes}
        return StepResult(
            step, section, tuple(boxes), tuple(self.desk.take_written()), tuple(self._messages), tuple(lines),
            kept, self._replays.lines(), packets=tuple(self._packets),
        )  # fmt: skip

    def _truth(
        self, step: s.Step, box: s.Box, books: Mapping[int, BookRows], allowed: Sequence[s.Demand],
        wire_faults: Sequence[str],
    ) -> StepTruth:  # fmt: skip
        channels = self.desk.channels(self.desk.about)
        of_depths = dict(zip(s.DEPTHS, channels if len(channels) > 1 else 3 * channels, strict=True))
        seen, demands = Seen(self._messages, of_depths, box), step.demands[box]
        if self._wire is None:
            return StepTruth(self.desk, box, seen, books, demands, allowed)
        return DerivedTruth(self.desk, box, seen, books, demands, allowed, self._wire, wire_faults)

    def _judge(self, step: s.Step, box: s.Box, faults: tuple[str, ...], lines: Sequence[Line]) -> BoxResult:
        replay = self._replays.judge(self._tap, self._messages)
        faults += () if replay is None else tuple(replay.faults(step.demands[box]))
        if faults:
            return BoxResult(box, Verdict.INVALID, faults)
        if self.client is not None and self.client.trouble is not None:
            return BoxResult(box, Verdict.FAILED, (printable(f"{step.id} the client {self.client.trouble}"),))
        reasons = () if self.judge is None else tuple(self.judge.reasons(step, box, lines))
        if replay is not None and self.judge is not None:
            reasons += tuple(f"{step.id} {each}" for each in replay.reasons(step.demands[box], lines))
        return BoxResult(box, Verdict.FAILED if reasons else Verdict.PASSED, tuple(map(printable, reasons)))

    def _books(self, box: s.Box) -> Mapping[int, BookRows]:
        return {each: self.desk.book(each, box) for each in (self.desk.about, self.desk.neighbour)}

    def _act(self, action: s.Action) -> None:
        if isinstance(action, s.DeskActs):
            for command in action.commands:
                self.desk.do(command)
                self._pump()
        elif isinstance(action, s.ClientActs):
            self._client_acts(action.words)

    def _client_acts(self, words: Sequence[str]) -> None:
        verb = words[0]
        if verb in ("connect", "join"):
            self.desk.pass_tick()
            self._pump()
            self._tell({"do": "connect"})
            self._await_client()
            self.desk.join(waits=verb == "connect")
        elif verb == "disconnect":
            self._pump()
            self._tell({"do": "disconnect"})
        elif verb in ("logon", "request"):
            self._replays.act(words)
        self._pump()

    def _await_client(self) -> None:
        """Loops and heartbeats, until it says something."""
        for _ in range(_MOST_LOOPS if self.client is not None else 0):
            if self.client is None or self.client.is_heard():
                return
            self._pass_time(self.desk.paces.heartbeat_ns)

    def _pass_time(self, by_ns: int) -> None:
        self.desk.advance(by_ns)
        self._pump()

    def _tell(self, command: Mapping[str, Any]) -> None:
        """To connect or disconnect. Sessions of replayers are told through `ReplayPlay`."""
        self._is_connected = command["do"] == "connect"
        if self.client is not None:
            self.client.tell(command)

    def _pump(self) -> None:
        packets = [(channel, packet) for channel, packet in self.desk.take() if channel in self._channels]
        packets.sort(key=lambda each: each[1].sending_ns)  # as they leave, channels side by side
        if self._looks is not None:
            self._packets += (
                each for each in packets if self._looks or each[1].stream is not Stream.DEFINITION
            )
            self._take(self._tap.read(packets, definitions=self._looks))
        elif self._wire is not None:  # which follows all that happens to books
            self._take(self._tap.read((each for each in packets if _is_incremental(each)), definitions=False))
        if self.client is not None:
            self.client.deliver(packets)

    def _take(self, messages: Iterable[TappedMessage]) -> None:
        found = list(messages)
        self._messages += found
        if self._wire is not None:
            self._wire.take(found)


def printable(text: str) -> str:
    """Reasons hold what clients said, and are shown: nothing may move a cursor, or be no text at all."""
    return "".join(each if each.isprintable() else "?" for each in text)


def _is_incremental(sent: tuple[int, OutgoingPacket]) -> bool:
    return sent[1].stream is Stream.INCREMENTAL


def _is_with(step: s.Step) -> bool:
    return any(isinstance(action, s.WithStep) for action in step.actions)


def _played_with(steps: Sequence[s.Step], step: s.Step) -> Iterator[s.Step]:
    for other in steps:
        if any(isinstance(action, s.WithStep) and action.step == step.id for action in other.actions):
            yield other


def _connects(action: s.Action) -> bool:
    return isinstance(action, s.ClientActs) and action.words[0] in ("connect", "logon")
