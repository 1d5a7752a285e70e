"""Updates of the model as entries of 35=X (7.8): tags and the bytes of their values.

Those of 35=W are the same without 279 and the instrument (`as_snapshot`). Times are UTC, to the millisecond.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from pregao.codecs.fix.formats import format_timestamp
from pregao.feeds.publishers import Figures
from pregao.model import events as e
from pregao.model.market import (
    EXCHANGE,
    Action,
    ImbalanceSide,
    PriceOrigin,
    Session,
    Side,
    TradeCondition,
    TradeSubType,
)

Entry = dict[int, Any]  # bytes; of 711 a list of entries

DAY_NS: Final = 86_400 * 1_000_000_000
BY_ORDER, BY_LEVEL = b"3", b"2"  # MDBookType
SOURCE, MARKET = b"8", EXCHANGE.encode("ascii")  # of every instrument (7.3)
ELECTRONIC, INDEX, LENDING, TERMO, ALL = b"E", b"N", b"L", b"T", b"A"
SIDES: Final = {Side.BUY: b"0", Side.SELL: b"1"}
FIRMS: Final = {Side.BUY: 288, Side.SELL: 289}
_ACTIONS: Final = {action: b"%d" % action for action in Action}
_CLOSINGS: Final = {PriceOrigin.EXPECTED: b"3", PriceOrigin.PREVIOUS_DAY: b"4"}
_CONDITIONS: Final = (
    (TradeCondition.OPENING_PRICE, b"R"), (TradeCondition.CROSSED, b"X"),
    (TradeCondition.LAST_AT_SAME_PRICE, b"L"), (TradeCondition.ON_BEHALF, b"2"),
)  # fmt: skip
_SUB_TYPES: Final = {
    TradeSubType.MULTI_ASSET: b"3", TradeSubType.LEG: b"1", TradeSubType.MIDPOINT: b"MP",
    TradeSubType.BLOCK_BOOK: b"PT", TradeSubType.RFQ: b"RF", TradeSubType.RLP: b"RL",
    TradeSubType.TAC: b"TC", TradeSubType.TAA: b"TA", TradeSubType.SWEEP: b"SW",
}  # fmt: skip
EXCHANGE_LAST: Final = b"U"
_ONLY_IN_X: Final = (279, 48, 22, 207)

# Values


@lru_cache(maxsize=1 << 16)
def price_text(value: int) -> bytes:
    """Ten-thousandths, with two decimals where that is enough."""
    sign, (whole, rest) = b"-" if value < 0 else b"", divmod(abs(value), 10_000)
    return b"%b%d.%04d" % (sign, whole, rest) if rest % 100 else b"%b%d.%02d" % (sign, whole, rest // 100)


def fine_text(value: int) -> bytes:
    """Hundred-millionths with as few decimals as they have, of two, four or eight."""
    whole, rest = divmod(value, 10_000)
    if not rest:
        return price_text(whole)
    sign, (whole, rest) = b"-" if value < 0 else b"", divmod(abs(value), 100_000_000)
    return b"%b%d.%08d" % (sign, whole, rest)


@lru_cache(maxsize=1024)
def date_text(days: int) -> bytes:
    return format_timestamp(days * DAY_NS, 0)[:8]


@lru_cache(maxsize=4096)
def _second_text(seconds: int) -> bytes:
    minutes, second = divmod(seconds, 60)
    return b"%02d:%02d:%02d" % (*divmod(minutes, 60), second)


def time_text(time_ns: int) -> bytes:
    seconds, rest = divmod(time_ns % DAY_NS, 1_000_000_000)
    return b"%b.%03d" % (_second_text(seconds), rest // 1_000_000)


def head(action: Action, kind: bytes, security_id: int, time_ns: int) -> Entry:
    """What every entry has."""
    return {
        279: _ACTIONS[action], 269: kind, 48: b"%d" % security_id, 22: SOURCE, 207: MARKET,
        272: date_text(time_ns // DAY_NS), 273: time_text(time_ns),
    }  # fmt: skip


def as_snapshot(entry: Entry) -> Entry:
    return {tag: value for tag, value in entry.items() if tag not in _ONLY_IN_X}


# Books


def order_entry(order: e.OrderUpdate, action: Action, previous_size: int | None = None) -> Entry:
    """7.8.1. A delete has the price, which finds the order, and no size (6.2 and 7.8.1 differ)."""
    entry = head(action, SIDES[order.side], order.security_id, order.transact_ns)
    entry[37] = b"%d" % order.order_id
    if order.price is not None:
        entry[270] = price_text(order.price)
    if action is Action.DELETE:
        return entry
    entry[271] = b"%d" % order.size
    if previous_size is not None:
        entry[37780] = b"%d" % previous_size
    entry[37016], entry[37017] = date_text(order.inserted_ns // DAY_NS), time_text(order.inserted_ns)
    if order.recovery or order.implied:
        entry[276] = b" ".join([b"R"] * order.recovery + [b"K"] * order.implied)
    if order.firm is not None:
        entry[FIRMS[order.side]] = b"%d" % order.firm
    return entry


def level_entry(level: e.LevelUpdate, *, lending: bool = False) -> Entry:
    """7.8.1 of a book by price: neither OrderID, firm nor time of entry, but how many orders there are."""
    entry = head(level.action, SIDES[level.side], level.security_id, level.transact_ns)
    if lending:
        entry[1500] = LENDING
    if level.price is not None:
        entry[270] = price_text(level.price)
    if level.action is Action.DELETE:
        return entry
    entry |= {271: b"%d" % level.size, 346: b"%d" % level.orders}
    if level.previous_size is not None:
        entry[37780] = b"%d" % level.previous_size
    if level.recovery:
        entry[276] = b"R"
    return entry


def wiped_entry(wiped: e.SideDeleted) -> Entry:
    return head(Action.DELETE_THRU, SIDES[wiped.side], wiped.security_id, wiped.transact_ns)


def emptied_entry(security_id: int, time_ns: int) -> Entry:
    """7.8.2."""
    return head(Action.NEW, b"J", security_id, time_ns)


# Trades


def _conditions(trade: e.Trade | e.LastTrade) -> list[bytes]:
    letters = [letter for flag, letter in _CONDITIONS if trade.condition & flag]
    if trade.sub_type in _SUB_TYPES:
        letters.append(_SUB_TYPES[trade.sub_type])
    return [*letters, b"IM"] if trade.implied else letters


def _parties(trade: e.Trade | e.LastTrade) -> Entry:
    given = {288: trade.buyer, 289: trade.seller, 287: trade.seller_days}
    found: Entry = {tag: b"%d" % value for tag, value in given.items() if value is not None}
    if trade.interest_rate is not None:
        found[37014] = price_text(trade.interest_rate)
    if trade.session is Session.NON_REGULAR:
        found[336] = b"%d" % trade.session
    return found


def trade_entry(trade: e.Trade, figures: Figures) -> Entry:
    """7.8.3."""
    entry = head(Action.NEW, b"2", trade.security_id, trade.transact_ns)
    entry |= {
        1500: TERMO if trade.forward else ELECTRONIC, 270: price_text(trade.price), 271: b"%d" % trade.size,
        37016: date_text(trade.trade_date), 37017: entry[273], 1003: b"%d" % trade.trade_id,
    }  # fmt: skip
    entry |= _parties(trade)
    if not trade.forward:
        entry[1020] = b"%d" % figures.volume
    if figures.net_change_fine is not None:
        entry[451] = fine_text(figures.net_change_fine)
    if figures.tick is not None:
        entry[274] = b"%d" % figures.tick
    if letters := _conditions(trade):
        entry[277] = b" ".join(letters)
    return entry


def bust_entry(trade: e.TradeBusted) -> Entry:
    entry = head(Action.DELETE, b"2", trade.security_id, trade.transact_ns)
    entry |= {
        1500: TERMO if trade.forward else ELECTRONIC, 270: price_text(trade.price), 271: b"%d" % trade.size,
        37016: date_text(trade.trade_date), 37017: entry[273], 1003: b"%d" % trade.trade_id,
    }  # fmt: skip
    if trade.session is Session.NON_REGULAR:
        entry[336] = b"%d" % trade.session
    return entry


def exchange_last_entry(trade: e.LastTrade) -> Entry:
    """Price and size of the last valid trade, which is no trade (7.8.3, note 2)."""
    is_termo = trade.seller_days is not None or trade.interest_rate is not None
    entry = head(Action.NEW, b"2", trade.security_id, trade.time_ns)
    return entry | {
        1500: TERMO if is_termo else ELECTRONIC, 270: price_text(trade.price), 271: b"%d" % trade.size,
        277: EXCHANGE_LAST,
    }  # fmt: skip


def snapshot_trade(trade: e.LastTrade) -> Entry:
    """In 35=W the last trade has its TradeID, from where 7.6 lets clients ask on; 277=U says that it is
    none."""
    entry = as_snapshot(exchange_last_entry(trade))
    entry |= {1003: b"%d" % trade.trade_id, 37016: date_text(trade.trade_date), 37017: entry[273]}
    entry |= _parties(trade)
    entry[277] = b" ".join([EXCHANGE_LAST, *_conditions(trade)])
    return entry


# Statistics


def vwap_entry(update: e.ExecutionStatistics) -> Entry:
    """Deleted when every trade was busted."""
    action = Action.DELETE if update.vwap is None else Action.NEW
    entry = head(action, b"9", update.security_id, update.time_ns) | {1500: ELECTRONIC}
    return entry if update.vwap is None else entry | {270: price_text(update.vwap)}


def volume_entry(update: e.ExecutionStatistics) -> Entry:
    """7.8.10: 270 is money in plain currency, 271 how many trades."""
    entry = head(Action.NEW, b"B", update.security_id, update.time_ns)
    entry |= {1500: ELECTRONIC, 15: b"BRL", 271: b"%d" % update.trades, 1020: b"%d" % update.volume}
    return entry if update.value is None else entry | {270: price_text(update.value)}


def opening_entry(update: e.OpeningPrice) -> Entry:
    entry = head(update.action, b"4", update.security_id, update.time_ns) | {1500: ELECTRONIC, 286: b"0"}
    if update.action is Action.DELETE:
        return entry
    entry[270] = price_text(update.price)
    if update.net_change_fine is not None:
        entry[451] = fine_text(update.net_change_fine)
    if update.interest_rate is not None:
        entry[37014] = price_text(update.interest_rate)
    return entry


def theoretical_entry(update: e.TheoreticalPrice) -> Entry:
    """286=5 makes it theoretical; no stream is told (7.8.5)."""
    entry = head(update.action, b"4", update.security_id, update.time_ns) | {286: b"5"}
    if update.action is not Action.DELETE and update.price is not None:
        entry[270] = price_text(update.price)
    if update.action is not Action.DELETE and update.size is not None:
        entry[271] = b"%d" % update.size
    return entry


def closing_entry(update: e.ClosingPrice) -> Entry:
    entry = head(Action.NEW, b"5", update.security_id, update.time_ns)
    entry |= {1500: ELECTRONIC, 270: fine_text(update.price_fine), 286: _CLOSINGS.get(update.origin, b"0")}
    if update.origin is PriceOrigin.PREVIOUS_DAY:
        entry[37013] = b"%d" % (update.adjustment or 0)
        if update.last_trade_date is not None:
            entry[9325] = date_text(update.last_trade_date)
    return entry


def settlement_entry(update: e.SettlementPrice) -> Entry:
    previous = update.origin is PriceOrigin.PREVIOUS_DAY
    return head(Action.NEW, b"6", update.security_id, update.time_ns) | {
        1500: ALL, 270: price_text(update.price), 423: b"%d" % update.price_kind,
        286: b"4" if previous else b"1", 731: b"%d" % update.kind,
    }  # fmt: skip


def extreme_entry(kind: bytes) -> Callable[[Any], Entry]:
    def entry_of(update: e.HighPrice | e.LowPrice) -> Entry:
        entry = head(update.action, kind, update.security_id, update.time_ns) | {1500: ELECTRONIC}
        return entry if update.action is Action.DELETE else entry | {270: price_text(update.price)}

    return entry_of


def imbalance_entry(update: e.Imbalance) -> Entry:
    entry = head(update.action, b"A", update.security_id, update.time_ns)
    if update.action is Action.DELETE:
        return entry
    entry[271] = b"%d" % (update.size or 0)
    if update.side & (ImbalanceSide.MORE_BUYERS | ImbalanceSide.MORE_SELLERS):
        entry[277] = b"P" if update.side & ImbalanceSide.MORE_BUYERS else b"Q"
    return entry
