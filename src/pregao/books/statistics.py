"""The plain statistics of one instrument: the last update that told each. The kernel's twin is
`books.kernels.statistics`.

- A DELETE takes its figure away. Bands are kept per type; the reference price, which has no type, is
  one of its own (13.11). What is a percentage stays one: its `limit_type` says so.
- The last trade is the last one told that is neither out of sequence nor of a leg (13.3, 19), or what
  LastTradePrice says (13.6). When it is busted there is none, until B3 tells one; what else a bust changes
  B3 tells.
- Closing and settlement prices of the day before are kept apart from those of the day (13.9.3, 13.11.3),
  and put an end to one of the day whose trade date is not later.
"""

from enum import IntEnum
from typing import cast

from pregao.books import layout as t
from pregao.books.row_updates import statistic_at
from pregao.model import events as e
from pregao.model.market import OLD_LEG, Action, PriceOrigin, StateEvent, TradeCondition, TradeSubType
from pregao.model.rows import NULL, ROW_SIZE


class StatisticSlot(IntEnum):
    OPENING = t.OPENING
    THEORETICAL = t.THEORETICAL
    HIGH = t.HIGH
    LOW = t.LOW
    LAST_TRADE = t.LAST_TRADE
    TOTALS = t.TOTALS
    INDEX = t.INDEX
    VWAP = t.VWAP
    IMBALANCE = t.IMBALANCE
    CLOSING = t.CLOSING
    PREVIOUS_CLOSING = t.PREVIOUS_CLOSING
    SETTLEMENT = t.SETTLEMENT
    PREVIOUS_SETTLEMENT = t.PREVIOUS_SETTLEMENT
    OPEN_INTEREST = t.OPEN_INTEREST
    QUANTITY_BAND = t.QUANTITY_BAND
    STATE = t.STATE
    COMPOSITE = t.COMPOSITE
    VOLATILITY = t.VOLATILITY
    REFERENCE_PRICE = t.BANDS
    HARD_LIMITS = t.BANDS + 1
    AUCTION_BAND = t.BANDS + 2
    REJECTION_BAND = t.BANDS + 3
    STATIC_LIMITS = t.BANDS + 4


_SLOTS: dict[type, StatisticSlot] = {
    e.OpeningPrice: StatisticSlot.OPENING, e.TheoreticalPrice: StatisticSlot.THEORETICAL,
    e.HighPrice: StatisticSlot.HIGH, e.LowPrice: StatisticSlot.LOW, e.LastTrade: StatisticSlot.LAST_TRADE,
    e.ExecutionStatistics: StatisticSlot.TOTALS, e.Imbalance: StatisticSlot.IMBALANCE,
    e.OpenInterest: StatisticSlot.OPEN_INTEREST, e.QuantityBand: StatisticSlot.QUANTITY_BAND,
    e.StateChanged: StatisticSlot.STATE, e.IndexValue: StatisticSlot.INDEX, e.VwapPrice: StatisticSlot.VWAP,
    e.CompositeCount: StatisticSlot.COMPOSITE, e.VolatilityPrice: StatisticSlot.VOLATILITY,
}  # fmt: skip
_DAILY = {
    StatisticSlot.PREVIOUS_CLOSING: StatisticSlot.CLOSING,
    StatisticSlot.PREVIOUS_SETTLEMENT: StatisticSlot.SETTLEMENT,
}
_Dated = e.ClosingPrice | e.SettlementPrice
RESET = tuple(StatisticSlot)[: t.RESET_SLOTS]  # 14.3


def makes_last_price(trade: e.Trade) -> bool:
    """Not a leg's, nor one that is told late; block trades of UMDF FIX/FAST have no price (10.1)."""
    not_last = TradeCondition.OUT_OF_SEQUENCE | OLD_LEG
    is_last = not int(trade.condition) & not_last and trade.sub_type != TradeSubType.LEG
    return is_last and trade.price != NULL


def slot_of(update: e.Update) -> StatisticSlot | None:
    """Where an update is kept; None: it is not a statistic."""
    if isinstance(update, e.PriceBand):
        kind = 0 if update.type is None else int(update.type)
        return StatisticSlot(t.BANDS + kind) if kind < t.BAND_TYPES else None
    if isinstance(update, e.ClosingPrice):
        return (
            StatisticSlot.PREVIOUS_CLOSING
            if update.origin == PriceOrigin.PREVIOUS_DAY
            else StatisticSlot.CLOSING
        )
    if isinstance(update, e.SettlementPrice):
        return (
            StatisticSlot.PREVIOUS_SETTLEMENT
            if update.origin == PriceOrigin.PREVIOUS_DAY
            else StatisticSlot.SETTLEMENT
        )
    if isinstance(update, e.Trade):
        return StatisticSlot.LAST_TRADE if makes_last_price(update) else None
    return _SLOTS.get(type(update))


class Statistics:
    def __init__(self) -> None:
        self.latest: dict[StatisticSlot, e.Update] = {}

    def get(self, slot: StatisticSlot) -> e.Update | None:
        return self.latest.get(slot)

    def apply(self, update: e.Update) -> None:
        if isinstance(update, e.TradeBusted):
            self._bust(update)
        slot = slot_of(update)
        if slot is None:
            return
        if getattr(update, "action", None) is Action.DELETE:
            self.latest.pop(slot, None)
            return
        if isinstance(update, e.StateChanged) and update.event is StateEvent.SESSION_CHANGE:
            self.reset_session()
        self.latest[slot] = last_trade_of(update) if isinstance(update, e.Trade) else update
        if slot in _DAILY:
            self._supersede(_DAILY[slot], cast(_Dated, update))

    def _bust(self, busted: e.TradeBusted) -> None:
        last = self.last_trade
        if last is not None and (last.trade_id, last.trade_date) == (busted.trade_id, busted.trade_date):
            del self.latest[StatisticSlot.LAST_TRADE]

    def _supersede(self, daily: StatisticSlot, previous: _Dated) -> None:
        latest = cast(_Dated | None, self.latest.get(daily))
        if latest is not None and latest.trade_date <= previous.trade_date:
            del self.latest[daily]

    def reset_session(self) -> None:
        """14.3."""
        for slot in RESET:
            self.latest.pop(slot, None)

    def forget_auction(self) -> None:
        """13.10: whoever knows phases and states says when, see `phases`."""
        self.latest.pop(StatisticSlot.THEORETICAL, None)
        self.latest.pop(StatisticSlot.IMBALANCE, None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and self.latest == other.latest

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Statistics({self.latest})"

    @property
    def opening(self) -> e.OpeningPrice | None:
        return cast(e.OpeningPrice | None, self.get(StatisticSlot.OPENING))

    @property
    def theoretical(self) -> e.TheoreticalPrice | None:
        return cast(e.TheoreticalPrice | None, self.get(StatisticSlot.THEORETICAL))

    @property
    def high(self) -> e.HighPrice | None:
        return cast(e.HighPrice | None, self.get(StatisticSlot.HIGH))

    @property
    def low(self) -> e.LowPrice | None:
        return cast(e.LowPrice | None, self.get(StatisticSlot.LOW))

    @property
    def last_trade(self) -> e.LastTrade | None:
        return cast(e.LastTrade | None, self.get(StatisticSlot.LAST_TRADE))

    @property
    def totals(self) -> e.ExecutionStatistics | None:
        return cast(e.ExecutionStatistics | None, self.get(StatisticSlot.TOTALS))

    @property
    def index(self) -> e.IndexValue | None:
        return cast(e.IndexValue | None, self.get(StatisticSlot.INDEX))

    @property
    def vwap(self) -> e.VwapPrice | None:
        """Where it is told by itself; else `totals` has it."""
        return cast(e.VwapPrice | None, self.get(StatisticSlot.VWAP))

    @property
    def volatility(self) -> e.VolatilityPrice | None:
        return cast(e.VolatilityPrice | None, self.get(StatisticSlot.VOLATILITY))

    @property
    def imbalance(self) -> e.Imbalance | None:
        return cast(e.Imbalance | None, self.get(StatisticSlot.IMBALANCE))

    @property
    def closing(self) -> e.ClosingPrice | None:
        return cast(e.ClosingPrice | None, self.get(StatisticSlot.CLOSING))

    @property
    def previous_closing(self) -> e.ClosingPrice | None:
        return cast(e.ClosingPrice | None, self.get(StatisticSlot.PREVIOUS_CLOSING))

    @property
    def settlement(self) -> e.SettlementPrice | None:
        return cast(e.SettlementPrice | None, self.get(StatisticSlot.SETTLEMENT))

    @property
    def previous_settlement(self) -> e.SettlementPrice | None:
        return cast(e.SettlementPrice | None, self.get(StatisticSlot.PREVIOUS_SETTLEMENT))

    @property
    def open_interest(self) -> e.OpenInterest | None:
        return cast(e.OpenInterest | None, self.get(StatisticSlot.OPEN_INTEREST))

    @property
    def quantity_band(self) -> e.QuantityBand | None:
        return cast(e.QuantityBand | None, self.get(StatisticSlot.QUANTITY_BAND))

    @property
    def state(self) -> e.StateChanged | None:
        """As last told; what it means depends on the group: see `phases`."""
        return cast(e.StateChanged | None, self.get(StatisticSlot.STATE))

    def band(self, kind: int | None) -> e.PriceBand | None:
        """Of a `BandType`; None: the reference price."""
        return cast(e.PriceBand | None, self.get(StatisticSlot(t.BANDS + (kind or 0))))


class StoredStatistics(Statistics):
    """As a store keeps them: each is made of its row when somebody asks for it."""

    def __init__(self, rows: bytes) -> None:
        self._rows = rows

    @property
    def latest(self) -> dict[StatisticSlot, e.Update]:  # type: ignore[override]
        found = ((slot, self.get(slot)) for slot in StatisticSlot)
        return {slot: update for slot, update in found if update is not None}

    def get(self, slot: StatisticSlot) -> e.Update | None:
        return statistic_at(self._rows, slot * ROW_SIZE)


def last_trade_of(trade: e.Trade) -> e.LastTrade:
    return e.LastTrade(
        trade.security_id, trade.trade_id, trade.price, trade.size, trade.trade_date, trade.session,
        trade.condition, trade.transact_ns, trade.sub_type, trade.buyer, trade.seller, trade.implied,
        trade.seller_days, trade.interest_rate,
    )  # fmt: skip
