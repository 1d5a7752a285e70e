"""What the exchange has sent, decoded: a message with its tags, and what judges ask of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from pregao.certification.scenario import DEPTHS, Box, Tags
from pregao.feeds.publishing import OutgoingPacket
from pregao.feeds.registry import load_decoding, load_tagger
from pregao.model.market import Side
from pregao.model.streams import Stream

# Tags that the script names, as the templates call them.
NAMES: Final = {
    55: "Symbol", 269: "MDEntryType", 277: "TradeCondition", 326: "SecurityTradingStatus",
    336: "TradingSessionID", 555: "Legs", 625: "TradingSessionSubID", 1174: "SecurityTradingEvent",
    37015: "SecurityMatchType",
}  # fmt: skip
SESSION_CHANNEL: Final = 0  # of systems without channels
FIRST_OF_INSTRUMENTS: Final = 66  # channels below tell of lending, indices and news
_STATUS: Final = "c"
_TRADE: Final = "2"
_LAST_ONLY: Final = "U"  # the price of the last trade told again, no trade
_LEG: Final = "1"
_SIDES: Final = {Side.BUY: "0", Side.SELL: "1"}
_MANTISSA: Final = Decimal(10_000)


class TappedEntry(NamedTuple):
    """An entry of a book; prices in ten-thousandths."""

    action: int
    position: int
    price: int | None
    size: int | None
    orders: int | None


class TappedTrade(NamedTuple):
    security_id: int
    price: int
    size: int
    conditions: frozenset[str]


class TappedMessage(NamedTuple):
    channel: int
    stream: Stream
    number: int
    kind: str  # MsgType
    fields: Mapping[str, Any]
    text: str  # as FIX
    sent_ns: int

    def entries(self, security_id: int) -> list[Mapping[str, Any]]:
        """Those of 35=X of an instrument; 35=W is of one instrument as a whole."""
        own = self.fields.get("SecurityID")
        return [
            entry
            for entry in self.fields.get("MDEntries") or ()
            if entry.get("SecurityID", own) == security_id
        ]


class Tap:
    """Everything that was sent, message by message."""

    def __init__(self, system: str = "fast") -> None:
        self._decoder: Any = load_decoding(system).decoder()
        self._tagger = load_tagger(system)

    def read(
        self, packets: Iterable[tuple[int, OutgoingPacket]], *, definitions: bool
    ) -> Iterator[TappedMessage]:
        """The loops of definitions are long, and few steps look at them."""
        for channel, packet in packets:
            if packet.stream is Stream.DEFINITION and not definitions:
                continue
            flow = channel, packet.stream
            for unit in self._decoder.decode(packet.payload, flow):
                for placed in unit.messages:
                    for tagged in self._tagger.tagged(placed.message, flow):
                        yield TappedMessage(
                            channel, packet.stream, unit.header.sequence_number, tagged.kind, tagged.fields,
                            tagged.text, packet.sending_ns,
                        )  # fmt: skip

    def text_of(self, data: bytes, number: int) -> tuple[str, str] | None:
        """MsgType and text of a message that a replayer gave again; None: it has another number."""
        unit = self._decoder.decode_message(data, number)
        if unit.damage or not unit.messages:
            return None
        message = unit.messages[0].message
        return chr(self._decoder.mark_of(message.template_id)), self._decoder.fix(message)


class Seen:
    """The messages of a step, as one depth gets them; `channels` are those of MBO, MBP and TOB."""

    def __init__(self, messages: Sequence[TappedMessage], channels: Mapping[Box, int], box: Box) -> None:
        own = channels[Box.MBO if box is Box.STEP else box]
        others = {channels[depth] for depth in DEPTHS} - {own}
        self.messages = [each for each in messages if each.channel not in others]

    def incremental(self, kind: str) -> list[TappedMessage]:
        return [each for each in self.messages if each.kind == kind and each.stream is Stream.INCREMENTAL]

    def of_kind(self, kind: str) -> list[TappedMessage]:
        return [each for each in self.messages if each.kind == kind]

    def _refreshes(self) -> list[TappedMessage]:
        """35=X of instruments: lending has books of its own, of the same shares."""
        return [
            each
            for each in self.incremental("X")
            if each.channel >= FIRST_OF_INSTRUMENTS or each.channel == SESSION_CHANNEL
        ]

    def book_entries(self, security_id: int, side: Side) -> list[TappedEntry]:
        return [
            TappedEntry(
                entry["MDUpdateAction"], entry.get("MDEntryPositionNo") or 0,
                mantissa(entry.get("MDEntryPx")), entry.get("MDEntrySize"), entry.get("NumberOfOrders"),
            )
            for message in self._refreshes()
            for entry in message.entries(security_id)
            if entry["MDEntryType"] == _SIDES[side]
        ]  # fmt: skip

    def trades(self) -> list[TappedTrade]:
        found = []
        for message in self._refreshes():
            for entry in message.fields.get("MDEntries") or ():
                conditions = frozenset((entry.get("TradeCondition") or "").split())
                if (
                    entry["MDEntryType"] == _TRADE
                    and entry["MDUpdateAction"] == 0
                    and _LAST_ONLY not in conditions
                ):
                    price = mantissa(entry["MDEntryPx"])
                    assert price is not None
                    found.append(TappedTrade(entry["SecurityID"], price, entry["MDEntrySize"], conditions))
        return found

    def statuses(self, security_id: int, group: str) -> list[TappedMessage]:
        """35=f of an instrument or its group."""
        return [
            each
            for each in self.incremental("f")
            if each.fields.get("SecurityID") == security_id or each.fields.get("SecurityGroup") == group
        ]

    def snapshots(self, security_id: int) -> list[TappedMessage]:
        return [each for each in self.of_kind("W") if each.fields.get("SecurityID") == security_id]


def is_leg_trade(trade: TappedTrade) -> bool:
    return _LEG in trade.conditions


def status_of(snapshot: TappedMessage) -> Mapping[str, Any]:
    """The entry of phase and state (11.4)."""
    for entry in snapshot.fields.get("MDEntries") or ():
        if entry["MDEntryType"] == _STATUS:
            found: Mapping[str, Any] = entry
            return found
    return {}


def has_tags(fields: Mapping[str, Any], tags: Tags) -> bool:
    return all(_equals(fields.get(NAMES.get(tag, "")), value) for tag, value in tags)


def message_has(message: TappedMessage, tags: Tags) -> bool:
    """In the message itself, or all in one of its entries."""
    blocks = [
        message.fields,
        *(message.fields.get("RelatedSym") or ()),
        *(message.fields.get("MDEntries") or ()),
    ]
    return any(has_tags(block, tags) for block in blocks)


def _equals(seen: object, value: str) -> bool:
    """Numbers as numbers: 326=02 is 2 in templates; a group's tag is how many entries it has."""
    if seen is None:
        return False
    if isinstance(seen, list | tuple):
        seen = len(seen)
    text = str(seen).strip()
    if text.isdecimal() and value.isdecimal():
        return int(text) == int(value)
    return value in text.split()


def mantissa(value: Decimal | None) -> int | None:
    """A price in ten-thousandths."""
    return None if value is None else int(value * _MANTISSA)
