"""The last trades of every instrument, kept as rows: objects are made of those that somebody looks at."""

from collections import deque
from typing import Final

import numpy as np

from pregao.handler.observer import Observer
from pregao.market.events import Trade, TradeBusted
from pregao.market.making import Scene, Symbols, bust, trade
from pregao.model.rows import ROW_SIZE, Kind, Rows

KEPT: Final = 100  # of one instrument

_IS_TRADE: Final = np.zeros(256, np.bool_)
_IS_TRADE[[Kind.TRADE, Kind.BUST]] = True


class Tape(Observer):
    """Of one channel."""

    def __init__(self, channel: int, kept: int = KEPT) -> None:
        self._scene, self._kept = Scene(channel, Symbols()), kept
        self._rows: dict[int, deque[bytes]] = {}
        self.counts: dict[int, int] = {}

    def on_rows(self, rows: Rows) -> None:
        picked = rows[_IS_TRADE[rows["kind"]]]
        data = picked.tobytes()
        for place, security_id in enumerate(picked["security_id"].tolist()):
            kept = self._rows.get(security_id)
            if kept is None:
                kept = self._rows[security_id] = deque(maxlen=self._kept)
            kept.append(data[place * ROW_SIZE : (place + 1) * ROW_SIZE])
            self.counts[security_id] = self.counts.get(security_id, 0) + 1

    def last(self, security_id: int, count: int) -> list[Trade | TradeBusted]:
        """Newest first. Symbols are not kept here: they are the securityID."""
        rows = list(self._rows.get(security_id, ()))[: -count - 1 : -1] if count > 0 else []
        return [(bust if row[0] == Kind.BUST else trade)(self._scene, row, 0) for row in rows]

    def busiest(self) -> int | None:
        """The instrument with the most trades so far."""
        return max(self.counts, key=self.counts.__getitem__, default=None)
