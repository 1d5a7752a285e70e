"""The last trades of every instrument, kept as rows: objects are made of those that somebody looks at."""

from collections import deque
from typing import Any, Final

import numpy as np

from pregao.feeds.binary.handler.observer import Observer
from pregao.model.events import Trade, TradeBusted
from pregao.model.rows import Kind, Rows
from pregao.services.market.rows import bust_of, trade_of

KEPT: Final = 100  # of one instrument

_IS_TRADE: Final = np.zeros(256, np.bool_)
_IS_TRADE[[Kind.TRADE, Kind.BUST]] = True


class Tape(Observer):
    """Of one channel."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._rows: dict[int, deque[Any]] = {}
        self.counts: dict[int, int] = {}

    def on_rows(self, rows: Rows) -> None:
        picked = rows[_IS_TRADE[rows["kind"]]]  # a copy
        for row, security_id in zip(picked, picked["security_id"].tolist(), strict=True):
            kept = self._rows.get(security_id)
            if kept is None:
                kept = self._rows[security_id] = deque(maxlen=self._kept)
            kept.append(row)
            self.counts[security_id] = self.counts.get(security_id, 0) + 1

    def last(self, security_id: int, count: int) -> list[Trade | TradeBusted]:
        """Newest first."""
        rows = list(self._rows.get(security_id, ()))[: -count - 1 : -1] if count > 0 else []
        return [bust_of(row) if row["kind"] == Kind.BUST else trade_of(row) for row in rows]

    def busiest(self) -> int | None:
        """The instrument with the most trades so far."""
        return max(self.counts, key=self.counts.__getitem__, default=None)
