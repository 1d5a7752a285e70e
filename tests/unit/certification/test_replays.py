"""Sections D2 and D3: what the desk's replayers have, what clients ask them for, and who is to blame."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from pregao.certification import replaying
from pregao.certification.client import CertifyClient
from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import CertificationDesk
from pregao.certification.memory import MemoryClient
from pregao.certification.replaying import WantedSpan
from pregao.certification.results import StepResult, Verdict
from pregao.certification.runner import ScriptRunner
from pregao.certification.scenario import ScriptSegment
from pregao.certification.scenario_files import sections_for
from pregao.sessions.replay import NumberRange
from pregao.simulator.live import replayers
from tests.kits.memory_replayer import LyingServer, Mischief

Line = dict[str, Any]
Change = Callable[[Line], Line | None]


class ChangedClient(CertifyClient):
    """Asks for something else, or says something else of what came."""

    asks: Change = staticmethod(lambda command: command)
    says: Change = staticmethod(lambda line: line)

    def obey(self, command: Mapping[str, Any]) -> Iterator[Line]:
        changed = self.asks(dict(command)) if "session" in command else dict(command)
        for line in super().obey(changed) if changed is not None else ():
            told = self.says(line) if line["see"] == "replay" else line
            if told is not None:
                yield told


def _play(section: str, asks: Change | None = None, says: Change | None = None) -> list[StepResult]:
    desk = CertificationDesk(ScriptSegment.DERIVATIVES)

    def make(config: Line) -> CertifyClient:
        client = ChangedClient(config)
        client.asks, client.says = asks or client.asks, says or client.says
        return client

    client = MemoryClient(make, desk)
    (found,) = [each for each in sections_for(ScriptSegment.DERIVATIVES) if each.id == section]
    return ScriptRunner(desk, client, ClientJudge(desk)).play(found)


def _failed(results: list[StepResult]) -> dict[str, str]:
    assert all(each.verdict in (Verdict.PASSED, Verdict.FAILED) for each in results)
    return {each.step.id: each.boxes[0].reasons[0] for each in results if each.verdict is Verdict.FAILED}


# What there is


def test_the_week_of_the_desk_has_three_earlier_dates() -> None:
    """D3.3 and D3.4: the historical replayer keeps today and two dates before it, the other today."""
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    assert datetime.fromtimestamp(desk.now_ns // 10**9, UTC).strftime("%A") == "Thursday"
    assert len(desk.history.days) == 3
    assert desk.history.replayers is not None
    both = desk.history.replayers.replayers
    historical, today = both.historical.archive, both.replayer.archive
    assert len(historical.days) == 3
    assert len(today.days) == 1
    channel = str(desk.history.channel)
    too_old, *kept = desk.history.days
    history = historical.channels[channel]
    first_day = historical.first_day
    for span in kept:
        assert len(history.find(span.begin, span.end, desk.now_ns, 0, first_day).messages) == span.count
    assert not history.find(too_old.begin, too_old.end, desk.now_ns, 0, first_day).messages
    assert not today.channels[channel].find(1, desk.history.days[-1].end, desk.now_ns, 0, 0).messages


def test_531_messages_come_before_the_last_ones() -> None:
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    (section,) = [each for each in sections_for(ScriptSegment.EQUITIES) if each.id == "D3"]
    *first, history = section.preparation
    for command in first:
        desk.do(command)
    before = desk.history.last
    desk.do(history)
    assert desk.history.last - before >= 531
    wanted = desk.history.wanted("historical", "before-last-500")
    assert wanted.span.begin > before
    assert wanted.span.end <= desk.history.last - 500
    assert wanted.span.count == 20


@pytest.mark.parametrize(
    ("asked", "is_right"),
    [
        ((2470, 2489), True),  # 2470 to 2490 of the script are 21
        ((2470, 2490), False),
        ((1, 20), True),
        ((0, 19), False),
        ((2481, 2500), True),
        ((2482, 2501), False),
        ((2490, 2471), False),
    ],
)
def test_any_20_before_the_last_500_will_do(asked: tuple[int, int], is_right: bool) -> None:
    wanted = WantedSpan("historical", NumberRange("184", 2470, 2489), any_count=20, before=500)
    assert wanted.accepts(NumberRange("184", *asked), last=3000) is is_right
    assert not wanted.accepts(NumberRange("185", *asked), last=3000)


# What goes over the session


def test_the_bytes_of_sessions_are_the_evidence() -> None:
    asks, answers = {}, {}
    for result in (*_play("D2"), *_play("D3")):
        asks[result.step.id] = [line for line in result.sessions if "|35=BW|" in line]
        answers[result.step.id] = [line for line in result.sessions if " → " in line]
    assert not asks["D2.1"]
    for step in ("D2.2", "D2.3", "D3.2", "D3.3"):
        assert len(asks[step]) == 1
        assert any("|35=BX|" in line and "|1348=0|" in line for line in answers[step])
        assert any("|35=URDR|" in line for line in answers[step])
        assert any("|35=BY|" in line and "|1426=3|" in line for line in answers[step])
    assert any("|35=A|" in line for line in answers["D3.1"])
    assert not any("|35=URDR|" in line for line in answers["D3.4"])
    assert any("|35=BY|" in line and "|1426=4|" in line and "|1354=1|" in line for line in answers["D3.4"])
    assert any("|35=BX|" in line and "|1348=1|" in line and "|1354=0|" in line for line in answers["D3.5"])


def test_any_other_20_pass() -> None:
    def earlier(command: Line) -> Line:
        if command["do"] == "request" and command["end"] - command["begin"] == 19 and command["begin"] > 200:
            return command | {"begin": command["begin"] - 3, "end": command["end"] - 3}
        return command

    asked: list[str] = []
    results = _play("D3", earlier)
    asked += [line for line in results[1].sessions if "|35=BW|" in line]
    assert not _failed(results), asked


# The client's faults


@pytest.mark.parametrize(
    ("asks", "reason"),
    [
        (lambda told: told | {"end": told["end"] - 1}, "BW: "),
        (lambda told: told | {"begin": told["begin"] - 1}, "BW: "),
        (lambda told: told | {"channel": 999}, "999 "),
        (lambda told: told | {"session": "historical"}, "none received from the client"),
        (lambda told: None, "none received from the client"),
    ],
)
def test_another_request_fails(asks: Change, reason: str) -> None:
    found = _failed(_play("D2", asks))
    assert set(found) == {"D2.2", "D2.3"}
    assert reason in found["D2.2"]
    assert found["D2.2"].startswith("D2.2 ")


@pytest.mark.parametrize(
    ("says", "steps", "reason"),
    [
        (lambda told: None, {"D3.1", "D3.2", "D3.3", "D3.4", "D3.5"}, "none seen"),
        (lambda told: told | {"complete": True}, {"D3.4"}, "complete false expected, true seen"),
        (lambda told: told | {"complete": False}, {"D3.2", "D3.3"}, "complete true expected, false seen"),
        (lambda told: told | {"numbers": told.get("numbers", [])[:-1]}, {"D3.2", "D3.3"}, "numbers"),
        (lambda told: told | {"numbers": "all"}, {"D3.2", "D3.3"}, "none seen"),
        (lambda told: told | {"error": None}, {"D3.4", "D3.5"}, "error"),
        (lambda told: told | {"response": {}} if "response" in told else told,
         {"D3.2", "D3.3", "D3.4", "D3.5"}, "response 0 expected, {} seen"),
        (lambda told: told | {"session": "replayer"}, {"D3.1", "D3.2", "D3.3", "D3.4", "D3.5"}, "none seen"),
        (lambda told: told | {"logon": False} if "logon" in told else told, {"D3.1"}, "logon: none seen"),
    ],
)  # fmt: skip
def test_what_is_said_wrongly_fails(says: Change, steps: set[str], reason: str) -> None:
    found = _failed(_play("D3", None, says))
    assert set(found) == steps
    assert reason in found[min(found)]


# The exchange's


def _other_bytes(fields: Any) -> Any:
    """The messages of a block in the reverse order, under the same numbers."""
    pieces = fields[10054]
    texts = [fields[96][each[10055] : each[10055] + each[95]] for each in pieces]
    moved, offset = [], 0
    for piece, text in zip(pieces, reversed(texts), strict=True):
        moved.append(piece | {10055: offset, 95: len(text)})
        offset += len(text)
    return fields | {96: b"".join(reversed(texts)), 10054: moved}


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        (b"BX", lambda told: None, "sent no BX"),
        (b"BX", lambda told: told | {1348: 3}, "sent no BX 1348=0"),
        (b"BY", lambda told: None, "sent no BY"),
        (b"BY", lambda told: told | {1426: 4}, "sent no BY 1426=3"),
        (b"URDR", lambda told: None, "sent no URDR"),
        (b"URDR", lambda told: told | {10054: told[10054][:-1]}, "of "),
        (b"URDR", _other_bytes, "another message as"),
    ],
)
def test_a_replayer_that_answers_otherwise_makes_the_step_invalid(
    kind: bytes, change: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lies(msg_type: bytes, fields: Any) -> list[tuple[bytes, Any]]:
        told = change(fields) if msg_type == kind else fields
        return [] if told is None else [(msg_type, told)]

    monkeypatch.setattr(replayers, "ReplayServer", LyingServer)
    monkeypatch.setattr(LyingServer, "mischief", Mischief(lies=lies))
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    (section,) = [each for each in sections_for(ScriptSegment.EQUITIES) if each.id == "D2"]
    results = ScriptRunner(desk).play(section)
    assert [each.verdict for each in results] == [Verdict.PASSED, Verdict.INVALID, Verdict.INVALID]
    assert any(reason in each for each in results[1].boxes[0].reasons)


def test_a_replayer_that_keeps_a_week_makes_d3_4_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention is a setting: with that of FAST 6.2 the script cannot be played."""
    week = replaying.ReplayerSettings(port=0, historical_port=0, history_days=5, clients=(replaying.CLIENT,))
    monkeypatch.setattr(replaying.DeskReplayers.__init__, "__defaults__", (week,))
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    (section,) = [each for each in sections_for(ScriptSegment.EQUITIES) if each.id == "D3"]
    verdicts = {each.step.id: each.verdict for each in ScriptRunner(desk).play(section)}
    assert [step for step, verdict in verdicts.items() if verdict is Verdict.INVALID] == ["D3.4"]
