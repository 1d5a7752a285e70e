"""The frequent messages, each as one struct: the fast twin of `fields`.

A packer is written for a list of fields by name. The schema says where they lie, how wide they are
and how null is written; where a version's fields are others (or in another order) there is no fast
packer and the message goes through the encoder. Values out of range raise `struct.error`; the one
value of a type that means null is not looked for.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.publisher.blocks import Block, Pack, message_block, message_pack, message_prefix
from pregao.model import events as e
from pregao.model.market import Action, Side

# update, matchEventIndicator without the flags of the update itself, rptSeq -> framed message
Packer = Callable[[Any, int, int], bytes]


class Indicators(Protocol):
    """Bits of the matchEventIndicator; 0 where the version has no such bit."""

    @property
    def implied(self) -> int: ...
    @property
    def recovery(self) -> int: ...


class _Template:
    """One message of one version, ready to make packers of it."""

    def __init__(self, schema: Schema, version: int, name: str) -> None:
        self._schema, self._version = schema, version
        self.block: Block = message_block(schema, version, name)
        self.head = message_prefix(schema, version, schema.at(version).by_name[name])

    def pack(self, names: str) -> Pack | None:
        return message_pack(self._schema, self._version, self.block, names.split())


def entry_types(block: Block) -> tuple[int, int, int]:
    """mDEntryType by `Side`, which counts from 1."""
    codes = block.values("mDEntryType")
    assert (Side.BUY, Side.SELL) == (1, 2)
    return (0, codes["BID"], codes["OFFER"])


def _orders(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """Order_MBO and DeleteOrder_MBO, by action."""
    by_price = _order_by_price(schema, version, flags), _delete_by_price(schema, version, flags)
    by_position = _order_by_position(schema, version, flags), _delete_by_position(schema, version, flags)
    order, delete = by_price if by_price[0] else by_position
    if order is None or delete is None:
        return None
    put, remove, deleted = order, delete, Action.DELETE

    def pack_order(update: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        return (remove if update.action is deleted else put)(update, indicator, rpt_seq)

    return pack_order


def _order_by_price(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """From version 16 on."""
    template = _Template(schema, version, "Order_MBO_50")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction mDEntryType mDEntryPx mDEntrySize enteringFirm "
        "mDInsertTimestamp secondaryOrderID rptSeq transactTime mDEntryPrevSize"
    )
    if pack is None:
        return None
    block, head, sides = template.block, template.head, entry_types(template.block)
    no_price, no_firm = block.null("mDEntryPx"), block.null("enteringFirm")
    no_size, implied, recovery = block.null("mDEntryPrevSize"), flags.implied, flags.recovery

    def pack_order(u: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        if u.implied:
            indicator |= implied
        if u.recovery:
            indicator |= recovery
        price, firm, previous = u.price, u.firm, u.previous_size
        return pack(
            head, u.security_id, indicator, u.action, sides[u.side],
            no_price if price is None else price, u.size, no_firm if firm is None else firm,
            u.inserted_ns, u.order_id, rpt_seq, u.transact_ns, no_size if previous is None else previous,
        )  # fmt: skip

    return pack_order


def _delete_by_price(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """From version 15 on."""
    template = _Template(schema, version, "DeleteOrder_MBO_51")
    pack = template.pack(
        "securityID matchEventIndicator mDEntryType mDEntrySize secondaryOrderID transactTime rptSeq mDEntryPx"
    )
    if pack is None:
        return None
    head, sides = template.head, entry_types(template.block)
    no_price, implied = template.block.null("mDEntryPx"), flags.implied

    def pack_delete(u: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        if u.implied:
            indicator |= implied
        price = u.price
        return pack(
            head, u.security_id, indicator, sides[u.side], u.size, u.order_id, u.transact_ns, rpt_seq,
            no_price if price is None else price,
        )  # fmt: skip

    return pack_delete


def _order_by_position(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """Below version 15."""
    template = _Template(schema, version, "Order_MBO_50")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction mDEntryType mDEntryPx mDEntrySize mDEntryPositionNo "
        "enteringFirm mDInsertTimestamp secondaryOrderID rptSeq mDEntryTimestamp"
    )
    if pack is None:
        return None
    block, head, sides = template.block, template.head, entry_types(template.block)
    no_price, no_firm = block.null("mDEntryPx"), block.null("enteringFirm")
    implied, recovery = flags.implied, flags.recovery

    def pack_order(u: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        if u.implied:
            indicator |= implied
        if u.recovery:
            indicator |= recovery
        price, firm = u.price, u.firm
        return pack(
            head, u.security_id, indicator, u.action, sides[u.side],
            no_price if price is None else price, u.size, u.position, no_firm if firm is None else firm,
            u.inserted_ns, u.order_id, rpt_seq, u.transact_ns,
        )  # fmt: skip

    return pack_order


def _delete_by_position(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    template = _Template(schema, version, "DeleteOrder_MBO_51")
    pack = template.pack(
        "securityID matchEventIndicator mDEntryType mDEntryPositionNo mDEntrySize secondaryOrderID "
        "mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head, sides, implied = template.head, entry_types(template.block), flags.implied

    def pack_delete(u: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        if u.implied:
            indicator |= implied
        return pack(
            head, u.security_id, indicator, sides[u.side], u.position, u.size, u.order_id,
            u.transact_ns, rpt_seq,
        )  # fmt: skip

    return pack_delete


def _trades(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """Trade; a forward trade is rare and left to the encoder."""
    template = _Template(schema, version, "Trade_53")
    names = (
        "securityID matchEventIndicator tradingSessionID tradeCondition mDEntryPx mDEntrySize tradeID "
        "mDEntryBuyer mDEntrySeller tradeDate trdSubType {} rptSeq"
    )
    pack = template.pack(names.format("transactTime")) or template.pack(names.format("mDEntryTimestamp"))
    if pack is None:
        return None
    packs, block, head, implied = pack, template.block, template.head, flags.implied
    no_firm, no_type = block.null("mDEntryBuyer"), block.null("trdSubType")
    sub_types = frozenset(block.values("trdSubType").values())

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
    template = _Template(schema, version, "ExecutionSummary_55")
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
    template = _Template(schema, version, "ExecutionStatistics_56")
    pack = template.pack(
        "securityID matchEventIndicator tradingSessionID tradeDate tradeVolume vwapPx netChgPrevDay "
        "numberOfTrades mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head, no_price, no_change = template.head, template.block.null("vwapPx"), template.block.null("netChgPrevDay")

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
        template = _Template(schema, version, name)
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
    template = _Template(schema, version, "OpeningPrice_15")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction openCloseSettlFlag mDEntryPx netChgPrevDay tradeDate "
        "mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head, no_change = template.head, template.block.null("netChgPrevDay")

    def pack_opening(u: e.OpeningPrice, indicator: int, rpt_seq: int) -> bytes:
        change = u.net_change_fine
        return pack(
            head, u.security_id, indicator, u.action, u.origin, u.price,
            no_change if change is None else change, u.trade_date, u.time_ns, rpt_seq,
        )  # fmt: skip

    return pack_opening


def _theoreticals(schema: Schema, version: int, _: Indicators) -> Packer | None:
    template = _Template(schema, version, "TheoreticalOpeningPrice_16")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction tradeDate mDEntryPx mDEntrySize mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head, no_price, no_size = template.head, template.block.null("mDEntryPx"), template.block.null("mDEntrySize")

    def pack_theoretical(u: e.TheoreticalPrice, indicator: int, rpt_seq: int) -> bytes:
        price, size = u.price, u.size
        return pack(
            head, u.security_id, indicator, u.action, u.trade_date, no_price if price is None else price,
            no_size if size is None else size, u.time_ns, rpt_seq,
        )  # fmt: skip

    return pack_theoretical


_MAKERS: Final[Mapping[type, Callable[[Schema, int, Indicators], Packer | None]]] = {
    e.OrderUpdate: _orders,
    e.Trade: _trades,
    e.ExecutionSummary: _execution_summaries,
    e.ExecutionStatistics: _execution_statistics,
    e.HighPrice: _extremes("HighPrice_24"),
    e.LowPrice: _extremes("LowPrice_25"),
    e.OpeningPrice: _openings,
    e.TheoreticalPrice: _theoreticals,
}


def fast_packers(schema: Schema, version: int, flags: Indicators) -> dict[type, Packer]:
    """The packers that this version can have."""
    made = {kind: make(schema, version, flags) for kind, make in _MAKERS.items()}
    return {kind: packer for kind, packer in made.items() if packer is not None}
