"""The trades of sessions that are over, kept for late busts and amendments: the earlier sessions of the
trade date and the last dates before it. Older ones are settled, and nobody can take them back."""

from collections.abc import Iterable

from pregao.model.events import Trade

KEPT_DATES = 5  # a week of trading, today's earlier sessions included


class PastTrades:
    """By trade date and tradeID: the ids are unique for an instrument and a date (13.3)."""

    __slots__ = ("_by_date",)

    def __init__(self) -> None:
        self._by_date: dict[int, dict[int, Trade]] = {}

    def add(self, trade_date: int, trades: dict[int, Trade]) -> None:
        """Another session of a date is over. Dates come in their order."""
        if not trades:
            return
        kept = self._by_date.get(trade_date)
        if kept is None:
            self._by_date[trade_date] = trades
        else:
            kept.update(trades)
        while len(self._by_date) > KEPT_DATES:
            del self._by_date[min(self._by_date)]

    def of_date(self, trade_date: int) -> Iterable[Trade]:
        return self._by_date.get(trade_date, {}).values()

    def find(self, trade_date: int, trade_id: int) -> Trade | None:
        return self._by_date.get(trade_date, {}).get(trade_id)

    def remove(self, trade: Trade) -> None:
        del self._by_date[trade.trade_date][trade.trade_id]

    def replace(self, trade: Trade) -> None:
        """An amended trade keeps its place."""
        self._by_date[trade.trade_date][trade.trade_id] = trade
