"""What really happened, as Parquet, beside the captures of a day:

    truth/events/<kind>.parquet   every update of every event, in order: channel, number of its event
                                  in the channel's day, sequenceVersion, sequenceNumber and index of
                                  its message in the packet (null where nothing was sent)
    truth/books.parquet           a side of a book: all its orders in priority
    truth/statistics.parquet      what stood in the instrument's statistics, and its state
    truth/bands.parquet, figures.parquet, phases.parquet
                                  what changes seldom: in the first part of this module
    truth/checkpoints.parquet     when the two were taken
    truth/instruments.parquet     the instrument list

A checkpoint is taken of a channel after every 1,000 of its events and at every change of a phase,
between two packets: `seq_num` is the last packet before it. It has the books and statistics of the
instruments that were touched since the one before it, and the first of a day those of all; the
others are as they were. `docs/truth.md` has every table and column.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.exchange.bands import Bands
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.exchange.market import InstrumentMarket
from pregao.model import events as e
from pregao.model.market import Side
from pregao.model.streams import Stream
from pregao.simulator.line import PublishedUpdate, PublishingLine
from pregao.simulator.tables import ROWS, KindTable, TruthTable, instrument_table, type_of
from pregao.simulator.venue import FIGURES as FIGURES_TOLD

# What changes seldom, for the truth: bands, figures of the day, phases of the groups.
#
# A checkpoint has them where they were told since the one before it, and the first of a channel's day has
# them all.


Row = tuple[Any, ...]

AT: Final = [
    ("channel", pa.int32()), ("seq_version", pa.int32()), ("seq_num", pa.int64()), ("event", pa.int64()),
]  # fmt: skip
_BANDS: Final = ("security_id", "type", "limit_type", "low", "high", "midpoint", "reference_fine")
_DAY_FIGURES: Final = (
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
            TruthTable(
                folder / f"{name}.parquet", pa.schema([*AT, *((each, type_of(each)) for each in columns)])
            )
            for name, columns in (("bands", _BANDS), ("figures", _DAY_FIGURES), ("phases", _PHASES))
        )
        self._changed: dict[type, set[int]] = {kind: set() for kind in _BANDED | _FIGURED}
        self._channels: set[int] = set()
        self._phases_changed: set[int] = set()

    def note(self, channel: int, kind: type, updates: Iterable[Any]) -> None:
        """Updates of one kind were told."""
        if kind is e.PhaseChanged:
            self._phases_changed.add(channel)
        elif kind in self._changed:
            self._changed[kind].update(update.security_id for update in updates)

    def checkpoint(self, at: Row, line: PublishingLine, security_ids: Iterable[int]) -> None:
        first = line.channel not in self._channels
        self._channels.add(line.channel)
        if first or line.channel in self._phases_changed:
            self._phases_changed.discard(line.channel)
            _write(self._phases, at, (_phase(each) for each in line.books.phases()))
        wanted = set(security_ids) if first else set(chain.from_iterable(self._changed.values()))
        if not wanted:
            return
        here = [each for each in line.books.instruments() if each in wanted]
        banded = [each for each in here if first or any(each in self._changed[kind] for kind in _BANDED)]
        figured = [each for each in here if first or any(each in self._changed[kind] for kind in _FIGURED)]
        for changed in self._changed.values():
            changed.difference_update(here)
        _write(self._bands, at, (row for each in banded for row in self._bands_of(each)))
        _write(self._figures, at, (self._figures_of(each, line) for each in figured))

    def _bands_of(self, security_id: int) -> Iterable[Row]:
        for band in self._limits.current(security_id, 0):
            if isinstance(band, e.PriceBand):
                yield (
                    security_id, band.type, band.limit_type, band.low, band.high, band.midpoint,
                    band.reference_fine,
                )  # fmt: skip

    def _figures_of(self, security_id: int, line: PublishingLine) -> Row:
        figures = line.books.figures(security_id)
        settled = figures.get((e.SettlementPrice, False))
        limits = [one for one in self._limits.current(security_id, 0) if isinstance(one, e.QuantityBand)]
        return (
            security_id,
            *_values(figures.get((e.ClosingPrice, False)), "price_fine", "trade_date", "origin"),
            *_values(figures.get((e.ClosingPrice, True)), "price_fine", "trade_date"),
            *_values(settled, "price", "trade_date", "origin", "kind", "price_kind"),
            *_values(figures.get((e.SettlementPrice, True)), "price", "trade_date", "kind"),
            *_values(figures.get((e.OpenInterest, False)), "size", "trade_date"),
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


def _write(table: TruthTable, at: Row, rows: Iterable[Row]) -> None:
    found = [(*at, *row) for row in rows]
    if found:
        table.write(list(zip(*found)))  # noqa: B905


_LISTS = ("order_id", "price", "size", "inserted_ns", "firm", "implied")
_BOOKS = pa.schema(
    [*AT, ("security_id", pa.int64()), ("side", pa.int8())]
    + [(name, pa.list_(type_of(name))) for name in _LISTS]
)
_FIGURES = (
    "security_id", "rpt_seq", "state", "own_state", "own_ends_ns", "session", "trade_date", "opening", "high",
    "low", "last", "last_size", "last_trade_id", "volume", "trades", "vwap", "net_change_fine",
    "theoretical", "theoretical_size", "imbalance", "imbalance_size",
)  # fmt: skip
_STATISTICS = pa.schema([*AT, *((name, pa.int64()) for name in _FIGURES)])
_CHECKPOINTS = pa.schema([*AT, ("time_ns", pa.int64()), ("instruments", pa.int32())])


class Truth:
    """The tables of one day."""

    def __init__(self, folder: Path, engine: Engine, desk: Desk) -> None:
        self._folder, self._markets = folder, engine.floor.markets
        self._state, self._auctions = engine.trading_state, desk.surveillance.auctions
        self._phases = desk.surveillance.phases
        self._details = Details(folder, desk.surveillance.bands)
        self._kinds: dict[type, KindTable] = {}
        self._books = TruthTable(self._folder / "books.parquet", _BOOKS)
        self._statistics = TruthTable(self._folder / "statistics.parquet", _STATISTICS)
        self._checkpoints = TruthTable(self._folder / "checkpoints.parquet", _CHECKPOINTS)
        self._sides: list[Row] = []
        self._ends = [0]
        self._orders: list[list[int | None]] = [[] for _ in _LISTS]
        self._figures: list[Row] = []
        self._taken: list[Row] = []

    def record(self, line: PublishingLine, published: PublishedUpdate) -> None:
        """Updates with the places they got, a kind at a time."""
        types = list(map(type, published.updates))
        codes = {kind: code for code, kind in enumerate(dict.fromkeys(types))}
        coded = np.fromiter(map(codes.__getitem__, types), np.int64, len(types))
        events = np.array(published.events, np.int64)
        for kind, code in codes.items():
            rows = np.flatnonzero(coded == code)
            table = self._kinds.get(kind)
            if table is None:
                table = self._kinds[kind] = KindTable(self._folder / "events", kind)
            updates = list(map(published.updates.__getitem__, rows.tolist()))
            table.add(updates, line.channel, np.vstack((events[rows], published.places[:, rows])))
            self._details.note(line.channel, kind, updates)

    def checkpoint(self, line: PublishingLine, security_ids: Iterable[int], now_ns: int) -> None:
        """The books and statistics of some instruments of a channel, as of its last packet."""
        point = line.publisher.point(Stream.INCREMENTAL)
        at = (line.channel, point.version, point.next_number - 1, line.events)
        if not line.books.of_engine:  # lending and indices
            self._taken.append((*at, now_ns, 0))
            return
        self._details.checkpoint(at, line, security_ids)
        count = 0
        for security_id in security_ids:
            market = self._markets.get(security_id)
            if market is None:
                continue
            count += 1
            self._side(at, market, Side.BUY)
            self._side(at, market, Side.SELL)
            rpt_seq = line.publisher.rpt_seq(security_id)
            self._figures.append((*at, *self._figures_of(market, rpt_seq)))
        self._taken.append((*at, now_ns, count))
        if self._ends[-1] >= 4 * ROWS:
            self._write_books()
        if len(self._figures) >= ROWS:
            self._write_figures()

    def _side(self, at: Row, market: InstrumentMarket, side: Side) -> None:
        orders = market.book.side(side).orders
        self._sides.append((*at, market.security_id, int(side)))
        ids, prices, sizes, times, firms, implied = self._orders
        ids += [order.secondary_id for order in orders]
        prices += [order.price for order in orders]
        sizes += [order.shown for order in orders]
        times += [order.inserted_ns for order in orders]
        firms += [order.firm for order in orders]
        implied += [order.implied for order in orders]
        self._ends.append(len(ids))

    def _figures_of(self, market: InstrumentMarket, rpt_seq: int | None) -> Row:
        stats, own = market.statistics, self._phases.own(market.security_id)
        last = stats.last
        running = self._auctions.get(market.security_id)
        found = None if running is None else running.theoretical
        imbalance = None if running is None else running.imbalance
        return (
            market.security_id, rpt_seq, int(self._state(market.security_id)),
            None if own is None else int(own.state), None if own is None else own.ends_ns,
            int(market.session), market.trade_date, stats.opening, stats.high, stats.low,
            None if last is None else last.price, None if last is None else last.size,
            None if last is None else last.trade_id,
            stats.volume, stats.count, stats.vwap, stats.net_change_fine,
            None if found is None else found.price, None if found is None else found.quantity,
            None if imbalance is None else int(imbalance[0]), None if imbalance is None else imbalance[1],
        )  # fmt: skip

    def _write_books(self) -> None:
        if not self._sides:
            return
        starts = pa.array(self._ends, pa.int32())
        lists = [
            pa.ListArray.from_arrays(starts, pa.array(column, type_of(name)))
            for name, column in zip(_LISTS, self._orders, strict=True)
        ]
        self._books.write([*zip(*self._sides), *lists])  # noqa: B905
        self._sides.clear()
        self._ends = [0]
        for column in self._orders:
            column.clear()

    def _write_figures(self) -> None:
        if self._figures:
            self._statistics.write(list(zip(*self._figures)))  # noqa: B905
            self._figures.clear()

    @property
    def rows(self) -> dict[type, int]:
        return {kind: table.rows for kind, table in self._kinds.items()}

    def close(self) -> None:
        self._write_books()
        self._write_figures()
        if self._taken:
            self._checkpoints.write(list(zip(*self._taken)))  # noqa: B905
        instrument_table(self._folder, [market.instrument for market in self._markets.values()])
        for table in (self._books, self._statistics, self._checkpoints, self._details):
            table.close()
        for kind in self._kinds.values():
            kind.close()

    def discard(self) -> None:
        """The day will not be whole."""
        for table in (self._books, self._statistics, self._checkpoints, self._details):
            table.discard()
        for kind in self._kinds.values():
            kind.discard()
