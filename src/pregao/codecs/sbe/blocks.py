"""A fixed block as one format of the struct module: shared by the decoder and the encoder."""

from collections.abc import Iterable

from pregao.codecs.sbe.layout import FieldLayout, Kind
from pregao.codecs.sbe.values import leaves

_AS_BYTES = (Kind.STRING, Kind.ARRAY)


def wire_leaves(fields: Iterable[FieldLayout]) -> list[FieldLayout]:
    """All numbers and strings of some fields, in the order of the wire."""
    return sorted((leaf for field in fields for leaf in leaves(field)), key=lambda leaf: leaf.offset)


def slots_of(wire: Iterable[FieldLayout]) -> dict[int, int]:
    """Which unpacked value lies at which offset."""
    return {leaf.offset: slot for slot, leaf in enumerate(wire)}


def block_format(wire: Iterable[FieldLayout], block_length: int | None = None) -> str:
    """The format without its byte order; padding is `x`, which packs as zeros."""
    parts, end = [], 0
    for leaf in wire:
        parts.append(f"{leaf.offset - end}x" if leaf.offset > end else "")
        parts.append(f"{leaf.size}s" if leaf.kind in _AS_BYTES else leaf.primitive.code)
        end = leaf.offset + leaf.size
    if block_length is not None and block_length > end:
        parts.append(f"{block_length - end}x")
    return "".join(parts)
