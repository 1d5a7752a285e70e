"""Entries of 35=W, X and UTHP (7.8) to rows of `model.rows`, one at a time. Sections are those of the
specification of PUMA Conflated.

`fill` writes one row. What an entry says that its row has no room for is left out; a value that nobody knows
is a finding that names it, and the rest of the entry counts. Prices have four decimals and quantities none,
as everywhere in the tables: what does not fit is a fault, never rounded.
"""

from collections.abc import Callable
from typing import Any, Final

from pregao.codecs.fix import Entry
from pregao.feeds.fix_values import days_of, moment_of, number_of, scaled, text_of, timestamp_of
from pregao.feeds.one_by_one import WIDE_FIELDS
from pregao.model.errors import DecodeError, Fault
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT, Action, TradeCondition, TradeSubType
from pregao.model.rows import ELECTRONIC, NULL, Flag, Kind

LENDING: Final = ord("L")  # 1500
BY_LEVEL: Final = 2  # 1021
_CONDITIONS: Final = {
    b"R": TradeCondition.OPENING_PRICE, b"X": TradeCondition.CROSSED,
    b"L": TradeCondition.LAST_AT_SAME_PRICE, b"2": TradeCondition.ON_BEHALF,
}  # fmt: skip
# 277 of a trade as the sub-type of Binary UMDF; RP is RL in 7.8.3.
_SUB_TYPES: Final = {
    b"1": TradeSubType.LEG, b"MP": TradeSubType.MIDPOINT, b"PT": TradeSubType.BLOCK_BOOK,
    b"RF": TradeSubType.RFQ, b"RL": TradeSubType.RLP, b"RP": TradeSubType.RLP, b"TC": TradeSubType.TAC,
    b"TA": TradeSubType.TAA, b"SW": TradeSubType.SWEEP, b"3": TradeSubType.MULTI_ASSET,
}  # fmt: skip
_OTHER_CONDITIONS: Final = frozenset({b"U", b"IM", b"P", b"Q"})
_QUOTE_CONDITIONS: Final = frozenset({b"R", b"K", b"LM", b"AN", b"C"})
_BANDS: Final = frozenset({1, 2, 3, 4})


def unknown(tag: int, value: object) -> DecodeError:
    return DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"{tag}={value!r:.40}")


# Values


def small_of(raw: bytes | None, most: int = 255) -> int | None:
    number = number_of(raw)
    return number if 0 <= number <= most else None


def quantity(entry: Entry, tag: int) -> int:
    return scaled(entry, tag, 0)


def letters_of(entry: Entry, tag: int) -> list[bytes]:
    return (text_of(entry, tag) or b"").split(b" ") if entry.get(tag) else []


# Entries


def fill(row: Any, entry: Entry, *, snapshot: bool = False) -> DecodeError | None:
    """Of an entry whose message has filled in where it came from. DecodeError is raised where nobody knows
    what it is, and given back where the row says all but a value that nobody knows."""
    for name in WIDE_FIELDS:
        row[name] = NULL
    row["security_id"] = number_of(text_of(entry, 48))
    row["stream"] = (text_of(entry, 1500) or b"E")[0]
    untimed = _fill_times(row, entry)
    row["action"] = Action.NEW if snapshot else _action(text_of(entry, 279))
    kind = text_of(entry, 269) or b""
    filler = _FILLERS.get(kind)
    if filler is None or (kind == b"c" and not snapshot):
        raise unknown(269, kind)
    filler(row, entry)
    if kind in (b"0", b"1"):
        return _book(row, entry, snapshot=snapshot) or untimed
    if kind == b"2":
        return _told_trade(row, entry, snapshot=snapshot) or untimed
    return untimed


def _fill_times(row: Any, entry: Entry) -> DecodeError | None:
    """A time that cannot be read is a finding; what happened then happened all the same."""
    try:
        row["time_ns"] = moment_of(entry, 272, 273)
        days = days_of(entry, 75) if 75 in entry else days_of(entry, 272)
        row["trade_date"] = days if 0 < days < 1 << 16 else 0
    except DecodeError as error:
        return error
    return None


def _action(value: bytes | None) -> int:
    """UTHP need not tell it: then it is new (7.6.2)."""
    if value is None:
        return Action.NEW
    if len(value) != 1 or not b"0" <= value <= b"4":
        raise unknown(279, value)
    return value[0] - 48


def _prices(row: Any, entry: Entry) -> None:
    row["price"] = scaled(entry, 270, PRICE_EXPONENT)
    row["size"] = quantity(entry, 271)


def _book(row: Any, entry: Entry, *, snapshot: bool) -> DecodeError | None:
    """By price and OrderID (6.1); the price of what is deleted may be left out (7.8.1)."""
    row["side"] = 1 if entry[269] == b"0" else 2
    conditions = letters_of(entry, 276)
    flags = Flag.RECOVERY if b"R" in conditions else 0
    flags |= Flag.IMPLIED if b"K" in conditions else 0
    if row["action"] in (Action.DELETE_THRU, Action.DELETE_FROM):
        if row["action"] == Action.DELETE_FROM:
            raise unknown(279, b"4")  # 6.3: no longer sent, and nothing says up to where
        row["kind"], row["flags"] = Kind.SIDE, row["flags"] | flags
        return None
    if number_of(text_of(entry, 1021)) == BY_LEVEL:
        return _level(row, entry, conditions, flags, snapshot=snapshot)
    row["kind"] = Kind.SNAPSHOT_ORDER if snapshot else Kind.ORDER
    row["flags"] |= flags | Flag.PRICE_UNTOLD
    row["id"] = number_of(text_of(entry, 37))
    if row["id"] == NULL:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"37={entry.get(37)!r:.40}")
    row["firm"] = firm_of(entry, 288 if row["side"] == 1 else 289)
    row["other"] = quantity(entry, 37780)
    _lending(row, entry)
    other = _first_unknown(276, conditions, _QUOTE_CONDITIONS)
    try:
        row["inserted_ns"] = moment_of(entry, 37016, 37017)
    except DecodeError as error:
        return other or error
    return other


def _level(
    row: Any, entry: Entry, conditions: list[bytes], flags: int, *, snapshot: bool
) -> DecodeError | None:
    """A level is found by its price; 346 is how many orders it has."""
    row["kind"] = Kind.SNAPSHOT_LEVEL if snapshot else Kind.LEVEL
    row["flags"] |= flags | Flag.FOUND_BY_PRICE
    row["firm"], row["other"] = firm_of(entry, 346), quantity(entry, 37780)
    return _first_unknown(276, conditions, _QUOTE_CONDITIONS)


def firm_of(entry: Entry, tag: int) -> int:
    firm = number_of(text_of(entry, tag))
    return firm if 0 <= firm < 1 << 32 else 0


def _lending(row: Any, entry: Entry) -> None:
    row["high"] = days_of(entry, 432)
    parts = [entry.get(tag) for tag in (37019, 37023, 37024)]
    if any(part is not None for part in parts):
        known = (small_of(text_of(entry, tag), 254) for tag in (37019, 37023, 37024))
        row["fine"] = sum((0 if part is None else part + 1) << 8 * index for index, part in enumerate(known))


def _side(row: Any, entry: Entry) -> None:
    _prices(row, entry)


def _trade(row: Any, entry: Entry) -> None:
    """The last price is that of the newest time, then of the highest id (7.8.3), and never of a leg."""
    _prices(row, entry)
    letters = letters_of(entry, 277)
    row["flags"] |= Flag.BY_TIME
    row["flags"] |= (Flag.FORWARD if b"3" in letters else 0) | (Flag.IMPLIED if b"IM" in letters else 0)
    sub_type = next((_SUB_TYPES[letter] for letter in letters if letter in _SUB_TYPES), 0)
    row["detail"] = TradeSubType.LEG if b"1" in letters else sub_type
    row["id"] = number_of(text_of(entry, 1003))
    row["condition"] = sum(_CONDITIONS.get(letter, 0) for letter in set(letters))
    row["session"] = small_of(text_of(entry, 336)) or 0
    row["type"] = _tick(entry)
    row["firm"], row["position"] = firm_of(entry, 288), firm_of(entry, 289)
    row["other"] = scaled(entry, 37014, PRICE_EXPONENT)
    row["low"] = number_of(text_of(entry, 287))
    if row["stream"] == LENDING:
        _lending(row, entry)
        row["inserted_ns"] = days_of(entry, 37025)
    else:
        row["high"] = quantity(entry, 1020)
        row["fine"] = scaled(entry, 451, FINE_EXPONENT)


def _told_trade(row: Any, entry: Entry, *, snapshot: bool) -> DecodeError | None:
    """A delete busts; U tells of a trade that was, and so does a snapshot: a statistic."""
    letters = letters_of(entry, 277)
    if row["action"] not in (Action.NEW, Action.DELETE):
        raise unknown(279, text_of(entry, 279))
    row["kind"] = Kind.BUST if row["action"] == Action.DELETE else Kind.TRADE
    if snapshot or b"U" in letters:
        row["kind"] = Kind.LAST_TRADE
    known = _CONDITIONS.keys() | _SUB_TYPES.keys() | _OTHER_CONDITIONS
    return _first_unknown(277, letters, known)


def _first_unknown(
    tag: int, letters: list[bytes], known: frozenset[bytes] | set[bytes]
) -> DecodeError | None:
    other = next((letter for letter in letters if letter not in known), None)
    return None if other is None else unknown(tag, other)


def _tick(entry: Entry) -> int:
    tick = small_of(text_of(entry, 274), 8)
    return 0 if tick is None else tick + 1


def _plus_one(entry: Entry, tag: int) -> int:
    value = small_of(text_of(entry, tag), 254)
    return 0 if value is None else value + 1


def _statistic(kind: Kind) -> Callable[[Any, Entry], None]:
    def filler(row: Any, entry: Entry) -> None:
        _prices(row, entry)
        row["kind"] = kind

    return filler


def _index(row: Any, entry: Entry) -> None:
    _prices(row, entry)
    row["kind"] = Kind.INDEX
    row["other"] = number_of(text_of(entry, 37100))
    row["fine"] = scaled(entry, 451, FINE_EXPONENT)
    row["type"] = _tick(entry)


def _opening(row: Any, entry: Entry) -> None:
    """286=5 is theoretical (7.8.5)."""
    _prices(row, entry)
    row["origin"] = _plus_one(entry, 286)
    row["kind"] = Kind.THEORETICAL if entry.get(286) == b"5" else Kind.OPENING
    if row["kind"] == Kind.OPENING:
        row["fine"] = scaled(entry, 451, FINE_EXPONENT)
        row["other"] = scaled(entry, 37014, PRICE_EXPONENT)


def _closing(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.CLOSING
    row["fine"] = scaled(entry, 270, FINE_EXPONENT)
    row["origin"], row["detail"] = _plus_one(entry, 286), _plus_one(entry, 37013)
    row["other"] = days_of(entry, 9325)


def _settlement(row: Any, entry: Entry) -> None:
    _prices(row, entry)
    row["kind"], row["origin"] = Kind.SETTLEMENT, _plus_one(entry, 286)
    row["detail"] = small_of(text_of(entry, 731)) or 0
    row["type"] = small_of(text_of(entry, 423)) or 0


def _imbalance(row: Any, entry: Entry) -> None:
    _prices(row, entry)
    row["kind"] = Kind.IMBALANCE
    letters = letters_of(entry, 277)
    row["side"] = 1 if b"P" in letters else 2 if b"Q" in letters else 0


def _totals(row: Any, entry: Entry) -> None:
    """270 is money, 271 trades, 1020 the volume (7.8.10), in plain currency."""
    row["kind"] = Kind.TOTALS
    row["size"], row["other"] = quantity(entry, 1020), quantity(entry, 271)
    row["low"] = scaled(entry, 270, PRICE_EXPONENT)
    row["condition"] = int.from_bytes((text_of(entry, 15) or b"")[:4], "little")


def _price_band(row: Any, entry: Entry) -> None:
    """Without a type it is the reference price (7.8.9); 2 and 3 are as in 7.5."""
    row["kind"] = Kind.PRICE_BAND
    band = small_of(text_of(entry, 6939))
    if 6939 in entry and band not in _BANDS:
        raise unknown(6939, entry[6939])
    row["type"] = band or 0
    row["low"], row["high"] = scaled(entry, 1148, PRICE_EXPONENT), scaled(entry, 1149, PRICE_EXPONENT)
    row["fine"] = scaled(entry, 1150, FINE_EXPONENT)
    row["detail"], row["origin"] = _plus_one(entry, 1306), _plus_one(entry, 37008)


def _quantity_band(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.QUANTITY_BAND
    row["size"], row["other"] = quantity(entry, 1140), quantity(entry, 37003)


def _state(row: Any, entry: Entry) -> None:
    """Only in snapshots (7.8.14): 625 where the instrument follows its group, 326 where it does not."""
    row["kind"] = Kind.STATE
    row["origin"] = small_of(text_of(entry, 625)) or 0
    row["type"] = small_of(text_of(entry, 326)) or 0
    row["detail"] = small_of(text_of(entry, 1174)) or 0
    row["session"] = small_of(text_of(entry, 336)) or 0
    row["inserted_ns"] = timestamp_of(entry, 342)
    row["stream"] = ELECTRONIC


def _empty(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.EMPTY_BOOK


def _composite(row: Any, entry: Entry) -> None:
    """Its parts are rows of their own, which follow it: `fill_part`."""
    row["kind"], row["other"] = Kind.COMPOSITE, number_of(text_of(entry, 37100))
    row["low"] = len(parts_of(entry))


def parts_of(entry: Entry) -> list[Entry]:
    parts = entry.get(711) if entry.get(269) == b"D" else None
    return parts if isinstance(parts, list) else []


def fill_part(row: Any, whole: Any, part: Entry, position: int) -> None:
    """One underlying of a composite, whose row is `whole`."""
    for name in WIDE_FIELDS:
        row[name] = NULL
    for name in ("security_id", "other", "stream", "trade_date", "time_ns", "action"):
        row[name] = whole[name]
    row["kind"], row["position"] = Kind.COMPOSITE_PART, position
    row["id"] = number_of(text_of(part, 309))
    row["price"] = scaled(part, 810, PRICE_EXPONENT)
    row["type"] = _plus_one(part, 37018)


def _volatility(row: Any, entry: Entry) -> None:
    row["kind"] = Kind.VOLATILITY
    row["low"], row["high"] = scaled(entry, 1025, PRICE_EXPONENT), scaled(entry, 31, PRICE_EXPONENT)
    row["fine"] = scaled(entry, 811, FINE_EXPONENT)


_FILLERS: Final[dict[bytes, Callable[[Any, Entry], None]]] = {
    b"0": _side, b"1": _side, b"2": _trade, b"3": _index, b"4": _opening, b"5": _closing,
    b"6": _settlement, b"7": _statistic(Kind.HIGH), b"8": _statistic(Kind.LOW), b"9": _statistic(Kind.VWAP),
    b"A": _imbalance, b"B": _totals, b"C": _statistic(Kind.OPEN_INTEREST), b"D": _composite, b"J": _empty,
    b"c": _state, b"g": _price_band, b"h": _quantity_band, b"v": _volatility,
}  # fmt: skip
