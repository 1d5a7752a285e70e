"""The truth of a simulated day as columns: what facts are computed from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pregao.model.instruments import SecurityType
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import Action, Side
from pregao.simulator.pace import STARTS_S, DayClock

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_SECOND_NS: Final = 1_000_000_000
_ASSETS: Final = {
    "WIN": "index futures", "IND": "index futures", "WDO": "dollar futures", "DOL": "dollar futures",
    "DI1": "rates",
}  # fmt: skip


class Trades(NamedTuple):
    """Those of the books, in order of time: no agreed ones, and none of legs."""

    security_id: Ints
    price: Floats
    time_ns: Ints

    def of(self, security_id: int) -> "Trades":
        rows = self.security_id == security_id
        return Trades(self.security_id[rows], self.price[rows], self.time_ns[rows])


class DayTruth:
    """`folder` is a day's truth, `date` its trade date as days since 1970."""

    def __init__(self, folder: Path, date: int, squeeze: int = 1) -> None:
        self.folder, self.date = folder, date
        self.clock = DayClock(local_midnight_ns(date), squeeze)
        rows = pq.read_table(folder / "instruments.parquet").to_pylist()
        self.instruments: dict[int, dict[str, Any]] = {row["security_id"]: row for row in rows}
        self.trades = self._trades()

    def events(self, kind: str, *columns: str) -> dict[str, Ints]:
        """Columns of one table of events; nulls are -1."""
        path = self.folder / "events" / f"{kind}.parquet"
        if not path.exists():
            return {name: np.zeros(0, np.int64) for name in columns}
        table = pq.read_table(path, columns=list(columns))
        return {
            name: table[name].combine_chunks().cast(pa.int64()).fill_null(-1).to_numpy() for name in columns
        }

    def _trades(self) -> Trades:
        columns = self.events("trade", "security_id", "price", "transact_ns", "sub_type", "forward")
        of_books = np.flatnonzero((columns["sub_type"] == -1) & (columns["forward"] != 1))
        order = of_books[np.argsort(columns["transact_ns"][of_books], kind="stable")]
        return Trades(
            columns["security_id"][order],
            columns["price"][order].astype(np.float64),
            columns["transact_ns"][order],
        )

    def traded(self, fewest: int) -> Iterator[tuple[dict[str, Any], Trades]]:
        """Outright instruments of round lots that traded at so many instants or more, those with the most
        first. One order that meets many is one instant: its trades say no more of where prices went."""
        instants = np.unique(np.stack((self.trades.security_id, self.trades.time_ns)), axis=1)
        ids, counts = np.unique(instants[0], return_counts=True)
        for place in np.argsort(-counts, kind="stable").tolist():
            row = self.instruments.get(int(ids[place]))
            if counts[place] >= fewest and row is not None and not row["legs"] and not row["is_odd_lot"]:
                yield row, self.trades.of(int(ids[place]))

    def seconds(self, times_ns: Ints) -> Floats:
        """Of the exchange's day, whatever the clock of the simulation."""
        starts_ns = self.clock.starts_ns
        return STARTS_S + self.lasting(times_ns - starts_ns)

    def lasting(self, spans_ns: Ints) -> Floats:
        """Spans of time in seconds of the exchange's day."""
        found: Floats = spans_ns.astype(np.float64) * (self.clock.squeeze / _SECOND_NS)
        return found

    def middles(self, security_id: int, times_ns: Ints, widest: float = 1.0) -> Floats:
        """Half way between the best prices of a book at some times; nan where a side is empty, in an auction
        (they cross), or where they are farther apart than `widest` of the price. The book is built from the
        updates in the plainest way."""
        updates = self._book_updates(security_id)
        sides: tuple[dict[int, int], dict[int, int]] = ({}, {})
        found, at = np.full(len(times_ns), np.nan), 0
        for n, until_ns in enumerate(times_ns.tolist()):
            while at < len(updates) and updates[at][0] <= until_ns:
                _apply(sides, updates[at])
                at += 1
            if sides[0] and sides[1]:
                bid, offer = max(sides[0].values()), min(sides[1].values())
                found[n] = (bid + offer) / 2 if 0 < offer - bid <= widest * offer else np.nan
        return found

    def _book_updates(self, security_id: int) -> list[tuple[int, int, int, int, int]]:
        """Time, action, side, order and price (-1: none) of everything that touched the book, in order."""
        names = ("event", "transact_ns", "action", "side", "order_id", "price", "security_id")
        orders = self.events("order_update", *names)
        rows = np.flatnonzero(orders["security_id"] == security_id)
        columns = [orders[name][rows] for name in names[:6]]
        swept = self.events("side_deleted", "event", "transact_ns", "action", "side", "security_id")
        more = np.flatnonzero(swept["security_id"] == security_id)
        none = np.full(len(more), -1)
        cleared = [*(swept[name][more] for name in names[:4]), none, none]
        joined = [np.concatenate(pair) for pair in zip(columns, cleared, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        return list(zip(*(column[order].tolist() for column in joined[1:]), strict=True))


def _apply(sides: tuple[dict[int, int], dict[int, int]], update: tuple[int, int, int, int, int]) -> None:
    _, action, side, order_id, price = update
    book = sides[0] if side == Side.BUY else sides[1]
    if order_id == -1:
        book.clear()
    elif action == Action.DELETE or price == -1:
        book.pop(order_id, None)
    else:
        book[order_id] = price


def class_of(row: dict[str, Any]) -> str | None:
    """The class that ranges are told by; None for what is derived from another price."""
    kind = SecurityType(row["security_type"])
    if kind in (SecurityType.CS, SecurityType.PS):
        return "shares"
    if kind is SecurityType.ETF:
        return "funds"
    return _ASSETS.get(row["asset"], "other futures") if kind is SecurityType.FUT else None
