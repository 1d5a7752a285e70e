"""Messages about the stream itself, and the parts of a snapshot (6.5.10, 6.5.11, 7)."""

from collections.abc import Iterator

from pregao.feeds.binary.reading import words as w
from pregao.feeds.binary.reading.told import SequenceTold, SequenceWasReset, SnapshotBegin, SnapshotOrder
from pregao.feeds.binary.reading.values import Values
from pregao.model.rows import Flag


def sequence(v: Values) -> SequenceTold:
    return SequenceTold(v.need("next_number", v.get("nextSeqNo")))


def sequence_reset(_: Values) -> SequenceWasReset:
    return SequenceWasReset()


def snapshot_begin(v: Values) -> SnapshotBegin:
    return SnapshotBegin(
        security_id=v.need("security_id", v.get("securityID")),
        last_number=v.need("last_number", v.get("lastMsgSeqNumProcessed")),
        reports=v.need("reports", v.get("totNumReports")),
        bids=v.need("bids", v.get("totNumBids")),
        offers=v.need("offers", v.get("totNumOffers")),
        statistics=v.need("statistics", v.get("totNumStats")),
        last_rpt_seq=v.get("lastRptSeq"),
        last_sequence_version=v.get("lastSequenceVersion"),
    )


def snapshot_orders(v: Values) -> Iterator[SnapshotOrder]:
    security_id = v.need("security_id", v.get("securityID"))
    for entry in v.entries("noMDEntries"):
        yield SnapshotOrder(
            security_id=security_id,
            side=entry.need("side", entry.word("mDEntryType", w.ENTRY_SIDES)),
            order_id=entry.need("order_id", entry.get("secondaryOrderID")),
            price=entry.price("mDEntryPx"),
            size=entry.need("size", entry.get("mDEntrySize")),
            position=entry.number("mDEntryPositionNo"),
            inserted_ns=entry.time("mDInsertTimestamp"),
            firm=entry.get("enteringFirm"),
            implied=Flag.IMPLIED in entry.flags(),
        )
