"""Messages of Trademate to rows of `model.rows`, one at a time.

A 35=W is a SNAPSHOT row and its entries, 35=X are entries, 35=f is a state, 35=y has a DEFINITION row for
each bond; all else is OTHER. Orders stand where their position says (290), without which a book cannot be
kept: they rank by what rates mean, and the exchange knows that best. Prices are integers of 10⁻⁸; sizes too
where the bond's definition allows fractions, so a definition comes before the sizes of such a bond.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pregao.codecs.fix import Dictionary, Entry, FixMessage, Unknowns, parse_message
from pregao.feeds import fix_values as values
from pregao.feeds.trademate import values as v
from pregao.feeds.trademate.definitions import bond_of
from pregao.model.errors import DecodeError, Fault
from pregao.model.fixed_income import BOND_EXPONENT, Bond
from pregao.model.market import Action, DefinitionAction, TradeCondition, TradeSubType
from pregao.model.rows import FIRST_ENTRY_KIND, LAST_ENTRY_KIND, NO_ACTION, NULL, ROW, Flag, Kind, Rows

WIDE_FIELDS: Final = (
    "security_id", "id", "price", "size", "other", "time_ns", "inserted_ns", "fine", "low", "high",
)  # fmt: skip
_SHARED: Final[tuple[int, ...]] = (48, 75)  # of a message, by all its entries
_CONDITIONS: Final = {
    b"R": TradeCondition.OPENING_PRICE, b"X": TradeCondition.CROSSED, b"2": TradeCondition.ON_BEHALF,
    b"L": TradeCondition.LAST_AT_SAME_PRICE, b"AW": TradeCondition.AUCTION,
    b"AWR": TradeCondition.AUCTION_OPENING,
}  # fmt: skip
_SUB_TYPES: Final = {
    b"1": TradeSubType.LEG, b"3": TradeSubType.MULTI_ASSET, b"RFQ": TradeSubType.RFQ,
    b"VO": TradeSubType.VOICE,
}  # fmt: skip


class TrademateReader:
    """`bonds` are those that lists told, by id; `unknowns` counts tags and values that no dictionary has."""

    def __init__(self, channel: int, dictionary: Dictionary) -> None:
        self._channel, self._dictionary = channel, dictionary
        self.unknowns = Unknowns()
        self.bonds: dict[int, Bond] = {}

    def read(self, text: bytes) -> tuple[Rows, list[DecodeError]]:
        """The rows of one message, and what was wrong with it. A message that cannot be read has no rows."""
        faults: list[DecodeError] = []
        try:
            message = parse_message(text, self._dictionary)
            if message.structure is not None:
                problem = message.structure
                raise DecodeError(Fault.FIX_GROUP_COUNT, 0, f"{problem.reason.text}, tag {problem.tag}")
            self.unknowns.count(message, self._dictionary)
            return self._rows(message, len(text), faults), faults
        except DecodeError as error:
            return blank(0), [*faults, error]

    def _rows(self, message: FixMessage, size: int, faults: list[DecodeError]) -> Rows:
        kind = message.msg_type
        if kind == b"X":
            rows = self._filled(message, faults, snapshot=False)
            if len(rows):
                rows["flags"][-1] |= np.uint8(Flag.END_OF_EVENT)
            return rows
        if kind == b"W":
            return self._snapshot(message, faults)
        if kind == b"y":
            return self._definitions(message, size, faults)
        row = blank(1)
        row["time_ns"], row["flags"] = values.timestamp_of(message.header, 52), Flag.END_OF_EVENT
        if kind == b"f":
            _status(row[0], message.body)
        else:
            row["kind"], row["size"] = Kind.OTHER, size
        return row

    def _snapshot(self, message: FixMessage, faults: list[DecodeError]) -> Rows:
        """The row of the snapshot itself comes first; one of which a part cannot be read is none at all."""
        security_id = values.number_of(message.get(48))
        if security_id == NULL:
            return blank(0)
        rows = self._filled(message, faults, snapshot=True)
        if faults:
            return _suspect(security_id)
        rows["flags"] |= np.uint8(Flag.NO_EVENT)
        first = blank(1)
        first["kind"], first["flags"], first["security_id"] = Kind.SNAPSHOT, Flag.NO_EVENT, security_id
        first["time_ns"], first["size"] = (
            values.timestamp_of(message.header, 52),
            values.scaled(message.body, 911, 0),
        )
        booked = (rows["kind"] >= FIRST_ENTRY_KIND) & (rows["kind"] <= LAST_ENTRY_KIND)
        first["low"] = int((booked & (rows["side"] == 1)).sum())
        first["high"] = int((booked & (rows["side"] == 2)).sum())
        first["position"] = int((~booked).sum())
        return np.concatenate([first, rows])

    def _filled(self, message: FixMessage, faults: list[DecodeError], *, snapshot: bool) -> Rows:
        shared: Entry = {tag: message.body[tag] for tag in _SHARED if tag in message.body}
        if not isinstance(message.body.get(268), list):
            raise DecodeError(Fault.FIX_GROUP_COUNT, 0, "268 is missing, or no number")
        found = []
        for index, entry in enumerate(message.group(268)):
            row = blank(1)
            try:
                self._fill(row[0], {**shared, **entry}, snapshot=snapshot)
            except (DecodeError, OverflowError) as error:
                fault = error.fault if isinstance(error, DecodeError) else Fault.FIX_BEYOND_SCALE
                faults.append(DecodeError(fault, 0, f"entry {index}: {error}"))
                if entry.get(269) not in (b"0", b"1", None):
                    continue
                row = _suspect(values.number_of(values.text_of({**shared, **entry}, 48)))
            row["index"] = index
            found.append(row)
        return np.concatenate(found) if found else blank(0)

    def _fill(self, row: Any, entry: Entry, *, snapshot: bool) -> None:
        row["security_id"] = values.number_of(values.text_of(entry, 48))
        row["stream"] = (values.text_of(entry, 1500) or v.ELECTRONIC)[0]
        row["time_ns"] = values.moment_of(entry, 272, 273)
        days = values.days_of(entry, 75) if 75 in entry else values.days_of(entry, 272)
        row["trade_date"] = days if 0 < days < 1 << 16 else 0
        action = Action.NEW if snapshot else values.number_of(values.text_of(entry, 279))
        if action not in (Action.NEW, Action.CHANGE, Action.DELETE):
            raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"279={entry.get(279)!r:.40}")
        row["action"], kind = action, values.text_of(entry, 269) or b""
        filler = _FILLERS.get(kind)
        if filler is None:
            raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"269={kind!r:.40}")
        bond = self.bonds.get(int(row["security_id"]))
        filler(row, entry, 0 if bond is None else bond.instrument.size_exponent)
        if snapshot and row["kind"] == Kind.ORDER:
            row["kind"] = Kind.SNAPSHOT_ORDER
        elif snapshot and row["kind"] == Kind.TRADE:
            row["kind"] = Kind.LAST_TRADE

    def _definitions(self, message: FixMessage, size: int, faults: list[DecodeError]) -> Rows:
        listed = message.group(146)
        rows = blank(len(listed))
        rows["kind"], rows["flags"], rows["size"] = Kind.DEFINITION, Flag.END_OF_EVENT, size
        rows["high"] = max(0, values.number_of(message.get(393)))
        rows["low"] = rows["index"] = np.arange(len(rows))  # which of the message it is
        kept = []
        for place, entry in enumerate(listed):
            try:
                bond, action = bond_of(entry, self._channel)
            except DecodeError as error:
                faults.append(error)
                continue
            number = bond.instrument.security_id
            if action is DefinitionAction.DELETE:
                self.bonds.pop(number, None)
            else:
                self.bonds[number] = bond
            rows["security_id"][place], rows["action"][place] = number, action
            kept.append(place)
        return rows[kept]


def blank(count: int) -> Rows:
    rows: Rows = np.zeros(count, ROW)
    for name in WIDE_FIELDS:
        rows[name] = NULL
    rows["action"] = NO_ACTION
    return rows


def _suspect(security_id: int) -> Rows:
    """An update of a book that cannot be read: its book is not known to be right any more."""
    row = blank(1)
    row["kind"], row["security_id"] = Kind.OTHER, security_id
    return row


def _status(row: Any, body: Entry) -> None:
    """Of instruments only: 1.3.3 speaks of groups and has no tag for them."""
    row["kind"], row["security_id"] = Kind.STATE, values.number_of(values.text_of(body, 48))
    row["type"] = v.small_of(values.text_of(body, 326)) or 17  # absent: open
    row["session"] = v.small_of(values.text_of(body, 336))
    days, time_ns = values.days_of(body, 75), values.timestamp_of(body, 60)
    row["trade_date"] = days if 0 < days < 1 << 16 else 0
    row["time_ns"] = row["time_ns"] if time_ns == NULL else time_ns
    row["inserted_ns"] = values.timestamp_of(body, 342)


def _prices(row: Any, entry: Entry, size: int) -> None:
    row["price"], row["size"] = values.scaled(entry, 270, BOND_EXPONENT), values.scaled(entry, 271, size)


def _order(row: Any, entry: Entry, size: int) -> None:
    _prices(row, entry, size)
    row["kind"], row["side"] = Kind.ORDER, 1 if entry[269] == b"0" else 2
    row["id"], position = (
        values.number_of(values.text_of(entry, 37)),
        values.number_of(values.text_of(entry, 290)),
    )
    if row["id"] == NULL or not 0 < position < 1 << 32:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"37={entry.get(37)!r:.30}, 290={entry.get(290)!r:.30}")
    row["position"], row["flags"] = position, Flag.BY_POSITION
    row["inserted_ns"] = values.moment_of(entry, 37016, 37017)


def _trade(row: Any, entry: Entry, size: int) -> None:
    _prices(row, entry, size)
    letters = (values.text_of(entry, 277) or b"").split(b" ")
    row["kind"] = Kind.BUST if row["action"] == Action.DELETE else Kind.TRADE
    row["id"], row["session"] = (
        values.number_of(values.text_of(entry, 1003)),
        v.small_of(values.text_of(entry, 336)),
    )
    row["condition"] = sum(_CONDITIONS.get(letter, 0) for letter in set(letters))
    row["detail"] = next((_SUB_TYPES[letter] for letter in letters if letter in _SUB_TYPES), 0)
    row["type"] = v.small_of(values.text_of(entry, 274), 3) + 1 if 274 in entry else 0
    row["high"], row["fine"] = values.scaled(entry, 1020, size), values.scaled(entry, 451, BOND_EXPONENT)


def _opening(row: Any, entry: Entry, size: int) -> None:
    """286=5 is theoretical."""
    _prices(row, entry, size)
    row["kind"] = Kind.THEORETICAL if entry.get(286) == b"5" else Kind.OPENING
    row["origin"] = v.small_of(values.text_of(entry, 286)) + 1 if 286 in entry else 0


def _closing(row: Any, entry: Entry, size: int) -> None:
    row["kind"], row["fine"] = Kind.CLOSING, values.scaled(entry, 270, BOND_EXPONENT)
    row["origin"] = v.small_of(values.text_of(entry, 286)) + 1 if 286 in entry else 0


def _statistic(kind: Kind) -> Callable[[Any, Entry, int], None]:
    def filler(row: Any, entry: Entry, size: int) -> None:
        _prices(row, entry, size)
        row["kind"] = kind

    return filler


def _totals(row: Any, entry: Entry, size: int) -> None:
    """270 is money, in ten-thousandths as everywhere: with eight places a good day would not fit."""
    row["kind"], row["other"] = Kind.TOTALS, values.scaled(entry, 271, 0)
    row["size"], row["low"] = values.scaled(entry, 1020, size), values.scaled(entry, 270, -4)


def _band(row: Any, entry: Entry, _: int) -> None:
    row["kind"], row["type"] = Kind.PRICE_BAND, v.small_of(values.text_of(entry, 6939), 4)
    row["low"], row["high"] = (
        values.scaled(entry, 1148, BOND_EXPONENT),
        values.scaled(entry, 1149, BOND_EXPONENT),
    )


def _state(row: Any, entry: Entry, _: int) -> None:
    row["kind"], row["type"] = Kind.STATE, v.small_of(values.text_of(entry, 326)) or 17


_FILLERS: Final[dict[bytes, Callable[[Any, Entry, int], None]]] = {
    b"0": _order, b"1": _order, b"2": _trade, b"4": _opening, b"5": _closing, b"7": _statistic(Kind.HIGH),
    b"8": _statistic(Kind.LOW), b"9": _statistic(Kind.VWAP), b"B": _totals, b"c": _state, b"g": _band,
}  # fmt: skip
