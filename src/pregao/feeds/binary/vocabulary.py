"""What a wire version can say, and a day that says it with the templates that others replaced.

Versions 8 and 9 still declare templates of 7 that newer ones replaced (5.9.2.4). The publisher sends only the
newer ones; a sample in which every template of its version occurs has every second instrument under the old.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from pregao.codecs.sbe import SbeMessage, SbeMessageEncoder, Schema
from pregao.codecs.sbe.layout import BlockLayout, ValueKind
from pregao.feeds.binary.packets import FRAMING_SIZE, MAX_PACKET, PacketDecoder, encode_packet
from pregao.feeds.decoding import Vocabulary

_DEPRECATED: Final = {"SecurityDefinition_12": "SecurityDefinition_4", "PriceBand_22": "PriceBand_20"}


def vocabulary(schema: Schema, version: int) -> Vocabulary:
    blocks = list(schema.at(version).messages.values())
    values = dict.fromkeys(value for block in blocks for value in _values_of(block))
    return Vocabulary([block.name for block in blocks], list(values))


def _values_of(block: BlockLayout) -> Iterator[str]:
    for field in block.fields:
        if field.present and field.kind in (ValueKind.ENUM, ValueKind.SET):
            yield from (f"{field.name}={name}" for name in field.names.values())
    for group in block.groups:
        if group.present:
            yield from _values_of(group)


def deprecated_templates(schema: Schema, version: int) -> Callable[[bytes], bytes]:
    """What puts the deprecated templates of a version into packets; nothing where it has only one of each."""
    names = schema.at(version).by_name
    if not all(new in names and old in names for new, old in _DEPRECATED.items()):
        return bytes
    decoder, encoder = PacketDecoder(schema), SbeMessageEncoder(schema, version)
    olds = {names[new].id: (old, _field_names(names[old])) for new, old in _DEPRECATED.items()}

    def older(message: SbeMessage, raw: bytes) -> bytes:
        fields = message.fields
        if message.template_id not in olds or fields is None or int(str(fields["securityID"])) % 2:
            return raw
        old, known = olds[message.template_id]
        return encoder.encode(old, {name: value for name, value in fields.items() if name in known})

    def rewrite(payload: bytes) -> bytes:
        packet = decoder.decode(payload)
        places = [placed.offset for placed in packet.messages] + [len(payload)]
        raws = [payload[at + FRAMING_SIZE : end] for at, end in pairwise(places)]
        made = [older(placed.message, raw) for placed, raw in zip(packet.messages, raws, strict=True)]
        rewritten = encode_packet(packet.header, made)
        return rewritten if len(rewritten) <= MAX_PACKET else payload

    return rewrite


def _field_names(layout: BlockLayout) -> frozenset[str]:
    fields = {field.name for field in layout.fields}
    return frozenset(fields | {group.name for group in layout.groups} | {data.name for data in layout.data})
