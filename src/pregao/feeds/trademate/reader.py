"""Messages of Trademate to rows of `model.rows`, one at a time.

Orders stand where their position says (290), without which a book cannot be kept: they rank by what rates
mean, and the exchange knows that best. Where our own ranking differs is a finding. Prices are integers of
10⁻⁸; sizes too where the bond's definition allows fractions, so a definition comes before the sizes of such a
bond.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from pregao.codecs.fix import Dictionary, Entry, FixMessage
from pregao.feeds import fix_values as values
from pregao.feeds.fix.reader import FixReader, entries_of, fill_status_head, suspect
from pregao.feeds.one_by_one import blank
from pregao.feeds.port import RowFault
from pregao.feeds.trademate import values as v
from pregao.feeds.trademate.definitions import bond_of
from pregao.feeds.trademate.ranking import Rankings
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import Definition
from pregao.model.fixed_income import BOND_EXPONENT, RATES, Bond
from pregao.model.instruments import Instrument
from pregao.model.market import Action, DefinitionAction, PriceKind, StateEvent, TradeCondition, TradeSubType
from pregao.model.rows import NULL, Flag, Kind, Rows

_CONDITIONS: Final = {
    b"R": TradeCondition.OPENING_PRICE, b"X": TradeCondition.CROSSED, b"2": TradeCondition.ON_BEHALF,
    b"L": TradeCondition.LAST_AT_SAME_PRICE, b"AW": TradeCondition.AUCTION,
    b"AWR": TradeCondition.AUCTION_OPENING,
}  # fmt: skip
_RATES: Final = tuple(b"%d" % kind for kind in RATES)
_OWN: Final = StateEvent.LEAVES_GROUP  # there are no groups: every state is an instrument's own
_SUB_TYPES: Final = {
    b"1": TradeSubType.LEG, b"3": TradeSubType.MULTI_ASSET, b"RFQ": TradeSubType.RFQ,
    b"VO": TradeSubType.VOICE,
}  # fmt: skip
_TRADES: Final = (Kind.TRADE, Kind.LAST_TRADE)
_OF_BOOKS: Final = (b"0", b"1", b"J")  # J empties a book in FIX; the text has no such entry


class TrademateReader(FixReader):
    """`bonds` are those that lists told, by id. `ranked_otherwise` counts orders that stand where our own
    ranking would not have put them. `plain_rates`: rates rank as prices do."""

    def __init__(self, channel: int, dictionary: Dictionary, *, plain_rates: bool = False) -> None:
        super().__init__(channel, dictionary)
        self._plain_rates = plain_rates
        self.bonds: dict[int, Bond] = {}
        self.ranked_otherwise = 0
        self._known_instruments: dict[int, tuple[int, PriceKind | None]] = {}  # with the exponent of sizes
        self._rankings = Rankings()

    def know(self, instruments: Iterable[Instrument]) -> None:
        """Definitions that were read elsewhere: for whoever begins in the middle of a session."""
        for each in instruments:
            self._known_instruments[each.security_id] = each.size_exponent, each.price_kind

    def _fill_entries(
        self, message: FixMessage, unit: int, faults: list[RowFault], *, snapshot: bool
    ) -> Rows:
        shared, entries = entries_of(message)
        found = []
        for index, entry in enumerate(entries):
            row, whole = blank(1), {**shared, **entry}
            if entry.get(269, b"0") not in _KNOWN_ENTRIES:  # a figure that we have no word for yet
                faults.append(RowFault(Fault.FIX_UNKNOWN_VALUE, unit, 0, index, lost=False))
                continue
            try:
                self._fill(row[0], whole, snapshot=snapshot)
            except (DecodeError, OverflowError) as error:
                fault = error.fault if isinstance(error, DecodeError) else Fault.FIX_BEYOND_SCALE
                faults.append(RowFault(fault, unit, 0, index))
                if entry.get(269) not in (*_OF_BOOKS, None):
                    continue
                row = suspect(whole)
                self._rankings.forget(int(row["security_id"][0]))
            else:
                if row["kind"][0] == Kind.ORDER and not self._is_ranked(row[0], whole):
                    self._rank_differs(1, unit, index, faults)
                if row["kind"][0] in _TRADES and row["id"][0] == NULL:  # a trade all the same
                    faults.append(RowFault(Fault.FIX_UNKNOWN_VALUE, unit, 0, index, lost=False))
            row["index"] = index
            found.append(row)
        rows = np.concatenate(found) if found else blank(0)
        if snapshot:
            self._load_ranking(rows, message, unit, faults)
        return rows

    def _snapshot(self, message: FixMessage, unit: int, faults: list[RowFault]) -> Rows:
        """1.3.5 has its instrument with an arrow, as if it stood in each entry: read there too."""
        if 48 not in message.body:
            told = next((entry[48] for entry in message.group(268) if 48 in entry), None)
            if told is not None:
                message.body[48] = told
        if 48 in message.body:
            _security_id(message.body)
        return super()._snapshot(message, unit, faults)

    def _is_ranked(self, row: Any, entry: Entry) -> bool:
        security_id = int(row["security_id"])
        return self._rankings.update(
            security_id, int(row["side"]), int(row["action"]), int(row["position"]), int(row["price"]),
            is_rate=self._is_rate(security_id, entry),
        )  # fmt: skip

    def _load_ranking(self, rows: Rows, message: FixMessage, unit: int, faults: list[RowFault]) -> None:
        security_id = values.number_of(message.get(48))
        orders = rows[rows["kind"] == Kind.SNAPSHOT_ORDER]
        told = next((entry for entry in message.group(268) if 423 in entry), {})
        is_rate = self._is_rate(security_id, told)
        wrong = self._rankings.load(security_id, orders, is_rate=is_rate)
        if wrong:
            self._rank_differs(wrong, unit, 0, faults)

    def _is_rate(self, security_id: int, entry: Entry) -> bool:
        """Whether lower is better for a bid. A book has one kind of prices: that of the definition, or of the
        entry where that says none."""
        if self._plain_rates:
            return False
        known = self._known_instruments.get(security_id)
        if known is not None and known[1] is not None:
            return known[1] in RATES
        return entry.get(423) in _RATES

    def _rank_differs(self, count: int, unit: int, index: int, faults: list[RowFault]) -> None:
        self.ranked_otherwise += count
        faults.append(RowFault(Fault.FIX_RANKED_OTHERWISE, unit, 0, index, lost=False))

    def _fill(self, row: Any, entry: Entry, *, snapshot: bool) -> None:
        row["security_id"] = _security_id(entry)
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
        known = self._known_instruments.get(int(row["security_id"]))
        filler(row, entry, 0 if known is None else known[0])
        if row["kind"] == Kind.ORDER and self._is_rate(int(row["security_id"]), entry):
            row["flags"] |= Flag.IN_RATES
        if snapshot and row["kind"] == Kind.ORDER:
            row["kind"] = Kind.SNAPSHOT_ORDER
        elif snapshot and row["kind"] == Kind.TRADE:
            row["kind"] = Kind.LAST_TRADE

    def _name_definitions(self, rows: Rows, listed: list[Entry], unit: int, faults: list[RowFault]) -> Rows:
        kept = []
        for place, entry in enumerate(listed):
            try:
                bond, action = bond_of(entry, self._channel)
            except (DecodeError, OverflowError) as error:
                fault = error.fault if isinstance(error, DecodeError) else Fault.FIX_BEYOND_SCALE
                faults.append(RowFault(fault, unit, 0, place))
                continue
            number = bond.instrument.security_id
            rows["security_id"][place], rows["action"][place] = number, action
            if action is DefinitionAction.DELETE:
                self.bonds.pop(number, None)
                self._known_instruments.pop(number, None)
                self._rankings.forget(number)
            else:
                self.bonds[number] = bond
                self.know([bond.instrument])
            kept.append(place)
        return rows[kept]

    def _definition_of(self, entry: Entry) -> Definition | None:
        bond, action = bond_of(entry, self._channel)
        return Definition(bond.listed, action)

    def _fill_status(self, row: Any, body: Entry) -> None:
        """Of instruments only: 1.3.3 speaks of groups and has no tag for them."""
        row["kind"], row["security_id"] = Kind.STATE, _security_id(body)
        row["type"] = v.small_of(values.text_of(body, 326)) or 17  # absent: open
        row["session"], row["detail"] = v.small_of(values.text_of(body, 336)), _OWN
        fill_status_head(row, body)


def _security_id(entry: Entry) -> int:
    """48, by which all else is known."""
    security_id = values.number_of(values.text_of(entry, 48))
    if security_id == NULL:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"48={entry.get(48)!r:.40}")
    return security_id


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
    if row["kind"] == Kind.BUST and row["id"] == NULL:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"1003={entry.get(1003)!r:.40}")
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
    row["detail"] = _OWN


_FILLERS: Final[dict[bytes, Callable[[Any, Entry, int], None]]] = {
    b"0": _order, b"1": _order, b"2": _trade, b"4": _opening, b"5": _closing, b"7": _statistic(Kind.HIGH),
    b"8": _statistic(Kind.LOW), b"9": _statistic(Kind.VWAP), b"B": _totals, b"c": _state, b"g": _band,
}  # fmt: skip
_KNOWN_ENTRIES: Final = frozenset((*_FILLERS, b"J"))
