"""Whatever surveillance and participants do, books stay sound and events in order."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import control
from pregao.exchange.catalogues.rules import AuctionTemplate, BandRule
from pregao.exchange.orders import OrderType
from pregao.model.events import (
    Event,
    ExecutionSummary,
    Imbalance,
    OrderUpdate,
    PhaseChanged,
    StateChanged,
    TheoreticalPrice,
    Trade,
)
from pregao.model.market import (
    BandType,
    LimitType,
    Midpoint,
    Phase,
    Side,
    State,
)
from tests.twins.plain_auction import slow_theoretical_of
from tests.unit.exchange.desk_kit import ABC, SECOND, TEMPLATE, XYZ, Exchange, catalogue, clock, listing
from tests.unit.exchange.machine_checks import Checks


def equities(template: AuctionTemplate = TEMPLATE, *bands: BandRule, liquid: bool = True) -> Exchange:
    return Exchange(
        catalogue(listing(ABC, template, *bands, liquid=liquid), listing(XYZ, template), pairs=())
    )


def opened(*arguments: object, **named: object) -> Exchange:
    exchange = equities(*arguments, **named)  # type: ignore[arg-type]
    exchange.open_all()
    return exchange


# Two ticks around the last price, where orders are up to nine apart.
BAND = BandRule(BandType.AUCTION, LimitType.PERCENTAGE, -2_500, 2_500, Midpoint.LAST_TRADE)
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["buy", "sell", "moa", "moc", "cancel", "phase", "auction", "end", "halt", "rejoin", "time"]
        ),
        st.sampled_from([ABC, XYZ]),
        st.integers(0, 9),
    ),
    max_size=60,
)


@given(steps)
def test_whatever_happens_books_are_sound_and_events_in_order(script: list[tuple[str, int, int]]) -> None:
    exchange, now_ns = opened(TEMPLATE, BAND, liquid=False), clock("10:00:00")
    phases = [Phase.OPEN, Phase.PRE_OPEN, Phase.PAUSE, Phase.FINAL_CLOSING_CALL, Phase.PRE_CLOSE]
    for kind, security_id, number in script:
        now_ns += (number + 1) * 5 * SECOND
        exchange.run_to(now_ns)
        at = f"0:0:{now_ns / SECOND}"
        price = 10_0000 + (number - 5) * 100
        if kind in ("buy", "sell"):
            side = Side.BUY if kind == "buy" else Side.SELL
            exchange.order(
                at, security_id, side, 100 * (number + 1), price, firm=number, investor_id=number % 3
            )
        elif kind in ("moa", "moc"):
            order = OrderType.MARKET_ON_AUCTION if kind == "moa" else OrderType.MARKET_ON_CLOSE
            exchange.order(at, security_id, Side(1 + number % 2), 200, None, type=order)
        elif kind == "cancel":
            exchange.cancel(at, number + 1)
        elif kind == "phase":
            ends_ns = now_ns + 100 * SECOND
            exchange.submit(control.ChangePhase(now_ns, "01", "BVMF", phases[number % 5], ends_ns))
        elif kind == "auction":
            exchange.submit(control.StartAuction(now_ns, security_id))
        elif kind == "end":
            exchange.submit(control.EndAuction(now_ns, security_id))
        elif kind == "halt":
            exchange.submit(control.ChangeState(now_ns, security_id, State.PAUSE))
        elif kind == "rejoin":
            exchange.submit(control.RejoinGroup(now_ns, security_id))
        check_invariants(exchange)
    for event in exchange.events:
        check_order_of(event)
    Checks(exchange.engine, bands=exchange.desk.surveillance.bands).follow(exchange.events)


def check_invariants(exchange: Exchange) -> None:
    surveillance = exchange.desk.surveillance
    for security_id in (ABC, XYZ):
        market, state = exchange.engine.market(security_id), exchange.engine.trading_state(security_id)
        market.book.check_invariants(matching=state is State.OPEN)
        resting = sum(
            order.leaves
            for order in exchange.engine.floor.orders.values()
            if order.security_id == security_id
        )
        assert market.entered == resting + market.executed + market.cancelled
        check_announced(exchange, security_id)
        in_auction = state in (State.RESERVED, State.FINAL_CLOSING_CALL)
        assert (surveillance.auctions.get(security_id) is not None) is in_auction


def check_announced(exchange: Exchange, security_id: int) -> None:
    """What was told is what the orders say, one by one."""
    running, market = (
        exchange.desk.surveillance.auctions.get(security_id),
        exchange.engine.market(security_id),
    )
    if running is not None:
        told, expected = (
            running.theoretical,
            slow_theoretical_of(exchange.engine, market, market.reference_price),
        )
        assert (told and (told.price, told.quantity, told.surplus)) == expected


def check_order_of(event: Event) -> None:
    """The state first, then trades, then the book, then the auction's figures, then statistics."""
    ranks = {StateChanged: 0, PhaseChanged: 0, ExecutionSummary: 1, Trade: 3, OrderUpdate: 4}
    ranks |= {TheoreticalPrice: 5, Imbalance: 5}
    prevented = any(isinstance(each, ExecutionSummary) and each.cancelled_size for each in event.updates)
    found = [ranks.get(type(each), 6) for each in event.updates]
    if not prevented:
        assert found == sorted(found)
    if found[0] == 0:
        assert not any(isinstance(each, ExecutionSummary) for each in event.updates)
