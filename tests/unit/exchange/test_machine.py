"""Random commands on a few instruments, with a spread of two of them; everything is checked after
every command against what was published and nothing else."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pregao.exchange import commands as c
from pregao.exchange.engine import CommandOutcome
from pregao.exchange.orders import OrderType, SelfTrade, TimeInForce
from pregao.model.instruments import SecurityType
from pregao.model.market import Side
from tests.unit.exchange.desk import SPREAD, TERMO, A, B, Desk, spread, stock
from tests.unit.exchange.machine_checks import Checks, check_midpoint, check_retail_fills

CLOSING = 20 * 100_000_000
sides = st.sampled_from(Side)
quantities = st.integers(1, 12)
firms = st.integers(1, 3)
outrights = st.sampled_from((A, B))
securities = st.sampled_from((A, B, SPREAD))
offsets = st.integers(-4, 4)
investors = st.sampled_from((None, None, 7, 8))
picks = st.integers(0, 10_000)


class ExchangeMachine(RuleBasedStateMachine):
    partial = "change"

    @initialize()
    def open(self) -> None:
        termo = stock(TERMO, security_type=SecurityType.FORWARD)
        self.desk = Desk(
            stock(A, closing_price=CLOSING), stock(B), spread(), termo, implied_partial=self.partial
        )
        self.checks = Checks(self.desk.engine, {A: CLOSING})
        self.entered: list[int] = []

    def price(self, security_id: int, offset: int) -> int:
        return (0 if security_id == SPREAD else 200_000) + offset * 100

    def submit(self, command: object) -> CommandOutcome:
        before = self.checks.fingerprint()
        outcome = self.desk.submit(command)
        self.checks.after(outcome, before)
        return outcome

    @rule(security_id=securities, side=sides, quantity=quantities, offset=st.integers(1, 4), firm=firms)
    def quote(self, security_id, side, quantity, offset, firm) -> None:  # type: ignore[no-untyped-def]
        """An order away from the middle: books should be deep."""
        price = self.price(security_id, -offset if side is Side.BUY else offset)
        command = c.NewOrder(self.desk.tick(), security_id, side, quantity, price, firm, investor_id=firm + 5)
        self.entered += self.submit(command).order_ids

    @rule(
        security_id=securities,
        side=sides,
        quantity=quantities,
        offset=offsets,
        firm=firms,
        investor=investors,
        stp=st.sampled_from(SelfTrade),
        tif=st.sampled_from((*[TimeInForce.DAY] * 4, *TimeInForce)),
        floor=st.sampled_from((None, None, None, 1, 3)),
        minimum=st.sampled_from((None, None, None, None, 3)),
    )
    def limit(self, security_id, side, quantity, offset, firm, investor, stp, tif, floor, minimum) -> None:  # type: ignore[no-untyped-def]
        price = self.price(security_id, offset)
        date = 20_001 if tif is TimeInForce.GTD else None
        command = c.NewOrder(
            self.desk.tick(), security_id, side, quantity, price, firm, OrderType.LIMIT, tif, None, floor,
            minimum, investor, stp, date,
        )  # fmt: skip
        self.entered += self.submit(command).order_ids

    @rule(security_id=securities, side=sides, quantity=quantities, firm=firms, investor=investors)
    def market(self, security_id, side, quantity, firm, investor) -> None:  # type: ignore[no-untyped-def]
        now = self.desk.tick()
        self.submit(
            c.NewOrder(
                now, security_id, side, quantity, None, firm, OrderType.MARKET, TimeInForce.IOC,
                investor_id=investor,
            )
        )  # fmt: skip

    @rule(
        security_id=securities, side=sides, quantity=quantities, offset=offsets, limit=offsets, firm=firms,
        limited=st.booleans(), investor=investors, stp=st.sampled_from(SelfTrade),
    )  # fmt: skip
    def stop(self, security_id, side, quantity, offset, limit, firm, limited, investor, stp) -> None:  # type: ignore[no-untyped-def]
        outcome = self.submit(
            c.NewOrder(
                self.desk.tick(), security_id, side, quantity,
                self.price(security_id, limit) if limited else None, firm,
                OrderType.STOP_LIMIT if limited else OrderType.STOP,
                stop_price=self.price(security_id, offset), investor_id=investor, stp=stp,
            )
        )  # fmt: skip
        assert not outcome.events
        self.entered += outcome.order_ids

    @rule(
        pick=picks, quantity=st.none() | quantities, offset=st.none() | offsets,
        floor=st.sampled_from((None, None, 2)), stop=st.none() | offsets,
    )  # fmt: skip
    def change(self, pick, quantity, offset, floor, stop) -> None:  # type: ignore[no-untyped-def]
        live = [*self.desk.engine.floor.orders.values()]
        if live:
            order = live[pick % len(live)]
            price = None if offset is None else self.price(order.security_id, offset)
            if order.stop_price is None:
                stop = None
            stop_price = None if stop is None else self.price(order.security_id, stop)
            floor = None if order.max_floor is None else floor
            self.submit(c.ChangeOrder(self.desk.tick(), order.order_id, quantity, price, stop_price, floor))

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        if self.entered:
            self.submit(c.CancelOrder(self.desk.tick(), self.entered[pick % len(self.entered)]))

    @rule(firm=firms, side=st.none() | sides, really=st.integers(0, 4))
    def mass_cancel(self, firm: int, side: Side | None, really: int) -> None:
        if really:
            return
        assert len(self.submit(c.MassCancel(self.desk.tick(), firm, None, side)).events) <= 1 + 2

    @rule(security_id=securities, side=sides, really=st.integers(0, 4))
    def cancel_side(self, security_id: int, side: Side, really: int) -> None:
        if really:
            return
        self.submit(c.CancelSide(self.desk.tick(), security_id, side))

    @rule(security_id=securities, quantity=quantities, offset=offsets)
    def cross(self, security_id: int, quantity: int, offset: int) -> None:
        price = self.price(security_id, offset)
        self.submit(c.CrossOrder(self.desk.tick(), security_id, quantity, price, 1, 2))

    @rule(security_id=securities, side=sides, quantity=quantities, offset=offsets, investor=investors)
    def sweep(self, security_id, side, quantity, offset, investor) -> None:  # type: ignore[no-untyped-def]
        price = self.price(security_id, offset)
        self.submit(c.SweepAndCross(self.desk.tick(), security_id, side, quantity, price, 1, investor))

    @rule(security_id=outrights, side=sides, quantity=quantities, offset=offsets)
    def rlp(self, security_id: int, side: Side, quantity: int, offset: int) -> None:
        now, price = self.desk.tick(), self.price(security_id, offset)
        outcome = self.submit(c.RlpOrder(now, security_id, side, quantity, price, 1))
        assert not outcome.events
        self.entered += outcome.order_ids

    @rule(
        rows=st.lists(st.tuples(quantities, offsets), min_size=1, max_size=3), quantity=quantities,
        side=sides, security_id=outrights, offset=offsets, tif=st.sampled_from(TimeInForce),
        firm=st.integers(1, 2),
    )  # fmt: skip
    def retail(self, rows, quantity, side, security_id, offset, tif, firm) -> None:  # type: ignore[no-untyped-def]
        """Its firm's RLP orders first, so that it meets them and the book."""
        for size, away in rows:
            self.rlp(security_id, side.opposite, size, away)
        own_best = self.desk.engine.market(security_id).book.side(side).best_price
        outcome = self.submit(
            c.NewOrder(
                self.desk.tick(), security_id, side, quantity, self.price(security_id, offset), firm, tif=tif,
                expire_date=30_000 if tif is TimeInForce.GTD else None, retail=True,
            )
        )  # fmt: skip
        self.entered += outcome.order_ids
        check_retail_fills(outcome, side, firm, own_best)

    @rule(
        kind=st.sampled_from((c.TacTrade, c.TaaTrade, c.TradeOnBehalf, c.ManualTrade, *c.BlockKind)),
        security_id=outrights, quantity=quantities, offset=offsets,
    )  # fmt: skip
    def agreed(self, kind, security_id, quantity, offset) -> None:  # type: ignore[no-untyped-def]
        now, price = self.desk.tick(), self.price(security_id, offset)
        if kind is c.BlockKind.MIDPOINT:
            book = self.desk.engine.market(security_id).book
            before = book.buys.best_price, book.sells.best_price
            check_midpoint(self.submit(c.BlockTrade(now, security_id, kind, quantity, 1, 2)), *before)
        elif isinstance(kind, c.BlockKind):
            self.submit(c.BlockTrade(now, security_id, kind, quantity, 1, 2, price))
        elif kind in (c.TacTrade, c.TaaTrade):
            assert self.submit(kind(now, security_id, quantity, 1, 2)).events == ()
        else:
            self.submit(kind(now, security_id, quantity, price, 1, 2))

    @rule(quantity=quantities, offset=offsets, cash=st.booleans())
    def termo(self, quantity: int, offset: int, cash: bool) -> None:
        price = self.price(TERMO, offset)
        extra = {"cash_security_id": A, "cash_price": price} if cash else {}
        self.submit(c.ForwardTrade(self.desk.tick(), TERMO, quantity, price, 1, 2, 30, 125, **extra))

    @rule(security_id=securities, pick=picks)
    def bust(self, security_id: int, pick: int) -> None:
        ids = [*self.checks.trades[security_id], 99]
        self.submit(c.BustTrade(self.desk.tick(), security_id, ids[pick % len(ids)]))

    @rule(security_id=securities, pick=picks, quantity=quantities, offset=st.none() | offsets)
    def amend(self, security_id: int, pick: int, quantity: int, offset: int | None) -> None:
        ids = [*self.checks.trades[security_id], 99]
        price = None if offset is None else self.price(security_id, offset)
        self.submit(c.AmendTrade(self.desk.tick(), security_id, ids[pick % len(ids)], quantity, price))

    @invariant()
    def everything_holds(self) -> None:
        if hasattr(self, "checks"):
            self.checks.always()


class RestatingMachine(ExchangeMachine):
    partial = "restate"


quick = settings(
    max_examples=60, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestExchange = ExchangeMachine.TestCase
TestExchange.settings = quick
TestRestating = RestatingMachine.TestCase
TestRestating.settings = settings(quick, max_examples=20)
