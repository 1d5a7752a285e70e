"""Our exchange does what the script demands; one that does not makes the step invalid, no client fail."""

import socket
import time
from collections.abc import Iterator

import pytest

from pregao.certification import desk as desk_module
from pregao.certification.client import CertifyClient
from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import CertificationDesk
from pregao.certification.memory import memory_client
from pregao.certification.results import StepResult, Verdict
from pregao.certification.runner import ScriptRunner
from pregao.certification.scenario import Box, DeskCommand, ScriptSegment, Section
from pregao.certification.scenario_files import load_script, parse_section, sections_for
from pregao.feeds.fast.publisher import incremental
from pregao.model.market import Side
from tests.unit.certification.kit import example_client, play


def _sections(segment: ScriptSegment) -> list[Section]:
    return list(sections_for(segment))


def _not_valid(results: list[StepResult]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for result in results:
        for box in result.boxes:
            if box.verdict is not Verdict.PASSED:
                yield result.step.id, box.box.value, box.reasons


@pytest.mark.parametrize("segment", ScriptSegment)
def test_every_demand_is_met_in_one_unbroken_run(segment: ScriptSegment) -> None:
    runner = ScriptRunner(CertificationDesk(segment))
    for section in _sections(segment):
        assert not list(_not_valid(runner.play(section)))


@pytest.mark.parametrize("section", load_script(), ids=lambda each: each.id)
def test_a_section_can_be_played_by_itself(section: Section) -> None:
    """With a client, which connects even if no step of it says so (B3)."""
    assert not list(_not_valid(play(ScriptSegment.EQUITIES, example_client, frozenset((section.id,)))))


def test_a_run_in_memory_has_no_socket_and_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replayers' sessions too: what takes time takes the exchange's."""

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a run in memory looked outside")

    desk = CertificationDesk(ScriptSegment.EQUITIES)
    runner = ScriptRunner(desk, memory_client(desk, CertifyClient), ClientJudge(desk))
    results = []
    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", forbidden)
        for name in ("time", "time_ns", "monotonic", "monotonic_ns", "sleep"):
            patched.setattr(time, name, forbidden)
        for section in sections_for(ScriptSegment.EQUITIES):
            if section.id in ("B1", "D2", "D3"):
                results += runner.play(section)
    assert len(results) == 14
    assert not list(_not_valid(results))


# Where somebody wants to see a step again: the section begins anew, whatever was done in it.
LEFT_AT = [(section.id, step.id) for section in load_script() for step in section.steps[:-1]]
SOME = {"B1.4", "B2.4", "B2.7", "B2.11", "B3.4", "B5.3", "B6.3", "D1.2", "E4.4"}


@pytest.mark.parametrize(
    ("name", "step"),
    [pytest.param(*each, marks=() if each[1] in SOME else pytest.mark.long) for each in LEFT_AT],
)
def test_a_section_that_was_left_can_be_played_again(name: str, step: str) -> None:
    (section,) = [each for each in sections_for(ScriptSegment.EQUITIES) if each.id == name]
    runner = ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES))
    for result in runner.steps(section):
        if result.step.id == step:
            break
    assert not list(_not_valid(runner.play(section)))


def test_books_are_those_that_the_script_starts_and_ends_with() -> None:
    """Worked out by hand from B1: what is left after the uncross at P."""
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    results = ScriptRunner(desk).play(sections_for(ScriptSegment.EQUITIES)[1])
    before, _ = results[0].books[Box.MBO]
    assert [(row.price, row.size) for row in before.bids] == [
        (100_200, 10), (100_200, 10), (100_100, 10), (100_100, 10), (100_000, 50),
    ]  # fmt: skip
    _, after = results[-1].books[Box.MBO]
    assert [(row.price, row.size) for row in after.bids] == [(100_000, 10)]
    assert [(row.price, row.size) for row in after.offers] == [(100_300, 100), (100_300, 100)]
    trades = [
        (entry["MDEntryPx"], entry["MDEntrySize"])
        for message in results[-1].messages
        if message.kind == "X" and message.channel == desk.channels(desk.instrument)[0]
        for entry in message.fields["MDEntries"]
        if entry["MDEntryType"] == "2"
    ]
    assert sorted(size for _, size in trades) == [10, 10, 10, 10, 20, 40]


def test_an_exchange_that_sends_f_without_1174_makes_the_step_invalid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fields = incremental.status_fields

    def without_event(update: object) -> dict[str, object]:
        told = fields(update)  # type: ignore[arg-type]
        told.pop("SecurityTradingEvent", None)
        return told

    monkeypatch.setattr(incremental, "status_fields", without_event)
    (section,) = [each for each in _sections(ScriptSegment.EQUITIES) if each.id == "B2"]
    results = ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES)).play(section)
    first, *_ = [result for result in results if result.verdict is not Verdict.PASSED]
    assert (first.step.id, first.verdict) == ("B2.4", Verdict.INVALID)
    assert all(box.verdict is Verdict.INVALID for box in first.boxes)
    assert "no message f 326=2 1174=101" in first.boxes[0].reasons


# B1 in few words: levels without how many orders they have, and what every depth shows said once.
SHORT_B1 = """
section B1  Pré-Abertura | Pre-open   for equities, derivatives
prepare phase pre-open
bids    10@P+2 10@P+2 10@P+1 10@P+1 50@P
offers  100@P+3 100@P+3

step B1.1 required: client connect
  all  snapshot 625=21, book as prepared
step B1.2 required: desk buy 100@P as c
  mbo  bid 6 new 100@P
  mbp  bid 3 changed 150@P x2
  tob  no update
step B1.3 required: desk sell 100@P
  all  offer 1 new 100@P
step B1.4 required: desk buy 20@moa, sell 100@P as v
  mbo  bid 1 new 20@none, offer 2 new 100@P
  mbp  bid 1 new 20@none, offer 1 changed 200@P x2
  tob  bid 20@none, offer 200@P
step B1.5 required: desk cancel c, cancel v
  mbo  bid 7 gone, offer 2 gone
  mbp  bid 4 changed 50@P x1, offer 1 changed 100@P x1
  tob  offer 100@P
step B1.6 required: desk phase open
  all  trades 100@P, message f 625=17
  mbo  bids 10@P, offers 100@P+3 100@P+3
  mbp  bids 10@P x1, offers 200@P+3 x2
  tob  bid 10@P, offer 200@P+3
"""


@pytest.mark.parametrize("system", ["fast", "binary", "conflated"])
def test_a_section_can_be_written_in_few_words(system: str) -> None:
    section = parse_section(SHORT_B1, "B1.txt")
    results = ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES, system)).play(section)
    assert not list(_not_valid(results))
    assert len(results) == 6


HEAD = "section B9  Um | One   for equities\nprepare phase open, empty\nbids 10@P\noffers 10@P+2\n"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("desk buy 5@P\n  mbo bid 1 new 5@P", "bid entries"),
        ("desk buy 5@P\n  mbo bid 2 new 6@P", "bid entries"),
        ("desk buy 5@P\n  mbp bid 1 changed 15@P x1", "bid entries"),
        ("desk buy 5@P\n  mbo no update", "bid entries"),
        ("desk buy 5@P\n  mbo bid 2 new 5@P, offers none", "offers are not as demanded"),
        ("desk buy 5@P+2\n  mbo offers 5@P+2", "trades"),
        ("desk buy 5@P+2\n  mbo offers 5@P+2, trades 5@P+1", "trades"),
        ("desk buy 5@P+2\n  mbo offers 5@P+2, trades 5@P+2 277=2", "a trade without 277=2"),
        ("desk phase pause\n  mbo no update", "a message f that is not demanded"),
        ("desk phase pause\n  mbo message f 625=18", "no message f 625=18"),
        ("desk buy 5@P\n  mbo snapshot, bid 2 new 5@P", "no snapshot"),
        ("client connect\n  mbo snapshot 625=21, book as prepared", "the snapshot lacks 625=21"),
        ("desk buy 5@P\n  mbo bid 2 new 5@P, book as prepared", "the book is not as prepared"),
    ],
)
def test_what_the_exchange_does_not_send_is_said(step: str, reason: str) -> None:
    section = parse_section(f"{HEAD}step B9.1 required: {step}\n", "B9.txt")
    (result,) = ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES)).play(section)
    assert result.verdict is Verdict.INVALID
    assert any(reason in told for told in result.boxes[0].reasons), result.boxes[0].reasons


class Astray(CertificationDesk):
    """Once told to, it does what is asked to the group's second instrument."""

    is_astray = False

    def do(self, command: DeskCommand) -> None:
        about = self.about
        self.about = self.neighbour if self.is_astray else about
        super().do(command)
        self.about = about


def test_the_second_instrument_of_the_group_must_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{HEAD}step B9.1 required: desk buy 5@P\n  mbo no update\n"
    section = parse_section(text, "B9.txt")
    desk = Astray(ScriptSegment.EQUITIES)
    runner = ScriptRunner(desk)
    runner.prepare(section)
    desk.is_astray = True
    monkeypatch.setattr(runner, "prepare", lambda section: None)
    (result,) = runner.play(section)
    assert "the group's second instrument changed" in result.boxes[0].reasons


def test_lots_divide_what_the_script_trades() -> None:
    """With lots of 100 no book satisfies B1.6 and B2.9: the lot is at most 25."""
    for listing in desk_module.certification_catalogue().listings:
        assert 100 % listing.instrument.lot == 0
        assert listing.instrument.lot <= 25
    assert not desk_module.certification_catalogue().pairs
    for segment in ScriptSegment:
        desk = CertificationDesk(segment)
        assert desk.group(desk.instrument) == desk.group(desk.neighbour)
        ScriptRunner(desk).prepare(sections_for(segment)[1])
        assert desk.book(desk.neighbour, Box.MBO).side(Side.BUY)
