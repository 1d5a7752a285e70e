"""What bands and auctions say to single orders and trades: the engine's hooks, without any change."""

from pregao.exchange.auctions import AuctionKind, Auctions
from pregao.exchange.bands import Bands, Midpoints
from pregao.exchange.catalogues.entries import Listing
from pregao.exchange.hooks import Hooks
from pregao.exchange.market import Market
from pregao.exchange.matching import rests
from pregao.exchange.orders import Order
from pregao.exchange.rejections import Rejection
from pregao.exchange.simultaneous import Pairs
from pregao.exchange.uncross import reference_price


class Guards:
    """Refusals come at once; an auction that one calls for is remembered until the command is done."""

    def __init__(self, bands: Bands, pairs: Pairs, auctions: Auctions, listings: dict[int, Listing]) -> None:
        self._bands, self._pairs, self._auctions, self._listings = bands, pairs, auctions, listings
        self._triggered: dict[int, AuctionKind] = {}

    def plug_into(self, hooks: Hooks) -> None:
        hooks.check_order.append(self.check_order)
        hooks.check_cancel.append(self.check_cancel)
        hooks.check_trade.append(self.may_trade)
        hooks.on_trade_refused.append(self.trade_refused)
        hooks.on_self_trade.append(self.self_trade)

    def midpoints(self, market: Market) -> Midpoints:
        running = self._auctions.get(market.security_id)
        found = None if running is None else running.theoretical
        return Midpoints(
            market.statistics.last_price,
            market.book.buys.best_real_price,
            market.book.sells.best_real_price,
            None if found is None else found.price,
            reference_price(market),
        )

    def check_order(self, market: Market, order: Order, now_ns: int) -> Rejection | None:
        closing = self._pairs.rejection(market.security_id)
        if closing is not None:
            return closing
        found = self._bands.check(market.security_id, order.price, order.quantity, self.midpoints(market))
        return found if isinstance(found, Rejection) else None

    def check_cancel(self, market: Market, order: Order, now_ns: int) -> Rejection | None:
        return self._pairs.rejection(market.security_id)

    def may_trade(self, market: Market, price: int, now_ns: int) -> bool:
        return not self._bands.protects(market.security_id, price, self.midpoints(market))

    def trade_refused(self, market: Market, order: Order, price: int, now_ns: int) -> None:
        if rests(order):  # what does not rest would leave an auction of nothing
            self._triggered[market.security_id] = AuctionKind.BAND

    def self_trade(self, market: Market, incoming: Order, resting: Order, now_ns: int) -> None:
        if not self._listings[market.security_id].liquid:
            self._triggered[market.security_id] = AuctionKind.SELF_TRADE

    def take_triggered(self) -> tuple[tuple[int, AuctionKind], ...]:
        """The auctions called for since last asked."""
        if not self._triggered:
            return ()
        triggered = tuple(self._triggered.items())
        self._triggered.clear()
        return triggered
