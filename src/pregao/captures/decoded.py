"""What decoding a capture gives: messages at their place, and findings where bytes are wrong."""

from dataclasses import dataclass, field

from pregao.feeds.decoding import NO_WORDING, DecodedUnit, UnitHeader, WireMessage, Wording
from pregao.model.streams import Feed, Stream


@dataclass(frozen=True, slots=True)
class SocketAddress:
    """An address as a number with its IP version, and a port."""

    ip_version: int
    address: int
    port: int


@dataclass(slots=True, eq=False)
class CaptureFlow:
    """All packets of one file from one sender to one receiver; stream and feed as far as known."""

    source: SocketAddress
    destination: SocketAddress
    stream: Stream = Stream.UNKNOWN
    feed: Feed = Feed.UNKNOWN
    channel: int | None = None  # as configured or named: for systems whose packets do not say it


@dataclass(slots=True)
class DecodedPacket:
    """One unit of a UDP datagram: all of it where packets are numbered, a message where messages are.
    `offset` is that of the datagram's payload in the file (once unpacked, if it is compressed), or None when
    it was put together from fragments."""

    file: str
    number: int  # of the capture record, from 1
    ts_ns: int
    flow: CaptureFlow
    offset: int | None
    packet: DecodedUnit

    @property
    def header(self) -> UnitHeader:
        return self.packet.header


@dataclass(slots=True)
class DecodedMessage:
    """One message with all that says where it came from."""

    file: str
    packet: int  # number of the capture record in the file, from 1
    ts_ns: int  # when it was captured
    flow: CaptureFlow
    header: UnitHeader
    index: int  # in its unit, from 0
    offset: int | None  # of its first byte in the file; None inside a reassembled datagram
    message: WireMessage
    wording: Wording = NO_WORDING

    @property
    def channel(self) -> int | None:
        return self.header.channel or self.flow.channel

    @property
    def stream(self) -> Stream:
        return self.flow.stream

    @property
    def feed(self) -> Feed:
        return self.flow.feed

    @property
    def security_id(self) -> int | None:
        fields = self.message.fields
        value = fields.get(self.wording.security_id) if fields is not None else None
        return value if isinstance(value, int) else None


@dataclass(frozen=True, slots=True)
class Finding:
    """Bytes that are not what they say they are: which file, packet and byte, and what is wrong."""

    file: str
    name: str  # a `Fault`'s label, or compression-damaged
    packet: int  # number of the capture record, from 1; 0 when there is none
    offset: int | None  # in the file
    detail: str = ""
    channel: int | None = None
    left: int = 0  # bytes of the file that were not read because of this

    def __str__(self) -> str:
        parts = [f"packet {self.packet}"] if self.packet else []
        parts += [f"byte {self.offset}"] if self.offset is not None else []
        where = f"{', '.join(parts)}: " if parts else ""
        detail = f": {self.detail}" if self.detail else ""
        channel = f" (channel {self.channel})" if self.channel is not None else ""
        return f"{self.file}: {where}{self.name}{detail}{channel}"


@dataclass(slots=True)
class CaptureCounts:
    """What was met in one file, whether or not it was a packet of ours."""

    file: str = ""
    records: int = 0
    datagrams: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # reason: records
    findings: int = 0
    bytes_left: int = 0  # after the last whole record
    untold: list[str] = field(default_factory=list)  # flows whose stream cannot be told

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
