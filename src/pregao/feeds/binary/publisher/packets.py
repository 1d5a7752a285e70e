"""Numbered packets of one stream: how messages are put together, numbers, heartbeats (6.5.5, 6.5.10)."""

from collections.abc import Callable
from struct import Struct
from typing import Final

from pregao.feeds.binary.packets import MAX_PACKET, PacketHeader
from pregao.feeds.binary.publisher.fields import Fields
from pregao.feeds.publishing import OutgoingPacket, SequencePoint
from pregao.model.errors import EncodeError
from pregao.model.events import News
from pregao.model.streams import Feed, Stream

LAST_VERSION: Final = 65_534  # 65535 is the null of the field (6.5.5.1)
PACKET_ROOM: Final = MAX_PACKET - PacketHeader.SIZE

HEADER: Final = Struct("<BBHIQ")  # channel, Reserved, sequenceVersion, sequenceNumber, SendingTime (6.5.5.1)
_new_tuple: Final = tuple.__new__


def following_version(version: int) -> int:
    return 1 if version >= LAST_VERSION else version + 1


class PacketStream:
    """Collects framed messages into packets of one stream and appends them to `out`.

    `add` never waits: a message that no longer fits closes the packet before it. What is left is
    sent by `flush`.
    """

    def __init__(
        self,
        channel: int,
        stream: Stream,
        feeds: tuple[Feed, ...],
        sequence: Callable[[int], bytes],
        out: list[OutgoingPacket],
        *,
        now_ns: int,
        heartbeat_ns: int,
        start: SequencePoint | None = None,
    ) -> None:
        self._channel, self._stream, self._feeds = channel, stream, feeds
        self._sequence, self._out = sequence, out
        self.version, self.next_number = start or SequencePoint()
        self._heartbeat_ns = heartbeat_ns
        self.silent_ns = now_ns + heartbeat_ns  # when a heartbeat is due
        self._messages: list[bytes] = []
        self._size = PacketHeader.SIZE

    @property
    def point(self) -> SequencePoint:
        """Where a publisher that goes on from here would start."""
        return SequencePoint(self.version, self.next_number)

    @property
    def held(self) -> bool:
        """Whether messages wait for `flush`."""
        return bool(self._messages)

    def fits(self, message: bytes) -> bool:
        return self._size + len(message) <= MAX_PACKET

    def add(self, message: bytes, now_ns: int) -> None:
        size = self._size + len(message)
        if size > MAX_PACKET:
            self.flush(now_ns)
            size = self._size + len(message)
        self._messages.append(message)
        self._size = size

    def flush(self, now_ns: int) -> None:
        messages = self._messages
        if messages:
            count = len(messages)
            self._send(
                self.next_number, messages[0] if count == 1 else b"".join(messages), now_ns, count
            )  # fmt: skip
            self.next_number += 1
            messages.clear()
            self._size = PacketHeader.SIZE

    def send_alone(self, message: bytes, now_ns: int) -> None:
        """A packet of its own, as a SequenceReset has (7.1)."""
        self.flush(now_ns)
        self._send(self.next_number, message, now_ns)
        self.next_number += 1

    def start_version(self) -> None:
        """The next packet has number 1 of the following sequenceVersion."""
        self.version = following_version(self.version)
        self.next_number = 1

    def on_timeout(self, now_ns: int) -> None:
        """After a silent second a Sequence message, in a packet of number 0 (6.5.10, 7.5)."""
        if self._messages:
            self.flush(now_ns)
        if now_ns >= self.silent_ns:
            self._send(0, self._sequence(self.next_number), now_ns)

    def _send(self, number: int, messages: bytes, now_ns: int, count: int = 0) -> None:
        version = self.version
        payload = HEADER.pack(self._channel, 0, version, number, now_ns) + messages
        # As OutgoingPacket(…) does, which takes twice as long to get there.
        sent = (self._stream, self._feeds, payload, now_ns, version, number, count, ())
        self._out.append(_new_tuple(OutgoingPacket, sent))
        self.silent_ns = now_ns + self._heartbeat_ns


# A news as the parts that fit packets (5.8): the text is cut as bytes, never the headline or the link.


NAME = "News_5"


def news_parts(news: News, room: int) -> list[Fields]:
    """The messages of a news. `room` is what a packet has for headline, text and link together.

    Headline and link are in the first part only; the others have all their room for the text.
    """
    text, headline, link = (_encoded(part) for part in (news.text, news.headline, news.url or ""))
    first = room - len(headline) - len(link)
    if first < 0:
        reason = f"headline and link of {len(headline) + len(link)} bytes do not fit a packet"
        raise EncodeError(reason, message=NAME, field="headline")
    cuts = [0, first, *range(first + room, len(text), room)] if len(text) > first else [0]
    pieces = [text[at:until] for at, until in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    common: Fields = {
        "securityID": news.security_id,
        "newsSource": news.source,
        "languageCode": news.language,
        "partCount": len(pieces),
        "newsID": news.news_id,
        "origTime": news.time_ns,
        "totalTextLength": len(text),
    }
    parts = [common | {"partNumber": number, "text": piece or None} for number, piece in enumerate(pieces, 1)]
    parts[0] |= {"headline": headline or None, "uRLLink": link or None}
    return parts


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodeError(f"{error.reason}", message=NAME, field="text") from None
