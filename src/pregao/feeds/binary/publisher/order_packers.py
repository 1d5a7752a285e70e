"""Order_MBO and DeleteOrder_MBO as structs, by price and by position: see `packers`."""

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.publisher.blocks import Indicators, Packer, Template
from pregao.model import events as e
from pregao.model.market import Action


def order_packer(schema: Schema, version: int, flags: Indicators) -> Packer | None:
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
    template = Template(schema, version, "Order_MBO_50")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction mDEntryType mDEntryPx mDEntrySize enteringFirm "
        "mDInsertTimestamp secondaryOrderID rptSeq transactTime mDEntryPrevSize"
    )
    if pack is None:
        return None
    head, sides = template.head, template.sides()
    no_price, no_firm = template.null("mDEntryPx"), template.null("enteringFirm")
    no_size, implied, recovery = template.null("mDEntryPrevSize"), flags.implied, flags.recovery

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
    template = Template(schema, version, "DeleteOrder_MBO_51")
    pack = template.pack(
        "securityID matchEventIndicator mDEntryType mDEntrySize secondaryOrderID transactTime "
        "rptSeq mDEntryPx"
    )
    if pack is None:
        return None
    head, sides = template.head, template.sides()
    no_price, implied = template.null("mDEntryPx"), flags.implied

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
    template = Template(schema, version, "Order_MBO_50")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction mDEntryType mDEntryPx mDEntrySize mDEntryPositionNo "
        "enteringFirm mDInsertTimestamp secondaryOrderID rptSeq mDEntryTimestamp"
    )
    if pack is None:
        return None
    head, sides = template.head, template.sides()
    no_price, no_firm = template.null("mDEntryPx"), template.null("enteringFirm")
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
    template = Template(schema, version, "DeleteOrder_MBO_51")
    pack = template.pack(
        "securityID matchEventIndicator mDEntryType mDEntryPositionNo mDEntrySize secondaryOrderID "
        "mDEntryTimestamp rptSeq"
    )
    if pack is None:
        return None
    head, sides, implied = template.head, template.sides(), flags.implied

    def pack_delete(u: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        if u.implied:
            indicator |= implied
        return pack(
            head, u.security_id, indicator, sides[u.side], u.position, u.size, u.order_id,
            u.transact_ns, rpt_seq,
        )  # fmt: skip

    return pack_delete
