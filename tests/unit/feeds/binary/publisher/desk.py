"""What the publisher's tests share: a market made by hand, and packets read back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import Packet, PacketDecoder
from pregao.feeds.binary.publisher import ChannelPublisher, LoopPace, OutgoingPacket, Paces
from pregao.feeds.publishing import PublisherSetup
from pregao.model import events as e
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import Action, Phase, Session, Side, State
from pregao.model.streams import Stream

SCHEMA = load_builtin_schema()
DECODER = PacketDecoder(SCHEMA)
VERSIONS = (8, 16, 17)
DATE = 20_773
NOW = DATE * 86_400 * 1_000_000_000
SECOND = 1_000_000_000
MS = 1_000_000
A, B, C = 200_000_000_001, 200_000_000_002, 200_000_000_003


def instrument(security_id: int, **other: Any) -> Instrument:
    plain: dict[str, Any] = {
        "symbol": f"AAAA{security_id % 1000}",
        "channel": 84,
        "group": "01",
        "asset": "AAAA",
        "security_type": SecurityType.CS,
        "product": Product.EQUITY,
    }
    return Instrument(security_id, **(plain | other))


def order(
    security_id: int = A,
    order_id: int = 1,
    *,
    action: Action = Action.NEW,
    side: Side = Side.BUY,
    price: int | None = 100_000,
    size: int = 100,
    position: int = 1,
    **other: Any,
) -> e.OrderUpdate:
    return e.OrderUpdate(
        security_id, action, side, order_id, price, size, position, NOW - 5, NOW - 3, **other
    )


def phase(group: str = "01", of: Phase = Phase.OPEN) -> e.PhaseChanged:
    return e.PhaseChanged(group, "BVMF", Session.REGULAR, of, None, DATE, NOW)


def state(security_id: int, of: State | None = None) -> e.StateChanged:
    return e.StateChanged(security_id, Session.REGULAR, of, None, DATE, NOW)


@dataclass
class Book:
    bids: list[e.OrderUpdate] = field(default_factory=list)
    offers: list[e.OrderUpdate] = field(default_factory=list)
    statistics: list[e.Update] = field(default_factory=list)
    state: e.StateChanged | None = None


@dataclass
class Market:
    """A source whose books a test fills."""

    listed: list[Instrument] = field(default_factory=list)
    books: dict[int, Book] = field(default_factory=dict)
    groups: list[e.PhaseChanged] = field(default_factory=lambda: [phase("01"), phase("02")])

    def definitions(self) -> Sequence[Instrument]:
        return self.listed

    def phases(self) -> Sequence[e.PhaseChanged]:
        return self.groups

    def instruments(self) -> Sequence[int]:
        return list(self.books)

    def book(self, security_id: int) -> Book | None:
        return self.books.get(security_id)


QUIET = Paces(LoopPace(3600 * SECOND, 3600 * SECOND), LoopPace(3600 * SECOND, 3600 * SECOND))


def publisher(market: Market | None = None, version: int = 16, **other: Any) -> ChannelPublisher:
    other = {"now_ns": NOW, "paces": QUIET} | other
    return ChannelPublisher(SCHEMA, PublisherSetup(84, version, market or Market(), **other))


def decoded(packets: Iterable[OutgoingPacket], stream: Stream = Stream.INCREMENTAL) -> list[Packet]:
    """Packets of a stream, none of them damaged, too long or with anything unknown in it."""
    read = []
    for packet in packets:
        if packet.stream is stream:
            assert len(packet.payload) <= 1400
            one = DECODER.decode(packet.payload)
            assert not one.damage
            assert one.header.channel == 84
            assert one.header.sending_time_ns == packet.sending_ns
            assert all(m.message.fields is not None and not m.message.leftover for m in one.messages)
            assert not any(m.message.unknown for m in one.messages)
            read.append(one)
    return read


def messages(packets: Iterable[OutgoingPacket], stream: Stream = Stream.INCREMENTAL) -> list[dict[str, Any]]:
    """Fields of all messages, with the name of each as `name`; sets are lists."""
    return [
        {"name": m.message.name, **{key: list(v) if isinstance(v, tuple) else v for key, v in fields.items()}}
        for packet in decoded(packets, stream)
        for m in packet.messages
        if (fields := m.message.fields) is not None
    ]


def names(packets: Iterable[OutgoingPacket], stream: Stream = Stream.INCREMENTAL) -> list[str]:
    return [str(message["name"]).rpartition("_")[0] for message in messages(packets, stream)]


def numbers(packets: Iterable[OutgoingPacket], stream: Stream = Stream.INCREMENTAL) -> list[tuple[int, int]]:
    """sequenceVersion and sequenceNumber of every packet."""
    return [(p.header.sequence_version, p.header.sequence_number) for p in decoded(packets, stream)]


def run(one: ChannelPublisher, until_ns: int) -> list[OutgoingPacket]:
    """Let time pass by the publisher's own timers."""
    packets = []
    while (now_ns := one.next_timeout()) <= until_ns:
        one.on_timeout(now_ns)
        packets += one.take()
    return packets


def sent(version: int, *updates: e.Update) -> list[dict[str, Any]]:
    one = publisher(version=version)
    one.publish(e.Event(updates), NOW)
    one.flush(NOW)
    return messages(one.take())


def holds(message: dict[str, Any], name: str, expected: dict[str, Any]) -> None:
    assert message["name"] == name
    assert {key: message[key] for key in expected} == expected
