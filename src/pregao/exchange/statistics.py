"""Session statistics of one instrument (13.2, 13.7–13.9, 17): counted trade by trade, told when an
event closes. After a bust they are counted again and what changed is told."""

from pregao.exchange.conditions import can_open, forms_price
from pregao.model.events import (
    ExecutionStatistics,
    HighPrice,
    LastTrade,
    LowPrice,
    OpeningPrice,
    Trade,
    Update,
)
from pregao.model.market import FINE_SCALE, PRICE_SCALE, Action, PriceOrigin, Session

_FINER = FINE_SCALE // PRICE_SCALE
# Whether an opening price is the day's or only its session's (13.9.1).
_ORIGINS = {Session.REGULAR: PriceOrigin.DAILY, Session.NON_REGULAR: PriceOrigin.SESSION}


def average(value: int, volume: int) -> int:
    """Rounded half up to a ten-thousandth; the text names no rounding (13.8)."""
    return (2 * value + volume) // (2 * volume)


class SessionStatistics:
    __slots__ = (
        "_kept_trades",
        "_settled",
        "closing_fine",
        "corrected",
        "count",
        "high",
        "last",
        "last_settled_id",
        "low",
        "opening",
        "opening_now",
        "opening_rate",
        "published",
        "settled_net",
        "swing",
        "totals_published",
        "trades",
        "value",
        "volume",
    )  # fmt: skip

    def __init__(self, closing_fine: int | None, kept_trades: int | None = None) -> None:
        """`kept_trades`: so many are kept for busts, older ones only as what they add up to; None: all."""
        self.closing_fine, self._kept_trades = closing_fine, kept_trades
        self.settled_net: dict[int, int] = {}  # by firm, of trades of the date that are not kept
        self.start_over()

    def start_over(self) -> None:
        """A new session (14.3). The trades go with it: whoever needs them keeps them."""
        self.trades: dict[int, Trade] = {}
        # Opening, high, low and last of the trades that are not kept.
        self._settled: tuple[int | None, int | None, int | None, Trade | None] = (None, None, None, None)
        self.last_settled_id = 0  # tradeIDs rise
        self.opening: int | None = None
        self.opening_rate: int | None = None  # of a termo
        self.high: int | None = None
        self.low: int | None = None
        self.last: Trade | None = None
        self.volume = self.value = self.count = 0
        self.corrected = False  # a trade was busted or amended since the last one was told
        self.opening_now = False  # the event that forms the opening price is not closed yet
        self.published: tuple[int | None, int | None, int | None] = (None, None, None)
        self.totals_published = False  # they stay when every trade is busted
        self.swing: tuple[int, int] | None = None  # lowest and highest price since stops were last elected

    @property
    def last_price(self) -> int | None:
        return None if self.last is None else self.last.price

    @property
    def vwap(self) -> int | None:
        return average(self.value, self.volume) if self.volume else None

    @property
    def net_change_fine(self) -> int | None:
        if self.last is None or self.closing_fine is None:
            return None
        return self.last.price * _FINER - self.closing_fine

    @property
    def is_opening(self) -> bool:
        """Whether a trade now belongs to the opening event (13.3.1)."""
        return self.opening is None or self.opening_now

    def count_trade(self, trade: Trade) -> None:
        price, size = trade.price, trade.size
        self.trades[trade.trade_id] = trade
        if self._kept_trades is not None and len(self.trades) > self._kept_trades:
            self._settle(self.trades.pop(next(iter(self.trades))))
        self.volume += size
        self.value += price * size
        self.count += 1
        if not forms_price(trade.sub_type, trade.condition):
            return
        self.last = trade
        if self.high is None or price > self.high:
            self.high = price
        if self.low is None or price < self.low:
            self.low = price
        swing = self.swing
        self.swing = (price, price) if swing is None else (min(swing[0], price), max(swing[1], price))
        if self.opening is None and can_open(trade.sub_type):
            self.opening, self.opening_now, self.opening_rate = price, True, trade.interest_rate

    def _settle(self, trade: Trade) -> None:
        """The oldest trade can no longer be taken back."""
        self.last_settled_id = trade.trade_id
        if trade.buyer is not None and trade.seller is not None:
            net = self.settled_net
            net[trade.buyer] = net.get(trade.buyer, 0) + trade.size
            net[trade.seller] = net.get(trade.seller, 0) - trade.size
        self._settled = _with(self._settled, trade)

    def uncount_trade(self, trade_id: int) -> Trade:
        """Take a busted trade out and count again what depended on it."""
        busted = self.trades.pop(trade_id)
        self.volume -= busted.size
        self.value -= busted.price * busted.size
        self.count -= 1
        self._recount_prices()
        self.corrected = True
        return busted

    def replace_trade(self, trade: Trade) -> None:
        """An amended trade keeps its place in the sequence."""
        old = self.trades[trade.trade_id]
        self.trades[trade.trade_id] = trade
        self.volume += trade.size - old.size
        self.value += trade.price * trade.size - old.price * old.size
        self._recount_prices()
        self.corrected = True

    def _recount_prices(self) -> None:
        found = self._settled
        for trade in self.trades.values():
            found = _with(found, trade)
        self.opening, self.high, self.low, self.last = found
        if self._settled[0] is None:  # else what opened cannot be taken back
            opened = (each for each in self.trades.values() if forms_price(each.sub_type, each.condition))
            rates = (each.interest_rate for each in opened if can_open(each.sub_type))
            self.opening_rate = next(rates, None)

    def publish(self, security_id: int, session: Session, trade_date: int, now_ns: int) -> list[Update]:
        """What an event that traded tells last: the prices that changed, then the totals."""
        updates: list[Update] = []
        current = (self.opening, self.high, self.low)
        if current != self.published:
            self._publish_prices(updates, security_id, session, trade_date, now_ns)
            self.published = current
        self.opening_now = False
        if self.corrected:
            # Trades tell the last one as they come (13.3), corrections do not: it is told by itself (13.6).
            self.corrected = False
            if self.last is not None:
                updates.append(last_trade(self.last, now_ns))
        updates.append(self._totals(security_id, session, trade_date, now_ns))
        self.totals_published = True
        return updates

    def _totals(
        self, security_id: int, session: Session, trade_date: int, now_ns: int
    ) -> ExecutionStatistics:
        net = self.net_change_fine
        return ExecutionStatistics(
            security_id, session, trade_date, self.volume, self.vwap, net, self.count, now_ns, self.value
        )

    def _publish_prices(
        self, updates: list[Update], security_id: int, session: Session, trade_date: int, now_ns: int
    ) -> None:
        """A price that a bust took away altogether is deleted, by its old value."""
        opening, high, low = self.published
        if self.opening != opening:
            price, action = _published_as(self.opening, opening)
            net = None
            if action is Action.NEW and self.closing_fine is not None:
                net = price * _FINER - self.closing_fine
            updates.append(
                OpeningPrice(
                    security_id, price, net, trade_date, now_ns, _ORIGINS[session], action, self.opening_rate
                )
            )
        if self.high != high:
            price, action = _published_as(self.high, high)
            updates.append(HighPrice(security_id, price, trade_date, now_ns, action))
        if self.low != low:
            price, action = _published_as(self.low, low)
            updates.append(LowPrice(security_id, price, trade_date, now_ns, action))

    def snapshot(self, security_id: int, session: Session, trade_date: int, now_ns: int) -> list[Update]:
        """All that stands now, for the snapshot stream: totals are there once they were told."""
        updates: list[Update] = []
        if self.opening is not None:
            net = None if self.closing_fine is None else self.opening * _FINER - self.closing_fine
            updates.append(
                OpeningPrice(
                    security_id, self.opening, net, trade_date, now_ns, _ORIGINS[session], Action.NEW,
                    self.opening_rate,
                )
            )  # fmt: skip
        if self.high is not None and self.low is not None:
            updates.append(HighPrice(security_id, self.high, trade_date, now_ns))
            updates.append(LowPrice(security_id, self.low, trade_date, now_ns))
        if self.last is not None:
            updates.append(last_trade(self.last, now_ns))
        if self.totals_published:
            updates.append(self._totals(security_id, session, trade_date, now_ns))
        return updates


def _with(
    before: tuple[int | None, int | None, int | None, Trade | None], trade: Trade
) -> tuple[int | None, int | None, int | None, Trade | None]:
    """Opening, high, low and last with one more trade."""
    if not forms_price(trade.sub_type, trade.condition):
        return before
    opening, high, low, _ = before
    price = trade.price
    if opening is None and can_open(trade.sub_type):
        opening = price
    return (
        opening,
        price if high is None else max(high, price),
        price if low is None else min(low, price),
        trade,
    )


def _published_as(now: int | None, before: int | None) -> tuple[int, Action]:
    if now is not None:
        return now, Action.NEW
    assert before is not None
    return before, Action.DELETE


def last_trade(trade: Trade, now_ns: int) -> LastTrade:
    return LastTrade(
        trade.security_id, trade.trade_id, trade.price, trade.size, trade.trade_date, trade.session,
        trade.condition, now_ns, trade.sub_type, trade.buyer, trade.seller, trade.implied, trade.seller_days,
        trade.interest_rate,
    )  # fmt: skip
