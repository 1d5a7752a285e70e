"""What late busts and amendments need. Of an instrument the trades of sessions that are over: the earlier
sessions of the trade date and the last dates before it; older ones are settled, and nobody can take them
back. Of a strategy the trades that its own made in its legs."""

from collections.abc import Callable, Iterable

from pregao.model.events import Trade

KEPT_DATES = 5  # a week of trading, today's earlier sessions included
_SOME = 64  # so many are not worth a look


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

    def __len__(self) -> int:
        return sum(map(len, self._by_date.values()))


class LegTradeIndex:
    """The leg trades of each trade of a strategy, for as long as that trade can be busted: what is no longer
    kept is dropped whenever more than half of them could be."""

    __slots__ = ("_by_trade",)

    def __init__(self) -> None:
        self._by_trade: dict[tuple[int, int], list[Trade]] = {}  # by trade date and tradeID

    def __len__(self) -> int:
        return len(self._by_trade)

    def add(self, trade: Trade, of_leg: Trade) -> None:
        self._by_trade.setdefault((trade.trade_date, trade.trade_id), []).append(of_leg)

    def of(self, trade: Trade) -> Iterable[Trade]:
        return self._by_trade.get((trade.trade_date, trade.trade_id), ())

    def remove(self, trade: Trade) -> None:
        self._by_trade.pop((trade.trade_date, trade.trade_id), None)

    def prune(self, kept: int, is_kept: Callable[[int, int], bool]) -> None:
        """`kept` trades of the strategy are kept; `is_kept` says whether one of a date is among them."""
        if len(self._by_trade) > 2 * kept + _SOME:
            self._by_trade = {key: legs for key, legs in self._by_trade.items() if is_kept(*key)}
