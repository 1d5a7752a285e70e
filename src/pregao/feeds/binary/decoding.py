"""Messages of Binary UMDF for people: see `feeds.decoding`. Without arrays."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from pregao.codecs.sbe import Schema, load_builtin_schema, parse_schema
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.feeds.binary.identity import DEFINITIONS
from pregao.feeds.binary.packets import Packet, PacketDecoder
from pregao.feeds.binary.tagging import BinaryTagger
from pregao.feeds.decoding import BlockShape, Buffer, FieldShape, ValueForm, WireMessage, Wording
from pregao.feeds.identity import MARKS

_SIZES: Final = ("mDEntrySize", "fillQty", "tradeVolume")
_PRICES: Final = ("mDEntryPx", "lastPx")
WORDING: Final = Wording(
    headline=(
        "mDUpdateAction", "mDEntryType", "aggressorSide", "legSide", "imbalanceCondition", "priceBandType",
        "securityTradingStatus", "tradingSessionSubID", "securityUpdateAction", "headline", *_SIZES, *_PRICES,
    ),
    prices=frozenset(_PRICES),
    sizes=frozenset(_SIZES),
    flags="matchEventIndicator",
    security_id="securityID",
    symbol="symbol",
    buying=frozenset({"BID", "BUY", "ImbalanceMoreBuyers"}),
    selling=frozenset({"OFFER", "SELL", "ImbalanceMoreSellers"}),
    shorter={"SnapshotFullRefresh": "Snapshot"},
)  # fmt: skip
_FORMS: Final = {
    ValueKind.ENUM: ValueForm.CHOICE, ValueKind.SET: ValueForm.CHOICES, ValueKind.DECIMAL: ValueForm.DECIMAL,
    ValueKind.SCALED: ValueForm.DECIMAL,
}  # fmt: skip


class BinaryDecoder:
    """A unit is a packet."""

    wording = WORDING
    definition_marks = DEFINITIONS

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema or load_builtin_schema()
        self._packets = PacketDecoder(self.schema)

    def decode(self, payload: Buffer, flow: Hashable = None) -> tuple[Packet]:
        return (self._packets.decode(payload),)

    def mark_of(self, template_id: int) -> int:
        return min(template_id, MARKS - 1)

    def symbols(self, message: WireMessage) -> list[tuple[int, str]]:
        if message.template_id not in DEFINITIONS or message.fields is None:
            return []
        security_id, symbol = message.fields.get("securityID"), message.fields.get("symbol")
        return [(security_id, symbol)] if isinstance(security_id, int) and isinstance(symbol, str) else []

    def security_ids(self, message: WireMessage) -> tuple[int, ...]:
        security_id = (message.fields or {}).get("securityID")
        return (security_id,) if isinstance(security_id, int) else ()

    def shape(self, template_id: int, version: int | None) -> BlockShape | None:
        layout = self.schema.at(version or 0).messages.get(template_id)
        return None if layout is None else _block(layout)

    def shapes(self, template_id: int) -> list[BlockShape]:
        versions = reversed(self.schema.breakpoints)
        found = (self.shape(template_id, version) for version in versions)
        return [shape for shape in found if shape is not None]

    def names(self) -> Mapping[int, Sequence[str]]:
        found: dict[int, list[str]] = {}
        for message in self.schema.messages:
            found.setdefault(message.id, []).append(message.name)
        return found


class BinaryDecoding:
    """A `DecodingSystem`. Schemas are SBE schema files."""

    schema_file = "b3-binary-umdf.xml"

    def load_schema(self, content: bytes | None, file: str) -> Schema:
        return load_builtin_schema() if content is None else parse_schema(content, file)

    def decoder(self, schema: Schema | None = None) -> BinaryDecoder:
        return BinaryDecoder(schema)

    def tagger(self) -> BinaryTagger:
        return BinaryTagger()


DECODING: Final = BinaryDecoding()


def _block(layout: BlockLayout) -> BlockShape:
    return BlockShape(
        tuple(FieldShape(field.name, _form(field)) for field in layout.fields),
        tuple((group.name, _block(group)) for group in layout.groups),
        tuple(data.name for data in layout.data),
        tuple(layout.absent_data),
    )


def _form(field: FieldLayout) -> ValueForm:
    if field.kind is ValueKind.TIME:
        return ValueForm.SECONDS if field.in_seconds else ValueForm.TIME
    if field.kind is ValueKind.COMPOSITE:
        return ValueForm.MONTH if field.semantic_type == "MonthYear" else ValueForm.COMPOSITE
    if field.kind in _FORMS:
        return _FORMS[field.kind]
    return ValueForm.DATE if field.semantic_type == "LocalMktDate" else ValueForm.PLAIN
