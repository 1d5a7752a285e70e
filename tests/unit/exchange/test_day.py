"""Day scripts: the packaged one over the whole catalogue, and every mistake by its key."""

import re

import pytest

from pregao.exchange import control
from pregao.exchange.auctions import AuctionKind
from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.commands import NewOrder, RejectReason
from pregao.exchange.day import PhaseStep, load_day, load_regular_day
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.exchange.listing_steps import ListingStep
from pregao.exchange.timetable import timetable
from pregao.model.errors import ConfigurationError
from pregao.model.events import (
    ClosingPrice,
    OpenInterest,
    PhaseChanged,
    SettlementPrice,
    StateChanged,
    Trade,
    Update,
)
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import NewsSource, Phase, Session, Side, State, StateEvent
from tests.unit.exchange.desk_kit import ABC, DATE, EXCHANGE, SECOND, XYZ, catalogue, listing

EQUITIES = catalogue(listing(ABC), listing(XYZ), pairs=())


def script(*steps: str, name: str = "equities") -> str:
    return f'[[schedule]]\nname = "{name}"\nstep = [\n{",".join(steps)}\n]\n'


OPEN = '{ at = "10:00:00", phase = "open" }'
CLOSE = '{ at = "17:00:00", phase = "close" }'


def commands(*steps: str) -> list[control.Control]:
    return timetable(load_day(script(*steps)), EQUITIES, DATE, midnight_ns=0)


def at(hours: int, minutes: int = 0, seconds: int = 0) -> int:
    return (hours * 3600 + minutes * 60 + seconds) * SECOND


def test_every_kind_of_step_becomes_its_command() -> None:
    assert commands(
        '{ at = "09:00:00", session = "regular" }',
        '{ at = "09:45:00", phase = "pre_open" }',
        OPEN,
        '{ at = "11:00:00", auction = "XYZW3", for_s = 60 }',
        '{ at = "11:30:00", auction = 1 }',
        '{ at = "12:00:00", halt = 2, for_s = 120 }',
        '{ at = "12:01:00", news = "A", text = "B", of = "ABCD3" }',
        '{ at = "17:00:00", phase = "close", expires = true }',
    ) == [
        control.ChangeSession(at(9), "01", EXCHANGE, Session.REGULAR, DATE),
        control.ChangePhase(at(9, 45), "01", EXCHANGE, Phase.PRE_OPEN, at(10)),
        control.ChangePhase(at(10), "01", EXCHANGE, Phase.OPEN),
        control.StartAuction(at(11), XYZ, AuctionKind.SCHEDULED, at(11, 1)),
        control.StartAuction(at(11, 30), ABC, AuctionKind.SCHEDULED),
        control.ChangeState(at(12), XYZ, State.PAUSE, at(12, 2)),
        control.SendNews(at(12, 1), "A", "B", ABC),
        control.RejoinGroup(at(12, 2), XYZ),
        control.ChangePhase(at(17), "01", EXCHANGE, Phase.CLOSE, expires=True),
    ]


def test_a_random_opening_comes_from_the_seed() -> None:
    text = script('{ at = "10:00:00", phase = "open", random_s = 30 }', CLOSE)
    times = {
        seed: timetable(load_day(text), EQUITIES, DATE, seed=seed, midnight_ns=0)[0].now_ns
        for seed in range(9)
    }
    assert all(at(10) <= time < at(10, 0, 30) for time in times.values())
    assert len(set(times.values())) > 1
    assert times[3] == timetable(load_day(text), EQUITIES, DATE, seed=3, midnight_ns=0)[0].now_ns


def test_local_midnight_is_three_hours_into_the_day_of_utc() -> None:
    assert local_midnight_ns(1) == (24 + 3) * 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x =", "Invalid value"),
        ("", "schedule: is missing"),
        (script(OPEN), "the day must end closed"),
        (script(CLOSE, OPEN, CLOSE), "comes before the step above"),
        (
            script('{ at = "10:00:00", phase = "open", random_s = 30 }', '{ at = "10:00:29", auction = 1 }'),
            "comes before",
        ),
        (script('{ at = "25:00:00", phase = "open" }'), "step[0].at: must be a time"),
        (script('{ at = "10:00", phase = "open" }'), "step[0].at: must be a time"),
        (script('{ at = "10:00:00", phase = "ajar" }'), "step[0].phase: must be one of"),
        (
            script('{ at = "10:00:00", phase = "final_closing_call" }'),
            "FINAL_CLOSING_CALL cannot follow CLOSE",
        ),
        (script('{ at = "10:00:00" }'), "step[0]: must have one of"),
        (script('{ at = "10:00:00", phase = "open", halt = 1 }'), "step[0]: must have one of"),
        (script('{ at = "10:00:00", phase = "open", rank = 1 }'), "step[0].rank: unknown key"),
        (script(OPEN, '{ at = "10:01:00", session = "regular" }', CLOSE), "while the group is closed"),
        (script('{ at = "10:01:00", auction = 1 }'), "only an open instrument"),
        (script(OPEN, '{ at = "23:59:00", halt = 1, for_s = 600 }'), "must end on the same day"),
        (script(OPEN, '{ at = "11:00:00", halt = 0, for_s = 6 }'), "step[1].halt"),
        (script('{ at = "11:00:00", settlement = "soon" }'), "step[0].settlement: must be one of"),
        (script() + script(), "there already"),
    ],
)
def test_a_mistake_names_its_key(text: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(complaint)):
        load_day(text, "day.toml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (script(OPEN, CLOSE, name="bonds"), "equities: groups need this schedule"),
        (
            script(OPEN, '{ at = "11:00:00", halt = "NONE3", for_s = 6 }', CLOSE),
            "NONE3 is not in this schedule",
        ),
        (script(OPEN, '{ at = "11:00:00", halt = 3, for_s = 6 }', CLOSE), "no instrument of rank 3"),
    ],
)
def test_a_script_must_fit_its_catalogue(text: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(complaint)):
        timetable(load_day(text), EQUITIES, DATE)


def test_the_regular_day_has_all_that_a_day_has() -> None:
    day = load_regular_day()
    phases = [step.phase for step in day.schedules["equities"] if isinstance(step, PhaseStep)]
    assert phases == [
        Phase.PRE_OPEN,
        Phase.OPEN,
        Phase.FINAL_CLOSING_CALL,
        Phase.PRE_CLOSE,
        Phase.CLOSE,
        Phase.PRE_OPEN,
        Phase.OPEN,
        Phase.CLOSE,
    ]
    listed = load_default_catalogue()
    made = timetable(day, listed, DATE)
    assert [command.now_ns for command in made] == sorted(command.now_ns for command in made)
    kinds = {type(command) for command in made}
    assert {control.StartAuction, control.ChangeState, control.PublishSettlement, control.SendNews} <= kinds
    assert {control.AddInstrument, control.ChangeInstrument, control.DeleteInstrument} <= kinds
    steps = [step for steps in day.schedules.values() for step in steps if isinstance(step, ListingStep)]
    of_listing = (control.AddInstrument, control.ChangeInstrument, control.DeleteInstrument)
    assert len(steps) == sum(isinstance(each, of_listing) for each in made)  # every symbol is known
    assert {each.source for each in made if isinstance(each, control.SendNews)} == set(NewsSource)


def run_day(seed: int) -> list[Update]:
    """The regular day with a few orders: crossing ones before each opening and before each close."""
    listed = load_default_catalogue()
    engine = Engine(listed.instruments, trade_date=DATE)
    desk = Desk(engine, listed, DATE, seed=seed)
    updates: list[Update] = []

    def submit(command: control.Control | NewOrder) -> None:
        outcome = engine.submit(command)
        if isinstance(command, control.DeleteInstrument) and outcome.rejection is not None:
            # Yesterday's strategies: there was no yesterday.
            assert outcome.rejection.reason is RejectReason.UNKNOWN_INSTRUMENT
            return
        assert outcome.rejection is None, (command, outcome.rejection)
        updates.extend(update for event in outcome.events for update in event.updates)

    for command in timetable(load_regular_day(), listed, DATE, seed=seed):
        while (time := desk.next_timeout()) is not None and time <= command.now_ns:
            submit(control.PassTime(time))
        submit(command)
        if isinstance(command, control.ChangePhase) and command.phase in (Phase.PRE_OPEN, Phase.OPEN):
            for listing_ in listed.listings:
                instrument = listing_.instrument
                if (instrument.group, instrument.exchange) == (
                    command.group,
                    command.exchange,
                ) and not instrument.legs:
                    price = (listing_.closing + instrument.tick - 1) // instrument.tick * instrument.tick
                    if price <= 0 or desk.surveillance.phases.effective(instrument.security_id) not in (
                        State.OPEN,
                        State.RESERVED,
                    ):
                        continue
                    lot = max(instrument.lot, instrument.minimum_quantity)
                    for side in Side:
                        order = NewOrder(
                            command.now_ns, instrument.security_id, side, lot, price, firm=int(side)
                        )
                        outcome = engine.submit(order)
                        updates.extend(update for event in outcome.events for update in event.updates)
    assert desk.next_timeout() is None
    assert all(not len(market.book) for market in engine.floor.markets.values())
    return updates


def test_the_regular_day_runs_without_a_rejection_and_repeats_itself() -> None:
    updates = run_day(5)
    assert updates == run_day(5)
    assert updates != run_day(6)
    sessions = {update.session for update in updates if isinstance(update, Trade)}
    assert sessions == {Session.REGULAR, Session.NON_REGULAR}
    assert {update.phase for update in updates if isinstance(update, PhaseChanged)} == set(Phase) - {
        Phase.PAUSE
    }
    told = {(update.state, update.event) for update in updates if isinstance(update, StateChanged)}
    assert {
        (State.RESERVED, StateEvent.LEAVES_GROUP),
        (State.PAUSE, StateEvent.LEAVES_GROUP),
        (State.OPEN, StateEvent.REJOINS_GROUP),
        (State.CLOSE, StateEvent.SESSION_CHANGE),
    } <= told
    for kind in (SettlementPrice, OpenInterest, ClosingPrice):
        assert any(isinstance(update, kind) for update in updates)
