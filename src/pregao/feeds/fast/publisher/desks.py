"""Entries of what the clearing house, the lending desk and the index desk tell (10.2, 10.8, 10.10, 10.11,
13.1), and the table of everything that one entry says by itself."""

from collections.abc import Callable
from typing import Any, Final

from pregao.feeds.fast.publisher.entries import (
    ELECTRONIC,
    FIRMS,
    INDEX,
    LENDING,
    SIDES,
    Entry,
    closing_entry,
    day_number,
    extreme_entry,
    fine_price,
    head,
    imbalance_entry,
    open_interest_entry,
    opening_entry,
    price,
    price_band_entry,
    quantity_band_entry,
    settlement_entry,
    theoretical_entry,
)
from pregao.model import events as e
from pregao.model.market import Action


def _lending_offer(offer: e.LendingOffer) -> Entry:
    """Of the lending book, which is another than that of the share (13.1)."""
    entry = head(SIDES[offer.side], offer.security_id, offer.time_ns)
    entry |= {"MDUpdateAction": int(offer.action), "MDStreamID": LENDING, "OrderID": str(offer.order_id)}
    entry["MDEntryPositionNo"] = offer.position
    if offer.action is Action.DELETE:
        return entry
    entry |= {"MDEntryPx": price(offer.rate), "MDEntrySize": offer.size, FIRMS[offer.side]: str(offer.firm)}
    entry |= {"MDInsertDate": entry["MDEntryDate"], "MDInsertTime": entry["MDEntryTime"]}
    entry["ExpireDate"] = day_number(offer.expires)
    if offer.early_termination is not None:
        entry["EarlyTermination"] = offer.early_termination
    if offer.certified is not None:
        entry["BTBCertIndicator"] = int(not offer.certified)  # 0 is certified
    if offer.recovery:
        entry["QuoteCondition"] = "R"
    return entry


def _lending_contract(contract: e.LendingContract) -> Entry:
    entry = head("2", contract.security_id, contract.time_ns)
    return entry | {
        "MDUpdateAction": int(Action.NEW), "MDStreamID": LENDING, "MDEntryPx": price(contract.rate),
        "MDEntrySize": contract.size, "TradeID": str(contract.trade_id),
        "MDEntryBuyer": str(contract.borrower), "MDEntrySeller": str(contract.lender),
        "MDInsertDate": day_number(contract.trade_date), "MDInsertTime": entry["MDEntryTime"],
        "EarlyTermination": contract.early_termination, "BTBContractInfo": 2 if contract.is_intention else 1,
        "BTBGraceDate": day_number(contract.grace_date),
    }  # fmt: skip


def _lending_interest(update: e.LendingInterest) -> Entry:
    entry = head("C", update.security_id, update.time_ns)
    return entry | {
        "MDUpdateAction": int(Action.NEW), "MDStreamID": LENDING, "MDEntryPx": price(update.rate),
        "MDEntrySize": update.size,
    }  # fmt: skip


def _stream_totals(update: e.StreamTotals) -> Entry:
    entry = head("B", update.security_id, update.time_ns)
    return entry | {
        "MDUpdateAction": int(Action.NEW), "MDStreamID": update.stream, "Currency": "BRL",
        "MDEntryPx": price(update.value), "MDEntrySize": update.trades, "TradeVolume": update.volume,
    }  # fmt: skip


def _volatility(update: e.VolatilityPrice) -> Entry:
    entry = head("v", update.security_id, update.time_ns)
    entry |= {"MDUpdateAction": int(update.action), "MDStreamID": ELECTRONIC}
    if update.action is Action.DELETE:
        return entry
    if update.delta_fine is not None:
        entry["PriceDelta"] = fine_price(update.delta_fine)
    if update.short is not None:
        entry["FirstPx"] = price(update.short)
    if update.long is not None:
        entry["LastPx"] = price(update.long)
    return entry


def _index_value(update: e.IndexValue) -> Entry:
    entry = head("3", update.security_id, update.time_ns)
    return entry | {
        "MDUpdateAction": int(Action.NEW if update.sequence == 1 else Action.CHANGE), "MDStreamID": INDEX,
        "MDEntryPx": price(update.value), "IndexSeq": update.sequence,
    }  # fmt: skip


def _composite(update: e.CompositePrice) -> Entry:
    parts = [
        {"UnderlyingSecurityID": each.security_id, "UnderlyingPx": price(each.price)}
        | ({} if each.kind is None else {"UnderlyingPxType": each.kind})
        for each in update.parts
    ]
    entry = head("D", update.security_id, update.time_ns)
    return entry | {
        "MDUpdateAction": int(Action.NEW), "MDStreamID": INDEX, "IndexSeq": update.sequence,
        "Underlyings": parts,
    }  # fmt: skip


def is_lending(entry: Entry) -> bool:
    """Whether it has what template 145 has no room for."""
    return "BTBCertIndicator" in entry or "BTBContractInfo" in entry


def set_stream(entry: Entry, stream_id: str | None) -> None:
    """On a channel that has one MDStreamID only; the settlement of an index has no PriceType (10.6)."""
    if stream_id is not None and "MDStreamID" in entry:
        entry["MDStreamID"] = stream_id
        entry.pop("PriceType", None)


# What one entry says by itself, in incremental messages and in snapshots alike.
STATISTICS: Final[dict[type, Callable[[Any], Entry]]] = {
    e.OpeningPrice: opening_entry, e.TheoreticalPrice: theoretical_entry, e.ClosingPrice: closing_entry,
    e.SettlementPrice: settlement_entry, e.HighPrice: extreme_entry("7"), e.LowPrice: extreme_entry("8"),
    e.Imbalance: imbalance_entry, e.OpenInterest: open_interest_entry, e.PriceBand: price_band_entry,
    e.QuantityBand: quantity_band_entry, e.LendingOffer: _lending_offer,
    e.LendingContract: _lending_contract, e.LendingInterest: _lending_interest,
    e.StreamTotals: _stream_totals, e.VolatilityPrice: _volatility, e.IndexValue: _index_value,
    e.CompositePrice: _composite,
}  # fmt: skip
