"""The snapshot stream: group phases, then every instrument with its book and statistics, in loops (7).

An instrument is serialised whole when its turn comes, from the source as it is then, and its header
names the last incremental packet of that moment: so each instrument of a loop has its own
lastMsgSeqNumProcessed (7.4.1). Nothing published may still be held then.

Between the start of a loop and an instrument's turn it may be deleted, or its book emptied and not
yet told again: then its header comes alone, so that totNumReports stays true (7.2). Instruments
that wait for their book after a reset are in no new loop (6.5.12).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from operator import itemgetter
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, Final

from pregao.codecs.sbe import Schema
from pregao.codecs.sbe.declarations import Dimension
from pregao.feeds.binary.publisher.blocks import MessageTemplate, ValueBlock, indicators
from pregao.feeds.binary.publisher.incremental import IncrementalStream
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.publisher.packets import PACKET_ROOM
from pregao.feeds.publishing import BookOrder, BookSource, InstrumentBook
from pregao.model import events as e
from pregao.model.errors import EncodeError
from pregao.model.market import Side, State

# Resting orders as SnapshotFullRefresh_Orders messages (7.3), packed entry by entry.


ENTRIES: Final = 30  # of a message; 7.3 says about 21, and a packet holds 32

_NAME: Final = "SnapshotFullRefresh_Orders_MBO_71"
_VALUES: Final = (
    "mDEntryPx", "mDEntrySize", "mDEntryPositionNo", "enteringFirm", "mDInsertTimestamp", "secondaryOrderID",
    "mDEntryType", "matchEventIndicator",
)  # fmt: skip

_Entry = tuple[int, ...]


class SnapshotOrders:
    """Both sides of a book as messages of some thirty orders."""

    def __init__(self, schema: Schema, version: int, entries: int = ENTRIES) -> None:
        template = MessageTemplate(schema, version, _NAME)
        group = template.layout.groups[0]
        block = ValueBlock(schema, group)
        assert group.dimension is not None
        root = template.struct("securityID")
        assert root is not None
        self._root_pack = root.pack
        self._pack, self._pick = _entry_packer(block)
        self._no_price, self._no_firm = block.null("mDEntryPx"), block.null("enteringFirm")
        self._sides = block.sides()
        self._implied = indicators(schema, version).implied
        # Positions are told below 15 only; at 15 the field may be null, and is.
        self._by_position = (
            "lastSequenceVersion"
            not in MessageTemplate(schema, version, "SnapshotFullRefresh_Header_30").names
        )
        before = template.size + group.dimension.size
        room = PACKET_ROOM - len(template.head) - before
        self._entries = min(entries, room // block.size, int(group.dimension.num_in_group.maximum))
        # What stands before the root block and before the entries, by the number of entries.
        self._frames = [
            (
                template.head_for(before + count * block.size),
                _dimension(schema, group.dimension, block.size, count),
            )
            for count in range(self._entries + 1)
        ]

    def messages(
        self, security_id: int, bids: Sequence[BookOrder], offers: Sequence[BookOrder]
    ) -> Iterator[bytes]:
        try:
            packed = [*self._side(Side.BUY, bids), *self._side(Side.SELL, offers)]
        except StructError as wrong:
            raise EncodeError(f"{wrong} in the book of {security_id}", message=_NAME) from None
        root = self._root_pack(security_id)
        for start in range(0, len(packed), self._entries):
            part = packed[start : start + self._entries]
            head, dimension = self._frames[len(part)]
            yield b"".join((head, root, dimension, *part))

    def _side(self, side: Side, orders: Iterable[BookOrder]) -> Iterator[bytes]:
        code, pack, pick = self._sides[side], self._pack, self._pick
        no_price, no_firm, implied = self._no_price, self._no_firm, self._implied
        for position, order in enumerate(orders, 1):
            price, firm = order.price, order.firm
            values = (
                no_price if price is None else price, order.size, position if self._by_position else 0,
                no_firm if firm is None else firm, order.inserted_ns, order.order_id, code,
                implied if order.implied else 0,
            )  # fmt: skip
            yield pack(*pick(values))


def _dimension(schema: Schema, dimension: Dimension, block_length: int, count: int) -> bytes:
    """The header of a group."""
    header = bytearray(dimension.size)
    for offset, primitive, number in (
        (dimension.block_length_offset, dimension.block_length, block_length),
        (dimension.num_in_group_offset, dimension.num_in_group, count),
    ):
        Struct(schema.byte_order + primitive.code).pack_into(header, offset, number)
    return bytes(header)


def _entry_packer(block: ValueBlock) -> tuple[Callable[..., bytes], Callable[[Any], _Entry]]:
    """A struct for the version's entry, and which of the values above it takes, in its order."""
    struct = block.struct(" ".join(block.names))
    assert struct is not None
    return struct.pack, itemgetter(*(_VALUES.index(name) for name in block.names))


STATISTICS: Final = (
    e.OpeningPrice, e.TheoreticalPrice, e.ClosingPrice, e.Imbalance, e.PriceBand, e.QuantityBand, e.HighPrice,
    e.LowPrice, e.LastTrade, e.ExecutionStatistics, e.SettlementPrice, e.OpenInterest,
)  # fmt: skip


class SnapshotLoop:
    """The messages of a loop."""

    def __init__(
        self,
        source: BookSource,
        writer: MessageWriter,
        orders: SnapshotOrders,
        incremental: IncrementalStream,
        *,
        phases_as_states: bool = False,
    ) -> None:
        self._source, self._writer, self._orders = source, writer, orders
        self._incremental, self._phases_as_states = incremental, phases_as_states
        self._group_of: dict[int, str] = {}  # where phases are sent as states

    def begin(self) -> Iterator[bytes] | None:
        """None while there is nothing: before the first phase is known, or all books are withdrawn."""
        waiting, rpt_seq = self._incremental.muted, self._incremental.rpt_seq
        instruments = [one for one in self._source.instruments() if one not in waiting]
        phases = list(self._source.phases())
        if not instruments and (waiting or not phases):
            return None
        if self._phases_as_states:
            self._group_of = {one.security_id: one.group for one in self._source.definitions()}
        empty = {one for one in instruments if rpt_seq(one) == 0}
        return self._messages(phases, instruments, empty)

    def _messages(
        self, phases: Sequence[e.PhaseChanged], instruments: Sequence[int], empty: Set[int]
    ) -> Iterator[bytes]:
        for phase in phases:
            yield self._writer.encode(phase, self._writer.flags.end)
        for security_id in instruments:
            yield from self._instrument(security_id, len(instruments), was_empty=security_id in empty)

    def _instrument(self, security_id: int, reports: int, *, was_empty: bool) -> list[bytes]:
        """All messages of one instrument, as of now."""
        book = self._source.book(security_id)
        rpt_seq = self._incremental.rpt_seq(security_id)
        emptied = security_id in self._incremental.muted or (rpt_seq == 0 and not was_empty)
        if book is None or emptied:
            return [self._header(security_id, reports, None, 0, 0, 0)]
        statistics = self._statistics(book, self._state(security_id, book))
        counts = len(book.bids), len(book.offers), len(statistics)
        return [
            self._header(security_id, reports, rpt_seq or None, *counts),
            *self._orders.messages(security_id, book.bids, book.offers),
            *statistics,
        ]

    def _header(
        self, security_id: int, reports: int, rpt_seq: int | None, bids: int, offers: int, statistics: int
    ) -> bytes:
        packets = self._incremental.packets
        assert not packets.held, "what was published must have left before a snapshot"
        fields: dict[str, object] = {
            "securityID": security_id,
            "lastMsgSeqNumProcessed": packets.next_number - 1,
            "totNumReports": reports,
            "totNumBids": bids,
            "totNumOffers": offers,
            "totNumStats": statistics,
            "lastRptSeq": rpt_seq,
            "lastSequenceVersion": packets.version,
        }
        return self._writer.encode_fields("SnapshotFullRefresh_Header_30", fields)

    def _state(self, security_id: int, book: InstrumentBook) -> e.StateChanged | None:
        """The state as it is sent: null while it follows its group, or the number of the group's phase."""
        state = book.state
        if not self._phases_as_states or state is None or state.state is not None:
            return state
        group = self._group_of.get(security_id)
        phases = (each.phase for each in self._source.phases() if each.group == group)
        phase = next(phases, None)
        return state if phase is None else replace(state, state=State(int(phase)))

    def _statistics(self, book: InstrumentBook, state: e.StateChanged | None) -> list[bytes]:
        """Statistics and state, without rptSeq; they belong to no event (4.2.2)."""
        end, writer = self._writer.flags.end, self._writer
        for update in book.statistics:
            if not isinstance(update, STATISTICS):
                raise EncodeError("is not sent in snapshots (7.1)", message=type(update).__name__)
        sent = [update for update in book.statistics if writer.sends(type(update))]
        messages = [writer.encode(update, end) for update in sent]
        return messages if state is None else [*messages, writer.encode(state, end)]
