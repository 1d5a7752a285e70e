"""Updates of the model as entries of 35=X, and as those of 35=W (7, 9, 10): names of the template and values.

An entry has no RptSeq yet, which depends on what was sent before it: `incremental` adds it. Times
are UTC, to the millisecond.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from pregao.codecs.fast import Scaled
from pregao.feeds.fast.publisher.levels import LevelChange, Row
from pregao.feeds.fast.times import as_number
from pregao.feeds.publishers import Figures, Tick
from pregao.feeds.publishing import BookOrder
from pregao.model import events as e
from pregao.model.market import (
    Action,
    ImbalanceSide,
    PriceOrigin,
    Session,
    Side,
    TradeCondition,
    TradeSubType,
)

Entry = dict[str, Any]

_DAY_NS: Final = 86_400 * 1_000_000_000
_MS_NS: Final = 1_000_000
_HUNDRED: Final = 100
ELECTRONIC: Final = "E"
INDEX: Final = "N"
LENDING: Final = "L"
_TERMO: Final = "T"
_ALL: Final = "A"
_CLOSINGS: Final = {PriceOrigin.DAILY: 0, PriceOrigin.EXPECTED: 3, PriceOrigin.PREVIOUS_DAY: 4}
SIDES: Final = {Side.BUY: "0", Side.SELL: "1"}
FIRMS: Final = {Side.BUY: "MDEntryBuyer", Side.SELL: "MDEntrySeller"}
_CONDITIONS: Final = (
    (TradeCondition.OPENING_PRICE, "R"), (TradeCondition.CROSSED, "X"),
    (TradeCondition.LAST_AT_SAME_PRICE, "L"), (TradeCondition.ON_BEHALF, "2"),
)  # fmt: skip
_SUB_TYPES: Final = {TradeSubType.LEG: "1", TradeSubType.MULTI_ASSET: "3"}


@lru_cache(maxsize=1 << 14)  # all channels tell the same ones
def price(value: int) -> Scaled:
    """Ten-thousandths with two decimals where that is enough: the template's own exponent."""
    whole, rest = divmod(value, _HUNDRED)
    return Scaled(value, -4) if rest else Scaled(whole, -2)


@lru_cache(maxsize=1 << 12)
def fine_price(value: int) -> Scaled:
    """Hundred-millionths with as few decimals as they have, of two, four or eight."""
    for places in (6, 4):
        whole, rest = divmod(value, 10**places)
        if not rest:
            return Scaled(whole, places - 8)
    return Scaled(value, -8)


@lru_cache(maxsize=1024)
def day_number(days: int) -> int:
    """Days since 1970 as YYYYMMDD."""
    return as_number(days * _DAY_NS) // 1_000_000_000


def clock_number(ns: int) -> int:
    """The time of day as HHMMSSsss."""
    return _when(ns // _MS_NS)[1]


def moment_number(ns: int) -> int:
    """Date and time as YYYYMMDDHHMMSSsss."""
    second, ms = divmod(ns // _MS_NS, 1_000)
    return _second_number(second) + ms


@lru_cache(maxsize=1 << 10)
def _second_number(second: int) -> int:
    day, clock = _when(second * 1_000)
    return day * 1_000_000_000 + clock


@lru_cache(maxsize=1 << 14)  # all channels tell of the same moments
def _when(ms: int) -> tuple[int, int]:
    """Date and time of day of milliseconds since 1970."""
    days, of_day = divmod(ms, _DAY_NS // _MS_NS)
    seconds, rest = divmod(of_day, 1_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return day_number(days), ((hour * 100 + minute) * 100 + second) * 1000 + rest


def head(kind: str, security_id: int, time_ns: int) -> Entry:
    """What every entry has: 272 and 273 say when the engine made it (13.4)."""
    day, clock = _when(time_ns // _MS_NS)
    return {"MDEntryType": kind, "SecurityID": security_id, "MDEntryDate": day, "MDEntryTime": clock}


def order_entry(update: e.OrderUpdate) -> Entry:
    """An order of an MBO book (9.1). A delete has neither price nor size."""
    entry = head(SIDES[update.side], update.security_id, update.transact_ns)
    entry["MDUpdateAction"] = int(update.action)
    entry["MDEntryPositionNo"] = update.position
    entry["OrderID"] = str(update.order_id)
    if update.action is Action.DELETE:
        return entry
    _add_order(entry, update, update.side)
    if update.recovery:
        entry["QuoteCondition"] = "R K" if update.implied else "R"
    return entry


def snapshot_order(order: BookOrder, side: Side, position: int, security_id: int) -> Entry:
    entry = head(SIDES[side], security_id, order.transact_ns)
    entry["MDEntryPositionNo"] = position
    entry["OrderID"] = str(order.order_id)
    _add_order(entry, order, side)
    return entry


def _add_order(entry: Entry, order: BookOrder, side: Side) -> None:
    if order.price is not None:
        entry["MDEntryPx"] = price(order.price)
    entry["MDEntrySize"] = order.size
    entry["MDInsertDate"], entry["MDInsertTime"] = _when(order.inserted_ns // _MS_NS)
    if order.firm is not None:
        entry[FIRMS[side]] = str(order.firm)
    if order.implied:
        entry["QuoteCondition"] = "K"


def side_entry(update: e.SideDeleted) -> Entry:
    """Delete Thru names position 1, and means the side (9.5)."""
    entry = head(SIDES[update.side], update.security_id, update.transact_ns)
    entry["MDUpdateAction"] = int(update.action)
    entry["MDEntryPositionNo"] = update.position or 1
    return entry


def level_entry(change: LevelChange, security_id: int, time_ns: int, *, recovery: bool = False) -> Entry:
    """A level of an MBP or TOB book (9.2, 9.3)."""
    entry = head(SIDES[change.side], security_id, time_ns)
    entry["MDUpdateAction"] = int(change.action)
    entry["MDEntryPositionNo"] = change.position
    if change.row is not None:
        _add_level(entry, change.row)
    if recovery:
        entry["QuoteCondition"] = "R"
    return entry


def snapshot_level(row: Row, side: Side, position: int, security_id: int, time_ns: int) -> Entry:
    entry = head(SIDES[side], security_id, time_ns)
    entry["MDEntryPositionNo"] = position
    _add_level(entry, row)
    return entry


def _add_level(entry: Entry, row: Row) -> None:
    if row.price is not None:
        entry["MDEntryPx"] = price(row.price)
    entry["MDEntrySize"], entry["NumberOfOrders"] = row.size, row.orders


def empty_book_entry(security_id: int, time_ns: int) -> Entry:
    return head("J", security_id, time_ns) | {"MDUpdateAction": int(Action.NEW)}


def trade_entry(trade: e.Trade | e.TradeBusted) -> Entry:
    """Without what depends on the trades before it: volume, direction, net change (10.1)."""
    entry = head("2", trade.security_id, trade.transact_ns)
    entry["MDEntryPx"], entry["MDEntrySize"] = price(trade.price), trade.size
    entry["MDInsertDate"] = day_number(trade.trade_date)
    entry["MDInsertTime"] = entry["MDEntryTime"]
    entry["TradeID"] = str(trade.trade_id)
    entry["MDStreamID"] = _TERMO if trade.forward else ELECTRONIC
    if trade.session is Session.NON_REGULAR:
        entry["TradingSessionID"] = int(trade.session)
    if isinstance(trade, e.TradeBusted):
        return entry | {"MDUpdateAction": int(Action.DELETE)}
    entry["MDUpdateAction"] = int(Action.NEW)
    if trade.interest_rate is not None:
        entry["MDEntryInterestRate"] = price(trade.interest_rate)
    _add_parties(entry, trade)
    letters = [letter for flag, letter in _CONDITIONS if trade.condition & flag]
    letters += [_SUB_TYPES[trade.sub_type]] if trade.sub_type in _SUB_TYPES else []
    if letters:
        entry["TradeCondition"] = " ".join(letters)
    return entry


def complete_trade(entry: Entry, figures: Figures) -> Entry:
    """With what depends on the trades before it. No direction of the first trade, nor of one at the same
    price (10.1)."""
    entry["TradeVolume"] = figures.volume
    if figures.net_change_fine is not None:
        entry["NetChgPrevDay"] = fine_price(figures.net_change_fine)
    if figures.tick in (Tick.PLUS, Tick.MINUS):
        entry["TickDirection"] = str(int(figures.tick))
    return entry


def _add_parties(entry: Entry, trade: e.Trade) -> None:
    for name, value in (("MDEntryBuyer", trade.buyer), ("MDEntrySeller", trade.seller)):
        if value is not None:
            entry[name] = str(value)
    if trade.seller_days is not None:
        entry["SellerDays"] = trade.seller_days


def exchange_last_entry(trade: e.LastTrade) -> Entry:
    """Price and size of the last valid trade, which is no trade (10.1, note 2)."""
    entry = head("2", trade.security_id, trade.time_ns)
    return entry | {
        "MDUpdateAction": int(Action.NEW), "MDEntryPx": price(trade.price), "MDEntrySize": trade.size,
        "TradeCondition": "U", "MDStreamID": ELECTRONIC,
    }  # fmt: skip


def vwap_entry(update: e.ExecutionStatistics) -> Entry:
    """Deleted when every trade was busted (13.4)."""
    entry = head("9", update.security_id, update.time_ns) | {"MDStreamID": ELECTRONIC}
    if update.vwap is None:
        return entry | {"MDUpdateAction": int(Action.DELETE)}
    return entry | {"MDUpdateAction": int(Action.NEW), "MDEntryPx": price(update.vwap)}


def totals_entry(update: e.ExecutionStatistics) -> Entry:
    """Money, trades and volume of the session (10.2). 270 is money, with the price's four decimals."""
    entry = head("B", update.security_id, update.time_ns)
    entry |= {"MDUpdateAction": int(Action.NEW), "MDStreamID": ELECTRONIC, "Currency": "BRL"}
    entry |= {"MDEntrySize": update.trades, "TradeVolume": update.volume}
    if update.value is not None:
        entry["MDEntryPx"] = price(update.value)
    return entry


def opening_entry(update: e.OpeningPrice) -> Entry:
    entry = head("4", update.security_id, update.time_ns)
    entry |= {"MDUpdateAction": int(update.action), "MDStreamID": ELECTRONIC, "OpenCloseSettlFlag": 0}
    if update.action is Action.DELETE:
        return entry
    entry["MDEntryPx"] = price(update.price)
    if update.net_change_fine is not None:
        entry["NetChgPrevDay"] = fine_price(update.net_change_fine)
    if update.interest_rate is not None:
        entry["MDEntryInterestRate"] = price(update.interest_rate)
    return entry


def theoretical_entry(update: e.TheoreticalPrice) -> Entry:
    """286=5 makes it theoretical; no stream is told (10.4)."""
    entry = head("4", update.security_id, update.time_ns)
    entry |= {"MDUpdateAction": int(update.action), "OpenCloseSettlFlag": int(PriceOrigin.THEORETICAL)}
    if update.action is not Action.DELETE and update.price is not None:
        entry["MDEntryPx"] = price(update.price)
    if update.action is not Action.DELETE and update.size is not None:
        entry["MDEntrySize"] = update.size
    return entry


def closing_entry(update: e.ClosingPrice) -> Entry:
    entry = head("5", update.security_id, update.time_ns)
    entry |= {"MDUpdateAction": int(Action.NEW), "MDStreamID": ELECTRONIC}
    entry["MDEntryPx"] = fine_price(update.price_fine)
    entry["OpenCloseSettlFlag"] = _CLOSINGS.get(update.origin, 0)
    if update.origin is PriceOrigin.PREVIOUS_DAY:
        entry["PriceAdjustmentMethod"] = update.adjustment or 0
        if update.last_trade_date is not None:
            entry["LastTradeDate"] = day_number(update.last_trade_date)
    return entry


def settlement_entry(update: e.SettlementPrice) -> Entry:
    """Of today (1) or of the day before (4); 272 and 273 are those of the message (10.6)."""
    previous = update.origin is PriceOrigin.PREVIOUS_DAY
    return head("6", update.security_id, update.time_ns) | {
        "MDUpdateAction": int(Action.NEW), "MDStreamID": _ALL, "MDEntryPx": price(update.price),
        "PriceType": str(int(update.price_kind)),
        "OpenCloseSettlFlag": int(PriceOrigin.PREVIOUS_DAY if previous else PriceOrigin.SESSION),
        "SettPriceType": int(update.kind),
    }  # fmt: skip


def extreme_entry(kind: str) -> Callable[[Any], Entry]:
    def entry_of(update: e.HighPrice | e.LowPrice) -> Entry:
        entry = head(kind, update.security_id, update.time_ns)
        entry |= {"MDUpdateAction": int(update.action), "MDStreamID": ELECTRONIC}
        if update.action is not Action.DELETE:
            entry["MDEntryPx"] = price(update.price)
        return entry

    return entry_of


def imbalance_entry(update: e.Imbalance) -> Entry:
    entry = head("A", update.security_id, update.time_ns) | {"MDUpdateAction": int(update.action)}
    if update.action is Action.DELETE:
        return entry
    entry["MDEntrySize"] = update.size or 0
    if update.side & (ImbalanceSide.MORE_BUYERS | ImbalanceSide.MORE_SELLERS):
        entry["TradeCondition"] = "P" if update.side & ImbalanceSide.MORE_BUYERS else "Q"
    return entry


def open_interest_entry(update: e.OpenInterest) -> Entry:
    entry = head("C", update.security_id, update.time_ns)
    return entry | {
        "MDUpdateAction": int(Action.NEW), "MDStreamID": ELECTRONIC, "MDEntrySize": update.size,
    }  # fmt: skip


def price_band_entry(update: e.PriceBand) -> Entry:
    entry = head("g", update.security_id, update.time_ns) | {"MDUpdateAction": int(Action.NEW)}
    if update.type is None:
        if update.reference_fine is not None:
            entry["TradingReferencePrice"] = fine_price(update.reference_fine)
        return entry
    entry["PriceBandType"] = str(int(update.type))
    for name, value in (("LowLimitPrice", update.low), ("HighLimitPrice", update.high)):
        if value is not None:
            entry[name] = price(value)
    if update.limit_type is not None:
        entry["PriceLimitType"] = int(update.limit_type)
    if update.midpoint is not None:
        entry["PriceBandMidpointPriceType"] = int(update.midpoint)
    return entry


def quantity_band_entry(update: e.QuantityBand) -> Entry:
    entry = head("h", update.security_id, update.time_ns) | {"MDUpdateAction": int(Action.NEW)}
    for name, value in (("AvgDailyTradedQty", update.average_daily), ("MaxTradeVol", update.largest_order)):
        if value is not None:
            entry[name] = value
    return entry


def as_snapshot(entry: Entry) -> Entry:
    """The same, without what 147 has once for all its entries, or not at all; its times are text."""
    entry["MDEntryTime"] = _clock_text(entry["MDEntryTime"])
    del entry["SecurityID"]
    entry.pop("MDUpdateAction", None)
    return entry


@lru_cache(maxsize=1 << 12)
def _clock_text(clock: int) -> str:
    return f"{clock:09}"
