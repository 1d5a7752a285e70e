"""What a catalogue holds beside the instruments themselves: the rules under which they trade.

Prices are ten-thousandths. A band sent as a percentage holds ten-thousandths of a percentage point
around its midpoint, so that −10 % is −100,000.
"""

from dataclasses import dataclass, field

from pregao.model.instruments import Instrument
from pregao.model.market import BandType, LimitType, Midpoint


@dataclass(frozen=True, slots=True)
class BandRule:
    """Limits of one type for one instrument (13.11), as they are told."""

    type: BandType
    limit_type: LimitType
    low: int
    high: int
    midpoint: Midpoint | None = None  # only of percentages


@dataclass(frozen=True, slots=True)
class AuctionTemplate:
    """How long an auction runs and what prolongs it; each instrument keeps its own (15.1)."""

    name: str
    duration_ns: int
    extension_ns: int
    maximum_extensions: int
    extension_window_ns: int  # a price that moves this near the end prolongs the auction
    random_end_ns: int


@dataclass(frozen=True, slots=True)
class Group:
    """Instruments that share trading phases; known by code and exchange together (14)."""

    code: str
    exchange: str
    channel: int
    segment: int
    schedule: str  # which day script moves it
    auction: AuctionTemplate
    bands: str
    description: str = ""
    minimum_cross: int = 1  # lots of the smallest cross order of an instrument that may be crossed

    @property
    def key(self) -> tuple[str, str]:
        return self.code, self.exchange


@dataclass(frozen=True, slots=True)
class Listing:
    """An instrument with the rules it trades under and the figures it starts the day with."""

    instrument: Instrument
    auction: AuctionTemplate
    bands: tuple[BandRule, ...]
    weight: float  # popularity with those who send orders; only the rank matters to them
    volatility: float  # of a day, as a fraction of the price
    liquid: bool = True  # a self-trade in an illiquid instrument starts an auction (14.1)
    average_daily: int | None = None
    largest_order: int | None = None
    settlement: int | None = None
    open_interest: int | None = None
    annual_volatility: float | None = None  # of options: of their underlying, at the money

    @property
    def closing(self) -> int:
        """The closing price of the day before in ten-thousandths: 0 where there is none."""
        return (self.instrument.closing_price or 0) // 10_000


@dataclass(frozen=True, slots=True)
class Member:
    security_id: int
    weight: int  # share of the index at its closing value, in ten-thousandths of a percentage point


@dataclass(frozen=True, slots=True)
class Index:
    """An index computed from the trades of its members; not itself traded."""

    security_id: int
    symbol: str
    closing: int
    members: tuple[Member, ...]


@dataclass(frozen=True)
class Catalogue:
    """All instruments in the order of their expansion, found by id or by symbol."""

    listings: tuple[Listing, ...]
    groups: tuple[Group, ...]
    pairs: tuple[tuple[int, int], ...]  # security ids whose auctions start and end together (15)
    indices: tuple[Index, ...]
    by_id: dict[int, Listing] = field(init=False, repr=False, compare=False)
    by_symbol: dict[str, Listing] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {entry.instrument.security_id: entry for entry in self.listings})
        object.__setattr__(self, "by_symbol", {entry.instrument.symbol: entry for entry in self.listings})

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        return tuple(listing.instrument for listing in self.listings)

    @property
    def channels(self) -> tuple[int, ...]:
        return tuple(sorted({group.channel for group in self.groups}))

    def instrument(self, symbol: str) -> Instrument:
        """The instrument of a symbol; KeyError where there is none."""
        return self.by_symbol[symbol].instrument
