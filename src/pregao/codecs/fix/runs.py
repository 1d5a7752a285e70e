"""Messages that follow each other in many sessions: what is the same in all of them is worked out once.

Of a message only its number, the header fields behind it (49, 52, 56) and the checksum are a session's own.
BodyLength depends on their lengths alone, so that sessions whose texts are equally long share all else; sums
of bytes add up to the checksum. The bytes are those of `Encoder.parts_around`, message by message.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

from pregao.codecs.fix.bodies import Body, MessageParts
from pregao.codecs.fix.message import byte_sum

_TRAILERS: Final = [b"10=%03d\x01" % total for total in range(256)]
_TRAILER_SIZE: Final = len(_TRAILERS[0])
_MOST_NUMBERS: Final = 16  # first numbers whose texts a run keeps: sessions often go in step
_PIECES: Final = 5  # of a message: what is before its number, the number, the header's rest, body, trailer


class _Starts(NamedTuple):
    """What stands before each number, with the sums of it and of the body."""

    texts: list[bytes]
    totals: list[int]
    size: int


class _Numbers(NamedTuple):
    texts: list[bytes]
    totals: list[int]


class BodyRun:
    """Some bodies in their order."""

    def __init__(self, bodies: Iterable[Body]) -> None:
        self.bodies = tuple(bodies)
        self._starts: dict[tuple[bytes, int], _Starts] = {}
        self._numbers: dict[int, _Numbers] = {}

    @cached_property
    def size(self) -> int:
        return sum([body.size for body in self.bodies])

    @cached_property
    def data(self) -> list[bytes]:
        return [body.data for body in self.bodies]

    def starts(self, begin_string: bytes, own: int) -> _Starts:
        """For sessions whose number and header fields have so many bytes together."""
        found = self._starts.get((begin_string, own))
        if found is None:
            texts = []
            for body in self.bodies:
                inner = b"35=%b\x0134=" % body.msg_type
                length = len(inner) + own + body.size
                texts.append(b"8=%b\x019=%d\x01%b" % (begin_string, length, inner))
            totals = [byte_sum(text) + body.total for text, body in zip(texts, self.bodies, strict=True)]
            found = self._starts[begin_string, own] = _Starts(texts, totals, sum(map(len, texts)))
        return found

    def numbers(self, first: int) -> _Numbers:
        found = self._numbers.get(first)
        if found is None:
            texts = [b"%d" % number for number in range(first, first + len(self.bodies))]
            found = _Numbers(texts, [byte_sum(text) for text in texts])
            if len(self._numbers) < _MOST_NUMBERS:
                self._numbers[first] = found
        return found


class FramedRun:
    """A run as one session sends it, from a number on. `rest` is the header from behind the number, with the
    delimiter before it. All numbers must have the same number of digits (`fits`)."""

    __slots__ = ("_own", "_starts", "first", "rest", "run", "size")

    def __init__(self, run: BodyRun, first: int, begin_string: bytes, rest: bytes) -> None:
        self.run, self.first, self.rest = run, first, rest
        own = len(b"%d" % first) + len(rest)
        self._starts = run.starts(begin_string, own)
        self.size = self._starts.size + run.size + (own + _TRAILER_SIZE) * len(run.bodies)

    @staticmethod
    def fits(run: BodyRun, first: int) -> bool:
        return len(str(first)) == len(str(first + len(run.bodies) - 1))

    def _trailers(self, numbers: _Numbers) -> list[bytes]:
        own = byte_sum(self.rest)
        pairs = zip(self._starts.totals, numbers.totals, strict=True)
        return [_TRAILERS[(total + digits + own) & 255] for total, digits in pairs]

    def join(self) -> bytes:
        numbers = self.run.numbers(self.first)
        pieces = [self.rest] * (_PIECES * len(self.run.bodies))
        pieces[0::_PIECES] = self._starts.texts
        pieces[1::_PIECES] = numbers.texts
        pieces[3::_PIECES] = self.run.data
        pieces[4::_PIECES] = self._trailers(numbers)
        return b"".join(pieces)

    def parts(self) -> list[MessageParts]:
        """Each message for itself, for a transport that compresses shared bodies once."""
        numbers = self.run.numbers(self.first)
        heads = zip(self._starts.texts, numbers.texts, strict=True)
        rows = zip(heads, self.run.bodies, self._trailers(numbers), strict=True)
        return [MessageParts(start + number + self.rest, body, tail) for (start, number), body, tail in rows]
