"""Simultaneous auctions: both printed scenarios message for message, and the machine between them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import control
from pregao.exchange.commands import RejectReason
from pregao.exchange.simultaneous import Pairs, PairState, StepKind
from pregao.model.events import News, PhaseChanged, StateChanged, TheoreticalPrice, Trade, Update
from pregao.model.market import Phase, Session, State, StateEvent
from tests.unit.exchange.desk_kit import (
    DATE,
    DOL,
    MILLISECOND,
    SECOND,
    TEMPLATE,
    WDO,
    Exchange,
    catalogue,
    clock,
    listing,
)

T1, T2 = MILLISECOND, 2 * MILLISECOND
HEADLINE = "Auction for instrument WDOF24 - synchronization"
LEFT, BACK = StateEvent.LEAVES_GROUP, StateEvent.REJOINS_GROUP


def told(security_id: int, state: State, event: StateEvent, at_ns: int, ends_ns: int | None) -> StateChanged:
    return StateChanged(security_id, Session.REGULAR, state, event, DATE, at_ns, ends_ns)


def news(text: str, at_ns: int) -> News:
    return News(None, HEADLINE, text, at_ns, language="en", security_id=WDO)


def states_and_news(events: list[tuple[Update, ...]]) -> list[Update]:
    return [each for event in events for each in event if isinstance(each, StateChanged | News)]


def test_scenario_1_pre_open_with_extension_in_a_single_contract() -> None:
    exchange = Exchange()
    nine = clock("09:00:00")
    # Step 1
    exchange.phase("08:55:00", Phase.PRE_OPEN, "D0", "W0", ends="09:00:00")
    assert exchange.run_to(clock("08:56:00")) == []
    for security_id in (DOL, WDO):
        exchange.buy("08:57:00", security_id, 10, 10_0000)
    # Step 2: the theoretical price forms ten seconds before the end, and moves it
    outcome = exchange.sell("08:59:50", DOL, 10, 10_0000)
    assert [type(each) for each in outcome.events[0].updates][-2] is TheoreticalPrice
    extended = told(DOL, State.RESERVED, LEFT, clock("08:59:50"), clock("09:00:30"))
    assert [event.updates for event in outcome.events[1:]] == [(extended,)]
    # Step 3: WDOF24 is due; its status without end time and a News, each its own event
    d0 = exchange.phase("09:00:00", Phase.OPEN, "D0")
    w0 = exchange.phase("09:00:00", Phase.OPEN, "W0")
    assert [[type(each) for each in event] for event in d0] == [[PhaseChanged]]
    pending = "Call for instrument WDOF24 -Reason: synchronization."
    assert w0[:2] == [(told(WDO, State.RESERVED, LEFT, nine, 0),), (news(pending, nine),)]
    assert [[type(each) for each in event] for event in w0[2:]] == [[PhaseChanged]]
    assert exchange.engine.trading_state(WDO) is State.RESERVED
    # The rejection window is WDOF24's: additions, changes and cancels
    refused = exchange.sell("09:00:00", WDO, 10, 10_0000).rejection
    assert refused is not None
    assert refused.reason.code == 7153
    assert refused.detail == "'Instrument WDOF24 in Simultaneous Auction closing.'"
    assert refused.text.startswith("Instrument has an auction synchronism in progress")
    waiting = next(order for order in exchange.engine.market(WDO).book)
    for outcome in (
        exchange.cancel("09:00:00", waiting.order_id),
        exchange.change("09:00:00", waiting.order_id, quantity=5),
    ):
        assert outcome.rejection is not None
        assert outcome.rejection.reason is RejectReason.AUCTION_SYNCHRONISM
    assert exchange.sell("09:00:00", DOL, 5, 10_0100).rejection is None
    # Step 4: DOLF24 answers "not ok", unseen. Step 5: the window closes, a News
    assert exchange.run_to(nine + T1) == []
    assert exchange.run_to(nine + T2) == [(news(pending, nine + T2),)]
    assert exchange.sell("09:00:01", WDO, 4, 10_0000).rejection is None
    # Step 6: DOLF24 is due: window, no message. Steps 7 and 8: both open, WDOF24 first
    assert exchange.run_to(clock("09:00:30")) == []
    refused = exchange.buy("09:00:30", DOL, 1, 10_0000).rejection
    assert refused is not None
    assert refused.reason is RejectReason.AUCTION_SYNCHRONISM
    at_ns = clock("09:00:30")
    opened = exchange.run_to(at_ns + T1)
    assert [event[0] for event in opened] == [told(WDO, State.OPEN, BACK, at_ns + T1, None)]
    assert [each.size for each in opened[0] if isinstance(each, Trade)] == [4]
    assert exchange.engine.trading_state(DOL) is State.RESERVED
    opened = exchange.run_to(at_ns + T2)
    assert [event[0] for event in opened] == [told(DOL, State.OPEN, BACK, at_ns + T2, None)]
    assert [each.size for each in opened[0] if isinstance(each, Trade)] == [10]
    assert exchange.desk.next_timeout() is None


def test_scenario_2_intraday_auction() -> None:
    exchange = Exchange()
    exchange.open_all()
    noon, end = clock("12:00:00"), clock("12:05:30")
    # DOLF24 starts, scheduled uncross at 12:05:00
    started = exchange.do(control.StartAuction(noon, DOL))
    assert started == [(told(DOL, State.RESERVED, LEFT, noon, clock("12:05:00")),)]
    assert exchange.engine.trading_state(WDO) is State.OPEN
    # T1: WDOF24 into auction without end time, and a News
    joined = exchange.run_to(noon + T1)
    text = "Call for instrument WDOF24 -Reason: synchronization"
    assert joined == [(told(WDO, State.RESERVED, LEFT, noon + T1, 0),), (news(text, noon + T1),)]
    exchange.buy("12:01:00", DOL, 10, 10_0000)
    exchange.buy("12:01:00", WDO, 10, 10_0000)
    exchange.sell("12:01:00", WDO, 7, 10_0000)
    # 12:04:20: extension to 12:05:30
    outcome = exchange.sell("12:04:20", DOL, 10, 10_0000)
    assert outcome.events[-1].updates == (told(DOL, State.RESERVED, LEFT, clock("12:04:20"), end),)
    # 12:05:30: DOLF24 asks: window without message; T1 WDOF24, T2 DOLF24
    assert exchange.run_to(end) == []
    assert exchange.desk.surveillance.pairs.state(DOL) is PairState.PENDING
    opened = exchange.run_to(end + T1)
    assert states_and_news(opened) == [told(WDO, State.OPEN, BACK, end + T1, None)]
    assert [each.size for each in opened[0] if isinstance(each, Trade)] == [7]
    opened = exchange.run_to(end + T2)
    assert states_and_news(opened) == [told(DOL, State.OPEN, BACK, end + T2, None)]
    assert [each.size for each in opened[0] if isinstance(each, Trade)] == [10]


def test_both_due_at_once_open_together() -> None:
    exchange = Exchange()
    exchange.phase("08:55:00", Phase.PRE_OPEN, "D0", "W0", ends="09:00:00")
    exchange.run_to(clock("08:59:00"))
    exchange.phase("09:00:00", Phase.OPEN, "D0", "W0")
    opened = exchange.run_to(clock("09:00:01"))
    assert [
        (each.security_id, each.event) for each in states_and_news(opened) if isinstance(each, StateChanged)
    ] == [
        (WDO, BACK),
        (DOL, BACK),
    ]
    assert exchange.engine.trading_state(DOL) is exchange.engine.trading_state(WDO) is State.OPEN
    assert exchange.desk.next_timeout() is None


def test_surveillance_closes_one_side_alone() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.do(control.StartAuction(clock("12:00:00"), DOL))
    exchange.run_to(clock("12:01:00"))
    closed = exchange.do(control.EndAuction(clock("12:02:00"), WDO))
    assert states_and_news(closed) == [told(WDO, State.OPEN, BACK, clock("12:02:00"), None)]
    assert exchange.engine.trading_state(DOL) is State.RESERVED
    # Its partner reaches its end and finds nobody to wait for.
    opened = exchange.run_to(clock("12:05:00"))
    assert states_and_news(opened) == [told(DOL, State.OPEN, BACK, clock("12:05:00"), None)]


def test_the_side_that_waits_stays_until_it_is_closed_too() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.do(control.StartAuction(clock("12:00:00"), DOL))
    exchange.run_to(clock("12:01:00"))
    exchange.do(control.EndAuction(clock("12:02:00"), DOL))
    assert exchange.run_to(clock("13:00:00")) == []
    assert exchange.engine.trading_state(WDO) is State.RESERVED
    assert exchange.submit(control.ExtendAuction(clock("13:00:00"), WDO, SECOND)).rejection is not None
    exchange.do(control.EndAuction(clock("13:00:00"), WDO))
    assert exchange.engine.trading_state(WDO) is State.OPEN


def test_a_halt_takes_an_instrument_out_of_its_pair() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.do(control.StartAuction(clock("12:00:00"), DOL))
    exchange.run_to(clock("12:01:00"))
    exchange.do(control.ChangeState(clock("12:02:00"), WDO, State.PAUSE))
    exchange.run_to(clock("12:06:00"))
    assert exchange.engine.trading_state(DOL) is State.OPEN
    assert exchange.engine.trading_state(WDO) is State.PAUSE
    exchange.do(control.StartAuction(clock("12:10:00"), DOL))
    assert exchange.run_to(clock("12:11:00")) == []  # a halted partner is not placed in auction
    exchange.run_to(clock("12:20:00"))
    assert exchange.engine.trading_state(DOL) is State.OPEN
    assert exchange.engine.trading_state(WDO) is State.PAUSE


def test_instruments_keep_their_own_templates() -> None:
    slow = replace(TEMPLATE, duration_ns=600 * SECOND)
    exchange = Exchange(catalogue(listing(DOL), listing(WDO, slow)))
    exchange.open_all()
    exchange.do(control.StartAuction(clock("12:00:00"), WDO))
    exchange.run_to(clock("12:09:59"))
    assert exchange.engine.trading_state(DOL) is State.RESERVED
    exchange.run_to(clock("12:10:01"))
    assert exchange.engine.trading_state(DOL) is State.OPEN


def pairs(ready: bool = True) -> Pairs:
    return Pairs([(1, 2)], str, lambda _: ready)


def test_a_protected_partner_is_prolonged_and_both_do_not_wait_for_ever() -> None:
    machine = pairs(ready=False)
    machine.started(1, 0)
    machine.on_timeout(MILLISECOND)
    assert machine.state(2) is PairState.WAITING
    machine.due(1, SECOND, leaves_group=False)
    assert [step.kind for step in machine.on_timeout(2 * SECOND)] == [StepKind.PROLONG]
    assert machine.state(2) is PairState.RUNNING
    assert [step.kind for step in machine.on_timeout(2 * SECOND)] == [StepKind.UNDEFINE, StepKind.NEWS]
    assert machine.state(1) is PairState.WAITING


def test_pairs_are_checked() -> None:
    with pytest.raises(ValueError, match="one partner"):
        Pairs([(1, 2), (2, 3)], str, lambda _: True)
    with pytest.raises(ValueError, match="at most a second"):
        Pairs([(1, 2)], str, lambda _: True, ask_ns=SECOND)


@given(
    st.lists(
        st.tuples(st.sampled_from(["start", "due", "ended", "time"]), st.sampled_from([1, 2])), max_size=40
    ),
    st.booleans(),
)
def test_a_window_never_outlasts_its_second(inputs: list[tuple[str, int]], ready: bool) -> None:
    machine, now_ns = pairs(ready), 0
    opened: dict[int, int] = {}
    for kind, security_id in inputs:
        now_ns += 300_000
        if kind == "start":
            machine.started(security_id, now_ns)
        elif kind == "due" and machine.state(security_id) is PairState.RUNNING and machine.asks(security_id):
            machine.due(security_id, now_ns, leaves_group=False)
            opened[security_id] = now_ns
        elif kind == "ended":
            machine.ended(security_id)
        while (at_ns := machine.next_timeout()) is not None and at_ns <= now_ns:
            machine.on_timeout(at_ns)
        for each in (1, 2):
            if machine.rejection(each) is not None:
                assert now_ns - opened[each] < T2
    while (at_ns := machine.next_timeout()) is not None:
        machine.on_timeout(at_ns)
    assert all(machine.rejection(each) is None for each in (1, 2))
