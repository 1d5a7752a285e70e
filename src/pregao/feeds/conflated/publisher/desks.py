"""Entries of bands, and of what the clearing house, the lending desk and the index desk tell (7.8.4, 7.8.9 to
7.8.15); and the table of everything that one entry says by itself."""

from collections.abc import Callable
from typing import Any, Final

from pregao.feeds.conflated.publisher.entries import (
    ELECTRONIC,
    FIRMS,
    INDEX,
    LENDING,
    MARKET,
    SIDES,
    SOURCE,
    Entry,
    closing_entry,
    date_text,
    extreme_entry,
    fine_text,
    head,
    imbalance_entry,
    opening_entry,
    price_text,
    settlement_entry,
    theoretical_entry,
)
from pregao.feeds.publishers import Tick
from pregao.model import events as e
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import Action


def price_band_entry(update: e.PriceBand) -> Entry:
    """Without a type it is the reference price. 2 are auction, 3 rejection bands, as 7.5 and Binary UMDF have
    them (7.8.9 has them the other way round)."""
    entry = head(Action.NEW, b"g", update.security_id, update.time_ns)
    if update.type is None:
        if update.reference_fine is not None:
            entry[1150] = fine_text(update.reference_fine)
        return entry
    entry[6939] = b"%d" % update.type
    for tag, limit in ((1148, update.low), (1149, update.high)):
        if limit is not None:
            entry[tag] = price_text(limit)
    for tag, value in ((1306, update.limit_type), (37008, update.midpoint)):
        if value is not None:
            entry[tag] = b"%d" % value
    return entry


def quantity_band_entry(update: e.QuantityBand) -> Entry:
    entry = head(Action.NEW, b"h", update.security_id, update.time_ns)
    for tag, value in ((37003, update.average_daily), (1140, update.largest_order)):
        if value is not None:
            entry[tag] = b"%d" % value
    return entry


def open_interest_entry(update: e.OpenInterest) -> Entry:
    entry = head(Action.NEW, b"C", update.security_id, update.time_ns)
    return entry | {1500: ELECTRONIC, 271: b"%d" % update.size}


def lending_entry(offer: e.LendingOffer, action: Action, previous_size: int | None = None) -> Entry:
    """Of the lending book, where the rate is the price (6.5)."""
    entry = head(action, SIDES[offer.side], offer.security_id, offer.time_ns)
    entry |= {1500: LENDING, 37: b"%d" % offer.order_id, 270: price_text(offer.rate)}
    if action is Action.DELETE:
        return entry
    entry |= {271: b"%d" % offer.size, FIRMS[offer.side]: b"%d" % offer.firm, 432: date_text(offer.expires)}
    entry[37016], entry[37017] = entry[272], entry[273]
    if previous_size is not None:
        entry[37780] = b"%d" % previous_size
    if offer.early_termination is not None:
        entry[37019] = b"%d" % offer.early_termination
    if offer.certified is not None:
        entry[37023] = b"%d" % (not offer.certified)
    if letters := _quote_conditions(offer):
        entry[276] = letters
    return entry


def _quote_conditions(offer: e.LendingOffer) -> bytes:
    letters = [b"R"] if offer.recovery else []
    if offer.all_or_nothing is not None:
        letters.append(b"AN" if offer.all_or_nothing else b"LM")
    return b" ".join(letters)


def contract_entry(contract: e.LendingContract) -> Entry:
    entry = head(Action.NEW, b"2", contract.security_id, contract.time_ns)
    return entry | {
        1500: LENDING, 270: price_text(contract.rate), 271: b"%d" % contract.size,
        1003: b"%d" % contract.trade_id, 288: b"%d" % contract.borrower, 289: b"%d" % contract.lender,
        37016: date_text(contract.trade_date), 37017: entry[273], 37019: b"%d" % contract.early_termination,
        37024: b"2" if contract.is_intention else b"1", 37025: date_text(contract.grace_date),
    }  # fmt: skip


def _lending_interest(update: e.LendingInterest) -> Entry:
    entry = head(Action.NEW, b"C", update.security_id, update.time_ns)
    return entry | {1500: LENDING, 270: price_text(update.rate), 271: b"%d" % update.size}


def _stream_totals(update: e.StreamTotals) -> Entry:
    return head(Action.NEW, b"B", update.security_id, update.time_ns) | {
        1500: update.stream.encode("ascii"), 15: b"BRL", 270: price_text(update.value),
        271: b"%d" % update.trades, 1020: b"%d" % update.volume,
    }  # fmt: skip


def _volatility(update: e.VolatilityPrice) -> Entry:
    entry = head(update.action, b"v", update.security_id, update.time_ns) | {1500: ELECTRONIC}
    if update.action is Action.DELETE:
        return entry
    prices = {1025: update.short, 31: update.long}
    entry |= {tag: price_text(value) for tag, value in prices.items() if value is not None}
    return entry if update.delta_fine is None else entry | {811: fine_text(update.delta_fine)}


def index_entry(update: e.IndexValue, tick: Tick | None = None) -> Entry:
    """274 is where the value went, against the one before it."""
    action = Action.NEW if update.sequence == 1 else Action.CHANGE
    entry = head(action, b"3", update.security_id, update.time_ns)
    entry |= {1500: INDEX, 270: price_text(update.value), 37100: b"%d" % update.sequence}
    return entry if tick is None else entry | {274: b"%d" % tick}


def _composite(update: e.CompositePrice) -> Entry:
    parts = [
        {309: b"%d" % each.security_id, 305: SOURCE, 308: MARKET, 810: price_text(each.price)}
        | ({} if each.kind is None else {37018: b"%d" % each.kind})
        for each in update.parts
    ]
    entry = head(Action.NEW, b"D", update.security_id, update.time_ns)
    return entry | {1500: INDEX, 37100: b"%d" % update.sequence, 711: parts}


def of_instrument(entry: Entry, instrument: Instrument | None) -> Entry:
    """The same with the currency of its instrument. Of an index the stream is N, and its settlement has no
    PriceType (7.8.12)."""
    if instrument is None:
        return entry
    if 15 in entry:
        entry[15] = instrument.currency.encode("ascii")
    if instrument.security_type is SecurityType.INDEX:
        if 1500 in entry:
            entry[1500] = INDEX
        entry.pop(423, None)
    return entry


# What one entry says by itself, in incremental messages and in snapshots alike.
STATISTICS: Final[dict[type, Callable[[Any], Entry]]] = {
    e.OpeningPrice: opening_entry, e.TheoreticalPrice: theoretical_entry, e.ClosingPrice: closing_entry,
    e.SettlementPrice: settlement_entry, e.HighPrice: extreme_entry(b"7"), e.LowPrice: extreme_entry(b"8"),
    e.Imbalance: imbalance_entry, e.OpenInterest: open_interest_entry, e.PriceBand: price_band_entry,
    e.QuantityBand: quantity_band_entry, e.LendingContract: contract_entry,
    e.LendingInterest: _lending_interest, e.StreamTotals: _stream_totals, e.VolatilityPrice: _volatility,
    e.IndexValue: index_entry, e.CompositePrice: _composite,
}  # fmt: skip
