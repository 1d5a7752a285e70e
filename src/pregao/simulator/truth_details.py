"""What changes seldom, for the truth: bands, figures of the day, phases of the groups.

A checkpoint has them where they were told since the one before it, and the first of a channel's day
has them all.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pregao.exchange.bands import Bands
from pregao.model import events as e
from pregao.simulator.line import Line
from pregao.simulator.sources import FIGURES as FIGURES_TOLD
from pregao.simulator.tables import Table, type_of

Row = tuple[Any, ...]

AT: Final = [
    ("channel", pa.int32()), ("seq_version", pa.int32()), ("seq_num", pa.int64()), ("event", pa.int64()),
]  # fmt: skip
_BANDS: Final = ("security_id", "type", "limit_type", "low", "high", "midpoint", "reference_fine")
_FIGURES: Final = (
    "security_id", "closing_fine", "closing_date", "closing_origin", "previous_closing_fine",
    "previous_closing_date", "settlement", "settlement_date", "settlement_origin", "settlement_kind",
    "settlement_price_kind", "previous_settlement", "previous_settlement_date", "previous_settlement_kind",
    "open_interest", "open_interest_date", "average_daily", "largest_order",
)  # fmt: skip
_PHASES: Final = ("group", "exchange", "session", "phase", "trade_date", "ends_ns")
_BANDED: Final = frozenset((e.PriceBand, e.QuantityBand))
_FIGURED: Final = frozenset((*FIGURES_TOLD, e.QuantityBand))


class Details:
    """The three tables of a day."""

    def __init__(self, folder: Path, bands: Bands) -> None:
        self._limits = bands
        self._bands, self._figures, self._phases = (
            Table(folder / f"{name}.parquet", pa.schema([*AT, *((each, type_of(each)) for each in columns)]))
            for name, columns in (("bands", _BANDS), ("figures", _FIGURES), ("phases", _PHASES))
        )
        self._told: dict[type, set[int]] = {kind: set() for kind in _BANDED | _FIGURED}
        self._channels: set[int] = set()
        self._phases_told: set[int] = set()

    def note(self, channel: int, kind: type, updates: Iterable[Any]) -> None:
        """Updates of one kind were told."""
        if kind is e.PhaseChanged:
            self._phases_told.add(channel)
        elif kind in self._told:
            self._told[kind].update(update.security_id for update in updates)

    def checkpoint(self, at: Row, line: Line, security_ids: Iterable[int]) -> None:
        first = line.channel not in self._channels
        self._channels.add(line.channel)
        if first or line.channel in self._phases_told:
            self._phases_told.discard(line.channel)
            _write(self._phases, at, (_phase(each) for each in line.books.phases()))
        wanted = set(security_ids) if first else set(chain.from_iterable(self._told.values()))
        if not wanted:
            return
        here = [each for each in line.books.instruments() if each in wanted]
        banded = [each for each in here if first or any(each in self._told[kind] for kind in _BANDED)]
        figured = [each for each in here if first or any(each in self._told[kind] for kind in _FIGURED)]
        for told in self._told.values():
            told.difference_update(here)
        _write(self._bands, at, (row for each in banded for row in self._bands_of(each)))
        _write(self._figures, at, (self._figures_of(each, line) for each in figured))

    def _bands_of(self, security_id: int) -> Iterable[Row]:
        for band in self._limits.current(security_id, 0):
            if isinstance(band, e.PriceBand):
                yield (
                    security_id, band.type, band.limit_type, band.low, band.high, band.midpoint,
                    band.reference_fine,
                )  # fmt: skip

    def _figures_of(self, security_id: int, line: Line) -> Row:
        told = line.books.figures(security_id)
        settled = told.get((e.SettlementPrice, False))
        limits = [one for one in self._limits.current(security_id, 0) if isinstance(one, e.QuantityBand)]
        return (
            security_id,
            *_values(told.get((e.ClosingPrice, False)), "price_fine", "trade_date", "origin"),
            *_values(told.get((e.ClosingPrice, True)), "price_fine", "trade_date"),
            *_values(settled, "price", "trade_date", "origin", "kind", "price_kind"),
            *_values(told.get((e.SettlementPrice, True)), "price", "trade_date", "kind"),
            *_values(told.get((e.OpenInterest, False)), "size", "trade_date"),
            *_values(limits[0] if limits else None, "average_daily", "largest_order"),
        )

    def close(self) -> None:
        for table in (self._bands, self._figures, self._phases):
            table.close()

    def discard(self) -> None:
        for table in (self._bands, self._figures, self._phases):
            table.discard()


def _values(update: Any, *names: str) -> tuple[Any, ...]:
    return tuple(None if update is None else getattr(update, name) for name in names)


def _phase(phase: e.PhaseChanged) -> Row:
    return (phase.group, phase.exchange, phase.session, phase.phase, phase.trade_date, phase.ends_ns)


def _write(table: Table, at: Row, rows: Iterable[Row]) -> None:
    found = [(*at, *row) for row in rows]
    if found:
        table.write(list(zip(*found)))  # noqa: B905
