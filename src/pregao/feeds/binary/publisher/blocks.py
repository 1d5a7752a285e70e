"""Messages of fixed length as one struct each, made from the layouts of a schema at start-up."""

from collections.abc import Callable, Sequence
from struct import Struct

from pregao.codecs.sbe import Schema
from pregao.codecs.sbe.blocks import block_format, wire_leaves
from pregao.codecs.sbe.layout import BlockLayout
from pregao.feeds.binary.packets import SBE_BIG_ENDIAN, SBE_LITTLE_ENDIAN, frame

Pack = Callable[..., bytes]


class Block:
    """A message root or group entry: the names of its values in the order of the wire, and their nulls."""

    def __init__(self, schema: Schema, layout: BlockLayout) -> None:
        wire = wire_leaves([field for field in layout.fields if field.present])
        self.name = layout.name
        self.names = tuple(leaf.name for leaf in wire)
        self.size = layout.block_length
        self._fields = {field.name: field for field in layout.fields if field.present}
        self.order, self.format = schema.byte_order, block_format(wire, layout.block_length)

    def null(self, name: str) -> int:
        null = self._fields[name].null
        assert isinstance(null, int), f"{self.name}.{name} cannot be null"
        return null

    def values(self, name: str) -> dict[str, int]:
        """The values of an enum or the masks of a set, by name."""
        field = self._fields[name]
        is_set = field.null is None
        return {label: 1 << value if is_set else value for value, label in field.names.items()}

    def packs(self, *names: str) -> bool:
        """Whether a packer written for these names, in this order, is one for this block."""
        return self.names == names


def message_block(schema: Schema, version: int, name: str) -> Block:
    return Block(schema, schema.at(version).by_name[name])


def message_prefix(schema: Schema, version: int, layout: BlockLayout, length: int | None = None) -> bytes:
    """Framing and SBE header of a message; `length` counts from the block on."""
    header = bytearray(schema.header.size)
    numbers = (layout.block_length, layout.id, schema.id, version)
    for (offset, primitive), number in zip(schema.header.members(), numbers, strict=True):
        Struct(schema.byte_order + primitive.code).pack_into(header, offset, number)
    body = bytes(layout.block_length if length is None else length)
    encoding = SBE_LITTLE_ENDIAN if schema.byte_order == "<" else SBE_BIG_ENDIAN
    whole = frame(bytes(header) + body, encoding)
    return whole[: len(whole) - len(body)]


def message_pack(schema: Schema, version: int, block: Block, names: Sequence[str]) -> Pack | None:
    """Values to a framed message, or None where this version's fields are not these.

    The first argument of the packer is its constant head, which `message_prefix` gives.
    """
    if not block.packs(*names):
        return None
    layout = schema.at(version).by_name[block.name]
    head = message_prefix(schema, version, layout)
    return Struct(f"{block.order}{len(head)}s{block.format}").pack
