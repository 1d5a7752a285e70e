"""Updates as rows of fixed width: what `model.events` says with objects, for millions.

Every feed writes the same rows, in the order in which things happened; books, statistics and tables
are made from them. A row is two cache lines. What a kind of update does not have, or its message is too
short for, is null: `NULL` in the wide fields, 0 in the narrow ones (no firm, position, rptSeq, trade date
or type is 0 on the wire), `NO_ACTION` in `action`, whose 0 is an insertion. Values that `market` has no
word for are kept as the wire has them; a `side` that is neither 1 (buy) nor 2 (sell) is the character of
the mDEntryType less 47. Unsigned numbers of eight bytes keep their bits. Besides `security_id`, `time_ns`,
`rpt_seq`, `version`, `flags`, `stream` and where it came from, rows have:

ORDER           action, side, id, price, size, inserted_ns, firm, position; other: size before a change.
                Of a lending contract: high (ExpireDate, days since 1970), fine (EarlyTermination,
                BTBCertIndicator and BTBContractInfo, a byte each from the lowest, plus 1). The flag
                BY_POSITION says what orders its side
LEVEL           action, side, price, size, position (of the level), firm (orders that it has; books take 0,
                which is not told, for 1: a level without orders is none). The flag FOUND_BY_PRICE says that
                there are no positions; other is then the size before a change
SIDE            action (DELETE_THRU, DELETE_FROM), side, position; BY_POSITION as an ORDER
TRADE           id, price, size, firm (buyer), position (seller), condition, detail (sub-type), session,
                trade_date, type (tick direction + 1); other: interest rate; low: days of the seller;
                high: volume of the session so far; fine: net change. Of a lending contract (stream L) high
                and fine are as an ORDER's, and inserted_ns is the grace date in days since 1970. The flag
                BY_TIME says that the last price is by time and id, not by order of arrival
BUST            id, price, size, session, trade_date
EXECUTION       side (aggressor), price (last), size (filled), low (hidden), high (cancelled);
                other: aggressor's time
TOTALS          price (VWAP), size (volume), other (trades), fine (net change), session, trade_date;
                low: money; condition: the letters of its currency, the first in the lowest byte
OPENING         action, price, fine (net change), trade_date, origin; other: interest rate
THEORETICAL     action, price, size, trade_date
CLOSING         fine (price), trade_date, origin; other: last trade date; detail (adjustment method + 1)
HIGH, LOW, VWAP action, price, trade_date
LAST_TRADE      as TRADE; it is a statistic, not a trade (13.6)
SETTLEMENT      price, trade_date, origin + 1, detail (kind), type (price kind); other: settlement date
OPEN_INTEREST   size, trade_date; price where the system tells one (lending)
INDEX           action, price (its value), other (sequence), fine (net change), type (tick direction + 1)
COMPOSITE       other (sequence), low (parts): its parts follow, a row each
COMPOSITE_PART  id (securityID of the part), price, other (sequence), position (from 1), type (of price + 1);
no
                report of its own
VOLATILITY      action, low (price of the short option), high (of the long one), fine (delta)
IMBALANCE       action, size, side (0 balanced, 1 more buyers, 2 more sellers)
PRICE_BAND      type (of band, 0: the reference price), low, high, fine (reference),
                detail (limit type + 1), origin (midpoint + 1)
QUANTITY_BAND   size (largest order), other (average daily)
STATE           type (state), detail (event), session, trade_date; inserted_ns: when it ends; origin: in a
                snapshot the phase of its group, where its system tells it there
PHASE           as STATE, of a group: id is its name's bytes as a number
SNAPSHOT        price (last sequence number), other (last sequence version), size (reports in the
                loop), low (bids), high (offers), position (statistics), firm (depth of the book, 0: all of
                it); rpt_seq is lastRptSeq, and the flag NO_REPORT says that it is null, which on the wire is
                the same as 0; time_ns: when it was sent, where the version is null
SNAPSHOT_ORDER  as ORDER, action NEW; security_id that of its message
SNAPSHOT_LEVEL  as LEVEL, action NEW; security_id that of its message
SEQUENCE        price (next number)
DEFINITION, NEWS, OTHER
                price (offset of the message's block in the buffer), size (from there to its end),
                other (template), low (blockLength). A DEFINITION also has action (the character of
                securityUpdateAction) and high (definitions in the loop)

OPENING and CLOSING keep openCloseSettlFlag + 1 in `origin`, as SETTLEMENT does: 0 is a value there.
`stream` is the character of MDStreamID, 0 where the message has none (all of Binary UMDF): data of different
streams is kept apart, but E, the electronic market, is the same as 0. The numbers of kinds have gaps for
what other systems send; compare them with the boundaries below, never with a neighbour. `spare` and
`spare_2` are for whoever keeps rows (`lake.slices`).
"""

from enum import IntEnum, IntFlag
from typing import Final

import numpy as np

NULL: Final = -(1 << 63)
NO_ACTION: Final = 255  # the message should have one and does not


class Kind(IntEnum):
    """What a row tells."""

    NONE = 0
    # Of the book of one instrument.
    ORDER = 1
    SIDE = 2
    EMPTY_BOOK = 3
    LEVEL = 4
    # What matching brought.
    TRADE = 16
    BUST = 17
    EXECUTION = 18
    # Statistics of one instrument.
    TOTALS = 32
    OPENING = 33
    THEORETICAL = 34
    CLOSING = 35
    HIGH = 36
    LOW = 37
    LAST_TRADE = 38
    SETTLEMENT = 39
    OPEN_INTEREST = 40
    IMBALANCE = 41
    PRICE_BAND = 42
    QUANTITY_BAND = 43
    INDEX = 44
    VWAP = 45
    COMPOSITE = 46
    COMPOSITE_PART = 47
    VOLATILITY = 48
    UNREAD = 49  # a report of an instrument, not of its book, that nobody could read: it counts as one
    # What may be done with one instrument.
    STATE = 64
    # From here on: not about one instrument's book or statistics; kernels stop and let people's code look.
    PHASE = 128
    CHANNEL_RESET = 129
    SEQUENCE_RESET = 130
    SEQUENCE = 131
    DEFINITION = 132
    NEWS = 133
    SNAPSHOT = 134
    # Entries of a snapshot's book.
    SNAPSHOT_ORDER = 144
    SNAPSHOT_LEVEL = 145
    OTHER = 160


# Boundaries between the groups of kinds.
LAST_BOOK_KIND: Final = Kind.TRADE - 1
FIRST_TRADING_KIND: Final = int(Kind.TRADE)
LAST_TRADING_KIND: Final = Kind.TOTALS - 1
LAST_STATISTIC_KIND: Final = Kind.STATE - 1
FIRST_SPECIAL: Final = int(Kind.PHASE)
FIRST_ENTRY_KIND: Final = int(Kind.SNAPSHOT_ORDER)
LAST_ENTRY_KIND: Final = Kind.OTHER - 1


class Flag(IntFlag):
    END_OF_EVENT = 1
    IMPLIED = 2
    RECOVERY = 4
    FORWARD = 8  # of a trade: a forward one (13.5)
    IN_RATES = 8  # of an order by position: its price is a rate, of which the lower is the better bid
    NO_REPORT = 16  # of a snapshot: it has no lastRptSeq (7.4.1)
    NO_EVENT = 32  # the message has no matchEventIndicator: ExecutionSummary, control, snapshot parts
    BY_POSITION = 64  # of an order or side: its position says where it stands, not its price and id
    PRICE_UNTOLD = 128  # of an order: its message need not tell the price of what it deletes
    BY_TIME = 128  # of a trade: the newest time, then the highest id makes the last price
    FOUND_BY_PRICE = 128  # of a level: its price says which it is, and it has no position


ROW = np.dtype(
    [
        ("kind", "u1"),
        ("action", "u1"),
        ("side", "u1"),
        ("flags", "u1"),
        ("version", "<u2"),  # wire version of the message
        ("index", "<u2"),  # of the message in its packet
        ("packet", "<u4"),  # row of the packet in its batch
        ("rpt_seq", "<u4"),
        ("security_id", "<i8"),
        ("id", "<i8"),
        ("price", "<i8"),
        ("size", "<i8"),
        ("other", "<i8"),
        ("time_ns", "<i8"),
        ("inserted_ns", "<i8"),
        ("firm", "<u4"),
        ("position", "<u4"),
        ("trade_date", "<u2"),
        ("stream", "u1"),
        ("spare", "u1"),
        ("condition", "<u4"),
        ("session", "u1"),
        ("origin", "u1"),
        ("type", "u1"),
        ("detail", "u1"),
        ("sequence_version", "<u2"),
        ("spare_2", "<u2"),
        ("at", "<i8"),  # see `place`
        ("fine", "<i8"),
        ("low", "<i8"),
        ("high", "<i8"),
    ]
)  # fmt: skip
assert ROW.itemsize == 128

Rows = np.ndarray[tuple[int], np.dtype[np.void]]
ELECTRONIC: Final = ord("E")  # the stream that is the same as none

# Offsets, for kernels.
(
    KIND, ACTION, SIDE, FLAGS, VERSION, INDEX, PACKET, RPT_SEQ, SECURITY_ID, ID, PRICE, SIZE, OTHER, TIME,
    INSERTED, FIRM, POSITION, TRADE_DATE, STREAM, SPARE, CONDITION, SESSION, ORIGIN, TYPE, DETAIL,
    SEQUENCE_VERSION, _, AT, FINE, LOW, HIGH,
) = (ROW.fields[name][1] for name in ROW.names)  # type: ignore[index, union-attr]  # fmt: skip
ROW_SIZE: Final = 128


def place(appearance: int, number: int) -> int:
    """Where a packet stands in its channel's stream: later ones are greater, also over a reset."""
    return appearance << 32 | number
