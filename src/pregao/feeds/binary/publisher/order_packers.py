"""Order_MBO and DeleteOrder_MBO as structs, by price and by position: see `packers`."""

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.publisher.blocks import Indicators, MessageTemplate, Packer
from pregao.model import events as e
from pregao.model.market import Action


def order_packer(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """Order_MBO and DeleteOrder_MBO, by action."""
    by_price = _by_price(schema, version, flags)
    if by_price is not None:
        return by_price
    order, delete = _order_by_position(schema, version, flags), _delete_by_position(schema, version, flags)
    if order is None or delete is None:
        return None
    put, remove, deleted = order, delete, Action.DELETE

    def pack_order(update: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        return (remove if update.action is deleted else put)(update, indicator, rpt_seq)

    return pack_order


def _by_price(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """From version 16 on. Both messages in one function: a call less for most of the traffic."""
    template = MessageTemplate(schema, version, "Order_MBO_50")
    pack = template.pack(
        "securityID matchEventIndicator mDUpdateAction mDEntryType mDEntryPx mDEntrySize enteringFirm "
        "mDInsertTimestamp secondaryOrderID rptSeq transactTime mDEntryPrevSize"
    )
    deletion = MessageTemplate(schema, version, "DeleteOrder_MBO_51")
    pack_deletion = deletion.pack(
        "securityID matchEventIndicator mDEntryType mDEntrySize secondaryOrderID transactTime "
        "rptSeq mDEntryPx"
    )
    if pack is None or pack_deletion is None:
        return None
    put, remove, head, deletion_head = pack, pack_deletion, template.head, deletion.head
    sides, deletion_sides = template.sides(), deletion.sides()
    no_price, no_firm = template.null("mDEntryPx"), template.null("enteringFirm")
    no_deleted_price, no_size = deletion.null("mDEntryPx"), template.null("mDEntryPrevSize")
    implied, recovery, deleted = flags.implied, flags.recovery, Action.DELETE

    def pack_order(u: e.OrderUpdate, indicator: int, rpt_seq: int) -> bytes:
        if u.implied:
            indicator |= implied
        price, action = u.price, u.action
        if action is deleted:
            return remove(
                deletion_head, u.security_id, indicator, deletion_sides[u.side], u.size, u.order_id,
                u.transact_ns, rpt_seq, no_deleted_price if price is None else price,
            )  # fmt: skip
        if u.recovery:
            indicator |= recovery
        firm, previous = u.firm, u.previous_size
        return put(
            head, u.security_id, indicator, action, sides[u.side],
            no_price if price is None else price, u.size, no_firm if firm is None else firm,
            u.inserted_ns, u.order_id, rpt_seq, u.transact_ns, no_size if previous is None else previous,
        )  # fmt: skip

    return pack_order


def _order_by_position(schema: Schema, version: int, flags: Indicators) -> Packer | None:
    """Below version 15."""
    template = MessageTemplate(schema, version, "Order_MBO_50")
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
    template = MessageTemplate(schema, version, "DeleteOrder_MBO_51")
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
