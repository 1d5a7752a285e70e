"""What trades carry of the trades before them, for publishers: volume, net change, direction of the price."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from pregao.model import events as e
from pregao.model.instruments import Instrument
from pregao.model.market import PriceOrigin, StateEvent

_FINER: Final = 10_000  # of a closing price, beside a price


class Tick(IntEnum):
    """TickDirection (274): against the price before it, or the last that differed."""

    PLUS = 0
    ZERO_PLUS = 1
    MINUS = 2
    ZERO_MINUS = 3


class Figures(NamedTuple):
    """Of one trade; None where nothing is known to compare it with."""

    volume: int
    net_change_fine: int | None
    tick: Tick | None


class TradeFigures:
    """By instrument. Tell it of every event (`begin`), then of its trades (`of`) and of all else
    (`observe`)."""

    def __init__(self) -> None:
        self._volumes: dict[int, int] = {}
        self._prices: dict[int, int] = {}
        self._moved: dict[int, Tick] = {}
        self._closings: dict[int, int] = {}

    def list(self, instruments: Iterable[Instrument]) -> None:
        for each in instruments:
            if each.closing_price is not None:
                self._closings.setdefault(each.security_id, each.closing_price)

    def start_session(self, security_id: int) -> None:
        self._volumes.pop(security_id, None)

    def observe(self, update: e.Update) -> None:
        if isinstance(update, e.ExecutionStatistics):
            self._volumes[update.security_id] = update.volume
        elif isinstance(update, e.ClosingPrice) and update.origin is PriceOrigin.PREVIOUS_DAY:
            self._closings[update.security_id] = update.price_fine
        elif isinstance(update, e.Definition):
            self.list([update.instrument])
        elif isinstance(update, e.StateChanged) and update.event is StateEvent.SESSION_CHANGE:
            self.start_session(update.security_id)

    def begin(self, updates: Sequence[e.Update]) -> None:
        """An event tells the volume after it: so that of before its trades is known, corrections or not."""
        for update in updates:
            if isinstance(update, e.ExecutionStatistics):
                security_id = update.security_id
                trades = (each for each in updates if isinstance(each, e.Trade))
                traded = (each.size for each in trades if each.security_id == security_id)
                self._volumes[security_id] = update.volume - sum(traded)

    def of(self, trade: e.Trade) -> Figures:
        security_id = trade.security_id
        volume = self._volumes[security_id] = self._volumes.get(security_id, 0) + trade.size
        closing = self._closings.get(security_id)
        net = None if closing is None else trade.price * _FINER - closing
        return Figures(volume, net, self._tick(security_id, trade.price))

    def _tick(self, security_id: int, price: int) -> Tick | None:
        before = self._prices.get(security_id)
        self._prices[security_id] = price
        if before is not None and price != before:
            moved = self._moved[security_id] = Tick.PLUS if price > before else Tick.MINUS
            return moved
        last = self._moved.get(security_id)
        return None if last is None else Tick(last + 1)
