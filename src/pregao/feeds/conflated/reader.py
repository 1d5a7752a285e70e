"""Messages of PUMA Conflated to rows of `model.rows`, one at a time. `kernel_reader` is for many.

UTHP are entries too, told again; market totals are OTHER rows that `market_totals` reads.
"""

from typing import Any, Final

import numpy as np

from pregao.codecs.fix import Dictionary, Entry, FixMessage
from pregao.feeds import fix_values as values
from pregao.feeds.conflated import entries as e
from pregao.feeds.conflated.definitions import composition_of, definition_of, totals_of
from pregao.feeds.fix.reader import INCREMENTAL, FixReader, entries_of, fill_status_head, suspect
from pregao.feeds.one_by_one import blank
from pregao.feeds.port import RowFault
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import Definition, MarketTotal
from pregao.model.instruments import group_number
from pregao.model.market import EXCHANGE
from pregao.model.rows import Flag, Kind, Rows

MOST_TOTALS: Final = 10_000
HISTORY: Final = b"UTHP"


class ConflatedReader(FixReader):
    incremental = frozenset({INCREMENTAL, HISTORY})

    def __init__(self, channel: int, dictionary: Dictionary) -> None:
        super().__init__(channel, dictionary)
        self._composition: dict[str, tuple[str, ...]] = {}  # of market totals

    def _entries(self, message: FixMessage, unit: int, faults: list[RowFault]) -> Rows:
        """What a history tells is told again."""
        rows = super()._entries(message, unit, faults)
        if message.msg_type == HISTORY:
            rows["flags"] |= np.uint8(Flag.RECOVERY)
        return rows

    def _fill_entries(
        self, message: FixMessage, unit: int, faults: list[RowFault], *, snapshot: bool
    ) -> Rows:
        shared, entries = entries_of(message)
        rows = blank(sum(map(_rows_of, entries)))
        kept: list[int] = []
        place = 0
        for index, entry in enumerate(entries):
            try:
                finding = e.fill(rows[place], {**shared, **entry}, snapshot=snapshot)
                for part, underlying in enumerate(e.parts_of(entry), 1):
                    e.fill_part(rows[place + part], rows[place], underlying, part)
                if finding is not None:
                    faults.append(RowFault(finding.fault, unit, finding.offset, index, lost=False))
                kept += range(place, place + _rows_of(entry))
            except (DecodeError, OverflowError) as error:
                fault = error.fault if isinstance(error, DecodeError) else Fault.FIX_BEYOND_SCALE
                faults.append(RowFault(fault, unit, 0, index))
                if _is_of_book(entry):
                    rows[place : place + 1] = suspect({**shared, **entry})
                    kept.append(place)
            rows["index"][place : place + _rows_of(entry)] = index
            place += _rows_of(entry)
        return rows[kept]

    def _name_definitions(self, rows: Rows, listed: list[Entry], unit: int, faults: list[RowFault]) -> Rows:
        for row, entry in zip(rows, listed, strict=True):
            row["security_id"] = values.number_of(values.text_of(entry, 48))
            row["action"] = (values.text_of(entry, 980) or b"M")[0]
        return rows

    def _definition_of(self, entry: Entry) -> Definition | None:
        return definition_of(entry, self._channel)

    def market_totals(self, row: np.void) -> list[MarketTotal]:
        """What an OTHER row of the last reading tells of the market, if it is a 35=UTOT."""
        message = self._parsed(self.message(row))
        if message.msg_type == b"UTOTC" and len(self._composition) < MOST_TOTALS:
            self._composition |= composition_of(message)
        return totals_of(message, self._composition) if message.msg_type == b"UTOT" else []

    def _fill_status(self, row: Any, body: Entry) -> None:
        """625 of groups, 326 of instruments (7.5.5); `02` is 2."""
        phase, state = e.small_of(values.text_of(body, 625)), e.small_of(values.text_of(body, 326))
        if (values.text_of(body, 207) or EXCHANGE.encode()) != EXCHANGE.encode():
            row["kind"] = Kind.OTHER
            return
        if 48 in body:
            row["kind"], row["security_id"] = Kind.STATE, values.number_of(values.text_of(body, 48))
            row["type"] = state or phase or 0
        else:
            row["kind"] = Kind.PHASE
            row["id"] = group_number((values.text_of(body, 1151) or b"").decode("latin-1"))
            row["type"] = phase or state or 0
        row["detail"] = e.small_of(values.text_of(body, 1174)) or 0
        row["session"] = e.small_of(values.text_of(body, 336)) or 0
        fill_status_head(row, body)


def _is_of_book(entry: Entry) -> bool:
    return entry.get(269) in (b"0", b"1", b"J", None)


def _rows_of(entry: Entry) -> int:
    return 1 + len(e.parts_of(entry))
