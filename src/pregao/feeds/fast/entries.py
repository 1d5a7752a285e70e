"""Entries of 35=X and 35=W (7, 9, 10) to rows of `model.rows`, one at a time.

`fill` writes one row; what an entry says that no row of this kind has room for is left out, and what nobody
knows is a fault that names it. Prices have four decimals and quantities none, as everywhere in the tables:
what does not fit is a fault, never rounded.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pregao.codecs.fast import Scaled
from pregao.feeds.fast.times import date_days, moment_ns, timestamp_ns
from pregao.model.errors import DecodeError, Fault
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT, Action, TradeCondition, TradeSubType
from pregao.model.rows import NO_ACTION, NULL, ROW, Flag, Kind

Entry = Mapping[str, Any]
ELECTRONIC, LENDING = "E", "L"  # MDStreamID
_TOP: Final = 1 << 63
_NULLS: Final = (
    "security_id", "id", "price", "size", "other", "time_ns", "inserted_ns", "fine", "low", "high",
)  # fmt: skip
_CONDITIONS: Final = {
    "R": TradeCondition.OPENING_PRICE, "X": TradeCondition.CROSSED, "L": TradeCondition.LAST_AT_SAME_PRICE,
    "2": TradeCondition.ON_BEHALF, "U": 0, "1": 0, "3": 0,
}  # fmt: skip
_OF_PARTS: Final = (
    "security_id",
    "other",
    "stream",
    "trade_date",
    "time_ns",
    "action",
)  # as the whole has them
_BANDS: Final = {"1": 1, "2": 2, "3": 3, "4": 4}
# What values may be (PUMA Conflated, 7.5): others are kept, and are findings.
_STREAMS: Final = frozenset("EXTONLASC")
_QUOTE_CONDITIONS: Final = frozenset(("R", "K", "LM", "AN", "C"))
_IMBALANCES: Final = frozenset("PQ")
_TICKS, _SESSIONS, _PRICE_TYPES = frozenset("0123"), frozenset("16"), frozenset("123")
_ADJUSTMENTS: Final = frozenset("01234")
_LENDING_DOMAINS: Final = (
    ("EarlyTermination", frozenset("012")), ("BTBCertIndicator", frozenset("01")),
    ("BTBContractInfo", frozenset("12")),
)  # fmt: skip
_DOMAINS: Final = {
    "0": (), "1": (), "2": (("TickDirection", _TICKS), ("TradingSessionID", _SESSIONS)),
    "3": (("TickDirection", _TICKS),), "5": (("PriceAdjustmentMethod", _ADJUSTMENTS),),
    "6": (("PriceType", _PRICE_TYPES),), "c": (("TradingSessionID", _SESSIONS),),
}  # fmt: skip
_LISTED: Final = {
    "0": ("QuoteCondition", _QUOTE_CONDITIONS), "1": ("QuoteCondition", _QUOTE_CONDITIONS),
    "2": ("TradeCondition", frozenset(_CONDITIONS)), "A": ("TradeCondition", _IMBALANCES),
}  # fmt: skip
# What changes books (7, 5.2.9); of an entry without a type nobody knows that it does not.
_OF_BOOKS: Final = frozenset(("0", "1", "J", ""))


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


def fill(row: Any, entry: Entry, *, by_level: bool, snapshot: bool) -> DecodeError | None:
    """Of an entry whose message has filled in where it came from. DecodeError is raised where the book of its
    instrument is not known without it, and given back where the row says all but a value that nobody knows,
    or where nobody can read it and it is no book's: it is a report of its instrument all the same."""
    for name in _NULLS:
        row[name] = NULL
    row["security_id"] = NULL if entry.get("SecurityID") is None else entry["SecurityID"]
    row["rpt_seq"] = entry.get("RptSeq") or 0
    row["stream"] = ord((entry.get("MDStreamID") or ELECTRONIC)[0])
    kind = entry.get("MDEntryType") or ""
    if kind not in _OF_BOOKS:
        try:
            _what_happened(row, entry, snapshot=snapshot)
            _FILLERS.get(kind, _nobodys)(row, entry)
        except DecodeError as error:
            _leave_unread(row)
            return error
        except OverflowError:  # a number that its field of the row cannot hold
            _leave_unread(row)
            return DecodeError(Fault.FAST_BEYOND_SCALE, 0, f"MDEntryType {kind!r}")
        return _unknown_value(row, kind, entry)
    _what_happened(row, entry, snapshot=snapshot)
    _FILLERS.get(kind, _nobodys)(row, entry)
    if kind != "J":
        _book(row, entry, by_level=by_level, snapshot=snapshot)
    return _unknown_value(row, kind, entry)


def is_told_of(entry: Entry) -> bool:
    """Whether its type is one that somebody keeps: a statistic, or a book."""
    return entry.get("MDEntryType") in _FILLERS


def _what_happened(row: Any, entry: Entry, *, snapshot: bool) -> None:
    """272, 273 and 279."""
    time_ns = moment_ns(entry.get("MDEntryDate"), entry.get("MDEntryTime"))
    row["time_ns"] = NULL if time_ns is None else time_ns
    row["trade_date"] = max(0, date_days(entry.get("MDEntryDate")) or 0)
    if not snapshot:
        row["action"] = _action(entry.get("MDUpdateAction"))


def _nobodys(row: Any, entry: Entry) -> None:
    raise unknown("MDEntryType", entry.get("MDEntryType"))


_KEPT_UNREAD: Final = ("security_id", "rpt_seq", "stream", "time_ns", "trade_date", "flags")


def _leave_unread(row: Any) -> None:
    """As a report that says nothing but whose it is."""
    known = [row[name] for name in _KEPT_UNREAD]
    for name in ROW.names or ():
        row[name] = NULL if name in _NULLS else 0
    for name, value in zip(_KEPT_UNREAD, known, strict=True):
        row[name] = value
    row["kind"], row["action"] = Kind.UNREAD, NO_ACTION


def _unknown_value(row: Any, kind: str, entry: Entry) -> DecodeError | None:
    """The first value that is out of its domain."""
    stream = entry.get("MDStreamID")
    if stream and stream not in _STREAMS:
        return unknown("MDStreamID", stream)
    for name, domain in _domains(row, kind):
        value = entry.get(name)
        if value is not None and str(value) not in domain:
            return unknown(name, value)
    if kind in _LISTED:
        name, domain = _LISTED[kind]
        for value in (entry.get(name) or "").split():
            if value not in domain:
                return unknown(name, value)
    return None


def _domains(row: Any, kind: str) -> Iterable[tuple[str, frozenset[str]]]:
    of_kind = _DOMAINS.get(kind, ())
    of_lending = row["kind"] in _LENDING_KINDS or (kind == "2" and row["stream"] == ord(LENDING))
    return (*of_kind, *_LENDING_DOMAINS) if of_lending else of_kind


_LENDING_KINDS: Final = (Kind.ORDER, Kind.SNAPSHOT_ORDER)
_PART_PRICES: Final = (None, 0, 1)  # UnderlyingPxType: of a trade, or the average of the top


def unknown_session(fields: Entry) -> DecodeError | None:
    """336 of a status, where nobody knows it."""
    session = fields.get("TradingSessionID")
    return None if session is None or str(session) in _SESSIONS else unknown("TradingSessionID", session)


def unknown_part(parts: Iterable[Entry]) -> DecodeError | None:
    """The first part of a composite whose price is of a kind that nobody knows."""
    odd = (each["UnderlyingPxType"] for each in parts if each.get("UnderlyingPxType") not in _PART_PRICES)
    return next((unknown("UnderlyingPxType", value) for value in odd), None)


def _action(value: Any) -> int:
    """New where it is absent, as it may be in template 81: a reset of the channel must not be missed."""
    if value is None:
        return int(Action.NEW)
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
    row["flags"] |= (Flag.RECOVERY if "R" in conditions else 0) | (Flag.IMPLIED if "K" in conditions else 0)
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
    """A delete busts (10.1); U tells of a trade that was, and is a statistic. The last price is that of the
    newest time, then of the highest id, and never of a leg."""
    _prices(row, entry)
    letters = (entry.get("TradeCondition") or "").split()
    row["flags"] |= Flag.BY_TIME | (Flag.FORWARD if "3" in letters else 0)
    row["detail"] = TradeSubType.LEG if "1" in letters else 0
    if row["action"] not in (Action.NEW, Action.DELETE, 255):
        raise unknown("MDUpdateAction of a trade", int(row["action"]))
    row["kind"] = Kind.BUST if row["action"] == Action.DELETE else Kind.TRADE
    row["kind"] = Kind.LAST_TRADE if "U" in letters else row["kind"]
    row["id"] = number_of(entry.get("TradeID"))
    row["condition"] = sum(_CONDITIONS.get(letter, 0) for letter in set(letters))
    row["session"] = entry.get("TradingSessionID") or 0
    tick = number_of(entry.get("TickDirection"))
    row["type"] = tick + 1 if 0 <= tick < 9 else 0
    for name, tag in (("firm", "MDEntryBuyer"), ("position", "MDEntrySeller")):
        firm = number_of(entry.get(tag))
        row[name] = firm if 0 <= firm < 1 << 32 else 0
    row["other"] = scaled(entry.get("MDEntryInterestRate"), PRICE_EXPONENT)
    row["low"] = _or_null(entry.get("SellerDays"))
    if row["stream"] == ord(LENDING):
        _lending(row, entry)
        row["inserted_ns"] = _or_null(date_days(entry.get("BTBGraceDate")))
    else:
        row["high"] = _or_null(entry.get("TradeVolume"))
        row["fine"] = scaled(entry.get("NetChgPrevDay"), FINE_EXPONENT)


def _or_null(value: int | None) -> int:
    return NULL if value is None else value


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
        row["other"] = scaled(entry.get("MDEntryInterestRate"), PRICE_EXPONENT)  # of a termo


def _flag(entry: Entry) -> int | None:
    """286 is a number in 145 and text in 138."""
    flag = number_of(entry.get("OpenCloseSettlFlag"))
    return flag if 0 <= flag < 255 else None


def _closing(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.CLOSING
    row["fine"] = scaled(entry.get("MDEntryPx"), FINE_EXPONENT)
    flag, last = _flag(entry), date_days(entry.get("LastTradeDate"))
    row["origin"] = 0 if flag is None else flag + 1
    row["other"] = _or_null(last)
    method = entry.get("PriceAdjustmentMethod")
    row["detail"] = method + 1 if method is not None and 0 <= method < 255 else 0


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
    """270 is money, 271 trades, 1020 the volume (10.2): as sent, whatever its unit (12.4)."""
    row["kind"] = Kind.TOTALS
    row["size"], row["other"] = _or_null(entry.get("TradeVolume")), _or_null(entry.get("MDEntrySize"))
    row["low"] = scaled(entry.get("MDEntryPx"), PRICE_EXPONENT)
    row["condition"] = int.from_bytes((entry.get("Currency") or "").encode("ascii", "replace")[:4], "little")


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
    """Only in snapshots (11.4): the group's phase beside the instrument's own state."""
    row["kind"] = Kind.STATE
    phase = number_of(entry.get("TradingSessionSubID"))
    row["origin"] = phase if 0 <= phase < 256 else 0
    ends_ns = timestamp_ns(entry.get("TradSesOpenTime"))
    row["inserted_ns"] = _or_null(ends_ns)
    row["type"] = entry.get("SecurityTradingStatus") or 0
    row["detail"] = entry.get("SecurityTradingEvent") or 0
    row["session"] = entry.get("TradingSessionID") or 0


def _empty(row: Any, entry: Entry) -> None:
    """Without an instrument the whole channel (5.2.9)."""
    row["kind"] = Kind.CHANNEL_RESET if entry.get("SecurityID") is None else Kind.EMPTY_BOOK


def _index(row: Any, entry: Entry) -> None:
    """The value of an index (10.10)."""
    _prices(row, entry)
    row["kind"] = Kind.INDEX
    row["other"] = _or_null(entry.get("IndexSeq"))
    row["fine"] = scaled(entry.get("NetChgPrevDay"), FINE_EXPONENT)
    tick = number_of(entry.get("TickDirection"))
    row["type"] = tick + 1 if 0 <= tick < 9 else 0


def _composite(row: Any, entry: Entry) -> None:
    """Its parts are rows of their own, which follow it: `fill_part`."""
    row["kind"] = Kind.COMPOSITE
    row["other"] = _or_null(entry.get("IndexSeq"))
    row["low"] = len(entry.get("Underlyings") or ())


def fill_part(row: Any, whole: Any, part: Entry, position: int) -> None:
    """One underlying of a composite, whose row is `whole`. It is no report of its own."""
    for name in _NULLS:
        row[name] = NULL
    for name in _OF_PARTS:
        row[name] = whole[name]
    row["kind"], row["position"] = Kind.COMPOSITE_PART, position
    row["id"] = part["UnderlyingSecurityID"]
    row["price"] = scaled(part.get("UnderlyingPx"), PRICE_EXPONENT)
    kind = part.get("UnderlyingPxType")
    row["type"] = kind + 1 if kind is not None and 0 <= kind < 255 else 0


def _volatility(row: Any, entry: Entry) -> None:
    """During the call of volatility contracts (10.11)."""
    row["kind"] = Kind.VOLATILITY
    row["low"] = scaled(entry.get("FirstPx"), PRICE_EXPONENT)
    row["high"] = scaled(entry.get("LastPx"), PRICE_EXPONENT)
    row["fine"] = scaled(entry.get("PriceDelta"), FINE_EXPONENT)


_FILLERS: Final[dict[str, Callable[[Any, Entry], None]]] = {
    "0": _side, "1": _side, "2": _trade, "3": _index, "4": _opening, "5": _closing, "6": _settlement,
    "7": _statistic(Kind.HIGH), "8": _statistic(Kind.LOW), "9": _statistic(Kind.VWAP),
    "A": _imbalance, "B": _totals, "C": _statistic(Kind.OPEN_INTEREST), "D": _composite, "J": _empty,
    "c": _state, "g": _price_band, "h": _quantity_band, "v": _volatility,
}  # fmt: skip
