"""A loop of the snapshot stream (7.4): group phases, then every instrument with its book and statistics.

The books are those of the moment, so a reader that starts from here ends where one does that saw
everything.
"""

from collections.abc import Iterator

from pregao.feeds.binary.sample.market import Event, Listing, Market
from pregao.feeds.binary.sample.seldom import say_closing, say_opening, say_phase
from pregao.feeds.binary.sample.trading import say_statistics

_HEADER, _ORDERS = 30, 71
_ENTRIES = 30  # of 42 bytes each in one message: about as many as a packet holds


def snapshot_loop(market: Market, last_number: int, last_version: int) -> Iterator[bytes]:
    """The messages of a loop; the SequenceReset at its end is the stream's."""
    event = Event(market)
    for group in market.groups:
        say_phase(event, group, 17)
    yield from event.encode()
    for listing in market.listings:
        yield from _snapshot(market, listing, last_number, last_version)


def _snapshot(market: Market, listing: Listing, last_number: int, last_version: int) -> Iterator[bytes]:
    statistics = _statistics(market, listing)
    bids, offers = listing.book.sides["BID"], listing.book.sides["OFFER"]
    header = {
        "securityID": listing.instrument.security_id,
        "lastMsgSeqNumProcessed": last_number,
        "totNumReports": len(market.listings),
        "totNumBids": len(bids),
        "totNumOffers": len(offers),
        "totNumStats": len(statistics),
        "lastRptSeq": listing.rpt_seq or None,
        "lastSequenceVersion": last_version,
    }
    yield market.words.encode(_HEADER, header)
    entries = _entries(listing)
    for start in range(0, len(entries), _ENTRIES):
        part = entries[start : start + _ENTRIES]
        fields = {"securityID": listing.instrument.security_id, "noMDEntries": part}
        yield market.words.encode(_ORDERS, fields)
    yield from statistics


def _entries(listing: Listing) -> list[dict[str, object]]:
    return [
        {
            "mDEntryPx": None if order.price is None else listing.price(order.price),
            "mDEntrySize": order.size,
            "mDEntryPositionNo": position,
            "enteringFirm": order.firm,
            "mDInsertTimestamp": order.inserted_ns,
            "secondaryOrderID": order.order_id,
            "mDEntryType": side,
            "matchEventIndicator": (),
        }
        for side, orders in listing.book.sides.items()
        for position, order in enumerate(orders, 1)
    ]


def _statistics(market: Market, listing: Listing) -> list[bytes]:
    """The newest statistic of each kind; the rptSeq of the last is in the header of the snapshot."""
    event = Event(market, numbered=False)
    event.say(
        listing, 3, tradingSessionID="REGULAR_TRADING_SESSION",
        securityTradingStatus=listing.phase, securityTradingEvent=None, tradSesOpenTime=None,
    )  # fmt: skip
    say_closing(event, listing)
    if listing.opening is not None:
        say_opening(event, listing, listing.opening)
    for template, price in ((24, listing.high), (25, listing.low)):
        if price is not None:
            event.say(listing, template, mDUpdateAction="NEW", mDEntryPx=listing.price(price))
    if listing.trades:
        say_statistics(event, listing)
    if listing.last is not None:
        event.say(
            listing, 27, tradingSessionID="REGULAR_TRADING_SESSION", tradeCondition=(),
            mDEntryPx=listing.price(listing.last), mDEntrySize=listing.last_size, tradeID=market.trade_ids,
        )  # fmt: skip
    return event.encode()
