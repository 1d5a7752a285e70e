"""A small exchange for the tests of phases and auctions: a few instruments, an engine, a desk."""

from dataclasses import replace

from pregao.exchange import control
from pregao.exchange.catalogues.rules import (
    AuctionTemplate,
    BandRule,
    Catalogue,
    ListedInstrument,
    TradingGroup,
)
from pregao.exchange.commands import CancelOrder, ChangeOrder, NewOrder
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Command, CommandOutcome, Engine
from pregao.exchange.orders import OrderType
from pregao.model.events import Event, Update
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import Phase, Side

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
DATE = 20_000
EXCHANGE = "BVMF"
TEMPLATE = AuctionTemplate("test", 300 * SECOND, 30 * SECOND, 3, 60 * SECOND, 0)
DOL, WDO, ABC, XYZ = 1, 2, 3, 4
_SYMBOLS = {DOL: "DOLF24", WDO: "WDOF24", ABC: "ABCD3", XYZ: "XYZW3"}
_GROUPS = {DOL: "D0", WDO: "W0", ABC: "01", XYZ: "01"}


def clock(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    return int((int(hours) * 3600 + int(minutes) * 60) * SECOND + float(seconds) * SECOND)


def listing(
    security_id: int, template: AuctionTemplate = TEMPLATE, *bands: BandRule, liquid: bool = True
) -> ListedInstrument:
    future = security_id in (DOL, WDO)
    instrument = Instrument(
        security_id,
        _SYMBOLS[security_id],
        72 if future else 84,
        _GROUPS[security_id],
        _SYMBOLS[security_id][:3],
        SecurityType.FUT if future else SecurityType.CS,
        Product.CURRENCY if future else Product.EQUITY,
        tick=100,
        lot=1 if future else 100,
        closing_price=10_0000 * 10_000,
    )
    figures = {"settlement": 10_0000, "open_interest": 500} if future else {}
    return ListedInstrument(
        instrument, template, bands, 10.0 - security_id, 0.02, liquid=liquid,
        largest_order=None if future else 100_000, **figures,
    )  # fmt: skip


def catalogue(*listings: ListedInstrument, pairs: tuple[tuple[int, int], ...] = ((DOL, WDO),)) -> Catalogue:
    entries = listings or tuple(listing(each) for each in _SYMBOLS)
    codes = dict.fromkeys((each.instrument.group, each.instrument.channel) for each in entries)
    groups = tuple(
        TradingGroup(
            code, EXCHANGE, channel, 1, "derivatives" if channel == 72 else "equities", TEMPLATE, "test"
        )
        for code, channel in codes
    )
    return Catalogue(entries, groups, pairs, ())


class Exchange:
    """Submits commands and lets time pass as a driver would; remembers every event."""

    def __init__(
        self, entries: Catalogue | None = None, *, seed: int = 0, forbidden: tuple[int, ...] = ()
    ) -> None:
        self.catalogue = entries or catalogue()
        self.engine = Engine(self.catalogue.instruments, trade_date=DATE)
        self.desk = Desk(self.engine, self.catalogue, DATE, seed=seed, forbidden=forbidden)
        self.events: list[Event] = []
        self.now_ns = 0

    def submit(self, command: Command) -> CommandOutcome:
        assert command.now_ns >= self.now_ns
        self.now_ns = command.now_ns
        outcome = self.engine.submit(command)
        self.events += outcome.events
        return outcome

    def do(self, command: Command) -> list[tuple[Update, ...]]:
        """The updates of each event of a command that must not be refused."""
        outcome = self.submit(command)
        assert outcome.rejection is None, outcome.rejection
        return [event.updates for event in outcome.events]

    def run_to(self, now_ns: int) -> list[tuple[Update, ...]]:
        """Every timeout up to and at this time."""
        told: list[tuple[Update, ...]] = []
        while (at_ns := self.desk.next_timeout()) is not None and at_ns <= now_ns:
            told += self.do(control.PassTime(at_ns))
        self.now_ns = now_ns
        return told

    def phase(
        self, at: str, phase: Phase, *groups: str, ends: str | None = None, expires: bool = False
    ) -> list[tuple[Update, ...]]:
        told: list[tuple[Update, ...]] = []
        for group in groups:
            ends_ns = None if ends is None else clock(ends)
            told += self.do(control.ChangePhase(clock(at), group, EXCHANGE, phase, ends_ns, expires))
        return told

    def open_all(self, at: str = "10:00:00") -> None:
        self.phase(at, Phase.OPEN, *dict.fromkeys(group.code for group in self.catalogue.groups))

    def order(
        self, at: str, security_id: int, side: Side, quantity: int, price: int | None, **rest: object
    ) -> CommandOutcome:
        kind = OrderType.LIMIT if price is not None else OrderType.MARKET_ON_AUCTION
        order = NewOrder(clock(at), security_id, side, quantity, price, type=kind)
        return self.submit(replace(order, **rest))  # type: ignore[arg-type]

    def buy(
        self, at: str, security_id: int, quantity: int, price: int | None, **rest: object
    ) -> CommandOutcome:
        return self.order(at, security_id, Side.BUY, quantity, price, **rest)

    def sell(
        self, at: str, security_id: int, quantity: int, price: int | None, **rest: object
    ) -> CommandOutcome:
        return self.order(at, security_id, Side.SELL, quantity, price, **rest)

    def cancel(self, at: str, order_id: int) -> CommandOutcome:
        return self.submit(CancelOrder(clock(at), order_id))

    def change(self, at: str, order_id: int, **rest: int) -> CommandOutcome:
        return self.submit(ChangeOrder(clock(at), order_id, **rest))
