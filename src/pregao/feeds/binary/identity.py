"""How packets of Binary UMDF are known in captures: see `feeds.identity`. Marks are templates.

What a template proves is in `streams`. Where nothing is proven, but a whole capture, or its beginning, has
been looked at, what did not come counts too:

    only definitions            the definition stream: the incremental one has more to say than these
    states or statistics, but   the incremental stream: each snapshot begins with its header (7.2), so of
    no header of a snapshot     a few packets of the snapshot stream one has it
"""

from collections.abc import Collection, Iterable, Iterator
from struct import Struct
from typing import Final

from pregao.feeds.binary.packets import FRAMING_SIZE, PacketHeader
from pregao.feeds.identity import MARKS, Glimpse
from pregao.model.streams import Stream

# Which stream a packet belongs to, when no channel configuration says so.
#
# A channel has three streams (6.1): incremental, instrument definition and snapshot recovery. The packet
# header does not name the stream, so it is taken, in this order, from
#
# 1. the channel configuration (`pregao.model.channel_map`), 2. what is inside, where that proves a stream:
# `stream_of_templates`, 3. the capture's file name, when it is one of B3's usual ones:
# `pregao.captures.streams`, 4. what is inside, where that makes a stream likely:
# `pregao.feeds.binary.identity`.
#
# `pregao.captures.streams` asks them for the flows of files.
#
# What a template says (6.2, 6.4, 6.5.12, 7.1). A flow can only be a stream that carries every template seen
# in it; it is decided when one stream is left, and unknown until then:
#
#     templates                                            incremental  definition  snapshot
#     0, 1 SequenceReset, 2 Sequence                            x           x          x
#     4, 12 SecurityDefinition                                  x           x
#     3 SecurityStatus, 10 SecurityGroupPhase,                  x                      x
#       15 16 17 19 20 21 22 24 25 27 28 29 56 (statistics)
#     5 News, 9 EmptyBook, 11 ChannelReset,                     x
#       50 51 52 orders, 53 54 57 trades, 55 executions
#     30, 71 SnapshotFullRefresh                                                       x
#
# So definitions alone decide nothing (the incremental stream resends the whole list after a ChannelReset),
# but definitions together with a state or a statistic can only be incremental. Templates we do not know say
# nothing. No stream left (several streams sent to one place) is unknown.


DEFINITIONS: Final = frozenset({4, 12})

_INCREMENTAL: Final = 1 << Stream.INCREMENTAL
_DEFINITION: Final = 1 << Stream.DEFINITION
_SNAPSHOT: Final = 1 << Stream.SNAPSHOT
_ANY: Final = _INCREMENTAL | _DEFINITION | _SNAPSHOT
_CARRIED_BY: Final[dict[int, int]] = (
    dict.fromkeys(DEFINITIONS, _INCREMENTAL | _DEFINITION)
    | dict.fromkeys((3, 10, 15, 16, 17, 19, 20, 21, 22, 24, 25, 27, 28, 29, 56), _INCREMENTAL | _SNAPSHOT)
    | dict.fromkeys((5, 9, 11, 50, 51, 52, 53, 54, 55, 57), _INCREMENTAL)
    | dict.fromkeys((30, 71), _SNAPSHOT)
)
_ONLY: Final = {
    _INCREMENTAL: Stream.INCREMENTAL,
    _DEFINITION: Stream.DEFINITION,
    _SNAPSHOT: Stream.SNAPSHOT,
}


def _possible(templates: Iterable[int]) -> int:
    bits = _ANY
    for template in templates:
        bits &= _CARRIED_BY.get(template, _ANY)
    return bits


def stream_of_templates(templates: Collection[int]) -> Stream:
    """The only stream that carries all these templates, or UNKNOWN."""
    return _ONLY.get(_possible(templates), Stream.UNKNOWN)


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
