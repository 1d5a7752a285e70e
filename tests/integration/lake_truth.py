"""Books that follow from the rows of a lake, held against the exchange's own account of them."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from pregao.books.store import BookStore
from pregao.lake.book_at import apply_changes, in_stream_order
from pregao.lake.lake import Lake
from pregao.model.market import Side
from tests.kits.lakes import truth

DOUBTS = 1 | 2  # unknown, or after a gap


class LakeBooks:
    """The books of one channel's day by the orders of its table, at any place of the stream."""

    def __init__(self, lake: Lake, channel: int, day: date | None = None) -> None:
        of_day = "" if day is None else f" and trade_date = '{day}'"
        table = in_stream_order(lake.arrow("orders", f"channel = {channel}{of_day}"))
        self._rows: dict[int, Any] = {}
        ids = table["security_id"].to_pylist()
        for security_id in {each for each in ids if each is not None}:
            mine = np.array([each in (security_id, None) for each in ids])
            self._rows[security_id] = table.filter(mine)
        self._none = table.slice(0, 0)
        stored = lake.arrow("book_checkpoints", f"channel = {channel}{of_day} and order_id is null")
        self._empty = [row for row in stored.to_pylist() if row["anchor"] != "STORED"]

    @property
    def security_ids(self) -> list[int]:
        return sorted(self._rows)

    def walk(self, security_id: int) -> "Walk":
        return Walk(self._rows.get(security_id, self._none), security_id, self._empty)


class Walk:
    """Places only go forward. `empty` are the stored books without an order: of a book of which no row has
    told yet they say whether it is known to be empty, its own before those of all others."""

    def __init__(self, rows: Any, security_id: int, empty: Sequence[Mapping[str, Any]] = ()) -> None:
        self._rows, self._security_id = rows, security_id
        self._places = list(zip(rows["seq_version"].to_pylist(), rows["seq_num"].to_pylist(), strict=True))
        self._quality = rows["quality"].to_pylist()
        self._done = 0
        self._empty = sorted(
            ((row["seq_version"], row["seq_num"]), row["security_id"] is not None, row["quality"])
            for row in empty
            if row["security_id"] in (None, security_id)
        )
        self.store = BookStore()
        self.number = self.store.add_instrument(security_id) or 0
        self.clean = False
        self.last_place = (0, 0)

    def go_to(self, version: int, number: int) -> None:
        end = self._done
        while end < len(self._places) and self._places[end] <= (version, number):
            self.clean, self.last_place = not self._quality[end] & DOUBTS, self._places[end]
            end += 1
        if not end:
            told = [each for each in self._empty if each[0] <= (version, number)]
            own = [each for each in told if each[1]]
            self.clean = bool(told) and not (own or told)[-1][2] & DOUBTS
        part = self._rows.slice(self._done, end - self._done)
        if part.num_rows:
            apply_changes(self.store, self.number, part, self._security_id)
        self._done = end

    def orders(self, side: Side) -> list[tuple[Any, ...]]:
        return [
            (o.order_id, o.price, o.size, o.inserted_ns, o.firm, o.implied)
            for o in self.store.orders(self.number, side)
        ]


def truth_books(day: Path, channel: int) -> dict[int, list[dict[str, Any]]]:
    """Sides of books at checkpoints, by instrument, in order; of several at one place the last counts."""
    found: dict[int, dict[tuple[int, int, int], dict[str, Any]]] = {}
    for row in truth(day, "books"):
        if row["channel"] == channel:
            places = found.setdefault(row["security_id"], {})
            places[row["seq_version"], row["seq_num"], row["side"]] = row
    return {security_id: list(places.values()) for security_id, places in found.items()}


def told_orders(row: dict[str, Any], version: int) -> list[tuple[Any, ...]]:
    columns = (row["order_id"], row["price"], row["size"], row["inserted_ns"], row["firm"], row["implied"])
    return [(*each[:5], each[5] and version >= 10) for each in zip(*columns, strict=True)]


def stale_spans(lake: Lake, channel: int) -> dict[int, list[tuple[int, int]]]:
    """Times between which an instrument was known to be wrong."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in lake.arrow("quality", f"channel = {channel}").to_pylist():
        if row["finding"] in ("HEAL", "STALE_SPAN"):
            spans.setdefault(row["security_id"], []).append((row["ts_from"], row["ts_to"]))
    return spans
