"""What bands and auctions say to single orders and trades: the engine's hooks, without any change."""

from pregao.exchange.auctions import AuctionKind, Auctions
from pregao.exchange.bands import Bands, Midpoints, limits_around
from pregao.exchange.catalogues.rules import BandRule, ListedInstrument
from pregao.exchange.commands import Rejection
from pregao.exchange.hooks import Hooks
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder
from pregao.exchange.simultaneous import Pairs
from pregao.model.market import BandType, LimitType, Midpoint

_LAST_TRADE = Midpoint.LAST_TRADE


class Guards:
    """Refusals come at once; an auction that one calls for is remembered until the command is done."""

    def __init__(
        self,
        bands: Bands,
        pairs: Pairs,
        auctions: Auctions,
        listings: dict[int, ListedInstrument],
    ) -> None:
        self._bands, self._pairs, self._auctions, self._listings = bands, pairs, auctions, listings
        self._triggered: dict[int, AuctionKind] = {}

    def plug_into(self, hooks: Hooks) -> None:
        hooks.check_order.append(self.check_order)
        hooks.check_cancel.append(self.check_cancel)
        hooks.trade_ranges.append(self.trade_range)
        hooks.hard_limits = self.hard_limits
        hooks.on_trade_refused.append(self.trade_refused)
        hooks.on_self_trade.append(self.self_trade)

    def midpoints(self, market: InstrumentMarket) -> Midpoints:
        running = self._auctions.get(market.security_id)
        found = None if running is None else running.theoretical
        return Midpoints(
            market.statistics.last_price,
            market.book.buys.best_real_price,
            market.book.sells.best_real_price,
            None if found is None else found.price,
            market.reference_price,
        )

    def check_order(self, market: InstrumentMarket, order: EnteredOrder, now_ns: int) -> Rejection | None:
        closing = self._pairs.rejection(market.security_id)
        if closing is not None:
            return closing
        if self._is_within(market, order.price, order.quantity):
            return None
        return self._bands.check(market.security_id, order.price, order.quantity, self.midpoints(market))

    def _is_within(self, market: InstrumentMarket, price: int | None, quantity: int) -> bool:
        """Whether no band can have anything against an order: asked with every one, so the prices that
        bands may be percentages of are looked up only where one needs them."""
        limits = self._bands.find(market.security_id)
        if limits is None:
            return True
        largest = limits.largest_order
        if largest is not None and quantity > largest:
            return False
        if price is None:
            return True
        low, high = limits.low, limits.high
        if low is not None and high is not None and not low <= price <= high:
            return False
        # Most have one or none of these: a loop is quicker than `all`.
        for rule in limits.moving:  # noqa: SIM110
            if not self._is_around(market, rule, price):
                return False
        return True

    def _is_around(self, market: InstrumentMarket, rule: BandRule, price: int) -> bool:
        """Whether a price is within a band of percentages, as `limits_of` has it."""
        midpoint = self._midpoint(market, rule)
        if not midpoint:
            return True
        low, high = limits_around(rule, midpoint)
        return low <= price <= high

    def _midpoint(self, market: InstrumentMarket, rule: BandRule) -> int | None:
        if rule.midpoint is _LAST_TRADE:
            return market.reference_price
        return self.midpoints(market).of(rule.midpoint)

    def check_cancel(self, market: InstrumentMarket, order: EnteredOrder, now_ns: int) -> Rejection | None:
        return self._pairs.rejection(market.security_id)

    def trade_range(self, market: InstrumentMarket) -> tuple[int, int] | None:
        """The auction band as prices, around its midpoint of now."""
        limits = self._bands.find(market.security_id)
        rule = None if limits is None else limits.rules.get(BandType.AUCTION)
        if rule is None:
            return None
        if rule.limit_type is LimitType.PRICE:
            return rule.low, rule.high
        midpoint = self._midpoint(market, rule)
        return limits_around(rule, midpoint) if midpoint else None

    def hard_limits(self, market: InstrumentMarket) -> tuple[int, int] | None:
        limits = self._bands.find(market.security_id)
        rule = None if limits is None else limits.rules.get(BandType.HARD)
        return None if rule is None else (rule.low, rule.high)

    def trade_refused(self, market: InstrumentMarket, order: EnteredOrder, price: int, now_ns: int) -> None:
        """Any order that the band stops begins the auction, also one of which nothing will rest."""
        self._triggered[market.security_id] = AuctionKind.BAND

    def self_trade(
        self,
        market: InstrumentMarket,
        incoming: EnteredOrder,
        resting: EnteredOrder,
        now_ns: int,
    ) -> None:
        if not self._listings[market.security_id].liquid:
            self._triggered[market.security_id] = AuctionKind.SELF_TRADE

    def take_triggered(self) -> tuple[tuple[int, AuctionKind], ...]:
        """The auctions called for since last asked."""
        if not self._triggered:
            return ()
        triggered = tuple(self._triggered.items())
        self._triggered.clear()
        return triggered
