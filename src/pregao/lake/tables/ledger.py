"""Tables by which the lake knows itself: no market data, no lineage."""

from typing import Final

from pregao.lake.tables.table import Column, Table, required, unit_columns
from pregao.lake.tables.types import BOOL, INT, LONG, MOMENT, NAME, NANOSECONDS, TEXT

LAKE_VERSION: Final = "lake_version"
LAYOUT: Final = "layout"
LAYOUT_NOW: Final = 2  # raised when tables are partitioned in another way

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
        Column(LAYOUT, INT, "how the tables are partitioned: see `store.layout`"),
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
