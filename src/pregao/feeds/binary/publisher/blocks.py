"""Messages of fixed length as one struct each, made from the layouts of a schema at start-up."""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final, NamedTuple

from pregao.codecs.sbe import Schema
from pregao.codecs.sbe.layout import BlockLayout, ValueKind
from pregao.codecs.sbe.values import block_format, wire_leaves
from pregao.feeds.binary.packets import SBE_BIG_ENDIAN, SBE_LITTLE_ENDIAN, frame
from pregao.model.market import Side

Pack = Callable[..., bytes]
# update, matchEventIndicator without the flags of the update itself, rptSeq -> framed message
Packer = Callable[[Any, int, int], bytes]

_ENCODING: Final = {"<": SBE_LITTLE_ENDIAN, ">": SBE_BIG_ENDIAN}


class Indicators(NamedTuple):
    """Bits of the matchEventIndicator (10); 0 where the version has no such bit."""

    end: int
    recovery: int
    implied: int


class ValueBlock:
    """A message root or a group entry: its values in the order of the wire."""

    def __init__(self, schema: Schema, layout: BlockLayout) -> None:
        present = [field for field in layout.fields if field.present]
        wire = wire_leaves(present)
        self.names = tuple(leaf.name for leaf in wire)
        self.size = layout.block_length
        self._fields = {field.name: field for field in present}
        self._order, self._format = schema.byte_order, block_format(wire, layout.block_length)

    def null(self, name: str) -> int:
        """How null is written."""
        null = self._fields[name].null
        assert isinstance(null, int), f"{name} cannot be null"
        return null

    def values(self, name: str) -> dict[str, int]:
        """The values of an enum or the masks of a set, by name."""
        field = self._fields[name]
        in_set = field.kind is ValueKind.SET
        return {label: 1 << value if in_set else value for value, label in field.names.items()}

    def sides(self) -> tuple[int, int, int]:
        """mDEntryType by `Side`, which counts from 1."""
        codes = self.values("mDEntryType")
        assert (Side.BUY, Side.SELL) == (1, 2)
        return (0, codes["BID"], codes["OFFER"])

    def struct(self, names: str, head: int = 0) -> Struct | None:
        """What packs these values, in this order; None where the version's fields are others."""
        if self.names != tuple(names.split()):
            return None
        return Struct(f"{self._order}{head}s{self._format}" if head else f"{self._order}{self._format}")


class MessageTemplate(ValueBlock):
    """A message of one version. `head` is the framing and the header of one without groups and data."""

    def __init__(self, schema: Schema, version: int, name: str) -> None:
        self._schema, self._version = schema, version
        self.layout = schema.at(version).by_name[name]
        super().__init__(schema, self.layout)
        self.head = self.head_for(self.layout.block_length)

    def head_for(self, length: int) -> bytes:
        """Framing and message header in front of so many bytes."""
        schema = self._schema
        header = bytearray(schema.header.size)
        numbers = (self.layout.block_length, self.layout.id, schema.id, self._version)
        for (offset, primitive), number in zip(schema.header.members(), numbers, strict=True):
            Struct(schema.byte_order + primitive.code).pack_into(header, offset, number)
        whole = frame(bytes(header) + bytes(length), _ENCODING[schema.byte_order])
        return whole[: len(whole) - length]

    def pack(self, names: str) -> Pack | None:
        """Values, after `head`, to a framed message."""
        struct = self.struct(names, len(self.head))
        return None if struct is None else struct.pack


def indicators(schema: Schema, version: int) -> Indicators:
    bits = MessageTemplate(schema, version, "Order_MBO_50").values("matchEventIndicator")
    return Indicators(bits["EndOfEvent"], bits["RecoveryMsg"], bits.get("Implied", 0))
