"""Messages of FIX sessions for people: see `feeds.decoding`. Without arrays.

A unit is a message, and both sides of a session are shown. Names are the dictionary's; a tag that it does not
have goes by its number. The number of a kind of message is the bytes of its MsgType (35).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pregao.codecs.fix import (
    Dictionary,
    Entry,
    FieldBlock,
    FieldType,
    FixMessage,
    ValueFormatError,
    load_builtin_dictionary,
    parse_dictionary,
    parse_message,
)
from pregao.codecs.fix.parser import split_fields
from pregao.codecs.fix.reader import BUILTIN_DICTIONARY, TRADEMATE_DICTIONARY
from pregao.codecs.fix.types import COUNTS, FLOATS, parse_decimal, parse_integer, parse_timestamp
from pregao.feeds.decoding import BlockShape, Buffer, FieldShape, ValueForm, WireMessage, Wording
from pregao.feeds.tagged import TaggedMessage
from pregao.model.errors import DecodeError, Fault

WORDING: Final = Wording(
    headline=("SecurityGroup", "TradingSessionSubID", "SecurityTradingStatus", "Headline", "Text"),
    security_id="SecurityID",
    symbol="Symbol",
)
_INSTRUMENTS: Final = frozenset({48, 309, 602})  # texts that are numbers
_DEFINITION_MARK: Final = ord("y")


@dataclass(frozen=True, slots=True)
class FixHeader:
    """Nothing on the wire says which session it is, or how often its numbers began again."""

    sequence_number: int
    sending_time_ns: int
    channel: int = 0
    sequence_version: int | None = None


@dataclass(frozen=True, slots=True)
class FixShownMessage:
    """`raw` is the message as it came; `unknown` are tags that its dictionary does not give it."""

    template_id: int
    name: str | None
    fields: Mapping[str, Any] | None
    raw: bytes
    version: int | None = None
    unknown: tuple[tuple[str, int], ...] = ()
    leftover: int = 0
    known_version: bool = True
    older_version: bool = False


@dataclass(frozen=True, slots=True)
class FixPlaced:
    message: FixShownMessage
    offset: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class FixDamage:
    error: DecodeError
    index: int = 0


@dataclass(slots=True)
class FixUnit:
    header: FixHeader
    messages: list[FixPlaced] = field(default_factory=list)
    damage: list[FixDamage] = field(default_factory=list)


def type_number(msg_type: bytes) -> int:
    """MsgType as a number: X is 88."""
    return int.from_bytes(msg_type[:8], "big")


class FixDecoder:
    """Payloads are whole messages, which `captures.sessions` cuts from connections."""

    wording = WORDING
    definition_marks = frozenset({_DEFINITION_MARK})
    over_tcp = True

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._types = {type_number(each): each for each in self.dictionary.messages}

    def decode(self, payload: Buffer, flow: Hashable = None) -> list[FixUnit]:
        raw = bytes(payload)
        message = parse_message(raw, self.dictionary)
        spec = self.dictionary.message(message.msg_type)
        blocks = [(message.header, self.dictionary.header)]
        if spec is not None:
            blocks.append((message.body, spec.body))
        fields: dict[str, Any] = {}
        for part, block in blocks:
            fields |= self._shown(part, block)
        unknown = tuple((str(tag), 0) for tag in message.unknown)
        shown = FixShownMessage(
            type_number(message.msg_type),
            None if spec is None else spec.name,
            None if spec is None else fields,
            raw,
            unknown=unknown,
        )
        unit = FixUnit(_header(message), [FixPlaced(shown)])
        if message.structure is not None:
            detail = f"{message.structure.reason.text}, tag {message.structure.tag}"
            unit.damage.append(FixDamage(DecodeError(Fault.FIX_GROUP_COUNT, 0, detail)))
        return [unit]

    def _shown(self, part: Entry, block: FieldBlock) -> dict[str, Any]:
        """In the order of the dictionary; what it does not give the block comes last."""
        shown: dict[str, Any] = {}
        for member in block.members:
            name, value = member.field.name, part.get(member.field.tag)
            if member.group is not None:
                entries = value if isinstance(value, list) else []
                shown[name] = [self._shown(entry, member.group) for entry in entries]
            else:
                shown[name] = self._value(member.field.tag, value)
        for tag, value in part.items():
            if tag not in block.own and isinstance(value, bytes):
                spec = self.dictionary.fields.get(tag)
                shown[str(tag) if spec is None else spec.name] = value.decode("latin-1")
        return shown

    def _value(self, tag: int, value: object) -> Any:
        """What it means, or its text where it is no value of its type."""
        if not isinstance(value, bytes):
            return None
        kind = self.dictionary.fields[tag].kind
        try:
            if kind in FLOATS:
                return parse_decimal(value)
            if kind is FieldType.INT or kind in COUNTS or tag in _INSTRUMENTS:
                return parse_integer(value)
        except ValueFormatError:
            pass
        return value.decode("latin-1")

    def mark_of(self, template_id: int) -> int:
        return template_id & 0xFF

    def symbols(self, message: WireMessage) -> list[tuple[int, str]]:
        entries = (message.fields or {}).get("NoRelatedSym") or ()
        listed = ((each.get("SecurityID"), each.get("Symbol")) for each in entries)
        return [(number, symbol) for number, symbol in listed if isinstance(number, int) and symbol]

    def security_ids(self, message: WireMessage) -> set[int]:
        fields = message.fields or {}
        blocks = [fields, *(fields.get("NoMDEntries") or ()), *(fields.get("NoRelatedSym") or ())]
        return {each["SecurityID"] for each in blocks if isinstance(each.get("SecurityID"), int)}

    def shape(self, template_id: int, version: int | None) -> BlockShape | None:
        spec = self.dictionary.message(self._types.get(template_id, b""))
        if spec is None:
            return None
        header, body = _shape(self.dictionary.header), _shape(spec.body)
        return BlockShape(header.fields + body.fields, header.groups + body.groups)

    def shapes(self, template_id: int) -> list[BlockShape]:
        shape = self.shape(template_id, None)
        return [] if shape is None else [shape]

    def names(self) -> Mapping[int, list[str]]:
        messages = self.dictionary.messages.values()
        return {type_number(each.msg_type): [each.name] for each in messages}

    def fix(self, message: WireMessage) -> str:
        """As it came, with a bar where the delimiter was."""
        if not isinstance(message, FixShownMessage):
            return ""
        fields = split_fields(message.raw, self.dictionary)
        return "".join(f"{tag}={value.decode('latin-1')}|" for tag, value in fields)


def _header(message: FixMessage) -> FixHeader:
    number = message.header.get(34)
    sent = message.header.get(52)
    try:
        sent_ns = parse_timestamp(sent) if isinstance(sent, bytes) else 0
    except ValueFormatError:
        sent_ns = 0
    digits = isinstance(number, bytes) and number.isdigit() and len(number) < 19
    return FixHeader(int(number) if digits else 0, sent_ns)  # type: ignore[arg-type]


def _shape(block: FieldBlock) -> BlockShape:
    fields, groups = [], []
    for member in block.members:
        if member.group is not None:
            groups.append((member.field.name, _shape(member.group)))
        else:
            decimal = member.field.kind in FLOATS
            fields.append(FieldShape(member.field.name, ValueForm.DECIMAL if decimal else ValueForm.PLAIN))
    return BlockShape(tuple(fields), tuple(groups))


_GROUPS: Final = {"NoMDEntries": "MDEntries", "NoRelatedSym": "RelatedSym", "NoLegs": "Legs"}
_NUMBERS: Final = frozenset({"MDUpdateAction"})


class FixTagger:
    """They are FIX; only groups go by other names in dictionaries."""

    def __init__(self, decoder: FixDecoder) -> None:
        self._decoder = decoder

    def tagged(self, message: WireMessage, flow: Hashable) -> list[TaggedMessage]:
        kind = message.template_id.to_bytes(8, "big").lstrip(b"\0").decode("latin-1")
        return [TaggedMessage(kind, _renamed(message.fields or {}), self._decoder.fix(message))]


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, list):
            renamed[_GROUPS.get(name, name)] = [_renamed(each) for each in value]
        elif name in _NUMBERS and isinstance(value, str) and value.isdecimal():
            renamed[name] = int(value)
        else:
            renamed[name] = value
    return renamed


class FixDecoding:
    """A `DecodingSystem`. Schemas are dictionaries in QuickFIX's form; `builtin` names the packaged one."""

    def __init__(self, builtin: str) -> None:
        self.builtin = builtin

    schema_file = "b3-fix44.xml"

    def load_schema(self, content: bytes | None, file: str) -> Dictionary:
        return load_builtin_dictionary(self.builtin) if content is None else parse_dictionary(content, file)

    def decoder(self, schema: Dictionary | None = None) -> FixDecoder:
        return FixDecoder(schema or load_builtin_dictionary(self.builtin))

    def tagger(self) -> FixTagger:
        return FixTagger(self.decoder())


CONFLATED: Final = FixDecoding(BUILTIN_DICTIONARY)
TRADEMATE: Final = FixDecoding(TRADEMATE_DICTIONARY)
