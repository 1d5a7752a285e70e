"""Entries of 35=X and 35=W (7, 9, 10) to rows of `model.rows`, one at a time.

`fill` writes one row; what an entry says that no row of this kind has room for is left out, and what nobody
knows is a fault that names it. Prices have four decimals and quantities none, as everywhere in the tables:
what does not fit is a fault, never rounded.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pregao.codecs.fast import Scaled
from pregao.feeds.fast.times import date_days, moment_ns
from pregao.model.errors import DecodeError, Fault
from pregao.model.market import PRICE_EXPONENT, Action, TradeCondition
from pregao.model.rows import NULL, Flag, Kind

Entry = Mapping[str, Any]
FINE_EXPONENT: Final = -8
_TOP: Final = 1 << 63
_NULLS: Final = (
    "security_id", "id", "price", "size", "other", "time_ns", "inserted_ns", "fine", "low", "high",
)  # fmt: skip
_CONDITIONS: Final = {
    "R": TradeCondition.OPENING_PRICE, "X": TradeCondition.CROSSED, "L": TradeCondition.LAST_AT_SAME_PRICE,
    "U": 0, "1": 0, "2": 0, "3": 0,
}  # fmt: skip
_BANDS: Final = {"1": 1, "2": 2, "3": 3, "4": 4}


def unknown(what: str, value: object) -> DecodeError:
    return DecodeError(Fault.FAST_UNKNOWN_VALUE, 0, f"{what} {value!r:.40}")


def scaled(value: Scaled | None, exponent: int) -> int:
    """A decimal as an integer of ten to an exponent; NULL where it is absent."""
    if value is None:
        return NULL
    shift = value.exponent - exponent
    if value.mantissa == 0:
        return 0
    if abs(shift) > 40:
        raise DecodeError(Fault.FAST_BEYOND_SCALE, 0, str(value))
    number, rest = (value.mantissa * 10**shift, 0) if shift >= 0 else divmod(value.mantissa, 10**-shift)
    if rest or not -_TOP < number < _TOP:
        raise DecodeError(Fault.FAST_BEYOND_SCALE, 0, str(value))
    return int(number)


def number_of(text: object) -> int:
    """An id that is digits; what is not, and does not fit, has none."""
    if text is None:
        return NULL
    digits = str(text)
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 19 else -1
    return number if 0 <= number < _TOP else NULL


def fill(row: Any, entry: Entry, *, by_level: bool, snapshot: bool) -> None:
    """Of an entry whose message has filled in where it came from. DecodeError: nobody knows it."""
    for name in _NULLS:
        row[name] = NULL
    row["security_id"] = NULL if entry.get("SecurityID") is None else entry["SecurityID"]
    row["rpt_seq"] = entry.get("RptSeq") or 0
    row["stream"] = ord((entry.get("MDStreamID") or "E")[0])
    time_ns = moment_ns(entry.get("MDEntryDate"), entry.get("MDEntryTime"))
    row["time_ns"] = NULL if time_ns is None else time_ns
    row["trade_date"] = max(0, date_days(entry.get("MDEntryDate")) or 0)
    if not snapshot:
        row["action"] = _action(entry.get("MDUpdateAction"))
    kind = entry.get("MDEntryType")
    filler = _FILLERS.get(kind or "")
    if filler is None:
        raise unknown("MDEntryType", kind)
    filler(row, entry)
    if kind in ("0", "1"):
        _book(row, entry, by_level=by_level, snapshot=snapshot)


def _action(value: Any) -> int:
    if value not in (0, 1, 2, 3, 4, 5):
        raise unknown("MDUpdateAction", value)
    return int(value)


def _prices(row: Any, entry: Entry) -> None:
    row["price"] = scaled(entry.get("MDEntryPx"), PRICE_EXPONENT)
    size = entry.get("MDEntrySize")
    row["size"] = NULL if size is None else size


def _book(row: Any, entry: Entry, *, by_level: bool, snapshot: bool) -> None:
    """By position in every kind of book (9): MBO by order, MBP and TOB by level."""
    row["side"] = 1 if entry["MDEntryType"] == "0" else 2
    row["position"] = entry.get("MDEntryPositionNo") or 0
    conditions = (entry.get("QuoteCondition") or "").split()
    row["flags"] |= Flag.RECOVERY if "R" in conditions else 0
    if row["action"] in (Action.DELETE_THRU, Action.DELETE_FROM) and not snapshot:
        row["kind"] = Kind.SIDE
        row["flags"] |= Flag.BY_POSITION
    elif by_level:
        row["kind"] = Kind.SNAPSHOT_LEVEL if snapshot else Kind.LEVEL
        row["firm"] = entry.get("NumberOfOrders") or 0
    else:
        row["kind"] = Kind.SNAPSHOT_ORDER if snapshot else Kind.ORDER
        row["flags"] |= Flag.BY_POSITION | Flag.PRICE_UNTOLD
        row["id"] = number_of(entry.get("OrderID"))
        firm = number_of(entry.get("MDEntryBuyer" if row["side"] == 1 else "MDEntrySeller"))
        row["firm"] = firm if 0 <= firm < 1 << 32 else 0
        inserted = moment_ns(entry.get("MDInsertDate"), entry.get("MDInsertTime"))
        row["inserted_ns"] = NULL if inserted is None else inserted
        _lending(row, entry)
    if snapshot:
        row["action"] = Action.NEW


def _lending(row: Any, entry: Entry) -> None:
    days = date_days(entry.get("ExpireDate"))
    row["high"] = NULL if days is None else days
    parts = [entry.get(name) for name in ("EarlyTermination", "BTBCertIndicator", "BTBContractInfo")]
    if any(part is not None for part in parts):
        known = (0 if part is None or not 0 <= part < 255 else part + 1 for part in parts)
        row["fine"] = sum(part << 8 * index for index, part in enumerate(known))


def _side(row: Any, entry: Entry) -> None:
    _prices(row, entry)


def _trade(row: Any, entry: Entry) -> None:
    """A delete busts (10.1); U tells of a trade that was, and is a statistic."""
    _prices(row, entry)
    letters = (entry.get("TradeCondition") or "").split()
    for letter in letters:
        if letter not in _CONDITIONS:
            raise unknown("TradeCondition", letter)
    if row["action"] not in (Action.NEW, Action.DELETE, 255):
        raise unknown("MDUpdateAction of a trade", int(row["action"]))
    row["kind"] = Kind.BUST if row["action"] == Action.DELETE else Kind.TRADE
    row["kind"] = Kind.LAST_TRADE if "U" in letters else row["kind"]
    row["id"] = number_of(entry.get("TradeID"))
    row["condition"] = sum(_CONDITIONS[letter] for letter in set(letters))
    row["session"] = entry.get("TradingSessionID") or 0
    tick = number_of(entry.get("TickDirection"))
    row["type"] = tick + 1 if 0 <= tick < 9 else 0
    for name, tag in (("firm", "MDEntryBuyer"), ("position", "MDEntrySeller")):
        firm = number_of(entry.get(tag))
        row[name] = firm if 0 <= firm < 1 << 32 else 0
    row["other"] = scaled(entry.get("MDEntryInterestRate"), PRICE_EXPONENT)
    row["low"] = NULL if entry.get("SellerDays") is None else entry["SellerDays"]
    _lending(row, entry)


def _statistic(kind: Kind) -> Callable[[Any, Entry], None]:
    def filler(row: Any, entry: Entry) -> None:
        _prices(row, entry)
        row["kind"] = kind

    return filler


def _opening(row: Any, entry: Entry) -> None:
    """286=5 is theoretical, 0 the opening (10.4)."""
    _prices(row, entry)
    flag = _flag(entry)
    row["kind"] = Kind.THEORETICAL if flag == 5 else Kind.OPENING
    row["origin"] = 0 if flag is None else flag + 1
    if row["kind"] == Kind.OPENING:
        row["fine"] = scaled(entry.get("NetChgPrevDay"), FINE_EXPONENT)


def _flag(entry: Entry) -> int | None:
    """286 is a number in 145 and text in 138."""
    flag = number_of(entry.get("OpenCloseSettlFlag"))
    return flag if 0 <= flag < 255 else None


def _closing(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.CLOSING
    row["fine"] = scaled(entry.get("MDEntryPx"), FINE_EXPONENT)
    flag, last = _flag(entry), date_days(entry.get("LastTradeDate"))
    row["origin"] = 0 if flag is None else flag + 1
    row["other"] = NULL if last is None else last


def _settlement(row: Any, entry: Entry) -> None:
    _prices(row, entry)
    row["kind"] = Kind.SETTLEMENT
    flag = _flag(entry)
    row["origin"] = 0 if flag is None else flag + 1
    row["detail"] = entry.get("SettPriceType") or 0
    price_kind = number_of(entry.get("PriceType"))
    row["type"] = price_kind if 0 <= price_kind < 256 else 0


def _imbalance(row: Any, entry: Entry) -> None:
    _prices(row, entry)
    row["kind"] = Kind.IMBALANCE
    conditions = (entry.get("TradeCondition") or "").split()
    row["side"] = 1 if "P" in conditions else 2 if "Q" in conditions else 0


def _totals(row: Any, entry: Entry) -> None:
    """270 is money, 271 trades, 1020 the volume (10.2). Money has no room in a row."""
    row["kind"] = Kind.TOTALS
    volume, trades = entry.get("TradeVolume"), entry.get("MDEntrySize")
    row["size"] = NULL if volume is None else volume
    row["other"] = NULL if trades is None else trades


def _price_band(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.PRICE_BAND
    band = entry.get("PriceBandType")
    if band is not None and band not in _BANDS:
        raise unknown("PriceBandType", band)
    row["type"] = _BANDS.get(band or "", 0)
    row["low"] = scaled(entry.get("LowLimitPrice"), PRICE_EXPONENT)
    row["high"] = scaled(entry.get("HighLimitPrice"), PRICE_EXPONENT)
    row["fine"] = scaled(entry.get("TradingReferencePrice"), FINE_EXPONENT)
    limit, middle = entry.get("PriceLimitType"), entry.get("PriceBandMidpointPriceType")
    row["detail"] = 0 if limit is None else limit + 1
    row["origin"] = 0 if middle is None else middle + 1


def _quantity_band(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.QUANTITY_BAND
    for name, tag in (("size", "MaxTradeVol"), ("other", "AvgDailyTradedQty")):
        row[name] = NULL if entry.get(tag) is None else entry[tag]


def _state(row: Any, entry: Entry) -> None:
    """Only in snapshots (11.4)."""
    row["kind"] = Kind.STATE
    row["type"] = entry.get("SecurityTradingStatus") or 0
    row["detail"] = entry.get("SecurityTradingEvent") or 0
    row["session"] = entry.get("TradingSessionID") or 0


def _empty(row: Any, entry: Entry) -> None:
    """Without an instrument the whole channel (5.2.9)."""
    row["kind"] = Kind.CHANNEL_RESET if entry.get("SecurityID") is None else Kind.EMPTY_BOOK


def _other(row: Any, entry: Entry) -> None:
    """Indices, composites and volatilities: rows have no kind for them yet."""
    _prices(row, entry)
    row["kind"] = Kind.OTHER


_FILLERS: Final[dict[str, Callable[[Any, Entry], None]]] = {
    "0": _side, "1": _side, "2": _trade, "3": _other, "4": _opening, "5": _closing, "6": _settlement,
    "7": _statistic(Kind.HIGH), "8": _statistic(Kind.LOW), "9": _other, "A": _imbalance, "B": _totals,
    "C": _statistic(Kind.OPEN_INTEREST), "D": _other, "J": _empty, "c": _state, "g": _price_band,
    "h": _quantity_band, "v": _other,
}  # fmt: skip
