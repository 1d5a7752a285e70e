"""Updates to framed messages of one wire version.

Every kind goes through `fields` and the encoder; the frequent ones have a packer that writes the
same bytes in one step. What a version cannot say (`sends`) is not sent: SettlementPrice and
OpenInterest before 9, an index value ever.
"""

from collections.abc import Sequence, Set
from struct import error as StructError  # noqa: N812
from typing import Any, Final

from pregao.codecs.sbe import SbeMessageEncoder, Schema
from pregao.codecs.sbe.layout import BlockLayout
from pregao.feeds.binary.packets import SBE_BIG_ENDIAN, SBE_LITTLE_ENDIAN, frame
from pregao.feeds.binary.publisher.blocks import MessageTemplate, Packer, indicators
from pregao.feeds.binary.publisher.fields import MAPPERS, Fields, bits
from pregao.feeds.binary.publisher.listings import definition_fields
from pregao.feeds.binary.publisher.packers import fast_packers
from pregao.feeds.binary.publisher.packets import NAME as NEWS
from pregao.feeds.binary.publisher.packets import PACKET_ROOM, news_parts
from pregao.feeds.publishers import swept
from pregao.feeds.publishing import NOT_SENT
from pregao.model import events as e
from pregao.model.errors import EncodeError
from pregao.model.events import (
    IndexValue,
    News,
    OpenInterest,
    OrderUpdate,
    SettlementPrice,
    SideDeleted,
    Update,
)
from pregao.model.instruments import Instrument
from pregao.model.market import Action, DefinitionAction

# What version 7 has instead.
_BEFORE: Final = {"PriceBand_22": "PriceBand_20", "SecurityDefinition_12": "SecurityDefinition_4"}
_SINCE_9: Final = {e.SettlementPrice: "SettlementPrice_28", e.OpenInterest: "OpenInterest_29"}
_MARKED: Final = (e.OrderUpdate, e.Trade, e.TradeBusted, e.LastTrade)  # may be implied (10)


class MessageWriter:
    """Encodes the messages of one version. `packers` has the quickest way for each kind of update;
    `signed_ratios` is the form of legRatioQty: see `listings`."""

    def __init__(self, schema: Schema, version: int, *, signed_ratios: bool = True) -> None:
        self.version, self._signed_ratios = version, signed_ratios
        self.flags = indicators(schema, version)
        self._encoder = SbeMessageEncoder(schema, version)
        self._layouts = schema.at(version).by_name
        self._names = {name: _names(layout) for name, layout in self._layouts.items()}
        self._encoding = SBE_LITTLE_ENDIAN if schema.byte_order == "<" else SBE_BIG_ENDIAN
        mass_delete = MessageTemplate(schema, version, "MassDeleteOrders_MBO_52")
        # Positions are told below 15; at 15 the field was still there, but empty.
        self.by_position = {"mDEntryPositionNo", "mDEntryTimestamp"} <= set(mass_delete.names)
        self._sub_types = frozenset(
            MessageTemplate(schema, version, "Trade_53").values("trdSubType").values()
        )
        definition = self._layouts[self._name("SecurityDefinition_12")]
        self._words = _enum_names(definition, "noInstrAttribs", "instrAttribType")
        self._words |= _enum_names(definition, None, "optPayoutType")
        self._definition_name = definition.name
        self._news_room = PACKET_ROOM - len(self._news({}, 0))
        self.sequence_reset = self.encode_fields("SequenceReset_1", {})
        heartbeat = MessageTemplate(schema, version, "Sequence_2")
        self._sequence_head, self._pack_sequence = heartbeat.head, heartbeat.pack("nextSeqNo")
        self.packers: dict[type, Packer] = {kind: self.encode_slowly for kind in MAPPERS if self.sends(kind)}
        self.packers |= self._fast(schema)

    def sends(self, kind: type) -> bool:
        return kind is not e.IndexValue and _SINCE_9.get(kind, NEWS) in self._layouts

    def encode(self, update: e.Update, indicator: int = 0, rpt_seq: int = 0) -> bytes:
        """One update that is one message, framed; rptSeq 0 is null."""
        try:
            return self.packers[type(update)](update, indicator, rpt_seq)
        except StructError:  # what a struct refuses, the encoder refuses by name
            return self.encode_slowly(update, indicator, rpt_seq)

    def encode_slowly(self, update: Any, indicator: int = 0, rpt_seq: int = 0) -> bytes:
        """The same through names and values."""
        name, fields = MAPPERS[type(update)](update)
        if type(update) is e.SideDeleted and update.action is Action.DELETE_FROM and not self.by_position:
            reason = f"version {self.version} has no positions to delete from"
            raise EncodeError(reason, message=name, field="mDUpdateAction")
        if fields.get("trdSubType") not in self._sub_types:
            fields["trdSubType"] = None
        if not self.by_position:
            fields.pop("mDEntryPositionNo", None)
        fields["matchEventIndicator"] = bits(indicator | self._own_flags(update))
        fields["rptSeq"] = rpt_seq or None
        return self.encode_fields(self._name(name), fields)

    def definition(
        self, instrument: Instrument, action: DefinitionAction, total: int = 1, *, last: bool = True
    ) -> bytes:
        fields = definition_fields(
            instrument, action, total, last=last, words=self._words, signed_ratios=self._signed_ratios
        )
        return self.encode_fields(self._definition_name, fields)

    def news(self, news: e.News, indicator: int, last_indicator: int) -> list[bytes]:
        """All parts of a news; the last of them may end an event."""
        parts = news_parts(news, self._news_room)
        marks = [indicator] * (len(parts) - 1) + [last_indicator]
        return [self._news(part, mark) for part, mark in zip(parts, marks, strict=True)]

    def sequence(self, next_number: int) -> bytes:
        """A heartbeat: on a quiet day most of all messages."""
        if self._pack_sequence is None:
            return self.encode_fields("Sequence_2", {"nextSeqNo": next_number})
        return self._pack_sequence(self._sequence_head, next_number)

    def _own_flags(self, update: e.Update) -> int:
        """RecoveryMsg is on orders, EmptyBook and ChannelReset only (10)."""
        flags = 0
        if isinstance(update, _MARKED) and update.implied:
            flags |= self.flags.implied
        if isinstance(update, e.OrderUpdate):
            is_recovery = update.recovery and update.action is not Action.DELETE
        else:
            is_recovery = isinstance(update, e.BookEmptied | e.ChannelWasReset)
        return flags | self.flags.recovery if is_recovery else flags

    def _fast(self, schema: Schema) -> dict[type, Packer]:
        fast = fast_packers(schema, self.version, self.flags)
        trade = fast.get(e.Trade)
        if trade is not None:
            fast[e.Trade] = self._forward_or(trade)
        return fast

    def _forward_or(self, trade: Packer) -> Packer:
        def pack(update: e.Trade, indicator: int, rpt_seq: int) -> bytes:
            return (self.encode_slowly if update.forward else trade)(update, indicator, rpt_seq)

        return pack

    def _name(self, name: str) -> str:
        return name if name in self._layouts else _BEFORE[name]

    def _news(self, part: Fields, indicator: int) -> bytes:
        blank: Fields = {"newsSource": 0, "partCount": 1, "partNumber": 1, "totalTextLength": 0}
        return self.encode_fields(NEWS, blank | part | {"matchEventIndicator": bits(indicator)})

    def encode_fields(self, name: str, fields: Fields) -> bytes:
        """A message from names and values; those that this version lacks are left out."""
        known = self._names[name]
        message = self._encoder.encode(name, {key: fields[key] for key in fields if key in known})
        framed = frame(message, self._encoding)
        if len(framed) > PACKET_ROOM:
            raise EncodeError(f"{len(framed)} bytes do not fit a packet", message=name)
        return framed


def _names(layout: BlockLayout) -> frozenset[str]:
    fields = {field.name for field in layout.fields if field.present}
    return frozenset(fields | {group.name for group in layout.groups} | {data.name for data in layout.data})


def _enum_names(layout: BlockLayout, group: str | None, name: str) -> frozenset[str]:
    """The values of an enum in a message or in a group of it; none where the version lacks the field."""
    block = layout if group is None else next(entry for entry in layout.groups if entry.name == group)
    found = [field for field in block.fields if field.name == name and field.present]
    return frozenset(found[0].names.values() if found else ())


# How many messages each update of an event becomes: a news several, a sweep of deletions one for all.


# News have parts; some versions have no message for the others. Each comes first in its event.
_ODD: Final = frozenset((News, IndexValue, SettlementPrice, OpenInterest))


class MessageCounts:
    """Of one wire version. `muted` are the instruments whose book updates are not sent now."""

    def __init__(self, writer: MessageWriter, muted: Set[int]) -> None:
        self._writer, self._muted, self._by_position = writer, muted, writer.by_position

    def of(self, updates: Sequence[Update]) -> Sequence[int] | None:
        """As `Publisher.message_counts`: None where each became one."""
        by_position = self._by_position and len(updates) > 1
        if not updates or not (by_position or self._muted or type(updates[0]) in _ODD):
            return None
        counts = [self._alone(update) for update in updates]
        if by_position:
            self._join_sweeps(updates, counts)
        return counts

    def _alone(self, update: Update) -> int:
        if isinstance(update, News):
            return len(self._writer.news(update, 0, 0))
        muted = isinstance(update, OrderUpdate | SideDeleted) and update.security_id in self._muted
        return NOT_SENT if muted or not self._writer.sends(type(update)) else 1

    def _join_sweeps(self, updates: Sequence[Update], counts: list[int]) -> None:
        sent = [index for index, count in enumerate(counts) if count != NOT_SENT]
        place = 0
        for message in swept([updates[index] for index in sent]):
            run = 1
            if isinstance(message, SideDeleted) and message.action is Action.DELETE_FROM:
                run = message.position or 1
            for index in sent[place + 1 : place + run]:
                counts[index] = 0
            place += run
