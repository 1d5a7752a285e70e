"""The script in Binary UMDF and PUMA Conflated: exchange, clients, and bugs of clients."""

from collections.abc import Iterator
from typing import Any

import pytest

from pregao.certification.client import CertifyClient
from pregao.certification.comparing import ClientJudge
from pregao.certification.derived import WireBooks, whole_status
from pregao.certification.desk import CertificationDesk
from pregao.certification.memory import memory_client
from pregao.certification.results import StepResult, Verdict
from pregao.certification.runner import ScriptRunner
from pregao.certification.scenario import DEPTHS, Box, ScriptSegment
from pregao.certification.scenario_files import parse_section, sections_for
from pregao.certification.systems import SYSTEMS, script_system
from pregao.certification.taps import Seen, TappedMessage
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Stream
from tests.unit.certification.kit import failures
from tests.unit.certification.order_client import Line, OrderClient

OTHERS = ("binary", "conflated")
BOXES = {
    ("binary", ScriptSegment.EQUITIES): 167, ("binary", ScriptSegment.DERIVATIVES): 143,
    ("conflated", ScriptSegment.EQUITIES): 170, ("conflated", ScriptSegment.DERIVATIVES): 143,
}  # fmt: skip


def _play(system: str, segment: ScriptSegment, make: Any = None, until: str = "") -> list[StepResult]:
    desk = CertificationDesk(segment, system)
    client = None if make is None else memory_client(desk, make)
    runner = ScriptRunner(desk, client, None if make is None else ClientJudge(desk))
    results: list[StepResult] = []
    for section in sections_for(segment):
        if section.id not in desk.system.not_played:
            results += runner.play(section)
        if until and any(each.step.id == until for each in results):
            break
    return results


@pytest.mark.parametrize("segment", ScriptSegment)
@pytest.mark.parametrize("system", OTHERS)
@pytest.mark.parametrize("client", [None, CertifyClient, OrderClient])
def test_every_box_passes(system: str, segment: ScriptSegment, client: Any) -> None:
    """The exchange alone, our own client, and one with lists as books."""
    results = _play(system, segment, client)
    assert not [each for each in results if each.verdict is not Verdict.PASSED], failures(results)
    assert sum(len(each.boxes) for each in results) == BOXES[system, segment]


def test_what_is_not_played_is_known() -> None:
    """B7, D2 and D3 are N/E in Binary UMDF; D2 and D3 in PUMA Conflated."""
    assert script_system("binary").not_played == {"B7", "D2", "D3"}
    assert script_system("conflated").not_played == {"D2", "D3"}
    assert not script_system("fast").derives
    with pytest.raises(ConfigurationError, match="fast, binary, conflated"):
        script_system("trademate")
    assert set(SYSTEMS) == {"fast", *OTHERS}


# Bugs: subclasses of the client with lists. Each first fails where the list has it; where TOB is made
# from the orders, what is wrong at MBO is often wrong there too.


class HeartbeatsIgnored(OrderClient):
    def heartbeat(self, channel: int) -> Any:
        return ()


class PhaseNotReadFromSnapshots(OrderClient):
    def phase_of(self, security_id: int, entry: Any) -> Line:
        return self.now(security_id, session=self.session_of(entry), event=None)

    def message(self, channel: int, stream: str, number: int, kind: str, fields: Any) -> Any:
        """In Binary UMDF phases of groups stand before the snapshots, in the same stream."""
        if kind == "f" and stream == "snapshot":
            return ()
        return super().message(channel, stream, number, kind, fields)


class PricelessDropped(OrderClient):
    def place(self, security_id: int, action: int, entry: Any) -> None:
        if action == 0 and entry.get("MDEntryPx") is None:
            return
        super().place(security_id, action, entry)


class NoPriceAsZero(OrderClient):
    def rank(self, side: str, price: Any) -> Any:
        return super().rank(side, price or 0)


class DeleteLeavesHole(OrderClient):
    def remove(self, rows: list[Any], at: int) -> None:
        rows[at] = (*rows[at][:2], None, 0)


class TradesReduceToo(OrderClient):
    def trade(self, security_id: int, entry: Any) -> Iterator[Line]:
        yield from super().trade(security_id, entry)
        for rows in self.books.get(security_id, ()):
            if rows and rows[-1][3] > entry["MDEntrySize"]:
                rows[-1] = (*rows[-1][:3], rows[-1][3] - int(entry["MDEntrySize"]))
        yield from self.seen(security_id)


class SnapshotMerged(OrderClient):
    def emptied(self, security_id: int) -> Any:
        return self.books.get(security_id, ([], []))


class EventIgnored(OrderClient):
    def status(self, fields: Any) -> Any:
        return super().status({**fields, "SecurityTradingEvent": None})


class StateGivenToGroup(OrderClient):
    def own_state(self, security_id: int, state: int | None, session: int, event: int | None) -> Any:
        for each, group in self.groups.items():
            if group == self.groups[security_id]:
                yield self.now(each, state=state, session=session, event=event)


class PauseEmpties(OrderClient):
    def own_state(self, security_id: int, state: int | None, session: int, event: int | None) -> Any:
        if state == 2:
            self.books[security_id] = [], []
            yield from self.seen(security_id)
        yield from super().own_state(security_id, state, session, event)


class ConditionsDropped(OrderClient):
    def trade(self, security_id: int, entry: Any) -> Any:
        return super().trade(security_id, {**entry, "TradeCondition": None})


class NewDefinitionsIgnored(OrderClient):
    def definitions(self, stream: str, instruments: Any) -> Any:
        return super().definitions(stream, instruments if stream == "definition" else ())


class StaysApart(OrderClient):
    stuck: frozenset[int] = frozenset()

    def own_state(self, security_id: int, state: int | None, session: int, event: int | None) -> Any:
        yield from super().own_state(security_id, state, session, event)
        self.stuck |= {security_id} if event == 102 else set()
        self.apart |= self.stuck

    def phase_of(self, security_id: int, entry: Any) -> Line:
        line = super().phase_of(security_id, entry)
        self.apart |= self.stuck
        return line


class PreCloseAsForbidden(OrderClient):
    def status(self, fields: Any) -> Any:
        for line in super().status(fields):
            yield {**line, "phase": 17, "state": 18} if line["phase"] == 18 else line


class PricelessOfSnapshotsSkipped(OrderClient):
    def snapshot_order(self, security_id: int, entry: Any) -> None:
        if entry.get("MDEntryPx") is not None:
            super().snapshot_order(security_id, entry)


class SessionIgnored(OrderClient):
    @staticmethod
    def session_of(fields: Any) -> int:
        return 1


class QueueAppliedAgain(OrderClient):
    def is_new(self, number: int, security_id: int) -> bool:
        return True


class LegSetsLast(OrderClient):
    def sets_last(self, conditions: list[str]) -> bool:
        return True


ALL = "MBO MBP TOB"
BUGS: dict[type[OrderClient], tuple[str, ...]] = {
    HeartbeatsIgnored: ("A.1", "STEP"),
    PhaseNotReadFromSnapshots: ("B1.1", ALL),
    PricelessDropped: ("B1.4", ALL),
    NoPriceAsZero: ("B1.4", ALL),
    DeleteLeavesHole: ("B1.5", "MBO MBP"),
    TradesReduceToo: ("B1.6", ALL),
    SnapshotMerged: ("B2.1", ALL),
    EventIgnored: ("B2.4", ALL),
    StateGivenToGroup: ("B2.4", ALL),
    PauseEmpties: ("B2.4", ALL),
    ConditionsDropped: ("B2.10", ALL),
    NewDefinitionsIgnored: ("B3.1", ALL, "E4.1", ALL),
    StaysApart: ("B3.8", ALL, "B4.4", ALL),
    PreCloseAsForbidden: ("B4.4", ALL),
    PricelessOfSnapshotsSkipped: ("B5.1", ALL),
    SessionIgnored: ("B6.1", ALL),
    QueueAppliedAgain: ("D1.2", "MBO MBP"),
    LegSetsLast: ("E4.6", ALL),
}
CASES = [
    pytest.param(
        bug, system, segment, marks=() if segment is ScriptSegment.EQUITIES or where[2:] else pytest.mark.long
    )
    for bug, where in BUGS.items()
    for system in OTHERS
    for segment in ScriptSegment
    if not (bug is QueueAppliedAgain and system == "conflated")  # which has no queue: a session is in order
]


@pytest.mark.parametrize(("bug", "system", "segment"), CASES)
def test_a_bug_first_fails_where_the_script_finds_it(
    bug: type[OrderClient], system: str, segment: ScriptSegment
) -> None:
    step, boxes, *others = BUGS[bug]
    if segment is ScriptSegment.DERIVATIVES and others:
        step, boxes = others
    found = failures(_play(system, segment, bug, until=step))
    assert found, "not found"
    first = found[0][0]
    assert (first, " ".join(box for at, box, _ in found if at == first)) == (step, boxes), found[0]


# Where the exchange itself misses a demand.


def test_an_exchange_whose_messages_make_another_book_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A delete that is never sent: the books of its messages are not the exchange's."""
    take = WireBooks.take

    def without_deletes(self: WireBooks, messages: Any) -> None:
        kept = []
        for message in messages:
            entries = message.fields.get("MDEntries")
            if message.kind == "X" and entries:
                left = [each for each in entries if each.get("MDUpdateAction") != 2]
                message = message._replace(fields={**message.fields, "MDEntries": left})
            kept.append(message)
        take(self, kept)

    monkeypatch.setattr(WireBooks, "take", without_deletes)
    for system in OTHERS:
        first = next(
            each for each in _play(system, ScriptSegment.EQUITIES) if each.verdict is not Verdict.PASSED
        )
        assert (first.step.id, first.verdict) == ("B1.5", Verdict.INVALID)
        assert "messages make other bids than the exchange has" in first.boxes[0].reasons


@pytest.mark.parametrize("system", OTHERS)
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("desk buy 5@P\n  mbo bid 1 new 5@P", "demanded"),
        ("desk buy 5@P\n  mbo bid 2 new 6@P", "demanded"),
        ("desk buy 5@P\n  mbp bid 1 changed 15@P x1", "demanded"),
        ("desk buy 5@P\n  tob no update", "demanded"),
        ("desk buy 5@P+2\n  mbo offer 1 swept, trades 5@P+2", "demanded"),
        ("desk buy 5@P+2\n  mbo offers 5@P+2", "trades"),
        ("desk phase pause\n  mbo no update", "a message f that is not demanded"),
        ("desk buy 5@P\n  mbo snapshot, bid 2 new 5@P", "no snapshot"),
        ("client connect\n  mbo snapshot 625=21, book as prepared", "the snapshot lacks 625=21"),
    ],
)
def test_what_the_exchange_does_not_do_is_said(system: str, step: str, reason: str) -> None:
    head = "section B9  Um | One   for equities\nprepare phase open, empty\nbids 10@P\noffers 10@P+2\n"
    section = parse_section(f"{head}step B9.1 required: {step}\n", "B9.txt")
    (result,) = ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES, system)).play(section)
    assert result.verdict is Verdict.INVALID
    assert any(reason in told for told in result.boxes[0].reasons), result.boxes[0].reasons


def test_one_of_625_and_326_says_the_other() -> None:
    """7.8.14 of PUMA Conflated; in Binary UMDF a snapshot has 326 only."""
    both = {"TradingSessionSubID": "21", "SecurityTradingStatus": "21"}
    assert whole_status({"TradingSessionSubID": "21"}) == both
    assert whole_status({"SecurityTradingStatus": "21"}) == both
    own = {"SecurityTradingStatus": "2", "SecurityTradingEvent": "101"}
    assert whole_status(own) == own  # which left its group: of the phase it says nothing


def test_conflation_tells_the_net_change_of_a_tick() -> None:
    """B2.9 enters two orders in one tick: one 35=X has both, in Binary UMDF each has its own."""
    counts = {}
    for system in OTHERS:
        results = _play(system, ScriptSegment.EQUITIES, until="B2.9")
        step = next(each for each in results if each.step.id == "B2.9")
        counts[system] = [
            len(each.fields["MDEntries"])
            for each in step.messages
            if each.kind == "X" and any(entry["MDEntryType"] == "0" for entry in each.fields["MDEntries"])
        ]
    assert counts == {"binary": [1, 1], "conflated": [2]}


def test_clients_of_sessions_really_ask() -> None:
    """Contradiction 1: in PUMA Conflated a client that sends no 35=V has no books."""

    class Silent(OrderClient):
        def event(self, event: Any) -> Any:
            return ()

    results = _play("conflated", ScriptSegment.EQUITIES, Silent, until="B1.1")
    reasons = [reason for _, _, some in failures(results) for reason in some]
    assert "B1.1 MBO book: none seen since it connected" in reasons


def test_definitions_of_the_list_are_told_from_those_that_follow() -> None:
    """E4.1 creates an instrument after the list was whole."""
    results = {each.step.id: each for each in _play("conflated", ScriptSegment.DERIVATIVES, CertifyClient)}
    listed = [line for line in results["A.1"].lines if line["see"] == "definition"]
    created = [line for line in results["E4.1"].lines if line.get("symbol") == "CERTUDS1"]
    assert {line["stream"] for line in listed} == {"definition"}
    assert [line["stream"] for line in created] == ["incremental"]


def test_three_systems_say_the_same_of_a_step() -> None:
    """Trades and states of every step, as three encodings that share no code have them."""

    def told(system: str) -> dict[str, tuple[Any, ...]]:
        desk = CertificationDesk(ScriptSegment.EQUITIES, system)
        channel = desk.channels(desk.instrument)[0]
        runner, found = ScriptRunner(desk), {}
        for section in sections_for(ScriptSegment.EQUITIES):
            if section.id in ("B1", "B2", "B3", "B4", "B5", "B6"):
                for result in runner.play(section):
                    seen = Seen(result.messages, dict.fromkeys(DEPTHS, channel), Box.MBO)
                    own = [each for each in seen.messages if each.channel == channel]
                    found[result.step.id] = (_trades(own, desk.instrument), _states(own, desk))
        return found

    fast, binary, conflated = (told(system) for system in ("fast", "binary", "conflated"))
    assert fast == binary == conflated
    assert sum(len(trades) for trades, _ in fast.values()) > 15
    assert sum(len(states) for _, states in fast.values()) > 10


def _trades(messages: list[TappedMessage], security_id: int) -> list[Any]:
    return sorted(
        (
            float(entry["MDEntryPx"]),
            int(entry["MDEntrySize"]),
            "2" in (entry.get("TradeCondition") or "").split(),
        )
        for message in messages
        if message.kind == "X"
        for entry in message.entries(security_id)
        if entry["MDEntryType"] == "2"
        and not entry.get("MDUpdateAction")
        and "U" not in (entry.get("TradeCondition") or "").split()
    )


def _states(messages: list[TappedMessage], desk: CertificationDesk) -> list[Any]:
    """625, 326 and 1174 of 35=f, of the instrument and its group."""
    names = ("TradingSessionSubID", "SecurityTradingStatus", "SecurityTradingEvent")
    return [
        tuple(None if message.fields.get(name) is None else int(message.fields[name]) for name in names)
        for message in messages
        if message.kind == "f"
        and message.stream is Stream.INCREMENTAL
        and (
            message.fields.get("SecurityID") == desk.instrument
            or message.fields.get("SecurityGroup") == desk.group(desk.instrument)
        )
    ]
