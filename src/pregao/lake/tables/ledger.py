"""Tables by which the lake knows itself: no market data, no lineage."""

from typing import Final

from pregao.lake.tables import types as words
from pregao.lake.tables.table import Column, Table, required, unit_columns, word
from pregao.lake.tables.types import BOOL, CONSTANT, INT, LONG, MOMENT, NAME, NANOSECONDS, SHORT, TEXT

LAKE_VERSION: Final = "lake_version"
LAYOUT: Final = "layout"
LAYOUT_NOW: Final = 3  # raised when a lake of before cannot be gone on with: see `store.ledger`

COMMITS: Final = Table(
    "commits", "a table version of a lake version",
    (
        required(LAKE_VERSION, LONG),
        required("table", NAME),
        required("delta_version", LONG, "version of the table's own log"),
        required("changed", BOOL, "by this lake version; the others are as they were"),
        Column("operation", NAME, "build, stream, compact, …"),
        Column("build_id", NAME),
        required("committed_ns", NANOSECONDS),
        required("committed", MOMENT),
        Column("files", LONG),
        Column("rows", LONG),
        Column("bytes", LONG),
        Column("note", TEXT, "JSON of whoever committed"),
        Column(LAYOUT, INT, "how the tables are laid out: see `store.ledger`"),
    ),
    partitions=(LAKE_VERSION,),
    order=("table",),
)  # fmt: skip
INTENTS: Final = Table(
    "intents", "an addition or removal of a file that a lake version wants",
    (
        required(LAKE_VERSION, LONG),
        required("action", NAME, "add, remove, or lake: the commit itself"),
        Column("table", NAME),
        Column("path", TEXT),
        Column("size", LONG),
        Column("rows", LONG),
        Column("partition", TEXT, "JSON"),
        Column("statistics", TEXT, "JSON"),
        Column("note", TEXT, "JSON: of the commit itself"),
        Column(LAYOUT, INT),
    ),
    partitions=(LAKE_VERSION,),
)  # fmt: skip
UNITS: Final = Table(
    "units", "a unit (system × source × trade date) as it was built: equal fingerprint, nothing to do",
    (
        *unit_columns(),
        required("fingerprint", NAME),
        Column("inputs", TEXT, "JSON: path, size and content hash of each capture, in order"),
        Column("plan", TEXT, "JSON: slices and their own fingerprints"),
        Column("schema_version", INT),
        Column("code_version", NAME),
        Column("build_id", NAME),
        Column("built_ns", NANOSECONDS),
    ),
    order=("fingerprint",),
)  # fmt: skip


# Where a row came from: on every row of every table of the market (design, "Numbers").
#
# Row identity is system, source, seq_version, seq_num, msg_index and entry: never a counter of ours. A row
# that was computed from several messages carries the last of them.


EVENT_TIME_KINDS: Final = ("ENTRY", "TRANSACT", "SEND", "RECEIVE")

_INSTRUMENT: Final = (
    Column("security_id", LONG, "instrument, as the feed names it", skip=True),
    Column("symbol", NAME, "its symbol at that time", skip=True),
)
_TIMES: Final = (
    Column("ts_event", NANOSECONDS, "time of the event in ns since 1970", skip=True),
    Column("time", MOMENT, "the same to the microsecond; of a bar its start"),
    word("ts_event_kind", EVENT_TIME_KINDS, "whose time: mDEntryTimestamp (below version 15), transactTime"),
)
_PLACE: Final = (
    Column("seq_version", CONSTANT, "sequenceVersion", skip=True),
    Column("seq_num", LONG, "sequenceNumber of the packet", skip=True),
    Column("msg_index", INT, "message in its packet, from 0; from 32768 on: of a snapshot"),
    Column("entry", CONSTANT, "row of its message, from 0"),
    Column("rpt_seq", LONG, "rptSeq of the instrument"),
)
_ARRIVAL: Final = (
    Column("ts_send", NANOSECONDS, "sendingTime of the packet"),
    Column("ts_recv_a", NANOSECONDS, "capture time on feed A"),
    Column("ts_recv_b", NANOSECONDS, "capture time on feed B"),
    Column("build_id", NAME, "the build that wrote the row"),
    required("quality", SHORT, "bits of `Quality`; 0 is good"),
)


# What an instrument is in when a row is told (14).
IN_STATE: Final = (
    word("phase", words.PHASES, "of its group (14.2); null: not known, or nobody told its group"),
    word("state", words.TRADING_STATES, "what comes of phase and own state (14.1); OPEN: continuous trading"),
)


def with_lineage(*columns: Column, instrument: bool = True) -> tuple[Column, ...]:
    """A table's own columns between those that every table has. What readers skip by comes first:
    Delta keeps figures of the first 32 columns only."""
    who = _INSTRUMENT if instrument else ()
    return (*unit_columns(), *who, *_TIMES, *_PLACE, *columns, *_ARRIVAL)


LINEAGE: Final = tuple(column.name for column in (*unit_columns(), *_TIMES, *_PLACE, *_ARRIVAL))
BY_INSTRUMENT: Final = ("security_id", "ts_event", "seq_version", "seq_num", "msg_index", "entry")
BY_SEQUENCE: Final = ("seq_version", "seq_num", "msg_index", "entry")
# Where a row stands in its channel's stream, greater is later. sendingTime first, because a reset may start
# the sequence numbers again at 1 under another sequenceVersion.
MESSAGE: Final = ("ts_send", "seq_version", "seq_num", "msg_index")
PLACE: Final = (*MESSAGE, "entry")
CARRIED: Final = ("rpt_seq", "ts_event", "ts_event_kind", "ts_recv_a", "ts_recv_b")
