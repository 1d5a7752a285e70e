"""Messages of UMDF FIX/FAST for people: see `feeds.decoding`. Without arrays."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pregao.codecs.fast import (
    FastMessageDecoder,
    Referred,
    Scaled,
    Templates,
    load_builtin_templates,
    parse_templates,
)
from pregao.codecs.fast.decoder import TemplateMessage
from pregao.codecs.fast.templates import (
    DynamicReference,
    FastType,
    Field,
    Group,
    Instruction,
    Operator,
    Sequence,
    SplitDecimal,
)
from pregao.feeds.decoding import BlockShape, Buffer, FieldShape, ValueForm, WireMessage, Wording
from pregao.feeds.fast.chunks import HEADER, Chunk, ChunkAssembler, split_datagram
from pregao.feeds.fast.identity import NO_CHANNEL, mark_of_template, template_id
from pregao.feeds.fast.times import moment_ns, timestamp_ns
from pregao.feeds.tagged import TaggedMessage
from pregao.model.errors import DecodeError, Fault

if TYPE_CHECKING:
    from pregao.feeds.fast.heads import Heads

MAX_FLOWS: Final = 4_096  # with chunks of their own; those of more are one
_ONE_FEED: Final = 0  # whichever it is: a flow is of one
WORDING: Final = Wording(
    headline=("SecurityGroup", "TradingSessionSubID", "SecurityTradingStatus", "Headline"),
    security_id="SecurityID",
    symbol="Symbol",
)


@dataclass(frozen=True, slots=True)
class FastHeader:
    """The technical header; nothing on the wire says the channel, and sequences have no versions."""

    sequence_number: int
    sending_time_ns: int
    channel: int = NO_CHANNEL
    sequence_version: int | None = None


@dataclass(frozen=True, slots=True)
class FastMessage:
    """`decoded` is None of a template that nobody knows."""

    template_id: int
    name: str | None = None
    fields: Mapping[str, Any] | None = None
    decoded: TemplateMessage | None = None
    version: int | None = None
    unknown: tuple[tuple[str, int], ...] = ()
    leftover: int = 0
    known_version: bool = True
    older_version: bool = False


@dataclass(frozen=True, slots=True)
class FastPlaced:
    offset: int
    message: FastMessage
    index: int = 0


@dataclass(frozen=True, slots=True)
class FastDamage:
    error: DecodeError
    index: int = 0


@dataclass(slots=True)
class FastUnit:
    header: FastHeader
    messages: list[FastPlaced] = field(default_factory=list)
    damage: list[FastDamage] = field(default_factory=list)


class _OpenFlow:
    """Chunks that wait for others, and the sequence that they are of: numbers begin again with every loop,
    and chunks of two messages of one number are never of one. Most flows have no chunks, and need no
    arrays."""

    def __init__(self, templates: Templates) -> None:
        from pregao.feeds.fast.epochs import Epochs
        from pregao.feeds.fast.heads import RESET, Heads

        self.assembler = ChunkAssembler()
        self._heads, self._epochs, self._reset = Heads(templates), Epochs(), RESET

    def epoch_of(self, chunk: Chunk, data: bytes) -> int:
        """The first chunk of a message tells its time."""
        epochs = self._epochs
        if chunk.current == 1:
            try:
                head = self._heads.of(data, whole=chunk.is_whole)
            except DecodeError:  # whoever decodes it says what is wrong
                return epochs.of_feed(_ONE_FEED)
            of = epochs.of_reset if head.mark == self._reset else epochs.of_message
            return of(_ONE_FEED, head.number, head.sent_ns)
        return epochs.of_feed(_ONE_FEED)


class FastDecoder:
    """A unit is a message. Chunks of a flow wait here for the others of their message."""

    wording = WORDING
    definition_marks = frozenset(b"y")

    def __init__(self, templates: Templates | None = None, *, strict: bool = False) -> None:
        self.templates = templates or load_builtin_templates()
        self._decoder = FastMessageDecoder(self.templates, strict=strict)
        self._flows: dict[Hashable, _OpenFlow] = {}  # those that have had chunks

    def decode(self, payload: Buffer, flow: Hashable = None) -> list[FastUnit]:
        found = split_datagram(bytes(payload))
        if not found.chunks and found.damage:
            raise found.damage[0]
        units: list[FastUnit] = []
        for chunk in found.chunks:
            units += self._chunk(chunk, bytes(payload[chunk.offset : chunk.offset + chunk.length]), flow)
        if found.damage:
            units.append(FastUnit(FastHeader(0, 0), damage=[FastDamage(each) for each in found.damage]))
        return units

    def decode_message(self, message: bytes, number: int | None = None, offset: int = 0) -> FastUnit:
        """A whole message without its technical header, whose MsgSeqNum is `number`."""
        try:
            decoded = self._decoder.decode(message)
            sent_ns = timestamp_ns(decoded.fields.get("SendingTime")) or 0
        except DecodeError as error:
            return self._damaged(message, number or 0, error, offset)
        inside = decoded.fields.get("MsgSeqNum")
        own = inside if isinstance(inside, int) else 0
        fields = _shown(decoded.template.instructions, decoded.fields)
        shown = FastMessage(decoded.template.id, decoded.name, fields, decoded)
        unit = FastUnit(FastHeader(own if number is None else number, sent_ns), [FastPlaced(offset, shown)])
        if number is not None and own != number:
            detail = f"{own} in the message, {number} in its header"
            unit.damage.append(FastDamage(DecodeError(Fault.FAST_NUMBER_DIFFERS, offset, detail)))
        for finding in decoded.findings:
            detail = f"{finding.number} {finding.template}.{finding.field}".rstrip(".")
            reported = DecodeError(finding.fault, offset + finding.offset, detail)
            unit.damage.append(FastDamage(reported))
        return unit

    def _damaged(self, message: bytes, number: int, error: DecodeError, offset: int) -> FastUnit:
        moved = DecodeError(error.fault, offset + error.offset, error.detail)
        unit = FastUnit(FastHeader(number, 0), damage=[FastDamage(moved)])
        if error.fault is Fault.FAST_UNKNOWN_TEMPLATE:
            unknown = template_id(message)
            unit.messages.append(FastPlaced(offset, FastMessage(-1 if unknown is None else unknown)))
        return unit

    def _chunk(self, chunk: Chunk, data: bytes, flow: Hashable) -> list[FastUnit]:
        if flow not in self._flows and not chunk.is_whole:
            flow = None if len(self._flows) >= MAX_FLOWS else flow
            self._flows.setdefault(flow, _OpenFlow(self.templates))
        opened = self._flows.get(flow)
        epoch = 0 if opened is None else opened.epoch_of(chunk, data)
        if opened is None or chunk.is_whole:
            return [self.decode_message(data, chunk.number, chunk.offset)]
        assembler = opened.assembler
        message = assembler.receive(chunk, data, 0, epoch)
        units = [
            FastUnit(FastHeader(chunk.number, 0), damage=[FastDamage(error)])
            for error in assembler.take_faults()
        ]
        if message is not None:
            # Its bytes are in several datagrams: those of faults count from the header of the last.
            units.append(self.decode_message(message, chunk.number, chunk.offset - HEADER.size))
        return units

    def mark_of(self, template_id: int) -> int:
        return mark_of_template(self.templates.by_id.get(template_id))

    def symbols(self, message: WireMessage) -> list[tuple[int, str]]:
        """A list may have several instruments; news have related ones, without symbols."""
        entries = (message.fields or {}).get("RelatedSym") or ()
        return [(each["SecurityID"], each["Symbol"]) for each in entries if "Symbol" in each]

    def security_ids(self, message: WireMessage) -> set[int]:
        """Of the message, or of its entries."""
        fields = message.fields or {}
        blocks = [fields, *(fields.get("MDEntries") or ()), *(fields.get("RelatedSym") or ())]
        return {block["SecurityID"] for block in blocks if block.get("SecurityID") is not None}

    def shape(self, template_id: int, version: int | None) -> BlockShape | None:
        template = self.templates.by_id.get(template_id)
        return None if template is None else _shape(template.instructions)

    def shapes(self, template_id: int) -> list[BlockShape]:
        shape = self.shape(template_id, None)
        return [] if shape is None else [shape]

    def names(self) -> Mapping[int, list[str]]:
        return {template.id: [template.name] for template in self.templates}

    def fix(self, message: WireMessage) -> str:
        """`tag=value|` in the order of the template, constants too; decimals with as many as the exponent."""
        if not isinstance(message, FastMessage) or message.decoded is None:
            return ""
        return "".join(_fix(message.decoded.template.instructions, message.decoded.fields))


class FastTagger:
    """Templates have FIX's names and kinds already."""

    def __init__(self, decoder: FastDecoder) -> None:
        self._decoder = decoder

    def tagged(self, message: WireMessage, flow: Hashable) -> list[TaggedMessage]:
        kind = chr(self._decoder.mark_of(message.template_id))
        return [TaggedMessage(kind, message.fields or {}, self._decoder.fix(message))]


class FastDecoding:
    """A `DecodingSystem`. Schemas are FAST template files."""

    schema_file = "umdf-fix-fast.xml"

    def load_schema(self, content: bytes | None, file: str) -> Templates:
        return load_builtin_templates() if content is None else parse_templates(content, file)

    def decoder(self, schema: Templates | None = None) -> FastDecoder:
        return FastDecoder(schema)

    def strict_decoder(self, schema: Templates | None = None) -> FastDecoder:
        """R numbers of the standard are errors as D numbers are."""
        return FastDecoder(schema, strict=True)

    def tagger(self) -> FastTagger:
        return FastTagger(self.decoder())

    def frame_size(self, data: Buffer) -> int | None:
        """Messages with their technical headers (5.2.4), one behind the other."""
        if len(data) < HEADER.size:
            return 0
        _, chunks, current, length = HEADER.unpack_from(data)
        return HEADER.size + length if length and 1 <= current <= chunks else None

    def frame_ns(self, frame: Buffer) -> int | None:
        """SendingTime (52); where a template has none, the newest 272 and 273 of its entries."""
        _, chunks, current, _ = HEADER.unpack_from(frame)
        if current != 1:
            return None
        message = bytes(frame[HEADER.size :])
        try:
            return self._heads.of(message, whole=chunks == 1).sent_ns or self._newest_entry(message)
        except DecodeError:  # whoever decodes it says what is wrong
            return None

    @cached_property
    def _heads(self) -> "Heads":
        from pregao.feeds.fast.heads import Heads  # with arrays, which decoding otherwise needs none of

        return Heads(load_builtin_templates())

    @cached_property
    def _entry_decoder(self) -> FastMessageDecoder:
        return FastMessageDecoder(load_builtin_templates())

    def _newest_entry(self, message: bytes) -> int | None:
        entries = self._entry_decoder.decode(message).fields.get("MDEntries") or ()
        times = [moment_ns(each.get("MDEntryDate"), each.get("MDEntryTime")) for each in entries]
        return max((time for time in times if time is not None), default=None)


DECODING: Final = FastDecoding()


def _is_constant(each: Instruction) -> bool:
    return isinstance(each, Field) and each.operator is Operator.CONSTANT and not each.optional


def _shown(instructions: tuple[Instruction, ...], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as all systems show theirs: no constants, decimals, absent sequences empty."""
    shown: dict[str, Any] = {}
    for each in instructions:
        value = fields[each.name]
        if _is_constant(each):
            continue
        if isinstance(each, Sequence):
            value = [_shown(each.instructions, entry) for entry in value or ()]
        elif isinstance(each, Group) and value is not None:
            value = _shown(each.instructions, value)
        elif isinstance(value, Referred):
            value = {"template": value.template, "fields": _plain(value.fields)}
        shown[each.name] = _plain(value)
    return shown


def _plain(value: Any) -> Any:
    if isinstance(value, Scaled):
        return Decimal(str(value))
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return value


def _shape(instructions: tuple[Instruction, ...]) -> BlockShape:
    fields, groups = [], []
    for each in instructions:
        if _is_constant(each):
            continue
        if isinstance(each, Sequence):
            groups.append((each.name, _shape(each.instructions)))
        elif isinstance(each, Group | DynamicReference):
            fields.append(FieldShape(each.name, ValueForm.COMPOSITE))
        else:
            decimal = isinstance(each, SplitDecimal) or each.type is FastType.DECIMAL
            fields.append(FieldShape(each.name, ValueForm.DECIMAL if decimal else ValueForm.PLAIN))
    return BlockShape(tuple(fields), tuple(groups))


def _fix(instructions: tuple[Instruction, ...], fields: Mapping[str, Any]) -> list[str]:
    parts: list[str] = []
    for each in instructions:
        value = fields[each.name]
        if value is None:
            continue
        if isinstance(each, Sequence):
            parts.append(f"{each.length.id or each.name}={len(value)}|")
            for entry in value:
                parts += _fix(each.instructions, entry)
        elif isinstance(each, Group):
            parts += _fix(each.instructions, value)
        elif isinstance(each, DynamicReference):
            parts += [f"{name}={inner}|" for name, inner in value.fields.items() if inner is not None]
        else:
            text = value.hex() if isinstance(value, bytes) else value
            parts.append(f"{each.id or each.name}={text}|")
    return parts
