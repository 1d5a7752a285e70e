"""Updates as rows of fixed width: what `model.events` says with objects, for millions.

Every feed writes the same rows, in the order in which things happened; books, statistics and tables
are made from them. A row is two cache lines. What a kind of update does not have, or its message is too
short for, is null: `NULL` in the wide fields, 0 in the narrow ones (no firm, position, rptSeq, trade date
or type is 0 on the wire), `NO_ACTION` in `action`, whose 0 is an insertion. Values that `market` has no
word for are kept as the wire has them; a `side` that is neither 1 (buy) nor 2 (sell) is the character of
the mDEntryType less 47. Unsigned numbers of eight bytes keep their bits. Besides `security_id`, `time_ns`,
`rpt_seq`, `version`, `flags` and where it came from, rows have:

ORDER           action, side, id, price, size, inserted_ns, firm, position; other: size before a change
SIDE            action (DELETE_THRU, DELETE_FROM), side, position
TRADE           id, price, size, firm (buyer), position (seller), condition, sub_type, session,
                trade_date, days; other: interest rate
BUST            id, price, size, session, trade_date
EXECUTION       side (aggressor), price (last), size (filled), low (hidden), high (cancelled);
                other: aggressor's time
TOTALS          price (VWAP), size (volume), other (trades), fine (net change), session, trade_date
OPENING         action, price, fine (net change), trade_date, origin
THEORETICAL     action, price, size, trade_date
CLOSING         fine (price), trade_date, origin; other: last trade date
HIGH, LOW       action, price, trade_date
LAST_TRADE      as TRADE; it is a statistic, not a trade (13.6)
SETTLEMENT      price, trade_date, origin + 1, detail (kind), type (price kind); other: settlement date
OPEN_INTEREST   size, trade_date
IMBALANCE       action, size, side (0 balanced, 1 more buyers, 2 more sellers)
PRICE_BAND      type (of band, 0: the reference price), low, high, fine (reference),
                detail (limit type + 1), origin (midpoint + 1)
QUANTITY_BAND   size (largest order), other (average daily)
STATE           type (state), detail (event), session, trade_date; inserted_ns: when it ends
PHASE           as STATE, of a group: id is its name's bytes as a number
SNAPSHOT        price (last sequence number), other (last sequence version), size (reports in the
                loop), low (bids), high (offers), position (statistics); rpt_seq is lastRptSeq, and
                the flag NO_REPORT says that it is null, which on the wire is the same as 0
SNAPSHOT_ORDER  as ORDER, action NEW; security_id that of its message
SEQUENCE        price (next number)
DEFINITION, NEWS, OTHER
                price (offset of the message's block in the buffer), size (from there to its end),
                other (template), low (blockLength). A DEFINITION also has action (the character of
                securityUpdateAction) and high (definitions in the loop)

OPENING and CLOSING keep openCloseSettlFlag + 1 in `origin`, as SETTLEMENT does: 0 is a value there.
"""

from enum import IntEnum, IntFlag
from typing import Final

import numpy as np

NULL: Final = -(1 << 63)
NO_ACTION: Final = 255  # the message should have one and does not


class Kind(IntEnum):
    """What a row tells."""

    NONE = 0
    ORDER = 1
    SIDE = 2
    EMPTY_BOOK = 3
    TRADE = 4
    BUST = 5
    EXECUTION = 6
    TOTALS = 7
    OPENING = 8
    THEORETICAL = 9
    CLOSING = 10
    HIGH = 11
    LOW = 12
    LAST_TRADE = 13
    SETTLEMENT = 14
    OPEN_INTEREST = 15
    IMBALANCE = 16
    PRICE_BAND = 17
    QUANTITY_BAND = 18
    STATE = 19
    # From here on: not about one instrument's book or statistics; kernels stop and let people's code look.
    PHASE = 32
    CHANNEL_RESET = 33
    SEQUENCE_RESET = 34
    SEQUENCE = 35
    DEFINITION = 36
    NEWS = 37
    SNAPSHOT = 38
    SNAPSHOT_ORDER = 39
    OTHER = 40


FIRST_SPECIAL: Final = int(Kind.PHASE)


class Flag(IntFlag):
    END_OF_EVENT = 1
    IMPLIED = 2
    RECOVERY = 4
    FORWARD = 8  # of a trade: a forward one (13.5)
    NO_REPORT = 16  # of a snapshot: it has no lastRptSeq (7.4.1)
    NO_EVENT = 32  # the message has no matchEventIndicator: ExecutionSummary, control, snapshot parts


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
        ("condition", "<u2"),
        ("sub_type", "u1"),
        ("session", "u1"),
        ("origin", "u1"),
        ("type", "u1"),
        ("detail", "u1"),
        ("spare", "u1"),
        ("days", "<u2"),
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

# Offsets, for kernels.
(
    KIND, ACTION, SIDE, FLAGS, VERSION, INDEX, PACKET, RPT_SEQ, SECURITY_ID, ID, PRICE, SIZE, OTHER, TIME,
    INSERTED, FIRM, POSITION, TRADE_DATE, CONDITION, SUB_TYPE, SESSION, ORIGIN, TYPE, DETAIL, _, DAYS,
    SEQUENCE_VERSION, _, AT, FINE, LOW, HIGH,
) = (ROW.fields[name][1] for name in ROW.names)  # type: ignore[index, union-attr]  # fmt: skip
ROW_SIZE: Final = 128


def place(appearance: int, number: int) -> int:
    """Where a packet stands in its channel's stream: later ones are greater, also over a reset."""
    return appearance << 32 | number
