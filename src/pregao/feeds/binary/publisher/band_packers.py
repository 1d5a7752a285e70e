"""PriceBand and SecurityStatus as structs: with the books, most of a snapshot loop. See `packers`."""

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.publisher.blocks import Indicators, Packer, Template
from pregao.model import events as e


def band_packer(schema: Schema, version: int, _: Indicators) -> Packer | None:
    """PriceBand_22; version 7 has another."""
    if "PriceBand_22" not in schema.at(version).by_name:
        return None
    template = Template(schema, version, "PriceBand_22")
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
    template = Template(schema, version, "SecurityStatus_3")
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
