"""The frequent messages, each as one struct: the fast twin of `fields`.

A packer is written for a list of fields by name. The schema says where they lie, how wide they are
and how null is written; where a version's fields are others (or in another order) there is no fast
packer and the message goes through the encoder. Values out of range raise `struct.error`; the one
value of a type that means null is not looked for.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.publisher.blocks import Indicators, MessageTemplate, Packer
from pregao.feeds.binary.publisher.order_packers import order_packer
from pregao.model import events as e

# PriceBand and SecurityStatus as structs: with the books, most of a snapshot loop. See `packers`.


def band_packer(schema: Schema, version: int, _: Indicators) -> Packer | None:
    """PriceBand_22; version 7 has another."""
    if "PriceBand_22" not in schema.at(version).by_name:
        return None
    template = MessageTemplate(schema, version, "PriceBand_22")
    pack = template.pack(
        "securityID matchEventIndicator priceBandType priceLimitType priceBandMidpointPriceType "
        "lowLimitPrice highLimitPrice tradingReferencePrice mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head, null = template.head, template.null
    no_type, no_limit, no_midpoint = (
        null(name) for name in ("priceBandType", "priceLimitType", "priceBandMidpointPriceType")
    )
    no_low, no_high = null("lowLimitPrice"), null("highLimitPrice")
    no_reference = null("tradingReferencePrice")

    def pack_band(u: e.PriceBand, indicator: int, rpt_seq: int) -> bytes:
        low, high, reference = u.low, u.high, u.reference_fine
        return pack(
            head, u.security_id, indicator, no_type if u.type is None else u.type,
            no_limit if u.limit_type is None else u.limit_type,
            no_midpoint if u.midpoint is None else u.midpoint, no_low if low is None else low,
            no_high if high is None else high, no_reference if reference is None else reference,
            u.time_ns, rpt_seq,
        )  # fmt: skip

    return pack_band


def state_packer(schema: Schema, version: int, _: Indicators) -> Packer | None:
    template = MessageTemplate(schema, version, "SecurityStatus_3")
    pack = template.pack(
        "securityID matchEventIndicator tradingSessionID securityTradingStatus securityTradingEvent "
        "tradeDate tradSesOpenTime transactTime rptSeq"
    )
    if pack is None:
        return None
    head, null = template.head, template.null
    no_state, no_event, no_end = (
        null(name) for name in ("securityTradingStatus", "securityTradingEvent", "tradSesOpenTime")
    )

    def pack_state(u: e.StateChanged, indicator: int, rpt_seq: int) -> bytes:
        state, event, ends_ns = u.state, u.event, u.ends_ns
        return pack(
            head, u.security_id, indicator, u.session, no_state if state is None else state,
            no_event if event is None else event, u.trade_date, no_end if ends_ns is None else ends_ns,
            u.transact_ns, rpt_seq,
        )  # fmt: skip

    return pack_state


def _trades(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """Trade; a forward trade is rare and left to the encoder."""
    template = MessageTemplate(schema, version, "Trade_53")
    names = (
        "securityID matchEventIndicator tradingSessionID tradeCondition mDEntryPx mDEntrySize tradeID "
        "mDEntryBuyer mDEntrySeller tradeDate trdSubType {} rptSeq"
    )
    pack = template.pack(names.format("transactTime")) or template.pack(names.format("mDEntryTimestamp"))
    if pack is None:
        return None
    packs, head, implied = pack, template.head, flags.implied
    no_firm, no_type = template.null("mDEntryBuyer"), template.null("trdSubType")
    sub_types = frozenset(template.values("trdSubType").values())

    def pack_trade(u: e.Trade, indicator: int, rpt_seq: int) -> bytes:
        if u.implied:
            indicator |= implied
        kind, buyer, seller = u.sub_type, u.buyer, u.seller
        return packs(
            head, u.security_id, indicator, u.session, u.condition, u.price, u.size, u.trade_id,
            no_firm if buyer is None else buyer, no_firm if seller is None else seller, u.trade_date,
            no_type if kind is None or int(kind) not in sub_types else kind, u.transact_ns, rpt_seq,
        )  # fmt: skip

    return pack_trade


def _execution_summaries(schema: Schema, version: int, _: Indicators) -> Packer | None:
    """It has no matchEventIndicator: it is never the last of its event (13.1)."""
    template = MessageTemplate(schema, version, "ExecutionSummary_55")
    names = "securityID aggressorSide lastPx fillQty tradedHiddenQty cxlQty aggressorTime rptSeq {}"
    pack = template.pack(names.format("transactTime")) or template.pack(names.format("mDEntryTimestamp"))
    if pack is None:
        return None
    packs, head = pack, template.head

    def pack_summary(u: e.ExecutionSummary, _: int, rpt_seq: int) -> bytes:
        return packs(
            head, u.security_id, u.aggressor, u.last_price, u.fill_size, u.hidden_size,
            u.cancelled_size, u.aggressor_ns, rpt_seq, u.transact_ns,
        )  # fmt: skip

    return pack_summary


def _execution_statistics(schema: Schema, version: int, _: Indicators) -> Packer | None:
    template = MessageTemplate(schema, version, "ExecutionStatistics_56")
    pack = template.pack(
        "securityID matchEventIndicator tradingSessionID tradeDate tradeVolume vwapPx netChgPrevDay "
        "numberOfTrades mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head = template.head
    no_price, no_change = template.null("vwapPx"), template.null("netChgPrevDay")

    def pack_statistics(u: e.ExecutionStatistics, indicator: int, rpt_seq: int) -> bytes:
        vwap, change = u.vwap, u.net_change_fine
        return pack(
            head, u.security_id, indicator, u.session, u.trade_date, u.volume,
            no_price if vwap is None else vwap, no_change if change is None else change,
            u.trades, u.time_ns, rpt_seq,
        )  # fmt: skip

    return pack_statistics


def _extremes(name: str) -> Callable[[Schema, int, Indicators], Packer | None]:
    def make(schema: Schema, version: int, _: Indicators) -> Packer | None:
        template = MessageTemplate(schema, version, name)
        pack = template.pack(
            "securityID matchEventIndicator mDUpdateAction tradeDate mDEntryPx mDEntryTimestamp rptSeq"
        )
        if pack is None:
            return None
        head = template.head

        def pack_price(u: e.HighPrice | e.LowPrice, indicator: int, rpt_seq: int) -> bytes:
            return pack(head, u.security_id, indicator, u.action, u.trade_date, u.price, u.time_ns, rpt_seq)

        return pack_price

    return make


def _openings(schema: Schema, version: int, _: Indicators) -> Packer | None:
    template = MessageTemplate(schema, version, "OpeningPrice_15")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction openCloseSettlFlag mDEntryPx netChgPrevDay tradeDate "
        "mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head, no_change = template.head, template.null("netChgPrevDay")

    def pack_opening(u: e.OpeningPrice, indicator: int, rpt_seq: int) -> bytes:
        change = u.net_change_fine
        return pack(
            head, u.security_id, indicator, u.action, u.origin, u.price,
            no_change if change is None else change, u.trade_date, u.time_ns, rpt_seq,
        )  # fmt: skip

    return pack_opening


def _theoreticals(schema: Schema, version: int, _: Indicators) -> Packer | None:
    template = MessageTemplate(schema, version, "TheoreticalOpeningPrice_16")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction tradeDate mDEntryPx mDEntrySize mDEntryTimestamp "
        "rptSeq"
    )
    if pack is None:
        return None
    head = template.head
    no_price, no_size = template.null("mDEntryPx"), template.null("mDEntrySize")

    def pack_theoretical(u: e.TheoreticalPrice, indicator: int, rpt_seq: int) -> bytes:
        price, size = u.price, u.size
        return pack(
            head, u.security_id, indicator, u.action, u.trade_date, no_price if price is None else price,
            no_size if size is None else size, u.time_ns, rpt_seq,
        )  # fmt: skip

    return pack_theoretical


_MAKERS: Final[Mapping[type, Callable[[Schema, int, Indicators], Packer | None]]] = {
    e.OrderUpdate: order_packer,
    e.Trade: _trades,
    e.ExecutionSummary: _execution_summaries,
    e.ExecutionStatistics: _execution_statistics,
    e.HighPrice: _extremes("HighPrice_24"),
    e.LowPrice: _extremes("LowPrice_25"),
    e.OpeningPrice: _openings,
    e.TheoreticalPrice: _theoreticals,
    e.PriceBand: band_packer,
    e.StateChanged: state_packer,
}


def fast_packers(schema: Schema, version: int, flags: Indicators) -> dict[type, Packer]:
    """The packers that this version can have."""
    made = {kind: make(schema, version, flags) for kind, make in _MAKERS.items()}
    return {kind: packer for kind, packer in made.items() if packer is not None}
