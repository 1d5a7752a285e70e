"""Where rows stand in their channel's stream, and how a computed row says where it came from.

Order is that of the stream: sendingTime first, because a reset may start the sequence numbers again at
1 under another sequenceVersion, then the sequence itself. Times of events are no order: an amended trade
carries whatever time market operations wrote (13.3).
"""

from collections.abc import Sequence
from datetime import date
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

from pregao.lake.tables.catalogue import find_table

MESSAGE: Final = ("ts_send", "seq_version", "seq_num", "msg_index")
PLACE: Final = (*MESSAGE, "entry")
CARRIED: Final = ("rpt_seq", "ts_event", "ts_event_kind", "ts_recv_a", "ts_recv_b")
EVENT_TIME_KINDS: Final = ("ENTRY", "TRANSACT", "SEND", "RECEIVE")
FROM_SNAPSHOT, INCOMPLETE, DOUBTS = 16, 32, 1 | 2 | 32  # bits of `quality`; doubts are no book, a gap, a sum
UNIT: Final = ("system", "trade_date", "source", "channel")
INSTRUMENT: Final = (*UNIT, "security_id", "symbol")  # an id used again for another symbol is another
LINEAGE: Final = (*PLACE, *CARRIED)
_KIND: Final = "ts_event_kind"


def place(*also: str) -> Column:
    """Greater is later. `also` are carried along."""
    return F.struct(*PLACE, *also)


def last_lineage(condition: Column | None = None) -> Column:
    """Of a group of rows: where the last of them came from."""
    row = place(*CARRIED)
    return F.max(row if condition is None else F.when(condition, row)).alias("lineage")


def ranked(frame: DataFrame) -> DataFrame:
    """With `rank`, the place of a row among those of its instrument and day. A number can be compared in
    Spark's fast aggregation, which a struct cannot: that sorts everything for every result."""
    if "rank" in frame.columns:
        return frame
    of_instrument = Window.partitionBy(*UNIT, "security_id").orderBy(*PLACE)
    rows = frame.repartition("trade_date", "security_id")
    return rows.withColumn("rank", F.row_number().over(of_instrument))


def lineage_by_rank() -> Column:
    """`last_lineage` of a ranked frame, for many groups."""
    kinds = F.array(*(F.lit(kind) for kind in EVENT_TIME_KINDS))
    code = F.array_position(kinds, F.col(_KIND)).cast("int")  # a text would be compared the slow way again
    last = {name: F.max_by(code if name == _KIND else F.col(name), F.col("rank")) for name in LINEAGE}
    last[_KIND] = F.get(kinds, last[_KIND] - 1)
    return F.struct(*(column.alias(name) for name, column in last.items())).alias("lineage")


def all_doubts() -> Column:
    """What is doubtful about any row of a group is doubtful about what was made of it."""
    return F.bit_or(F.col("quality").cast("int")).alias("quality")


def bits(column: str, mask: int) -> Column:
    """Whether any bit of the mask is set; false where the column is null."""
    return F.coalesce(F.col(column), F.lit(0)).bitwiseAND(mask) != 0


def with_lineage(frame: DataFrame) -> DataFrame:
    """The fields of `lineage` as columns."""
    fields = [F.col(f"lineage.{name}").alias(name) for name in LINEAGE]
    return frame.select(*[name for name in frame.columns if name != "lineage"], *fields)


def conform(frame: DataFrame, table: str, build_id: str, *more: str) -> DataFrame:
    """Exactly the table's columns, in its order and of its types; null for what the frame lacks; then
    `more`."""
    given = set(frame.columns)
    made: dict[str, Column] = {
        "time": F.expr(f"timestamp_micros({'ts_start' if table == 'bars' else 'ts_event'} div 1000)"),
        "build_id": F.lit(build_id),
    }
    if "quality" not in given:
        made["quality"] = F.lit(0)
    columns: list[Any] = []
    for column in find_table(table).columns:
        source = made.get(column.name)
        if source is None:
            source = F.col(column.name) if column.name in given else F.lit(None)
        columns.append(source.cast(column.type.spark).alias(column.name))
    return frame.select(*columns, *more)


def only_units(frame: DataFrame, units: Sequence[tuple[str, date, str]] | None) -> DataFrame:
    """Rows of these (system, trade_date, source) units; all without any."""
    if units is None:
        return frame
    wanted = F.lit(False)
    for key in units:
        columns = zip(("system", "trade_date", "source"), key, strict=True)
        wanted = wanted | reduce(and_, (F.col(name) == F.lit(value) for name, value in columns))
    return frame.where(wanted)
