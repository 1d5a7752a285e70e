"""Encoded bodies, which sessions share: only header and trailer of a message are each session's own.

A body may be joined from parts: entries of a group that were encoded once, in messages that have different
ones of them. Sums of bytes add up, and so do deflated blocks (`compression`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

Deflate = Callable[[bytes], bytes]


@dataclass(slots=True)
class EncodedBody:
    """The body of a message and the sum of its bytes."""

    msg_type: bytes
    data: bytes
    total: int
    _deflated: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        return len(self.data)

    def deflated(self, deflate: Deflate) -> bytes:
        """The compressed body: made once, for the first session that wants it."""
        if self._deflated is None:
            self._deflated = deflate(self.data)
        return self._deflated


@dataclass(slots=True)
class EncodedEntries(EncodedBody):
    """Entries of the group with which a message of this type ends."""

    count: int = 0


# A server has hundreds of sessions with hundreds of parts each at every tick: no loops of Python over them.
_TOTAL, _DATA, _DEFLATED = map(attrgetter, ("total", "data", "_deflated"))


@dataclass(slots=True)
class JoinedBody:
    """What stands before the entries, with their number, and the entries."""

    front: EncodedBody
    parts: Sequence[EncodedEntries]
    total: int = field(init=False)
    size: int = field(init=False)
    shared: bool = False  # whether several sessions have it
    _deflated: bytes | None = field(default=None, repr=False, compare=False)
    _data: bytes | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.total = self.front.total + sum(map(_TOTAL, self.parts))
        self.size = len(self.front.data) + sum(map(len, map(_DATA, self.parts)))

    @property
    def msg_type(self) -> bytes:
        return self.front.msg_type

    @property
    def data(self) -> bytes:
        if self._data is not None:
            return self._data
        made = self.front.data + b"".join(map(_DATA, self.parts))
        if self.shared:
            self._data = made
        return made

    def deflated(self, deflate: Deflate) -> bytes:
        if self._deflated is not None:
            return self._deflated
        pieces = list(map(_DEFLATED, self.parts))
        if None in pieces:
            pieces = [each.deflated(deflate) for each in self.parts]
        made = self.front.deflated(deflate) + b"".join(pieces)
        if self.shared:
            self._deflated = made
        return made


Body = EncodedBody | JoinedBody


class MessageParts(NamedTuple):
    """A message as one session sends it: its own head and tail around a shared body."""

    head: bytes
    body: Body
    tail: bytes

    def join(self) -> bytes:
        return b"%b%b%b" % (self.head, self.body.data, self.tail)

    def parts(self) -> "list[MessageParts]":
        """As a run of messages has them (`runs.FramedRun`)."""
        return [self]

    @property
    def size(self) -> int:
        return len(self.head) + self.body.size + len(self.tail)
