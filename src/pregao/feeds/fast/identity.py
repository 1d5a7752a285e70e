"""How datagrams of UMDF FIX/FAST are known in captures: see `feeds.identity`. Marks are MsgTypes.

Nothing on the wire says the channel: 0 stands for it, and configuration or file names tell (5.2.2). A flow is
told by what it carries: X, f and B come in the incremental stream only, W in snapshots only; y is in the
definition stream, and in the incremental one when instruments change (5.2.5).
"""

from collections.abc import Collection
from functools import cache
from typing import Final

from pregao.codecs.fast import load_builtin_templates
from pregao.codecs.fast.templates import Field, Operator, Template
from pregao.feeds.fast.chunks import split_datagram
from pregao.feeds.identity import MARKS, UNTOLD_CHANNEL, Glimpse
from pregao.model.streams import Stream

NO_CHANNEL: Final = UNTOLD_CHANNEL
NO_EPOCH: Final = 1
UNKNOWN_MARK: Final = MARKS - 1
_MSG_TYPE: Final = "35"
_INCREMENTAL: Final = frozenset(b"XfB")
_SNAPSHOT: Final = frozenset(b"W")
_DEFINITION: Final = frozenset(b"y")
_LONGEST_MAP: Final = 16


def msg_type(template: Template) -> str:
    """MsgType of a template's messages; empty where it has none that is always the same."""
    for each in template.instructions:
        if isinstance(each, Field) and each.id == _MSG_TYPE and each.operator is Operator.CONSTANT:
            return each.initial.decode("ascii") if isinstance(each.initial, bytes) else ""
    return ""


def mark_of_template(template: Template | None) -> int:
    kind = "" if template is None else msg_type(template)
    return min(ord(kind), UNKNOWN_MARK) if len(kind) == 1 else UNKNOWN_MARK


@cache
def _marks() -> dict[int, int]:
    return {template.id: mark_of_template(template) for template in load_builtin_templates()}


def template_id(message: bytes | memoryview) -> int | None:
    """The template that a message begins with; None: it says none, or is none."""
    end = min(len(message), _LONGEST_MAP)
    at = next((index + 1 for index in range(end) if message[index] & 0x80), None)
    if at is None or not message[0] & 0x40:
        return None
    number = 0
    for byte in message[at : at + 5]:
        number = number << 7 | byte & 0x7F
        if byte & 0x80:
            return number
    return None


def mark_of(message: bytes | memoryview) -> int:
    number = template_id(message)
    return UNKNOWN_MARK if number is None else _marks().get(number, UNKNOWN_MARK)


class FastIdentity:
    def channel_of(self, payload: bytes | memoryview) -> int | None:
        found = split_datagram(payload)
        return NO_CHANNEL if found.chunks and not found.damage else None

    def glimpse(self, payload: bytes | memoryview) -> Glimpse | None:
        chunks = split_datagram(payload).chunks
        begun = [chunk for chunk in chunks if chunk.current == 1]
        if not begun:
            return None
        marks = frozenset(mark_of(payload[each.offset : each.offset + each.length]) for each in begun)
        return Glimpse(NO_CHANNEL, NO_EPOCH, len(begun), marks)

    def stream_of(self, marks: Collection[int]) -> Stream:
        if not _SNAPSHOT.isdisjoint(marks):
            return Stream.SNAPSHOT if _INCREMENTAL.isdisjoint(marks) else Stream.UNKNOWN
        return Stream.UNKNOWN if _INCREMENTAL.isdisjoint(marks) else Stream.INCREMENTAL

    def settled_stream(self, marks: Collection[int], units: int) -> Stream:
        proven = self.stream_of(marks)
        if proven is Stream.UNKNOWN and _INCREMENTAL.isdisjoint(marks) and not _DEFINITION.isdisjoint(marks):
            return Stream.DEFINITION
        return proven


IDENTITY: Final = FastIdentity()
