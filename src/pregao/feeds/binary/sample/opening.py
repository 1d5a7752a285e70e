"""The start of a day: the channel is reset, everything is said once, and the opening auction trades."""

from collections.abc import Iterator

from pregao.feeds.binary.sample.books import make_order
from pregao.feeds.binary.sample.instruments import definition
from pregao.feeds.binary.sample.market import ORDERLESS, Event, Listing, Market
from pregao.feeds.binary.sample.seldom import (
    news,
    recover,
    say_bands,
    say_closing,
    say_opening,
    say_phase,
    say_settlement,
    say_status,
)
from pregao.feeds.binary.sample.trading import say_delete, say_order, say_statistics, say_trade

_PRE_OPEN, _OPEN = 21, 17
_RECOVERED = 120  # instruments that have orders of earlier days
_AUCTIONED = 24


def opening(market: Market) -> Iterator[Event]:
    """Event after event, up to the continuous session. The caller moves the clock."""
    event = Event(market)
    event.say(None, 11)
    yield event
    event = Event(market)
    for fields in definitions(market):
        for template in (4, 12):
            event.say(None, template, **fields)
    yield event
    yield _phases(market, _PRE_OPEN, "TRADING_SESSION_CHANGE")
    for listing in market.listings:
        yield _first_words(market, listing)
    traded = [one for one in market.listings if one.instrument.kind not in ORDERLESS]
    for listing in traded[:_RECOVERED]:
        event = Event(market)
        recover(market, event, listing)
        yield event
    event = Event(market)
    news(market, event)
    yield event
    for listing in traded[:_AUCTIONED]:
        yield _auction(market, listing)
    yield _phases(market, _OPEN, None)
    for listing in traded[:_AUCTIONED]:
        yield _uncross(market, listing)


def definitions(market: Market) -> Iterator[dict[str, object]]:
    total = len(market.listings)
    for number, listing in enumerate(market.listings, 1):
        yield definition(listing.instrument, total, last=number == total)


def _phases(market: Market, sub_id: int, why: str | None) -> Event:
    event = Event(market)
    opens_ns = market.now_ns + 300_000_000_000 if sub_id == _PRE_OPEN else None
    for group in market.groups:
        say_phase(event, group, sub_id, why, opens_ns)
    return event


def _first_words(market: Market, listing: Listing) -> Event:
    event = Event(market)
    say_closing(event, listing)
    if listing.instrument.kind == "FUT":
        say_settlement(event, listing, market)
    if market.random.random() < 0.3:
        say_status(event, listing, market, None)
        say_bands(event, listing, market)
    return event


def _auction(market: Market, listing: Listing) -> Event:
    """An order at market, which has no price, and what the auction would do with it."""
    event = Event(market)
    market.arrivals += 1
    order = make_order("BID", market.arrivals, None, market.size(listing), market.firm(), market.now_ns)
    position = listing.book.add("BID", order)
    say_order(event, listing, "BID", order, position)
    price = listing.price(listing.reference)
    event.say(listing, 16, mDUpdateAction="NEW", mDEntryPx=price, mDEntrySize=order.size)
    event.say(
        listing, 19, mDUpdateAction="NEW", imbalanceCondition=("ImbalanceMoreBuyers",), mDEntrySize=order.size
    )
    return event


def _uncross(market: Market, listing: Listing) -> Event:
    """The order at market trades at the opening price with sellers that never came into the book."""
    event = Event(market)
    price, order = listing.reference, listing.book.sides["BID"][0]
    conditions = ("OpeningPrice", "RegularTrade")
    say_trade(market, event, listing, price, order.size, "BID", order.firm, market.firm(), conditions)
    listing.opening = price
    say_opening(event, listing, price)
    say_delete(event, listing, "BID", 0)
    say_statistics(event, listing)
    return event
