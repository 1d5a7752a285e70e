"""Where the families of a catalogue enter their instruments, and where two of the same are found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pregao.exchange.catalogues.rules import BandFormula, ListedInstrument, TradingGroup
from pregao.exchange.catalogues.tables import TomlRow, TomlTable
from pregao.model.instruments import Instrument, TradeType, Underlying
from pregao.model.market import EXCHANGE

LARGEST_ID = 999_999_999_999
_CLEARING_IDS = 1_000_000_000  # the clearing house has shorter ids
FINE_OF_PRICE = 10_000  # closing prices have eight places (13)


@dataclass(frozen=True, slots=True)
class OpeningFigures:
    """What a listing starts the day with, beside its instrument."""

    weight: float
    volatility: float
    liquid: bool = True
    average_daily: int | None = None
    largest_order: int | None = None
    settlement: int | None = None
    open_interest: int | None = None
    annual_volatility: float | None = None


class Register:
    """All listings so far. `where` in its calls is the row or table to blame."""

    def __init__(
        self, groups: Mapping[tuple[str, str], TradingGroup], bands: Mapping[str, tuple[BandFormula, ...]]
    ) -> None:
        self._groups, self._bands = groups, bands
        self._symbols: dict[str, ListedInstrument] = {}
        self._ids: dict[int, str] = {}

    @property
    def listings(self) -> tuple[ListedInstrument, ...]:
        return tuple(self._symbols.values())

    def group(self, table: TomlTable, name: str = "group") -> TradingGroup:
        key = (table.text(name, longest=3), table.text("exchange", EXCHANGE, longest=4))
        if key not in self._groups:
            raise table.error(f"there is no group {key[0]} of {key[1]}", name)
        return self._groups[key]

    def find(self, symbol: str, where: TomlTable | TomlRow) -> ListedInstrument:
        if symbol not in self._symbols:
            raise where.error(f"there is no instrument {symbol}")
        return self._symbols[symbol]

    def reserve(self, security_id: int, symbol: str, where: TomlTable | TomlRow) -> None:
        """Claim an id and a symbol for something that is not traded, such as an index."""
        other = self._ids.setdefault(security_id, symbol)
        if other != symbol:
            raise where.error(f"id {security_id} of {symbol} already belongs to {other}")
        if symbol in self._symbols:
            raise where.error(f"symbol {symbol} is there twice")

    def add(self, instrument: Instrument, figures: OpeningFigures, where: TomlTable | TomlRow) -> None:
        """Enter an instrument with the rules of its group."""
        if instrument.security_id in self._ids and self._ids[instrument.security_id] == instrument.symbol:
            raise where.error(f"symbol {instrument.symbol} is there twice")
        self.reserve(instrument.security_id, instrument.symbol, where)
        _check(instrument, where)
        group = self._groups[instrument.group, instrument.exchange]
        crossed = TradeType.CROSS in instrument.trade_types
        instrument = replace(
            instrument,
            clearing_id=instrument.security_id % _CLEARING_IDS,
            minimum_cross=group.minimum_cross * instrument.lot if crossed else None,
        )
        closing = (instrument.closing_price or 0) // FINE_OF_PRICE
        negative = bool(instrument.legs)
        bands = tuple(
            rule.at(closing, instrument.tick, negative=negative) for rule in self._bands[group.bands]
        )
        self._symbols[instrument.symbol] = ListedInstrument(
            instrument, group.auction, bands, figures.weight, figures.volatility, figures.liquid,
            figures.average_daily, figures.largest_order, figures.settlement, figures.open_interest,
            figures.annual_volatility,
        )  # fmt: skip


def _check(instrument: Instrument, where: TomlTable | TomlRow) -> None:
    closing = (instrument.closing_price or 0) // FINE_OF_PRICE
    if closing % instrument.tick:
        raise where.error(f"closing price {closing} of {instrument.symbol} is off its tick {instrument.tick}")
    if closing <= 0 and not instrument.legs:
        raise where.error(f"closing price of {instrument.symbol} must be above zero")
    if not instrument.symbol.isascii() or not 1 <= len(instrument.symbol) <= 20:
        raise where.error(f"symbol {instrument.symbol!r} must have 1 to 20 ASCII characters")
    if not 1 <= instrument.security_id <= LARGEST_ID:
        raise where.error(f"id {instrument.security_id} has more than 12 digits")


def ids_of(table: TomlTable) -> Iterator[int]:
    """The ids of a family: `first_id` and on, so that a symbol added at the end moves no other."""
    first = table.integer("first_id", 1, LARGEST_ID)
    step = table.integer("id_step", 1, 1_000_000, default=1)
    return iter(range(first, LARGEST_ID + 1, step))


def lot_of(table: TomlTable, default: int | None = None) -> int:
    return table.integer("lot", 1, 1_000_000, default)


def underlying_of(instrument: Instrument) -> tuple[Underlying, ...]:
    return (Underlying(instrument.security_id, instrument.symbol),)
