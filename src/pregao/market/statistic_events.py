"""Statistics of an instrument (13, 17), as events of the library: they begin as all do (`event_head`). Prices
called `fine` count hundred-millionths."""

from pregao.captures.formats.text import printable
from pregao.market.events import InstrumentEvent
from pregao.market.row_values import fine_text, in_words, price_text
from pregao.model.market import (
    Action,
    BandType,
    ImbalanceSide,
    LimitType,
    Midpoint,
    PriceKind,
    PriceOrigin,
    Session,
    SettlementKind,
    TradeCondition,
    TradeSubType,
)
from pregao.model.records import record
from pregao.model.scales import USUAL, Scale


@record
class OpeningPrice(InstrumentEvent):
    price: int | None
    net_change_fine: int | None
    trade_date: int | None
    origin: PriceOrigin | None
    action: Action

    def __str__(self) -> str:
        return f"{printable(self.symbol)} open{_gone(self.action) or f' {_price(self.price, self.scale)}'}"


@record
class TheoreticalPrice(InstrumentEvent):
    """Price and quantity that an auction would have now (13.9.2); deleted when there is none."""

    price: int | None
    size: int | None
    trade_date: int | None
    action: Action

    def __str__(self) -> str:
        figures = (
            _gone(self.action) or f" {_amount(self.size, self.scale)} at {_price(self.price, self.scale)}"
        )
        return f"{printable(self.symbol)} theoretical{figures}"


@record
class ClosingPrice(InstrumentEvent):
    price_fine: int | None
    trade_date: int | None
    origin: PriceOrigin | None
    last_trade_date: int | None

    def __str__(self) -> str:
        return f"{printable(self.symbol)} close {fine_text(self.price_fine)}{_origin(self.origin)}"


@record
class HighPrice(InstrumentEvent):
    price: int | None
    trade_date: int | None
    action: Action

    def __str__(self) -> str:
        return f"{printable(self.symbol)} high{_gone(self.action) or f' {_price(self.price, self.scale)}'}"


@record
class LowPrice(InstrumentEvent):
    price: int | None
    trade_date: int | None
    action: Action

    def __str__(self) -> str:
        return f"{printable(self.symbol)} low{_gone(self.action) or f' {_price(self.price, self.scale)}'}"


@record
class LastTrade(InstrumentEvent):
    """The last trade as a statistic, after a failure (13.6). Not a trade."""

    trade_id: int | None
    price: int | None
    size: int | None
    trade_date: int | None
    session: Session
    condition: TradeCondition
    sub_type: TradeSubType | None
    buyer: int | None
    seller: int | None
    implied: bool
    seller_days: int | None
    interest_rate: int | None  # ten-thousandths

    def __str__(self) -> str:
        size, price = _amount(self.size, self.scale), _price(self.price, self.scale)
        return f"{printable(self.symbol)} last trade {size} at {price}"


@record
class ExecutionStatistics(InstrumentEvent):
    """Session totals after an execution (13.2, 17)."""

    session: Session
    trade_date: int | None
    volume: int | None
    vwap: int | None
    net_change_fine: int | None
    trades: int | None

    def __str__(self) -> str:
        volume, average = _amount(self.volume, self.scale), _price(self.vwap, self.scale)
        figures = f"{_amount(self.trades)} trades, volume {volume}, average {average}"
        return f"{printable(self.symbol)} totals {figures}, change {fine_text(self.net_change_fine)}"


@record
class SettlementPrice(InstrumentEvent):
    price: int | None
    trade_date: int | None
    origin: PriceOrigin | None
    settlement_kind: SettlementKind
    price_kind: PriceKind
    settlement_date: int | None

    def __str__(self) -> str:
        kind = in_words(self.settlement_kind)
        return f"{printable(self.symbol)} settlement {_price(self.price, self.scale)} ({kind})"


@record
class OpenInterest(InstrumentEvent):
    size: int | None
    trade_date: int | None

    def __str__(self) -> str:
        return f"{printable(self.symbol)} open interest {_amount(self.size)}"


@record
class Imbalance(InstrumentEvent):
    """What is left over at the theoretical price (13.10)."""

    imbalance: ImbalanceSide
    size: int | None
    action: Action

    def __str__(self) -> str:
        return f"{printable(self.symbol)} imbalance{_gone(self.action) or f' {self._left_over}'}"

    @property
    def _left_over(self) -> str:
        side = in_words(self.imbalance)
        return side if self.size is None else f"{side} {self.size:,}"


@record
class PriceBand(InstrumentEvent):
    """Limits of one type (13.11): as prices, ticks or percentages. `band` None: the reference price."""

    band: BandType | None
    limit_type: LimitType | None
    low: int | None
    high: int | None
    midpoint: Midpoint | None
    reference_fine: int | None

    def __str__(self) -> str:
        if self.band is None:
            return f"{printable(self.symbol)} reference price {fine_text(self.reference_fine)}"
        unit = " %" if self.limit_type is LimitType.PERCENTAGE else ""
        limits = f"{_price(self.low, self.scale)} to {_price(self.high, self.scale)}{unit}"
        return f"{printable(self.symbol)} {in_words(self.band)} band {limits}"


@record
class QuantityBand(InstrumentEvent):
    average_daily: int | None
    largest_order: int | None

    def __str__(self) -> str:
        most, daily = _amount(self.largest_order), _amount(self.average_daily)
        return f"{printable(self.symbol)} quantity band: largest order {most}, daily average {daily}"


@record
class VwapPrice(InstrumentEvent):
    """Volume-weighted average price of the session, where it is told by itself."""

    price: int | None
    trade_date: int | None
    action: Action

    def __str__(self) -> str:
        return f"{printable(self.symbol)} average {_price(self.price, self.scale)}{_gone(self.action)}"


@record
class IndexValue(InstrumentEvent):
    value: int | None
    sequence: int | None
    net_change_fine: int | None
    action: Action

    def __str__(self) -> str:
        return f"{printable(self.symbol)} index {_price(self.value)}{_gone(self.action)}"


@record
class CompositePrice(InstrumentEvent):
    """The prices that an index is composed of follow, one for each of its `parts`."""

    sequence: int | None
    parts: int | None

    def __str__(self) -> str:
        return f"{printable(self.symbol)} composite of {_amount(self.parts)} prices"


@record
class CompositePart(InstrumentEvent):
    sequence: int | None
    part_id: int | None  # securityID of what the price is of
    price: int | None
    price_type: int | None

    def __str__(self) -> str:
        return f"{printable(self.symbol)} composite: {self.part_id} at {_price(self.price)}"


@record
class VolatilityPrice(InstrumentEvent):
    """Prices of the short and of the long option, and the delta."""

    short: int | None
    long: int | None
    delta_fine: int | None
    trade_date: int | None
    action: Action

    def __str__(self) -> str:
        prices = f"{_price(self.short)} and {_price(self.long)}, delta {fine_text(self.delta_fine)}"
        return f"{printable(self.symbol)} volatility {prices}{_gone(self.action)}"


Statistic = (
    OpeningPrice | TheoreticalPrice | ClosingPrice | HighPrice | LowPrice | LastTrade | ExecutionStatistics
    | SettlementPrice | OpenInterest | Imbalance | PriceBand | QuantityBand | VwapPrice | IndexValue
    | CompositePrice | CompositePart | VolatilityPrice
)  # fmt: skip


def _price(price: int | None, scale: Scale = USUAL) -> str:
    return "-" if price is None else price_text(price, scale=scale)


def _amount(count: int | None, scale: Scale = USUAL) -> str:
    return "-" if count is None else scale.size_text(count)


def _gone(action: Action) -> str:
    return " deleted" if action is Action.DELETE else ""


def _origin(origin: PriceOrigin | None) -> str:
    return "" if origin is None else f" ({in_words(origin)})"
