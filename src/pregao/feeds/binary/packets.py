"""Packets of Binary UMDF, one at a time: the packet header, the framing, the messages (6.5.4, 6.5.5).

A packet is a 16-byte header and one or more messages, each framed by its length and encoding
type. The length comes first, so a message that cannot be understood is stepped over and the rest
of the packet is still read; only when the framing itself lies is the rest of the packet lost.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from pregao.codecs.sbe import SbeMessage, SbeMessageDecoder, Schema
from pregao.codecs.sbe.decoder import Buffer
from pregao.model.errors import DecodeError, Fault

MAX_PACKET = 1400  # what B3 promises (6.5.4); longer ones are read all the same
FRAMING_SIZE = 4
SBE_LITTLE_ENDIAN = 0xEB50
SBE_BIG_ENDIAN = 0x5BE0

_FRAMING = Struct("<HH")


@dataclass(frozen=True, slots=True)
class PacketHeader:
    """6.5.5.1. `reserved` is 0 or 1 in real traffic and means nothing."""

    channel: int
    sequence_version: int
    sequence_number: int
    sending_time_ns: int
    reserved: int = 0

    SIZE: ClassVar[int] = 16
    _LAYOUT: ClassVar[Struct] = Struct("<BBHIQ")

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> "PacketHeader":
        if len(buffer) - offset < cls.SIZE:
            raise DecodeError(Fault.PACKET_TOO_SHORT, offset, f"{len(buffer) - offset} bytes")
        channel, reserved, version, number, time = cls._LAYOUT.unpack_from(buffer, offset)
        return cls(channel, version, number, time, reserved)

    def encode(self) -> bytes:
        return self._LAYOUT.pack(
            self.channel, self.reserved, self.sequence_version, self.sequence_number, self.sending_time_ns
        )


@dataclass(frozen=True, slots=True)
class PacketMessage:
    """A message at its place: `index` counts the messages of its packet from 0, `offset` is that
    of its framing header in the payload."""

    index: int
    offset: int
    message: SbeMessage


@dataclass(frozen=True, slots=True)
class PacketDamage:
    """What is wrong at an index and offset of the payload; the message there is not delivered."""

    index: int
    error: DecodeError

    @property
    def offset(self) -> int:
        return self.error.offset


@dataclass(slots=True)
class Packet:
    header: PacketHeader
    messages: list[PacketMessage] = field(default_factory=list)
    damage: list[PacketDamage] = field(default_factory=list)


class PacketDecoder:
    """Decodes whole packets with one schema."""

    def __init__(self, schema: Schema) -> None:
        self._decoder = SbeMessageDecoder(schema)
        self._encoding = SBE_LITTLE_ENDIAN if schema.byte_order == "<" else SBE_BIG_ENDIAN
        self._headers = FRAMING_SIZE + schema.header.size

    def decode(self, payload: Buffer) -> Packet:
        """A packet with all its sound messages and all that is wrong in it.

        Raises DecodeError only when there is no packet header.
        """
        packet = Packet(PacketHeader.decode(payload))
        if len(payload) == PacketHeader.SIZE:
            packet.damage.append(PacketDamage(0, DecodeError(Fault.PACKET_EMPTY, PacketHeader.SIZE)))
        for index, (offset, length, error) in enumerate(self.frames(payload)):
            if error is None:
                try:
                    message = self._decoder.decode(payload, offset + FRAMING_SIZE, length - FRAMING_SIZE)
                    packet.messages.append(PacketMessage(index, offset, message))
                    continue
                except DecodeError as wrong:
                    error = wrong
            packet.damage.append(PacketDamage(index, error))
        return packet

    def frames(self, payload: Buffer) -> Iterator[tuple[int, int, DecodeError | None]]:
        """Offset and length of each framed message, with what is wrong with its framing."""
        at, end = PacketHeader.SIZE, len(payload)
        while at < end:
            if end - at < self._headers:
                yield at, end - at, DecodeError(Fault.FRAME_TRUNCATED, at, f"{end - at} bytes left")
                return
            length, encoding = _FRAMING.unpack_from(payload, at)
            if length < self._headers:
                yield at, 0, DecodeError(Fault.MESSAGE_LENGTH_TOO_SMALL, at, f"messageLength {length}")
                return
            if at + length > end:
                yield at, 0, DecodeError(Fault.MESSAGE_LENGTH_PAST_PACKET, at, f"messageLength {length}")
                return
            if encoding != self._encoding:
                wrong = DecodeError(Fault.WRONG_ENCODING_TYPE, at, f"encodingType {encoding:#06x}")
                yield at, length, wrong
            else:
                yield at, length, None
            at += length


def frame(message: bytes, encoding: int = SBE_LITTLE_ENDIAN) -> bytes:
    """An encoded message (with its SBE header) inside its framing header."""
    return _FRAMING.pack(len(message) + FRAMING_SIZE, encoding) + message


def encode_packet(header: PacketHeader, messages: Iterable[bytes]) -> bytes:
    """A packet of encoded messages."""
    return header.encode() + b"".join(frame(message) for message in messages)
