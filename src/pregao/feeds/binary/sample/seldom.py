"""Everything that happens now and then in a session, in turns, so that a short sample has it all."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import cycle
from typing import Final

from pregao.feeds.binary.sample.instruments import TRADE_DATE, definition
from pregao.feeds.binary.sample.market import Event, Listing, Market
from pregao.feeds.binary.sample.trading import any_side, place, say_order, say_statistics

Happening = Callable[[Market, Event], None]

_PART = 900  # bytes of text in a part of a news item
_HEADLINE = "Fato relevante: companhia aprova programa de recompra de ações"
_TEXT = (
    "A companhia comunica aos acionistas e ao mercado em geral que o conselho de administração aprovou, "
    "nesta data, a aquisição de ações de sua própria emissão, para permanência em tesouraria e posterior "
    "alienação ou cancelamento, sem redução do capital social. "
)


def theoretical(market: Market, event: Event) -> None:
    """An auction goes on: its price so far, and what is left over."""
    listing = market.listing()
    size = market.size(listing)
    event.say(
        listing, 16, mDUpdateAction="NEW", mDEntryPx=listing.price(listing.reference), mDEntrySize=size
    )
    side = market.random.choice(("ImbalanceMoreBuyers", "ImbalanceMoreSellers"))
    event.say(listing, 19, mDUpdateAction="NEW", imbalanceCondition=(side,), mDEntrySize=size // 2)


def auction_over(market: Market, event: Event) -> None:
    """A deleted entry has no price and no quantity."""
    listing = market.listing()
    event.say(listing, 16, mDUpdateAction="DELETE", mDEntryPx=None, mDEntrySize=None)
    event.say(listing, 19, mDUpdateAction="DELETE", imbalanceCondition=(), mDEntrySize=None)


def status(market: Market, event: Event) -> None:
    listing = market.listing()
    halted = listing.phase == "OPEN"
    listing.phase = "PAUSE" if halted else "OPEN"
    say_status(event, listing, market, "SECURITY_STATUS_CHANGE" if halted else _REJOINS)


_REJOINS: Final = "SECURITY_REJOINS_SECURITY_GROUP_STATUS"


def say_status(event: Event, listing: Listing, market: Market, why: str | None) -> None:
    event.say(
        listing,
        3,
        tradingSessionID="REGULAR_TRADING_SESSION",
        securityTradingStatus=listing.phase,
        securityTradingEvent=why,
        tradSesOpenTime=market.now_ns + 300_000_000_000 if listing.phase == "PAUSE" else None,
    )


def phase(market: Market, event: Event) -> None:
    say_phase(event, market.random.choice(market.groups), 17)


def say_phase(
    event: Event, group: str, sub_id: int, why: str | None = None, opens_ns: int | None = None
) -> None:
    event.say(
        None,
        10,
        securityGroup=group,
        tradingSessionID="REGULAR_TRADING_SESSION",
        tradingSessionSubID=sub_id,  # a number: version 17 gave some of them other names
        securityTradingEvent=why,
        tradSesOpenTime=opens_ns,
    )


def bands(market: Market, event: Event) -> None:
    say_bands(event, market.listing(), market)


def say_bands(event: Event, listing: Listing, market: Market) -> None:
    """A rejection band in prices, and limits of an auction in percent of the reference."""
    reference = listing.reference
    for template in (20, 22):
        event.say(
            listing,
            template,
            priceBandType="REJECTION_BAND",
            priceLimitType="PRICE_UNIT",
            priceBandMidpointPriceType="LAST_TRADED_PRICE",
            lowLimitPrice=listing.price(reference * 9 // 10),
            highLimitPrice=listing.price(reference * 11 // 10),
            tradingReferencePrice=listing.price(reference),
        )
    newest = 22 if 22 in market.words.templates else 20
    event.say(
        listing,
        newest,
        priceBandType="AUCTION_LIMITS",
        priceLimitType="PERCENTAGE",
        priceBandMidpointPriceType=None,
        lowLimitPrice=Decimal(-10),
        highLimitPrice=Decimal(10),
        tradingReferencePrice=None,
    )


def quantity_band(market: Market, event: Event) -> None:
    listing = market.listing()
    traded = listing.instrument.lot * market.random.randint(10_000, 90_000)
    event.say(listing, 21, avgDailyTradedQty=traded, maxTradeVol=traded // 5)


def say_last_trade(event: Event, listing: Listing, market: Market) -> None:
    event.say(
        listing,
        27,
        tradingSessionID="REGULAR_TRADING_SESSION",
        tradeCondition=("RegularTrade",),
        mDEntryPx=listing.price(listing.reference),
        mDEntrySize=listing.last_size or listing.instrument.lot,
        tradeID=market.trade_ids + 1,
        mDEntryBuyer=market.firm(),
        mDEntrySeller=market.firm(),
    )


def say_opening(event: Event, listing: Listing, price: int) -> None:
    event.say(
        listing,
        15,
        mDUpdateAction="NEW",
        openCloseSettlFlag="DAILY",
        mDEntryPx=listing.price(price),
        netChgPrevDay=listing.price(price - listing.instrument.price),
    )


def say_closing(event: Event, listing: Listing) -> None:
    """Yesterday's close."""
    event.say(
        listing,
        17,
        openCloseSettlFlag="ENTRY_FROM_PREVIOUS_BUSINESS_DAY",
        mDEntryPx=listing.price(listing.instrument.price),
        lastTradeDate=TRADE_DATE - 3,
    )


def say_settlement(event: Event, listing: Listing, market: Market) -> None:
    event.say(
        listing,
        28,
        mDEntryPx=listing.price(listing.instrument.price),
        openCloseSettlFlag="DAILY",
        priceType="FIXED_AMOUNT",
        settlPriceType="FINAL",
        settlDate=TRADE_DATE + 1,
    )
    event.say(listing, 29, mDEntrySize=listing.instrument.lot * (market.random.randint(1, 400_000)))


def settlement(market: Market, event: Event) -> None:
    say_settlement(event, market.of_kind("FUT"), market)


def closing(market: Market, event: Event) -> None:
    say_closing(event, market.listing())


def opening_price(market: Market, event: Event) -> None:
    """An instrument whose first trade comes late in the day."""
    listing = market.listing()
    say_opening(event, listing, listing.reference)
    say_last_trade(event, listing, market)


def news(market: Market, event: Event) -> None:
    """Text in as many parts as it needs, each a message that knows its number (5.8)."""
    listing = market.of_kind("CS", "PS") if market.random.random() < 0.5 else None
    market.news_ids += 1
    text = (_TEXT * market.random.randint(1, 12)).encode()
    parts = [text[at : at + _PART] for at in range(0, len(text), _PART)]
    for number, part in enumerate(parts, 1):
        event.say(
            None,
            5,
            securityID=listing.instrument.security_id if listing else None,
            newsSource="BOVESPA_COMPANIES_AGENCY" if listing else "MKT_OPS_EQUITIES_AGENCY",
            languageCode="pt",
            partCount=len(parts),
            partNumber=number,
            newsID=90_000 + market.news_ids,
            origTime=market.now_ns - 5_000_000_000,
            totalTextLength=len(text),
            headline=_HEADLINE if number == 1 else None,
            text=part,
            uRLLink="https://example.com/fatos" if number == len(parts) else None,
        )


def mass_delete(market: Market, event: Event) -> None:
    """All orders of one side leave."""
    listing, side = market.listing(), any_side(market)
    event.say(listing, 52, mDUpdateAction="DELETE_THRU", mDEntryType=side, mDEntryPositionNo=1)
    listing.book.sides[side].clear()


def forward_trade(market: Market, event: Event) -> None:
    listing = market.of_kind("FORWARD")
    market.trade_ids += 10
    event.say(
        listing,
        54,
        tradingSessionID="REGULAR_TRADING_SESSION",
        tradeCondition=("RegularTrade", "Crossed"),
        mDEntryPx=listing.price(listing.reference),
        mDEntrySize=100 * market.random.randint(1, 500),
        tradeID=market.trade_ids,
        mDEntryBuyer=market.firm(),
        mDEntrySeller=market.firm(),
        sellerDays=market.random.choice((30, 60, 90)),
        mDEntryInterestRate=Decimal("1.2500"),
        trdSubType=None,
    )


def bust(market: Market, event: Event) -> None:
    """The last trade of an instrument is undone, with all that was counted."""
    traded = [one for one in market.listings if one.trades > 1 and one.last is not None]
    if not traded:
        return theoretical(market, event)
    listing = market.random.choice(traded)
    event.say(
        listing,
        57,
        tradingSessionID="REGULAR_TRADING_SESSION",
        mDEntryPx=listing.price(listing.reference),
        mDEntrySize=listing.last_size,
        tradeID=market.trade_ids,
    )
    listing.volume -= listing.last_size
    listing.turnover -= listing.reference * listing.last_size
    listing.trades -= 1
    return say_statistics(event, listing)


def book_reset(market: Market, event: Event) -> None:
    recover(market, event, market.listing())


def recover(market: Market, event: Event, listing: Listing) -> None:
    """A book is sent again from nothing (6.5.13): rptSeq begins again with it."""
    event.say(listing, 9)
    listing.rpt_seq = 0
    listing.book.clear()
    for _ in range(market.random.randint(2, 5)):
        side = any_side(market)
        order, position = place(market, listing, side)
        say_order(event, listing, side, order, position, indicator=("RecoveryMsg",))


def redefinition(market: Market, event: Event) -> None:
    """An instrument is changed during the day."""
    listing = market.of_kind("OPT")
    for template in (4, 12):
        event.say(
            None, template, **definition(listing.instrument, len(market.listings), last=True, action="MODIFY")
        )


def happenings() -> Iterator[Happening]:
    """Turns without end. Auctions make most of them, the rest comes once in a while each."""
    rare = (
        status, bands, quantity_band, forward_trade, closing, phase, settlement, opening_price, mass_delete,
        bust, redefinition, news, book_reset, auction_over,
    )  # fmt: skip
    return cycle(happening for one in rare for happening in (theoretical, one))
