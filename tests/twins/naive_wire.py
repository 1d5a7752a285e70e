"""Days in memory read back the plainest way: books as lists and dicts, by price or by position."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder, PacketHeader
from pregao.feeds.publishing import PublishingSite
from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import CapturedPacket, MemoryDay
from pregao.simulator.venue import Resting

Order = tuple[int, int | None, int, int | None, int, bool]  # id, price, size, firm, inserted, implied
Point = tuple[int, int]  # sequenceVersion, sequenceNumber


class WireMessage(NamedTuple):
    header: PacketHeader
    index: int
    name: str
    fields: dict[str, Any]

    @property
    def point(self) -> Point:
        return self.header.sequence_version, self.header.sequence_number


def wire(
    packets: Iterable[CapturedPacket], channel: int, stream: Stream, feed: Feed
) -> Iterator[WireMessage]:
    """The messages of one stream, heartbeats too; every one of them sound."""
    decoder = PacketDecoder(load_builtin_schema())
    for packet in packets:
        if (packet.channel, packet.stream, packet.feed) == (channel, stream, feed):
            decoded = decoder.decode(packet.payload)
            assert not decoded.damage
            for each in decoded.messages:
                assert each.message.name is not None
                fields = dict(each.message.fields or {})
                yield WireMessage(decoded.header, each.index, each.message.name, fields)


def _mantissa(price: Decimal | None) -> int | None:
    return None if price is None else int(price.scaleb(4))


def order_of(fields: dict[str, Any]) -> Order:
    implied = "Implied" in (fields["matchEventIndicator"] or ())
    inserted = fields["mDInsertTimestamp"]
    inserted = inserted["time"] if isinstance(inserted, dict) else inserted
    return (
        fields["secondaryOrderID"], _mantissa(fields["mDEntryPx"]), fields["mDEntrySize"],
        fields["enteringFirm"], inserted, implied,
    )  # fmt: skip


def order_of_truth(order: Resting, version: int) -> Order:
    implied = order.implied and version >= 10  # the flag is of version 10
    return order.order_id, order.price, order.size, order.firm, order.inserted_ns, implied


@dataclass
class NaiveBooks:
    """Books of one channel. `seen` counts the messages that changed them, with their actions."""

    by_position: bool
    previous_sizes: bool = True  # told from version 16 on
    sides: dict[tuple[int, str], list[Order]] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def side(self, security_id: int, side: str) -> list[Order]:
        return self.sides.setdefault((security_id, side), [])

    def apply(self, name: str, fields: dict[str, Any]) -> None:
        if name == "ChannelReset_11":
            self.sides.clear()
        elif name == "EmptyBook_9":
            for side in ("BID", "OFFER"):
                self.side(fields["securityID"], side).clear()
        elif name in ("Order_MBO_50", "DeleteOrder_MBO_51", "MassDeleteOrders_MBO_52"):
            book = self.side(fields["securityID"], fields["mDEntryType"])
            self.seen[f"{name} {fields.get('mDUpdateAction')}"] += 1
            (self._by_position if self.by_position else self._by_price)(name, fields, book)

    def _by_price(self, name: str, fields: dict[str, Any], book: list[Order]) -> None:
        if name == "MassDeleteOrders_MBO_52":
            assert fields["mDUpdateAction"] == "DELETE_THRU"
            book.clear()
            return
        known = [n for n, order in enumerate(book) if order[0] == fields["secondaryOrderID"]]
        if name == "DeleteOrder_MBO_51":
            gone = book.pop(known[0])
            assert (gone[1], gone[2]) == (_mantissa(fields["mDEntryPx"]), fields["mDEntrySize"])
            return
        assert len(known) == (fields["mDUpdateAction"] == "CHANGE")
        order = order_of(fields)
        if known:
            assert fields["mDEntryPrevSize"] == (book[known[0]][2] if self.previous_sizes else None)
            book[known[0]] = order
        else:
            book.append(order)
        book.sort(key=lambda each: _rank(each, fields["mDEntryType"]))

    def _by_position(self, name: str, fields: dict[str, Any], book: list[Order]) -> None:
        position, action = fields["mDEntryPositionNo"], fields.get("mDUpdateAction")
        assert fields.get("transactTime") is None
        if name == "MassDeleteOrders_MBO_52":
            del book[: position if action == "DELETE_FROM" else None]
        elif name == "DeleteOrder_MBO_51":
            assert fields.get("mDEntryPx") is None
            assert book.pop(position - 1)[0] == fields["secondaryOrderID"]
        elif action == "CHANGE":
            assert book[position - 1][0] == fields["secondaryOrderID"]
            book[position - 1] = order_of(fields)
        else:
            assert position <= len(book) + 1
            book.insert(position - 1, order_of(fields))


def _rank(order: Order, side: str) -> tuple[int, int]:
    price = order[1]
    level = -(1 << 62) if price is None else -price if side == "BID" else price
    return level, order[0]


Books = dict[tuple[int, str], list[Order]]


def truth_of(day: MemoryDay, channel: int, site: PublishingSite, version: int) -> dict[Point, Books]:
    """Books of the truth by the point they stand at; the last checkpoint of a point counts."""
    found: dict[Point, Books] = {}
    for each in day.checkpoints:
        if (each.channel, each.site) == (channel, site):
            here = found.setdefault((each.seq_version, each.seq_num), {})
            for security_id, truth in each.instruments.items():
                here[security_id, "BID"] = [order_of_truth(order, version) for order in truth.bids]
                here[security_id, "OFFER"] = [order_of_truth(order, version) for order in truth.offers]
    return found


def versions_of(day: MemoryDay, channel: int, feed: Feed) -> list[tuple[int, int]]:
    """The sequenceVersions of the incremental stream, with the time from which each is sent."""
    found: dict[int, int] = {}
    for packet in day.packets:
        if (packet.channel, packet.stream, packet.feed) == (channel, Stream.INCREMENTAL, feed):
            header = PacketHeader.decode(packet.payload)
            found.setdefault(header.sequence_version, header.sending_time_ns)
    return [(from_ns, version) for version, from_ns in found.items()]


def snapshots_of(day: MemoryDay, channel: int, feed: Feed) -> dict[Point, Books]:
    """Books of the snapshots by the point each names. Below version 15 none names a sequenceVersion: one
    sent in the instant in which that changes is left out. So are headers alone, whose books are told anew
    (7.2), and what a failover cut short."""
    found: dict[Point, Books] = {}
    versions = versions_of(day, channel, feed)
    point, book, left, loop = (0, 0), Books(), -1, 0
    for each in wire(day.packets, channel, Stream.SNAPSHOT, feed):
        fields = each.fields
        if each.name == "SnapshotFullRefresh_Header_30":
            sent_ns = each.header.sending_time_ns
            known = [version for from_ns, version in versions if from_ns < sent_ns]
            version = fields.get("lastSequenceVersion") or (known or [0])[-1]
            point, loop = (version, fields["lastMsgSeqNumProcessed"]), each.point[0]
            book = {(fields["securityID"], side): [] for side in ("BID", "OFFER")}
            alone = fields["lastRptSeq"] is None and fields["totNumStats"] == 0
            changes = [from_ns for from_ns, _ in versions]
            doubtful = not fields.get("lastSequenceVersion") and sent_ns in changes
            left = -1 if alone or doubtful else fields["totNumBids"] + fields["totNumOffers"]
        elif each.name == "SnapshotFullRefresh_Orders_MBO_71":
            assert each.point[0] == loop
            for entry in fields["noMDEntries"]:
                side = book[fields["securityID"], entry["mDEntryType"]]
                side.append(order_of(entry))
                assert entry.get("mDEntryPositionNo") in (None, len(side))
            left -= len(fields["noMDEntries"])
        if left == 0:
            found.setdefault(point, {}).update(book)
            left = -1
    return found


def rebuild(
    day: MemoryDay, channel: int, feed: Feed = Feed.A, version: int = 16
) -> tuple[NaiveBooks, int, int]:
    """Walks a channel's incremental stream; the books at its end, and how many sides were equal to the
    truth's and to the snapshots'."""
    site = PublishingSite.CONTINGENCY if feed is Feed.C else PublishingSite.PRIMARY
    truth = truth_of(day, channel, site, version)
    point = next(iter(truth))
    snapshots = snapshots_of(day, channel, feed)
    books = NaiveBooks(version < 15, version > 15, {key: list(side) for key, side in truth[point].items()})
    compared = [0, 0]

    def check() -> None:
        for n, source in enumerate((truth, snapshots)):
            for key, orders in source.pop(point, {}).items():
                assert books.side(*key) == orders, (point, key, n)
                compared[n] += 1

    for each in wire(day.packets, channel, Stream.INCREMENTAL, feed):
        if each.point != point and each.point[1]:
            check()
            point = each.point
        books.apply(each.name, each.fields)
    check()
    assert not any(truth.values())
    assert not any(snapshots.values())
    return books, compared[0], compared[1]
