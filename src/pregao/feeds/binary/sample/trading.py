"""The continuous session: orders come, change and go; some of them trade.

Prices follow from the orders alone: a new one stands a few ticks behind the best of the other
side, so books never cross, trades eat the best ones, and the middle walks.
"""

from pregao.feeds.binary.sample.books import OPPOSITE, Order, Side, make_order
from pregao.feeds.binary.sample.market import Event, Listing, Market

DEEP = 40  # orders in a book from which on more leave than come

_ORDER, _DELETE = 50, 51
_TRADE, _SUMMARY, _STATISTICS = 53, 55, 56
_HIGH, _LOW = 24, 25


def any_side(market: Market) -> Side:
    return "BID" if market.random.random() < 0.5 else "OFFER"


def any_order(market: Market, listing: Listing) -> tuple[Side, int] | None:
    """Side and index of some order, the better ones more often."""
    side = any_side(market)
    if not listing.book.sides[side]:
        side = OPPOSITE[side]
    orders = listing.book.sides[side]
    return (side, int(len(orders) * market.random.random() ** 2)) if orders else None


def say_order(
    event: Event,
    listing: Listing,
    side: Side,
    order: Order,
    position: int,
    action: str = "NEW",
    previous: int | None = None,
    indicator: tuple[str, ...] = (),
) -> None:
    event.say(
        listing,
        _ORDER,
        matchEventIndicator=indicator,
        mDUpdateAction=action,
        mDEntryType=side,
        mDEntryPx=None if order.price is None else listing.price(order.price),
        mDEntrySize=order.size,
        mDEntryPositionNo=position,
        enteringFirm=order.firm,
        mDInsertTimestamp=order.inserted_ns,
        secondaryOrderID=order.order_id,
        mDEntryPrevSize=previous,
    )


def say_delete(event: Event, listing: Listing, side: Side, index: int) -> Order:
    """Take an order out of its book, and say so."""
    order = listing.book.sides[side].pop(index)
    event.say(
        listing,
        _DELETE,
        mDEntryType=side,
        mDEntryPositionNo=index + 1,
        mDEntrySize=order.size,
        secondaryOrderID=order.order_id,
        mDEntryPx=None if order.price is None else listing.price(order.price),
    )
    return order


def place(market: Market, listing: Listing, side: Side) -> tuple[Order, int]:
    """A new order a few ticks behind the best of the other side."""
    away = 1 + min(int(market.random.expovariate(0.35)), 30)
    other = listing.book.best(OPPOSITE[side])
    start = listing.reference if other is None else other
    price = max(start - away, 1) if side == "BID" else start + away
    market.arrivals += 1
    order = make_order(side, market.arrivals, price, market.size(listing), market.firm(), market.now_ns)
    return order, listing.book.add(side, order)


def new_order(market: Market, event: Event) -> None:
    listing, side = market.listing(), any_side(market)
    if len(listing.book) > DEEP:
        return cancel(market, event)
    order, position = place(market, listing, side)
    return say_order(event, listing, side, order, position)


def cancel(market: Market, event: Event) -> None:
    listing = market.listing()
    found = any_order(market, listing)
    if found is None or len(listing.book) < 4:
        side = any_side(market)
        order, position = place(market, listing, side)
        say_order(event, listing, side, order, position)
    else:
        say_delete(event, listing, *found)


def change(market: Market, event: Event) -> None:
    """A smaller quantity: the order keeps its place."""
    listing = market.listing()
    found = any_order(market, listing)
    if found is None:
        return new_order(market, event)
    side, index = found
    old = listing.book.sides[side][index]
    shrunk = old._replace(size=max(listing.instrument.lot, old.size // 2))
    listing.book.sides[side][index] = shrunk
    return say_order(event, listing, side, shrunk, index + 1, "CHANGE", old.size)


def replace(market: Market, event: Event, listing: Listing | None = None) -> None:
    """Another price: the order loses its place, so it leaves and comes again."""
    listing = market.listing() if listing is None else listing
    found = any_order(market, listing)
    side = any_side(market) if found is None else found[0]
    if found is not None:
        say_delete(event, listing, *found)
    order, position = place(market, listing, side)
    say_order(event, listing, side, order, position)


def requote(market: Market, event: Event) -> None:
    """A market maker moves all its quotes of an instrument at once: packets fill up."""
    listing = market.listing()
    for _ in range(min(3 + int(market.random.expovariate(0.2)), 30)):
        replace(market, event, listing)


def trade(market: Market, event: Event) -> None:
    """An aggressor takes the best one to three orders of the other side (13.1)."""
    listing = market.listing()
    resting: Side = any_side(market)
    orders = listing.book.sides[resting]
    if len(orders) < 3:
        return new_order(market, event)
    fills = min(market.random.choice((1, 1, 1, 1, 2, 3)), len(orders) - 1)
    taken = [order.size for order in orders[:fills]]
    partly = market.random.random() < 0.5 and taken[-1] > listing.instrument.lot
    if partly:
        taken[-1] = listing.instrument.lot
    return execute(market, event, listing, resting, taken, whole=not partly)


def execute(
    market: Market, event: Event, listing: Listing, resting: Side, taken: list[int], *, whole: bool
) -> None:
    """Say the summary, the trades, what they did to the book, and the new statistics."""
    orders = listing.book.sides[resting]
    worst = _ticks(listing, orders[len(taken) - 1])
    event.say(
        listing,
        _SUMMARY,
        aggressorSide="BUY" if resting == "OFFER" else "SELL",
        lastPx=listing.price(worst),
        fillQty=sum(taken),
        aggressorTime=market.now_ns,
    )
    aggressor = market.firm()
    for order, size in zip(orders[: len(taken)], taken, strict=True):
        say_trade(market, event, listing, _ticks(listing, order), size, resting, order.firm, aggressor)
    for number, size in enumerate(taken):
        if number < len(taken) - 1 or whole:
            say_delete(event, listing, resting, 0)
        else:
            rest = orders[0]._replace(size=orders[0].size - size)
            say_order(event, listing, resting, rest, 1, "CHANGE", orders[0].size)
            orders[0] = rest
    say_statistics(event, listing)


def _ticks(listing: Listing, order: Order) -> int:
    return listing.reference if order.price is None else order.price


def say_trade(
    market: Market,
    event: Event,
    listing: Listing,
    price: int,
    size: int,
    resting: Side,
    firm: int | None,
    aggressor: int | None,
    conditions: tuple[str, ...] = ("RegularTrade",),
) -> None:
    market.trade_ids += 10
    same = listing.last == price
    event.say(
        listing,
        _TRADE,
        tradingSessionID="REGULAR_TRADING_SESSION",
        tradeCondition=(*conditions, "LastTradeAtTheSamePrice") if same else conditions,
        mDEntryPx=listing.price(price),
        mDEntrySize=size,
        tradeID=market.trade_ids,
        mDEntryBuyer=firm if resting == "BID" else aggressor,
        mDEntrySeller=aggressor if resting == "BID" else firm,
        trdSubType=None if market.random.random() < 0.95 else "RLP_TRADE",
    )
    listing.last, listing.last_size = price, size
    listing.volume += size
    listing.turnover += price * size
    listing.trades += 1
    if listing.high is None or price > listing.high:
        listing.high = price
        event.say(listing, _HIGH, mDUpdateAction="NEW", mDEntryPx=listing.price(price))
    if listing.low is None or price < listing.low:
        listing.low = price
        event.say(listing, _LOW, mDUpdateAction="NEW", mDEntryPx=listing.price(price))


def say_statistics(event: Event, listing: Listing) -> None:
    average = listing.turnover // listing.volume if listing.volume else None
    event.say(
        listing,
        _STATISTICS,
        tradingSessionID="REGULAR_TRADING_SESSION",
        tradeVolume=listing.volume,
        vwapPx=None if average is None else listing.price(average),
        netChgPrevDay=listing.price(listing.reference - listing.instrument.price),
        numberOfTrades=listing.trades,
    )
