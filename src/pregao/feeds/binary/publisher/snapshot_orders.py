"""Resting orders as SnapshotFullRefresh_Orders messages (7.3), packed entry by entry."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, Final

from pregao.codecs.sbe import Schema
from pregao.codecs.sbe.declarations import Dimension
from pregao.feeds.binary.publisher.blocks import Block, Template, indicators
from pregao.feeds.binary.publisher.packets import PACKET_ROOM
from pregao.feeds.publishing import BookOrder
from pregao.model.errors import EncodeError
from pregao.model.market import Side

ENTRIES: Final = 30  # of a message; 7.3 says about 21, and a packet holds 32

_NAME: Final = "SnapshotFullRefresh_Orders_MBO_71"
_VALUES: Final = (
    "mDEntryPx", "mDEntrySize", "mDEntryPositionNo", "enteringFirm", "mDInsertTimestamp", "secondaryOrderID",
    "mDEntryType", "matchEventIndicator",
)  # fmt: skip

_Entry = tuple[int, ...]


class SnapshotOrders:
    """Both sides of a book as messages of some thirty orders."""

    def __init__(self, schema: Schema, version: int, entries: int = ENTRIES) -> None:
        template = Template(schema, version, _NAME)
        group = template.layout.groups[0]
        block = Block(schema, group)
        assert group.dimension is not None
        root = template.struct("securityID")
        assert root is not None
        self._root_pack = root.pack
        self._pack, self._pick = _entry_packer(block)
        self._no_price, self._no_firm = block.null("mDEntryPx"), block.null("enteringFirm")
        self._sides = block.sides()
        self._implied = indicators(schema, version).implied
        # Positions are told below 15 only; at 15 the field may be null, and is.
        self._by_position = (
            "lastSequenceVersion" not in Template(schema, version, "SnapshotFullRefresh_Header_30").names
        )
        before = template.size + group.dimension.size
        room = PACKET_ROOM - len(template.head) - before
        self._entries = min(entries, room // block.size, int(group.dimension.num_in_group.maximum))
        # What stands before the root block and before the entries, by the number of entries.
        self._frames = [
            (
                template.head_for(before + count * block.size),
                _dimension(schema, group.dimension, block.size, count),
            )
            for count in range(self._entries + 1)
        ]

    def messages(
        self, security_id: int, bids: Sequence[BookOrder], offers: Sequence[BookOrder]
    ) -> Iterator[bytes]:
        try:
            packed = [*self._side(Side.BUY, bids), *self._side(Side.SELL, offers)]
        except StructError as wrong:
            raise EncodeError(f"{wrong} in the book of {security_id}", message=_NAME) from None
        root = self._root_pack(security_id)
        for start in range(0, len(packed), self._entries):
            part = packed[start : start + self._entries]
            head, dimension = self._frames[len(part)]
            yield b"".join((head, root, dimension, *part))

    def _side(self, side: Side, orders: Iterable[BookOrder]) -> Iterator[bytes]:
        code, pack, pick = self._sides[side], self._pack, self._pick
        no_price, no_firm, implied = self._no_price, self._no_firm, self._implied
        for position, order in enumerate(orders, 1):
            price, firm = order.price, order.firm
            values = (
                no_price if price is None else price, order.size, position if self._by_position else 0,
                no_firm if firm is None else firm, order.inserted_ns, order.order_id, code,
                implied if order.implied else 0,
            )  # fmt: skip
            yield pack(*pick(values))


def _dimension(schema: Schema, dimension: Dimension, block_length: int, count: int) -> bytes:
    """The header of a group."""
    header = bytearray(dimension.size)
    for offset, primitive, number in (
        (dimension.block_length_offset, dimension.block_length, block_length),
        (dimension.num_in_group_offset, dimension.num_in_group, count),
    ):
        Struct(schema.byte_order + primitive.code).pack_into(header, offset, number)
    return bytes(header)


def _entry_packer(block: Block) -> tuple[Callable[..., bytes], Callable[[Any], _Entry]]:
    """A struct for the version's entry, and which of the values above it takes, in its order."""
    struct = block.struct(" ".join(block.names))
    assert struct is not None
    return struct.pack, itemgetter(*(_VALUES.index(name) for name in block.names))
