"""Updates of the model as entries of 35=X and 35=W (1.3.5, 1.3.6): tags and the bytes of their values.

An entry is made as 35=X has it; `as_snapshot` leaves out what 35=W does not have. No firms are told. Orders
have three actions: new, change and delete.
"""

from typing import Any, Final

from pregao.feeds.publishers import Tick
from pregao.feeds.trademate.values import (
    ELECTRONIC,
    MARKET,
    SOURCE,
    STATES,
    Fields,
    date_text,
    decimal_text,
    moment_fields,
    time_text,
)
from pregao.model import events as e
from pregao.model.fixed_income import BOND_EXPONENT, Bond
from pregao.model.market import Action, PriceOrigin, Side, State, TradeCondition, TradeSubType

DAY_NS: Final = 86_400_000_000_000
_ACTIONS: Final = {Action.NEW: b"0", Action.CHANGE: b"1", Action.DELETE: b"2"}
_SIDES: Final = {Side.BUY: b"0", Side.SELL: b"1"}
_CONDITIONS: Final = (
    (TradeCondition.ON_BEHALF, b"2"), (TradeCondition.LAST_AT_SAME_PRICE, b"L"),
    (TradeCondition.OPENING_PRICE, b"R"), (TradeCondition.CROSSED, b"X"), (TradeCondition.AUCTION, b"AW"),
    (TradeCondition.AUCTION_OPENING, b"AWR"),
)  # fmt: skip
_ORIGINS: Final = {TradeSubType.RFQ: b"RFQ", TradeSubType.VOICE: b"VO"}
_ONLY_IN_X: Final = (279, 48, 22, 207, 876, 37016, 37017)


def head(bond: Bond, action: Action, kind: bytes, time_ns: int) -> Fields:
    """What every entry of 35=X has."""
    return {
        279: _ACTIONS[action], 269: kind, 876: b"%d" % bond.registration,
        48: b"%d" % bond.instrument.security_id, 22: SOURCE, 207: MARKET, **moment_fields(time_ns),
    }  # fmt: skip


def as_snapshot(entry: Fields) -> Fields:
    return {tag: value for tag, value in entry.items() if tag not in _ONLY_IN_X}


def price_text(price: int) -> bytes:
    return decimal_text(price, BOND_EXPONENT)


def size_text(bond: Bond, size: int) -> bytes:
    return decimal_text(size, bond.instrument.size_exponent)


def _kind(bond: Bond) -> Fields:
    return {423: b"%d" % bond.price_kind}


def order_entry(bond: Bond, order: e.OrderUpdate, position: int | None = None) -> Fields:
    """290 is where it stands, or stood, from 1. A deleted one has its price, and no size."""
    entry = head(bond, order.action, _SIDES[order.side], order.transact_ns) | _kind(bond)
    entry |= {37: b"%d" % order.order_id, 290: b"%d" % (position or order.position)}
    if order.price is not None:
        entry[270] = price_text(order.price)
    if order.action is not Action.DELETE:
        entry |= {
            271: size_text(bond, order.size), 37016: date_text(order.inserted_ns // DAY_NS),
            37017: time_text(order.inserted_ns),
        }  # fmt: skip
    return entry


def condition_letters(trade: e.Trade) -> bytes:
    """277; AWR says the auction too. Legs (1) are reserved: a casada's trade is its own alone."""
    letters = [letter for flag, letter in _CONDITIONS if trade.condition & flag]
    if trade.sub_type in _ORIGINS:
        letters.append(_ORIGINS[trade.sub_type])
    return b" ".join(letters)


def trade_entry(bond: Bond, trade: e.Trade, volume: int, tick: Tick | None, net_change: int | None) -> Fields:
    """1020 is the day's volume with this trade, 451 the price less yesterday's closing price."""
    entry = head(bond, Action.NEW, b"2", trade.transact_ns) | _kind(bond)
    entry |= {
        1003: b"%d" % trade.trade_id, 270: price_text(trade.price), 271: size_text(bond, trade.size),
        1020: size_text(bond, volume), 37016: date_text(trade.trade_date), 37017: entry[273],
    }  # fmt: skip
    if letters := condition_letters(trade):
        entry[277] = letters
    if tick is not None:
        entry[274] = b"%d" % tick
    if net_change is not None:
        entry[451] = price_text(net_change)
    return entry


def bust_entry(bond: Bond, busted: e.TradeBusted, letters: bytes) -> Fields:
    """279=2 with the 277 that the trade had."""
    entry = head(bond, Action.DELETE, b"2", busted.transact_ns) | _kind(bond)
    entry |= {
        1003: b"%d" % busted.trade_id, 270: price_text(busted.price), 271: size_text(bond, busted.size),
        37016: date_text(busted.trade_date), 37017: entry[273],
    }  # fmt: skip
    return entry | ({277: letters} if letters else {})


def opening_entry(bond: Bond, update: e.OpeningPrice, size: int | None) -> Fields:
    entry = head(bond, update.action, b"4", update.time_ns) | {286: b"0", 1500: ELECTRONIC}
    if update.action is not Action.DELETE:
        entry[270] = price_text(update.price)
        if size is not None:
            entry[271] = size_text(bond, size)
    return entry


def theoretical_entry(bond: Bond, update: e.TheoreticalPrice) -> Fields:
    """286=5."""
    entry = head(bond, update.action, b"4", update.time_ns) | {286: b"5", 1500: ELECTRONIC}
    if update.price is not None and update.size is not None:
        entry |= {270: price_text(update.price), 271: size_text(bond, update.size)}
    return entry


def closing_entry(bond: Bond, update: e.ClosingPrice) -> Fields:
    origin = b"4" if update.origin is PriceOrigin.PREVIOUS_DAY else b"0"
    entry = head(bond, Action.NEW, b"5", update.time_ns)
    return entry | {270: price_text(update.price_fine), 286: origin}


def extreme_entry(bond: Bond, update: e.HighPrice | e.LowPrice) -> Fields:
    kind = b"7" if isinstance(update, e.HighPrice) else b"8"
    entry = head(bond, update.action, kind, update.time_ns) | _kind(bond)
    return entry if update.action is Action.DELETE else entry | {270: price_text(update.price)}


def average_entry(bond: Bond, update: e.ExecutionStatistics, action: Action) -> Fields:
    entry = head(bond, action, b"9", update.time_ns) | _kind(bond)
    return entry if update.vwap is None else entry | {270: price_text(update.vwap)}


def volume_entry(bond: Bond, update: e.ExecutionStatistics) -> Fields:
    """270 is money, 271 how many trades, 1020 the volume."""
    entry = head(bond, Action.NEW, b"B", update.time_ns)
    entry |= {271: b"%d" % update.trades, 1020: size_text(bond, update.volume)}
    return entry if update.value is None else entry | {270: price_text(update.value)}


def band_entry(bond: Bond, update: e.PriceBand) -> Fields:
    entry = head(bond, Action.NEW, b"g", update.time_ns)
    if update.type is not None:
        entry[6939] = b"%d" % update.type
    limits = {1148: update.low, 1149: update.high}
    return entry | {tag: price_text(limit) for tag, limit in limits.items() if limit is not None}


def state_entry(bond: Bond, change: e.StateChanged) -> Fields:
    entry = head(bond, Action.NEW, b"c", change.transact_ns)
    return entry | {326: STATES[change.state or State.OPEN]}


STATISTICS: Final[dict[type, Any]] = {
    e.TheoreticalPrice: theoretical_entry, e.ClosingPrice: closing_entry, e.HighPrice: extreme_entry,
    e.LowPrice: extreme_entry, e.PriceBand: band_entry,
}  # fmt: skip
