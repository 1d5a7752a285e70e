"""Statistics of an instrument as lines for people."""

from collections.abc import Callable
from typing import Any, Final

from pregao.model import events as e
from pregao.model.market import Action, LimitType
from pregao.services.market.numbers import fine_text, in_words, price_text

Statistic = (
    e.OpeningPrice | e.TheoreticalPrice | e.ClosingPrice | e.HighPrice | e.LowPrice | e.LastTrade
    | e.ExecutionStatistics | e.SettlementPrice | e.OpenInterest | e.Imbalance | e.PriceBand | e.QuantityBand
)  # fmt: skip


def _price(price: int | None) -> str:
    return "-" if price is None else price_text(price)


def _amount(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _gone(told: Any) -> str:
    return " deleted" if told.action is Action.DELETE else ""


def _priced(name: str) -> Callable[[str, Any], str]:
    def text(symbol: str, told: Any) -> str:
        return f"{symbol} {name}{_gone(told) or f' {_price(told.price)}'}"

    return text


def _theoretical(symbol: str, told: e.TheoreticalPrice) -> str:
    return f"{symbol} theoretical{_gone(told) or f' {_amount(told.size)} at {_price(told.price)}'}"


def _closing(symbol: str, told: e.ClosingPrice) -> str:
    return f"{symbol} close {fine_text(told.price_fine)} ({in_words(told.origin)})"


def _last_trade(symbol: str, told: e.LastTrade) -> str:
    return f"{symbol} last trade {_amount(told.size)} at {_price(told.price)}"


def _totals(symbol: str, told: e.ExecutionStatistics) -> str:
    figures = f"{_amount(told.trades)} trades, volume {_amount(told.volume)}, average {_price(told.vwap)}"
    return f"{symbol} totals {figures}, change {fine_text(told.net_change_fine)}"


def _settlement(symbol: str, told: e.SettlementPrice) -> str:
    return f"{symbol} settlement {_price(told.price)} ({in_words(told.kind)})"


def _open_interest(symbol: str, told: e.OpenInterest) -> str:
    return f"{symbol} open interest {_amount(told.size)}"


def _imbalance(symbol: str, told: e.Imbalance) -> str:
    return f"{symbol} imbalance{_gone(told) or f' {in_words(told.side)} {_amount(told.size)}'}"


def _price_band(symbol: str, told: e.PriceBand) -> str:
    if told.type is None:
        return f"{symbol} reference price {fine_text(told.reference_fine)}"
    unit = " %" if told.limit_type is LimitType.PERCENTAGE else ""
    return f"{symbol} {in_words(told.type)} band {_price(told.low)} to {_price(told.high)}{unit}"


def _quantity_band(symbol: str, told: e.QuantityBand) -> str:
    most, daily = _amount(told.largest_order), _amount(told.average_daily)
    return f"{symbol} quantity band: largest order {most}, daily average {daily}"


STATISTIC_TEXTS: Final[dict[type, Callable[[str, Any], str]]] = {
    e.OpeningPrice: _priced("open"), e.HighPrice: _priced("high"), e.LowPrice: _priced("low"),
    e.TheoreticalPrice: _theoretical, e.ClosingPrice: _closing, e.LastTrade: _last_trade,
    e.ExecutionStatistics: _totals, e.SettlementPrice: _settlement, e.OpenInterest: _open_interest,
    e.Imbalance: _imbalance, e.PriceBand: _price_band, e.QuantityBand: _quantity_band,
}  # fmt: skip
