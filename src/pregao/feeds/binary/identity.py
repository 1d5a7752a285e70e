"""How packets of Binary UMDF are known in captures: see `feeds.identity`. Marks are templates.

What a template proves is in `streams`. Where nothing is proven, but a whole capture, or its beginning, has
been looked at, what did not come counts too:

    only definitions            the definition stream: the incremental one has more to say than these
    states or statistics, but   the incremental stream: each snapshot begins with its header (7.2), so of
    no header of a snapshot     a few packets of the snapshot stream one has it
"""

from collections.abc import Collection, Iterator
from struct import Struct
from typing import Final

from pregao.feeds.binary.packets import FRAMING_SIZE, PacketHeader
from pregao.feeds.binary.streams import DEFINITIONS, stream_of_templates
from pregao.feeds.identity import MARKS, Glimpse
from pregao.model.streams import Stream

_FRAME: Final = Struct("<HHHH")  # length, encoding; blockLength, templateId
_LEAST: Final = FRAMING_SIZE + 8
_NO_EVIDENCE: Final = frozenset((0, 1, 2))  # what every stream carries
_ORDER: Final = 50  # only the incremental stream has it: with it templates of two streams become one's
_ENOUGH: Final = 64  # packets among which a snapshot stream has headers


class BinaryIdentity:
    def channel_of(self, payload: bytes | memoryview) -> int | None:
        return payload[0] if len(payload) >= PacketHeader.SIZE else None

    def glimpse(self, payload: bytes | memoryview) -> Glimpse | None:
        if len(payload) < PacketHeader.SIZE:
            return None
        header = PacketHeader.decode(payload)
        if not header.sequence_number:  # a heartbeat is no part of the sequence (6.5.10)
            return None
        return Glimpse(header.channel, header.sequence_version, 1, frozenset(_templates(payload)))

    def stream_of(self, marks: Collection[int]) -> Stream:
        return stream_of_templates(marks)

    def settled_stream(self, marks: Collection[int], units: int) -> Stream:
        proven = stream_of_templates(marks)
        evidence = set(marks) - _NO_EVIDENCE
        if proven is not Stream.UNKNOWN or not evidence:
            return proven
        if evidence <= DEFINITIONS:
            return Stream.DEFINITION
        without_header = stream_of_templates({*marks, _ORDER}) is Stream.INCREMENTAL
        return Stream.INCREMENTAL if without_header and units >= _ENOUGH else Stream.UNKNOWN


def _templates(payload: bytes | memoryview) -> Iterator[int]:
    """The last mark stands for all greater templates."""
    at = PacketHeader.SIZE
    while at + _LEAST <= len(payload):
        length, _, _, template = _FRAME.unpack_from(payload, at)
        if length < _LEAST or at + length > len(payload):
            return
        yield min(template, MARKS - 1)
        at += length


IDENTITY: Final = BinaryIdentity()
