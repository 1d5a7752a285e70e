"""Random days: orders in every state, phases, auctions, halts, sessions, pairs, implied orders and the list
of instruments; everything is checked after every command."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.exchange.catalogues.rules import BandRule, Catalogue, ListedInstrument, TradingGroup
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Command, CommandOutcome, Engine
from pregao.exchange.orders import OrderType, SelfTrade, TimeInForce
from pregao.exchange.phases import AUCTION_STATES
from pregao.model.instruments import Instrument, Leg, Product, SecurityType
from pregao.model.market import BandType, LimitType, Midpoint, Phase, Session, Side, State
from tests.twins.plain_auction import slow_theoretical_of
from tests.unit.exchange.desk_kit import DATE, EXCHANGE, SECOND, TEMPLATE
from tests.unit.exchange.machine_checks import Checks, check_midpoint

A, B, STRATEGY, P, Q, NEW = 1, 2, 3, 4, 5, 20
GROUPS = {A: "01", B: "01", STRATEGY: "02", P: "03", Q: "04"}
# Two ticks around the last price: less than prices are apart.
BAND = BandRule(BandType.AUCTION, LimitType.PERCENTAGE, -2_500, 2_500, Midpoint.LAST_TRADE)
MIDDLE = 10_0000
KINDS = (*[OrderType.LIMIT] * 6, OrderType.MARKET_ON_AUCTION, OrderType.MARKET_ON_CLOSE)
groups = st.sampled_from(("01", "01", "02", "03", "04"))
picks = st.integers(0, 10_000)
sides = st.sampled_from(Side)
offsets = st.integers(-4, 4)
quantities = st.integers(1, 9)


def listing(security_id: int) -> ListedInstrument:
    legs = (Leg(A, "S1", Side.BUY), Leg(B, "S2", Side.SELL, 2)) if security_id == STRATEGY else ()
    instrument = Instrument(
        security_id, f"S{security_id}", 72, GROUPS[security_id], "S",
        SecurityType.MLEG if legs else SecurityType.FUT, Product.CURRENCY, tick=100, lot=1, implied=True,
        closing_price=-MIDDLE * 10_000 if legs else MIDDLE * 10_000, legs=legs,
    )  # fmt: skip
    bands = (BAND,) if security_id in (A, P) else ()
    return ListedInstrument(instrument, TEMPLATE, bands, 1.0, 0.02, liquid=security_id != B)


def catalogue() -> Catalogue:
    codes = dict.fromkeys(GROUPS.values())
    return Catalogue(
        tuple(listing(each) for each in GROUPS),
        tuple(TradingGroup(code, EXCHANGE, 72, 1, "derivatives", TEMPLATE, "test") for code in codes),
        ((P, Q),),
        (),
    )


class SessionMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        entries = catalogue()
        self.engine = Engine(entries.instruments, trade_date=DATE)
        self.desk = Desk(self.engine, entries, DATE, seed=3)
        self.checks = Checks(self.engine, bands=self.desk.surveillance.bands)
        self.now_ns = 10 * 3600 * SECOND
        for group in entries.groups:
            self.done(control.ChangePhase(self.now_ns, *group.key, Phase.OPEN))

    def submit(self, command: Command) -> CommandOutcome:
        before = self.checks.fingerprint()
        outcome = self.engine.submit(command)
        self.checks.after(outcome, before)
        return outcome

    def done(self, command: Command) -> None:
        assert self.submit(command).rejection is None

    def pass_time(self, nanoseconds: int) -> int:
        """Every timeout on the way; the exchange's own clock is never refused."""
        until_ns = self.now_ns + nanoseconds
        while (at_ns := self.desk.next_timeout()) is not None and at_ns <= until_ns:
            self.done(control.PassTime(max(at_ns, self.now_ns)))
            self.checks.always()
        self.now_ns = until_ns
        return until_ns

    def pick(self, pick: int) -> int:
        """One of those that make implied orders, mostly."""
        ids = [A, B, STRATEGY, A, B, STRATEGY, *self.engine.floor.markets, 99]
        return ids[pick % len(ids)]

    def price(self, security_id: int, offset: int) -> int:
        market = self.engine.floor.markets.get(security_id)
        legs = () if market is None else market.instrument.legs
        value = sum(leg.ratio if leg.side is Side.BUY else -leg.ratio for leg in legs) if legs else 1
        return value * MIDDLE + offset * 100

    @rule(
        pick=picks, side=sides, quantity=quantities, offset=offsets, firm=st.integers(1, 3),
        kind=st.sampled_from(KINDS),
        tif=st.sampled_from((*[TimeInForce.DAY] * 4, *TimeInForce)), stp=st.sampled_from(SelfTrade),
        investor=st.sampled_from((None, None, 7)), floor=st.sampled_from((None, None, None, 1)),
    )  # fmt: skip
    def order(self, pick, side, quantity, offset, firm, kind, tif, stp, investor, floor) -> None:  # type: ignore[no-untyped-def]
        security_id, limited = self.pick(pick), kind is OrderType.LIMIT
        date = self.desk_date() + 1 if tif is TimeInForce.GTD else None
        command = c.NewOrder(
            self.pass_time(SECOND), security_id, side, quantity,
            self.price(security_id, offset) if limited else None, firm, kind, tif,
            max_floor=floor if limited else None, investor_id=investor, stp=stp, expire_date=date,
        )  # fmt: skip
        self.submit(command)

    @rule(
        rows=st.lists(
            st.tuples(st.sampled_from((A, A, B, B, STRATEGY, P, Q)), sides, quantities, st.integers(0, 3)),
            max_size=8,
        )
    )
    def quotes(self, rows: list[tuple[int, Side, int, int]]) -> None:
        """Books should be deep, and sometimes meet."""
        now_ns = self.pass_time(SECOND)
        for security_id, side, quantity, ticks in rows:
            price = self.price(security_id, -ticks if side is Side.BUY else ticks)
            self.submit(c.NewOrder(now_ns, security_id, side, quantity, price, quantity % 3 + 1))

    @rule(
        security_id=st.sampled_from((A, P)), side=sides,
        steps=st.lists(st.integers(1, 3), min_size=2, max_size=4),
        tif=st.sampled_from((TimeInForce.DAY, TimeInForce.IOC, TimeInForce.FOK)),
    )  # fmt: skip
    def stairs(self, security_id: int, side: Side, steps: list[int], tif: TimeInForce) -> None:
        """Levels some ticks apart, and one order that would climb them all."""
        now_ns, ticks = self.pass_time(SECOND), 0
        for step in steps:
            ticks += step if side is Side.BUY else -step
            price = self.price(security_id, ticks)
            self.submit(c.NewOrder(now_ns, security_id, side.opposite, 1, price, 2))
        self.submit(c.NewOrder(now_ns, security_id, side, 9, self.price(security_id, ticks), 1, tif=tif))

    @rule(
        group=groups, rows=st.lists(st.tuples(st.booleans(), sides, quantities, offsets), max_size=6),
        phase=st.sampled_from((Phase.PRE_OPEN, Phase.FINAL_CLOSING_CALL)),
        seconds=st.sampled_from((1, 80, 200)),
    )  # fmt: skip
    def group_auction(self, group, rows, phase, seconds) -> None:  # type: ignore[no-untyped-def]
        """A group's auction with orders on both sides; its end is left to another rule, or comes now."""
        now_ns = self.pass_time(SECOND)
        self.submit(control.ChangePhase(now_ns, group, EXCHANGE, phase, now_ns + 100 * SECOND))
        members = self.desk.surveillance.phases.members((group, EXCHANGE))
        for first, side, quantity, offset in rows if members else ():
            security_id = members[0 if first else -1]
            price = self.price(security_id, offset) if quantity < 9 else None
            kind = OrderType.LIMIT if price is not None else OrderType.MARKET_ON_AUCTION
            self.submit(c.NewOrder(self.now_ns, security_id, side, quantity, price, 1, kind))
        if self.pass_time(seconds * SECOND) and seconds > 1:
            self.submit(control.ChangePhase(self.now_ns, group, EXCHANGE, Phase.OPEN))

    def desk_date(self) -> int:
        return self.desk.surveillance.phases.status(("01", EXCHANGE)).trade_date

    @rule(pick=picks, side=sides, quantity=quantities, offset=offsets)
    def stop(self, pick: int, side: Side, quantity: int, offset: int) -> None:
        security_id = self.pick(pick)
        self.submit(
            c.NewOrder(
                self.pass_time(SECOND), security_id, side, quantity, type=OrderType.STOP,
                stop_price=self.price(security_id, offset),
            )
        )  # fmt: skip

    @rule(pick=picks, quantity=st.none() | quantities, offset=st.none() | offsets, cancels=st.booleans())
    def change(self, pick: int, quantity: int | None, offset: int | None, cancels: bool) -> None:
        live, now_ns = [*self.engine.floor.orders.values()], self.pass_time(SECOND)
        if not live:
            return
        order = live[pick % len(live)]
        price = None if offset is None or order.price is None else self.price(order.security_id, offset)
        if cancels:
            self.submit(c.CancelOrder(now_ns, order.order_id))
        else:
            self.submit(c.ChangeOrder(now_ns, order.order_id, quantity, price))

    @rule(pick=picks, quantity=quantities, offset=offsets, side=sides)
    def sweep(self, pick: int, quantity: int, offset: int, side: Side) -> None:
        security_id = self.pick(pick)
        price = self.price(security_id, offset)
        self.submit(c.SweepAndCross(self.pass_time(SECOND), security_id, side, quantity, price, 1))

    @rule(pick=picks, quantity=quantities, offset=offsets, kind=st.sampled_from(c.BlockKind))
    def block(self, pick: int, quantity: int, offset: int, kind: c.BlockKind) -> None:
        security_id = self.pick(pick)
        price = None if kind is c.BlockKind.MIDPOINT else self.price(security_id, offset)
        market = self.engine.floor.markets.get(security_id)
        now_ns = self.pass_time(SECOND)
        best = (None, None) if market is None else (
            market.book.buys.best_price, market.book.sells.best_price
        )  # fmt: skip
        outcome = self.submit(c.BlockTrade(now_ns, security_id, kind, quantity, 1, 2, price))
        if kind is c.BlockKind.MIDPOINT:
            check_midpoint(outcome, *best)

    @rule(
        pick=picks, quantity=quantities, kind=st.sampled_from((c.TacTrade, c.TaaTrade)), closes=st.booleans()
    )  # fmt: skip
    def agree(self, pick: int, quantity: int, kind: type[c.TacTrade | c.TaaTrade], closes: bool) -> None:
        """Nothing is told of it before the closing price is."""
        security_id, now_ns = self.pick(pick), self.pass_time(SECOND)
        assert self.submit(kind(now_ns, security_id, quantity, 1, 2)).events == ()
        if closes:
            self.submit(control.PublishClosing(now_ns, security_id))

    @rule(seconds=st.sampled_from((1, 10, 60, 400)))
    def wait(self, seconds: int) -> None:
        self.pass_time(seconds * SECOND)

    @rule(group=groups, phase=st.sampled_from((Phase.OPEN, Phase.OPEN, *Phase)), expires=st.booleans())
    def phase(self, group: str, phase: Phase, expires: bool) -> None:
        now_ns = self.pass_time(SECOND)
        ends_ns = now_ns + 100 * SECOND
        at_the_end = expires and phase is Phase.CLOSE
        self.submit(control.ChangePhase(now_ns, group, EXCHANGE, phase, ends_ns, at_the_end))

    @rule(days=st.integers(-1, 3), session=st.sampled_from(Session), really=st.integers(0, 2))
    def session(self, days: int, session: Session, really: int) -> None:
        """All groups close and start anew; a date in the past is refused."""
        if really:
            return
        now_ns, date = self.pass_time(SECOND), self.desk_date() + days
        for group in ("01", "02", "03", "04"):
            self.submit(control.ChangePhase(now_ns, group, EXCHANGE, Phase.CLOSE, expires=days > 0))
            refused = self.submit(control.ChangeSession(now_ns, group, EXCHANGE, session, date)).rejection
            assert (refused is not None) is (days < 0)
            self.submit(control.ChangePhase(now_ns, group, EXCHANGE, Phase.OPEN))

    @rule(pick=picks, state=st.sampled_from(State), really=st.integers(0, 2))
    def state(self, pick: int, state: State, really: int) -> None:
        if not really:
            self.submit(control.ChangeState(self.pass_time(SECOND), self.pick(pick), state))

    @rule(pick=picks, kind=st.sampled_from((control.RejoinGroup, control.StartAuction, control.EndAuction)))
    def leave_or_join(self, pick, kind) -> None:  # type: ignore[no-untyped-def]
        self.submit(kind(self.pass_time(SECOND), self.pick(pick)))

    @rule(pick=picks, seconds=st.integers(0, 90), width=st.sampled_from((None, 1, 2_000, 100_000)))
    def extend_or_band(self, pick: int, seconds: int, width: int | None) -> None:
        if width is None:
            by_ns = seconds * SECOND
            self.submit(control.ExtendAuction(self.pass_time(SECOND), self.pick(pick), by_ns))
            return
        rule = BandRule(BandType.AUCTION, LimitType.PERCENTAGE, -width, width, Midpoint.LAST_TRADE)
        self.submit(control.SetBand(self.pass_time(SECOND), self.pick(pick), rule))

    @rule(number=st.integers(0, 2), like=picks, legs=st.booleans(), implied=st.booleans())
    def add(self, number: int, like: int, legs: bool, implied: bool) -> None:
        parts = (control.StrategyLeg(B, Side.BUY), control.StrategyLeg(A, Side.SELL)) if legs else None
        self.submit(
            control.AddInstrument(
                self.pass_time(SECOND), NEW + number, f"N{like % 3}", self.pick(like), legs=parts,
                implied=implied,
            )
        )  # fmt: skip

    @rule(
        pick=picks, lot=st.sampled_from((None, 1, 2)), name=st.sampled_from((None, "N0", "N1", "S1")),
        deletes=st.booleans(),
    )  # fmt: skip
    def modify_or_delete(self, pick: int, lot: int | None, name: str | None, deletes: bool) -> None:
        now_ns = self.pass_time(SECOND)
        if deletes:
            ids = [*self.engine.floor.markets, 99]
            self.submit(control.DeleteInstrument(now_ns, ids[pick % len(ids)]))
        else:
            self.submit(control.ChangeInstrument(now_ns, self.pick(pick), lot=lot, symbol=name))

    @rule(pick=picks, past=st.booleans())
    def bust(self, pick: int, past: bool) -> None:
        trades = [*self.checks.past.values()] if past else [
            trade for trades in self.checks.trades.values() for trade in trades.values()
        ]  # fmt: skip
        if trades:
            trade = trades[pick % len(trades)]
            self.submit(
                c.BustTrade(self.pass_time(SECOND), trade.security_id, trade.trade_id, trade.trade_date)
            )

    @invariant()
    def everything_holds(self) -> None:
        if not hasattr(self, "checks"):
            return
        self.checks.always()
        for security_id in self.engine.floor.markets:
            self._check_auction(security_id)
        self._check_list()

    def _check_auction(self, security_id: int) -> None:
        """It runs while the state says so, and what was told of it is what the orders say (13.9.2)."""
        running = self.desk.surveillance.auctions.get(security_id)
        assert (running is not None) is (self.engine.trading_state(security_id) in AUCTION_STATES)
        if running is not None:
            market = self.engine.market(security_id)
            told = running.theoretical
            found = slow_theoretical_of(self.engine, market, market.reference_price)
            assert (told and (told.price, told.quantity, told.surplus)) == found

    def _check_list(self) -> None:
        markets = self.engine.floor.markets
        named = {market.instrument.symbol: security_id for security_id, market in markets.items()}
        assert self.desk.listings.by_symbol == named
        assert set(self.desk.surveillance.listings) == set(markets)
        assert {order.security_id for order in self.engine.floor.orders.values()} <= set(markets)
        assert set(self.engine.implieds.by_security) <= set(markets)


TestSessions = SessionMachine.TestCase
TestSessions.settings = settings(
    max_examples=60, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_a_strategy_implies_again_when_the_lot_of_its_leg_fits_again() -> None:
    machine = SessionMachine()
    machine.open()
    machine.quotes([(B, Side.BUY, 2, 0)])
    for lot in (2, 1):
        machine.modify_or_delete(pick=0, lot=lot, name=None, deletes=False)
    machine.quotes([(A, Side.SELL, 1, 0)])
    machine.everything_holds()
    assert [order.shown for order in machine.engine.market(STRATEGY).book] == [1]


def test_a_bust_during_an_auction_moves_the_theoretical_price_with_the_last_one() -> None:
    """Between equal prices the one nearest to the last trade counts: 9.98, and 10.00 without that trade."""
    machine = SessionMachine()
    machine.open()
    for ticks in (0, -2):
        for side in Side:
            price = machine.price(P, ticks)
            machine.submit(c.NewOrder(machine.pass_time(SECOND), P, side, 1, price, 1))
    auction = [(True, Side.BUY, 2, 0), (True, Side.SELL, 2, -3)]
    machine.group_auction(group="03", rows=auction, phase=Phase.PRE_OPEN, seconds=1)
    running = machine.desk.surveillance.auctions.get(P)
    assert running is not None
    assert running.theoretical is not None
    assert running.theoretical.price == 9_9800
    last = max(machine.engine.market(P).statistics.trades)
    machine.done(c.BustTrade(machine.pass_time(SECOND), P, last, DATE))
    machine.everything_holds()
    assert running.theoretical.price == 10_0000
