"""A market of bonds for tests: fixings, and a reader of its events that shares no code with it."""

from datetime import date
from typing import Any

from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.catalogue import load_default_bonds
from pregao.exchange.bonds.market import BondMarket, BondOutcome
from pregao.model.events import Event
from pregao.model.market import Action, Side
from pregao.model.updates import OrderUpdate

DAY = date(2026, 11, 16)
NOW = 1_794_825_000_000_000_000
CATALOGUE = load_default_bonds()
FIXINGS = CATALOGUE.fixings(DAY)
LTN, NTNB, DEB, CRI, LFT = (
    next(bond.instrument.security_id for bond in CATALOGUE if bond.instrument.symbol == symbol)
    for symbol in ("LTN010130", "NTNB150830", "RODV13", "CRI26A001", "LFT010327")
)
CASADA = next(bond.instrument.security_id for bond in CATALOGUE if bond.instrument.symbol == "CLTN010130")
FUTURE = 200003001  # DI1F30
PERCENT = 10**8


def market(rate_order: RateOrder = RateOrder.MARKET) -> BondMarket:
    made = BondMarket(CATALOGUE, FIXINGS, rate_order=rate_order)
    made.open_day(NOW)
    return made


def updates(outcome: BondOutcome) -> list[Any]:
    assert outcome.rejection is None, outcome.rejection
    return [update for event in outcome.events for update in event.updates]


class BookReader:
    """Books by positions alone, as a listener of 290 keeps them."""

    def __init__(self) -> None:
        self.sides: dict[tuple[int, Side], list[tuple[int, int, int]]] = {}

    def read(self, events: tuple[Event, ...]) -> None:
        for event in events:
            for update in event.updates:
                if isinstance(update, OrderUpdate):
                    self._apply(update)

    def _apply(self, update: OrderUpdate) -> None:
        side = self.sides.setdefault((update.security_id, update.side), [])
        place, entry = update.position - 1, (update.order_id, update.price or 0, update.size)
        if update.action is Action.NEW:
            side.insert(place, entry)
        elif update.action is Action.CHANGE:
            assert side[place][0] == update.order_id
            side[place] = entry
        else:
            assert side.pop(place)[0] == update.order_id
