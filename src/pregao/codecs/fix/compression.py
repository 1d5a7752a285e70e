"""The compression of PUMA Conflated (2.3): one zlib stream a connection, from the server to the client.

A compressor for each of hundreds of sessions is out of reach. But blocks of raw deflate that end with a full
flush stand for themselves and can be joined: the body of a message is deflated once for all sessions, header
and trailer, which are each session's own, go before and behind it as stored blocks. What comes out is an
ordinary zlib stream that never ends, as the connection does not.

The client inflates in bounded steps: a few bytes may become a thousand times as many.
"""

import zlib
from collections.abc import Iterator

from pregao.codecs.fix.bodies import MessageParts
from pregao.model.errors import DecodeError, Fault

STREAM_HEADER = b"\x78\x9c"  # deflate, a window of 32 KB, the usual level
MAX_STORED = 65_535  # bytes of a stored block
LEVEL = 6
STEP = 65_536  # inflated bytes at once
MAX_INFLATED = 64 << 20  # of what is received at once
_RAW = -15
_PLAIN_FIRST = ord("8")  # a window of 2^11 bytes would begin so too: nobody uses that one
_DEFLATE_METHOD, _WIDEST = 8, 7  # of the first byte of a zlib stream: its lower half, and at most its upper


def deflate_body(data: bytes) -> bytes:
    """Blocks that can stand anywhere in a stream; stored where that is shorter."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, _RAW)
    deflated = compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)
    stored = stored_blocks(data)
    return deflated if len(deflated) < len(stored) else stored


def stored_blocks(data: bytes) -> bytes:
    """Bytes as they are, in blocks that begin and end at byte boundaries."""
    if len(data) <= MAX_STORED:
        return b"\x00%b%b%b" % (_length(data), _inverted(data), data) if data else b""
    parts = (data[at : at + MAX_STORED] for at in range(0, len(data), MAX_STORED))
    return b"".join(stored_blocks(part) for part in parts)


def _length(data: bytes) -> bytes:
    return len(data).to_bytes(2, "little")


def _inverted(data: bytes) -> bytes:
    return (len(data) ^ 0xFFFF).to_bytes(2, "little")


class StreamDeflater:
    """One connection's stream. Trailer and next header share a block, so that a message costs five bytes."""

    def __init__(self) -> None:
        self._begun = False

    def write(self, messages: list[MessageParts]) -> bytes:
        """The bytes of these messages, all of which the client can read at once."""
        blocks = [] if self._begun else [STREAM_HEADER]
        self._begun = True
        waiting = b""
        for message in messages:
            waiting += message.head
            body = message.body.deflated(deflate_body)
            if body:
                blocks += (stored_blocks(waiting), body)
                waiting = b""
            waiting += message.tail
        blocks.append(stored_blocks(waiting))
        return b"".join(blocks)


class StreamInflater:
    """The client's side. By its first byte a stream is compressed or plain (`compress = false`). Where a
    compressed one ends, another may begin."""

    def __init__(self, step: int = STEP, max_inflated: int = MAX_INFLATED) -> None:
        self.step, self.max_inflated = step, max_inflated
        self.received = self.inflated = 0
        self._inflater = zlib.decompressobj()
        self._is_plain = False

    @property
    def is_compressed(self) -> bool | None:
        """None while nothing has come."""
        return None if not self.received else not self._is_plain

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes are, in steps. A `DecodeError` where they are no such stream, or too much."""
        if not data:
            return
        if not self.received:
            self._begin(data[0])
        self.received += len(data)
        if self._is_plain:
            self.inflated += len(data)
            yield data
            return
        at_once, piece = 0, b""
        while data or len(piece) == self.step:  # a full step may have left output behind
            if self._inflater.eof and data:
                self._inflater = zlib.decompressobj()
            try:
                piece = self._inflater.decompress(data, self.step)
            except zlib.error as error:
                raise DecodeError(Fault.FIX_DEFLATE, self.received - len(data), str(error)) from None
            at_once += len(piece)
            self.inflated += len(piece)
            if at_once > self.max_inflated:
                detail = f"more than {self.max_inflated} bytes at once"
                raise DecodeError(Fault.FIX_TOO_LARGE, self.received, detail)
            if piece:
                yield piece
            data = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail

    def _begin(self, first: int) -> None:
        self._is_plain = first == _PLAIN_FIRST
        is_zlib = first & 0x0F == _DEFLATE_METHOD and first >> 4 <= _WIDEST
        if not self._is_plain and not is_zlib:
            raise DecodeError(Fault.FIX_DEFLATE, 0, "neither a compressed nor a plain FIX stream")
