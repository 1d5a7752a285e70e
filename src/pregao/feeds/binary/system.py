"""Binary UMDF as a system: see `feeds.port`."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from pregao.codecs.sbe import SbeMessage, SbeMessageDecoder, SbeMessageEncoder, Schema, load_builtin_schema
from pregao.codecs.sbe.layout import BlockLayout, ValueKind
from pregao.feeds.binary.columns import DEFAULT_ROWS, BinaryColumnDecoder, with_only
from pregao.feeds.binary.decoding import BinaryDecoding
from pregao.feeds.binary.headers import PacketHeaders, PacketInspector
from pregao.feeds.binary.identity import IDENTITY
from pregao.feeds.binary.kernels.headers import read_headers
from pregao.feeds.binary.kernels.rows import read_rows
from pregao.feeds.binary.news import NewsAssembler
from pregao.feeds.binary.news_parts import NewsPart
from pregao.feeds.binary.packets import FRAMING_SIZE, MAX_PACKET, PacketDecoder, PacketHeader, encode_packet
from pregao.feeds.binary.publisher.channel import ChannelPublisher
from pregao.feeds.binary.publisher.packets import HEADER, LAST_VERSION
from pregao.feeds.binary.reading.plain import PlainReader, news_of
from pregao.feeds.binary.reading.rows import RowReader
from pregao.feeds.binary.reading.words import FIRST_TRANSACTED, order_flags
from pregao.feeds.decoding import Vocabulary
from pregao.feeds.port import Array, RecoveryPolicy
from pregao.feeds.publishing import PublisherSetup, PublishingSite, SequencePoint
from pregao.kernels import Kernel
from pregao.model.events import News, Update
from pregao.model.instruments import Instrument
from pregao.model.streams import Feed, Stream

# What a wire version can say, and a day that says it with the templates that others replaced.
#
# Versions 8 and 9 still declare templates of 7 that newer ones replaced (5.9.2.4). The publisher sends only
# the newer ones; a sample in which every template of its version occurs has every second instrument under the
# old.


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


# A packet has at most 1,400 bytes (6.5.4), 16 of them header; the shortest message with a rptSeq has 40.
REPORTS_IN_A_PACKET: Final = 35


class BinaryNewsDesk:
    def __init__(self, channel: int, schema: Schema) -> None:
        self._assembler, self._plain = NewsAssembler(), PlainReader(channel)
        self._decoder = SbeMessageDecoder(schema)
        self._now_ns = 0

    def receive(self, message: bytes, now_ns: int) -> list[News]:
        parts = [each.update for each in self._plain.read(self._decoder.decode(message))]
        self._now_ns = now_ns
        return [
            news_of(news, now_ns)
            for part in parts
            if isinstance(part, NewsPart)
            for news in self._assembler.receive(part, now_ns)
        ]

    def next_timeout(self) -> int | None:
        return self._assembler.next_timeout()

    def on_timeout(self, now_ns: int) -> list[News]:
        return [news_of(news, now_ns) for news in self._assembler.on_timeout(now_ns)]

    def flush(self) -> list[News]:
        return [news_of(news, self._now_ns) for news in self._assembler.flush()]


class BinaryUmdf(BinaryDecoding):
    """`schema` is loaded when it is first needed; None: the packaged one."""

    name = "binary"
    title = "Binary UMDF"
    identity = IDENTITY
    policy = RecoveryPolicy(
        own_bytes=PacketHeader.SIZE,  # 6.1, 6.5.3: SendingTime and Reserved may be each feed's own
        last_epoch=LAST_VERSION,
        silent_intervals=3,  # 6.2
        reports_in_a_unit=REPORTS_IN_A_PACKET,
        definitions_end_by_count=True,  # 6.5.9
        transacts_from=FIRST_TRANSACTED,
    )

    versions = (7, 8, 9, 10, 15, 16, 17)
    default_version = 16
    extra_channels = ()
    desks = None

    def __init__(self, schema: Schema | None = None) -> None:
        self._schema = schema

    @property
    def schema(self) -> Schema:
        return self._schema or load_builtin_schema()

    def headers(self, *, heartbeats: bool = True) -> PacketHeaders:
        return PacketHeaders(self.schema, heartbeats=heartbeats)

    def inspector(self) -> PacketInspector:
        return PacketInspector(self._schema)

    def reader(self, channel: int) -> RowReader:
        return RowReader(self.schema, channel=channel)

    def news_desk(self, channel: int) -> BinaryNewsDesk:
        return BinaryNewsDesk(channel, self.schema)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return read_headers, read_rows

    def columns(
        self, schema: Schema | None = None, rows: int | None = None, only: str = ""
    ) -> BinaryColumnDecoder:
        chosen = schema or self.schema
        return BinaryColumnDecoder(with_only(chosen, only) if only else chosen, rows or DEFAULT_ROWS)

    def vocabulary(self, version: int) -> Vocabulary:
        return vocabulary(self.schema, version)

    def order_flags(self, versions: Array) -> Array:
        return order_flags(versions)

    def deprecated_templates(self, version: int) -> Callable[[bytes], bytes]:
        return deprecated_templates(self.schema, version)

    def channels_of(self, instrument: Instrument) -> tuple[int, ...]:
        """One (6.1)."""
        return (instrument.channel,)

    def channels_of_update(self, update: Update) -> tuple[int, ...] | None:
        return None

    def feeds(self, site: PublishingSite, stream: Stream) -> tuple[Feed, ...]:
        return site.incremental if stream is Stream.INCREMENTAL else site.loops

    def point_of(self, payload: bytes) -> SequencePoint:
        _, _, version, number, _ = HEADER.unpack_from(payload)
        return SequencePoint(version, number)

    def with_other_header(self, payload: bytes, later_ns: int) -> bytes:
        """Reserved and SendingTime may be each feed's own (6.1, 6.5.3)."""
        channel, _, version, number, sent_ns = HEADER.unpack_from(payload)
        return HEADER.pack(channel, 1, version, number, sent_ns + later_ns) + payload[HEADER.size :]

    def publisher(self, setup: PublisherSetup) -> ChannelPublisher:
        return ChannelPublisher(self.schema, setup)


BINARY: Final = BinaryUmdf()
