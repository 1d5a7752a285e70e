"""A run that a person judges: what the desk does is said, packets are sent, and after each step the person
says what the client has shown. While somebody thinks, time goes on: heartbeats and loops come."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from pregao.certification.desk import CertificationDesk
from pregao.certification.report.evidence import price_text
from pregao.certification.results import BoxResult, StepResult, Verdict
from pregao.certification.runner import printable
from pregao.certification.scenario import Box, ScriptPrice, ScriptPriceKind
from pregao.certification.sent_streams import SentStreams
from pregao.certification.served import ServedExchange
from pregao.feeds.publishing import OutgoingPacket
from pregao.io.clock import system_time_ns
from pregao.io.tcp import PolledServer
from pregao.model.channel_map import LOOPBACK

Idle = Callable[[int], None]
_VERDICTS: Final = {"p": Verdict.PASSED, "f": Verdict.FAILED, "n": Verdict.NOT_RUN}
_WORDS: Final = {"passed": "p", "failed": "f", "n/e": "n", "repeat": "r", "stop": "s"}
_QUESTION: Final = "passed, failed [depths], n/e [depths], repeat, note TEXT, stop? "
_LONGEST_NOTE: Final = 2_000
_MOMENT_S: Final = 0.02


class Console(Protocol):
    """Where the person is. `idle` is to be called with the time that has passed, in ns, while it waits."""

    def say(self, text: str) -> None: ...

    def ask(self, question: str, idle: Idle) -> str | None:
        """A line; None: there will be no more."""


def introduce(desk: CertificationDesk, console: Console) -> None:
    """What a person has to know of the script's words."""
    names = {
        each: desk.market.engine.floor.markets[each].instrument for each in (desk.instrument, desk.neighbour)
    }
    shown = [f"{each.symbol} ({security_id})" for security_id, each in names.items()]
    price, next_price = (desk.price(ScriptPrice(ScriptPriceKind.TICKS, ticks)) for ticks in (0, 1))
    console.say(f"\n{desk.segment.value}: {shown[0]}; P is {price_text(price)}, P+1 {price_text(next_price)}")
    console.say(f"what is not named must stay, {shown[1]} of its group too")


class HandStopped(Exception):  # noqa: N818 (nothing went wrong)
    """The person has enough for now: what was judged is saved."""


class HandClient:
    """A `ClientEnd`: somebody does with their client what it is told."""

    trouble: str | None = None
    can_ask = True

    def __init__(
        self, config: Mapping[str, Any], folder: Path, name: str,
        replayers: Mapping[str, tuple[str, int]], console: Console,
    ) -> None:  # fmt: skip
        self._streams = SentStreams(config, folder, name, replayers)
        self._console = console
        self.idle: Idle = lambda by_ns: None  # once there is somebody who can let time pass
        console.say(f"streams and sessions are in {self._streams.file}")

    def tell(self, command: Mapping[str, Any]) -> None:
        wait = self._console.ask(f"{self.instruction(command)}, then press Enter ", self.idle)
        if wait is None:
            raise HandStopped

    def instruction(self, command: Mapping[str, Any]) -> str:
        return _instruction(command)

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        for channel, packet in packets:
            self._streams.send(channel, packet)

    def is_heard(self) -> bool:
        return True

    def settle(self) -> Sequence[Mapping[str, Any]]:
        return ()

    def close(self) -> None:
        self._streams.close()


class HandSession(HandClient):
    """A client that comes to the server of the exchange over TCP. It has a clock and heartbeats of its own:
    so the exchange's clock keeps to the machine's, and what takes time takes it."""

    def __init__(
        self, config: Mapping[str, Any], folder: Path, name: str, served: ServedExchange, console: Console
    ) -> None:
        self._served = served
        self._server = PolledServer(lambda _: served.accept(), lambda: served.now_ns)
        port = self._server.start(LOOPBACK)
        session = {**config["session"], "primary": f"{LOOPBACK}:{port}"}
        super().__init__({**config, "session": session}, folder, name, {}, console)
        served.on_turn = self._turn

    def instruction(self, command: Mapping[str, Any]) -> str:
        if command["do"] == "connect":
            return "Log your client on to the session, and ask for instruments and market data"
        return "Log your client out"

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        self._turn()

    def _turn(self) -> None:
        """At least once, and until the machine's clock has come as far as the exchange's."""
        while True:
            early_s = (self._served.now_ns - system_time_ns()) / 1e9
            self._server.turn(min(max(early_s, 0.0), _MOMENT_S))
            self._served.work()
            self._server.turn()
            if early_s <= 0:
                return

    def close(self) -> None:
        super().close()
        self._served.on_turn = None
        self._server.close()


def _instruction(command: Mapping[str, Any]) -> str:
    todo, session = command["do"], command.get("session")
    if todo == "request":
        asked = f"channel {command['channel']}, {command['begin']} to {command['end']}"
        return f"Ask the {session} session with 35=BW for {asked}"
    if session is not None:
        return (
            f"Log on to the {session} session" if todo == "connect" else f"Log out of the {session} session"
        )
    return "Connect your client to all streams" if todo == "connect" else "Disconnect your client"


def judge_by_hand(result: StepResult, console: Console, idle: Idle) -> bool:
    """Asks what was seen and writes it down; False: the step is to be repeated."""
    console.say(f"\n{result.step.text}")
    for demand in result.step.wanted:
        console.say(f"  {demand}")
    for box in result.boxes:
        for reason in box.reasons:
            console.say(f"  {box.verdict.value}: {reason}")
    while True:
        answer = console.ask(_QUESTION, idle)
        if answer is None:
            raise HandStopped
        verb, _, rest = answer.strip().partition(" ")
        verb = _WORDS.get(verb.lower(), verb.lower())
        if verb in ("s", "r"):
            if verb == "s":
                raise HandStopped
            return False
        if verb == "note":
            result.note = "\n".join(filter(None, (result.note, printable(rest.strip()))))[:_LONGEST_NOTE]
        elif verb in _VERDICTS and _write_down(result, _VERDICTS[verb], rest.split()):
            return True
        else:
            console.say("that is none of these; depths are mbo, mbp, tob")


def _write_down(result: StepResult, verdict: Verdict, depths: Sequence[str]) -> bool:
    """Boxes of depths that are not named have passed. What the exchange missed stays invalid."""
    names = {each.box.value for each in result.boxes}
    if not names >= {each.lower() for each in depths}:
        return False
    named = {Box(each.lower()) for each in depths} or {each.box for each in result.boxes}
    result.boxes = tuple(
        each
        if each.verdict is Verdict.INVALID
        else _box(each.box, verdict if each.box in named else Verdict.PASSED, result)
        for each in result.boxes
    )
    return True


def _box(box: Box, verdict: Verdict, result: StepResult) -> BoxResult:
    reasons = (f"{result.step.id} {result.note or 'judged by hand'}",) if verdict is Verdict.FAILED else ()
    return BoxResult(box, verdict, reasons, excused=verdict is Verdict.NOT_RUN and result.is_replay)
