"""Groups, auction templates and band rules: what many instruments share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pregao.exchange.catalogues.tables import TomlTable
from pregao.model.instruments import Instrument
from pregao.model.market import EXCHANGE, BandType, LimitType, Midpoint
from pregao.model.streams import MOST_CHANNEL

# What a catalogue holds beside the instruments themselves: the rules under which they trade.
#
# Prices are ten-thousandths. A band sent as a percentage holds ten-thousandths of a percentage point around
# its midpoint, so that −10 % is −100,000.


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
class TradingGroup:
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
class ListedInstrument:
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
class IndexMember:
    security_id: int
    weight: int  # share of the index at its closing value, in ten-thousandths of a percentage point


@dataclass(frozen=True, slots=True)
class Index:
    """An index computed from the trades of its members; not itself traded."""

    security_id: int
    symbol: str
    closing: int
    members: tuple[IndexMember, ...]


@dataclass(frozen=True)
class Catalogue:
    """All instruments in the order of their expansion, found by id or by symbol."""

    listings: tuple[ListedInstrument, ...]
    groups: tuple[TradingGroup, ...]
    pairs: tuple[tuple[int, int], ...]  # security ids whose auctions start and end together (15)
    indices: tuple[Index, ...]
    by_id: dict[int, ListedInstrument] = field(init=False, repr=False, compare=False)
    by_symbol: dict[str, ListedInstrument] = field(init=False, repr=False, compare=False)

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


_SECOND_NS = 1_000_000_000
_PERCENT = 1_000_000  # of a ten-thousandth of a percentage point
_TYPES: Final = {kind.name.lower(): kind for kind in BandType}
_SENT: Final = {"price": LimitType.PRICE, "percentage": LimitType.PERCENTAGE}
_MIDPOINTS: Final = {
    "last": Midpoint.LAST_TRADE,
    "complementary": Midpoint.COMPLEMENTARY_LAST,
    "theoretical": Midpoint.THEORETICAL,
}
# 13.11.5: hard and static limits are only ever told as prices.
_AS_PRICES: Final = (BandType.HARD, BandType.STATIC)


@dataclass(frozen=True, slots=True)
class BandFormula:
    """Limits as a share of the closing price or as points around it."""

    type: BandType
    limit_type: LimitType
    percent: int | None
    points: int | None
    midpoint: Midpoint | None

    def at(self, closing: int, tick: int, *, negative: bool) -> BandRule:
        """The limits of one instrument, on its ticks; below one tick only where prices may be."""
        if self.limit_type is LimitType.PERCENTAGE:
            assert self.percent is not None
            return BandRule(self.type, self.limit_type, -self.percent, self.percent, self.midpoint)
        reach = self.points if self.points is not None else abs(closing) * (self.percent or 0) // _PERCENT
        low, high = -(-(closing - reach) // tick) * tick, (closing + reach) // tick * tick
        return BandRule(self.type, self.limit_type, low if negative else max(low, tick), max(high, tick))


def read_auctions(table: TomlTable) -> dict[str, AuctionTemplate]:
    return {name: _auction(name, table.table(name)) for name in table.names()}


def _auction(name: str, table: TomlTable) -> AuctionTemplate:
    def seconds(key: str, least: int) -> int:
        return table.integer(key, least, 86_400) * _SECOND_NS

    template = AuctionTemplate(
        name,
        duration_ns=seconds("duration_s", 1),
        extension_ns=seconds("extension_s", 0),
        maximum_extensions=table.integer("maximum_extensions", 0, 1000),
        extension_window_ns=seconds("extension_window_s", 0),
        random_end_ns=seconds("random_end_s", 0),
    )
    table.close()
    if template.extension_window_ns > template.duration_ns:
        raise table.error("must not be longer than the auction", "extension_window_s")
    return template


def read_bands(table: TomlTable) -> dict[str, tuple[BandFormula, ...]]:
    return {name: _formulas(table.table(name)) for name in table.names()}


def _formulas(table: TomlTable) -> tuple[BandFormula, ...]:
    for name in table.names():
        if name not in _TYPES:
            raise table.error(f"must be one of {', '.join(_TYPES)}", name)
    return tuple(_formula(_TYPES[name], table.table(name)) for name in table.names())


def _formula(kind: BandType, table: TomlTable) -> BandFormula:
    limit_type = table.choice("sent", _SENT, "price")
    percent = table.price("percent") if table.has("percent") else None
    points = table.price("points") if table.has("points") else None
    midpoint = table.choice("midpoint", _MIDPOINTS) if table.has("midpoint") else None
    table.close()
    if (percent is None) is (points is None):
        raise table.error("must have either percent or points")
    if (percent or points or 0) <= 0:
        raise table.error("must reach above zero")
    if limit_type is LimitType.PERCENTAGE and (percent is None or kind in _AS_PRICES):
        raise table.error("cannot be sent as a percentage", "sent")
    if (midpoint is None) is (limit_type is LimitType.PERCENTAGE):
        raise table.error("belongs to percentages, and they need it", "midpoint")
    return BandFormula(kind, limit_type, percent, points, midpoint)


def read_groups(
    tables: list[TomlTable], auctions: Mapping[str, AuctionTemplate], bands: Mapping[str, object]
) -> dict[tuple[str, str], TradingGroup]:
    groups: dict[tuple[str, str], TradingGroup] = {}
    for table in tables:
        group = _group(table, auctions, bands)
        if group.key in groups:
            raise table.error(f"{group.code} of {group.exchange} is there twice", "code")
        groups[group.key] = group
    return groups


def _group(
    table: TomlTable, auctions: Mapping[str, AuctionTemplate], bands: Mapping[str, object]
) -> TradingGroup:
    group = TradingGroup(
        table.text("code", longest=3),
        table.text("exchange", EXCHANGE, longest=4),
        table.integer("channel", 1, MOST_CHANNEL),
        table.integer("segment", 1, 99),
        table.text("schedule", longest=20),
        table.choice("auction", auctions),
        table.text("bands", longest=20),
        table.text("description", ""),
        table.integer("minimum_cross", 1, 1_000_000, 1),
    )
    if group.bands not in bands:
        raise table.error(f"must be one of {', '.join(bands)}, not {group.bands!r}", "bands")
    table.close()
    return group
