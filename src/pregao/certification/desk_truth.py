"""What the exchange itself says while the script is played: books at each depth, states, the index, and which
channels tell of them. Never the feed handler's: that may be what is judged."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pregao.certification.scenario import Box
from pregao.certification.served import ServedExchange
from pregao.certification.taps import FIRST_OF_INSTRUMENTS, SESSION_CHANNEL
from pregao.exchange.book import BookSide
from pregao.exchange.market import InstrumentMarket
from pregao.model.market import Side
from pregao.simulator.live.market import LiveMarket

LEVELS: Final = 5


class BookRow(NamedTuple):
    """A row of a book at some depth; by order, `orders` is 1."""

    price: int | None
    size: int
    orders: int


class BookRows(NamedTuple):
    bids: tuple[BookRow, ...] = ()
    offers: tuple[BookRow, ...] = ()

    def side(self, side: Side) -> tuple[BookRow, ...]:
        return self.bids if side is Side.BUY else self.offers


class TrueState(NamedTuple):
    """`state` None: it follows its group."""

    phase: int
    state: int | None
    session: int


class DeskTruth:
    """The half of a desk that only looks. `about`: whom orders and states are for."""

    market: LiveMarket
    served: ServedExchange | None
    instrument: int
    neighbour: int
    legs: tuple[int, int]
    about: int

    def market_of(self, security_id: int) -> InstrumentMarket:
        return self.market.engine.floor.markets[security_id]

    def channels(self, security_id: int) -> tuple[int, ...]:
        """Those of its orders, its levels and its best level; one, where there are orders only."""
        if self.served is not None:
            return (SESSION_CHANNEL,)
        return self.market.routing.channels_of(self.market_of(security_id).instrument)

    def script_channels(self) -> tuple[int, ...]:
        """Those of the instrument and its options, and those of no instrument: indices, news."""
        if self.served is not None:
            return (SESSION_CHANNEL,)
        others = [each for each in self.market.routing.channels if each < FIRST_OF_INSTRUMENTS]
        return *self.channels(self.instrument), *self.channels(self.legs[0]), *others

    def book(self, security_id: int, box: Box) -> BookRows:
        book = self.market_of(security_id).book
        return BookRows(*(tuple(_rows(side, box)) for side in (book.buys, book.sells)))

    def state(self, security_id: int) -> TrueState:
        phases = self.market.desk.surveillance.phases
        status, own = phases.status(phases.group_of(security_id)), phases.own(security_id)
        return TrueState(int(status.phase), None if own is None else int(own.state), int(status.session))

    def index(self) -> tuple[int, int]:
        """Whose members the script trades: its id and value, in ten-thousandths."""
        (index,), (state,) = self.market.catalogue.indices, self.market.desk.indices.states
        return index.security_id, state.value

    def group(self, security_id: int) -> str:
        return self.market_of(security_id).instrument.group


def _rows(side: BookSide, box: Box) -> Iterator[BookRow]:
    if box in (Box.MBO, Box.STEP):
        for order in side.orders:
            yield BookRow(order.price, order.shown, 1)
        return
    for place, level in enumerate(side.levels()):
        if place < (1 if box is Box.TOB else LEVELS):
            yield BookRow(*level)
