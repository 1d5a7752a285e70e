"""Bars of any length from a DataFrame of clean trades: the SQL of the lake's own bars, in Spark's tasks.

trades = Lake("lake", spark).table("trades_clean", where={"symbol": "PETR4"})
bars(trades, ["15m"])
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pregao.extras import name_missing_extra

with name_missing_extra():
    from pyspark.sql import DataFrame

from pregao.lake.computed.engine import LINEAGE, conform, engine
from pregao.lake.computed.trades import DAY_NS, bars_query, exact_bars, with_rank
from pregao.lake.quant.calendar import interval_ns
from pregao.lake.tables.analytics import BARS
from pregao.lake.tables.table import CHANNEL, SYSTEM, TRADE_DATE, UNIT_COLUMNS

SECOND_NS: Final = 1_000_000_000
MINUTE_NS: Final = 60 * SECOND_NS
USUAL: Final = (SECOND_NS, MINUTE_NS, DAY_NS)
_UNIT: Final = (*UNIT_COLUMNS, CHANNEL)
_READ: Final = (
    *_UNIT, "security_id", "symbol", "price", "size", "sets_price", "in_volume", "auction", "phase", "state",
    "quality", "exact_price", "exact_size", "sub_type", *LINEAGE
)  # fmt: skip
_CLEAN: Final = f"CREATE TEMP TABLE clean AS SELECT *, {with_rank(*_UNIT)} FROM trades"
_EXACT_CLEAN: Final = (
    f"CREATE TEMP TABLE clean AS SELECT *, {with_rank(*_UNIT)} FROM"
    " (SELECT * REPLACE (exact_price AS price, fine_mantissa(exact_size) AS size) FROM trades)"
)
_DAY_STARTS: Final = f"date_diff('day', DATE '1970-01-01', {TRADE_DATE}) * {DAY_NS}"
_BARS: Final = bars_query(_DAY_STARTS, *_UNIT)
_EXACT_BARS: Final = exact_bars(_DAY_STARTS, *_UNIT)


def bars(trades_clean: DataFrame, intervals: Sequence[int | str] = USUAL, build_id: str = "") -> DataFrame:
    """The columns of the table `bars`. `intervals` by name ("15m") or in nanoseconds, at most a day. A
    bar starts at a multiple of its length since 1970; the bar of a day at 00:00 UTC of its trade date,
    whatever the hours."""
    lengths = list(dict.fromkeys(interval_ns(interval) for interval in intervals))
    made = partial(_bars_of_partition, intervals=lengths, build_id=build_id)
    # All trades of an instrument and day in one task, whichever.
    rows = trades_clean.select(*_READ).repartition(*_UNIT, "security_id")
    return rows.mapInArrow(made, BARS.spark_ddl)


def _bars_of_partition(batches: Iterable[Any], intervals: list[int], build_id: str) -> Iterator[Any]:
    given = list(batches)
    if not any(batch.num_rows for batch in given):
        return
    trades = pa.Table.from_batches(given)
    given.clear()
    valued = trades.filter(pc.is_valid(trades["exact_size"]))[SYSTEM].unique()
    is_exact = pc.is_in(trades[SYSTEM], valued)
    for exact in (False, True):
        mine = trades.filter(is_exact if exact else pc.invert(is_exact))
        if mine.num_rows:
            yield from _bars_of(mine, intervals, build_id, exact=exact).to_batches()


def _bars_of(trades: Any, intervals: list[int], build_id: str, *, exact: bool) -> Any:
    with engine(exact=exact) as connection:
        connection.register("trades", trades)
        connection.execute(_EXACT_CLEAN if exact else _CLEAN)
        connection.unregister("trades")
        query = _EXACT_BARS if exact else _BARS
        made: Any = connection.execute(query, {"intervals": intervals}).to_arrow_table()
    rows = conform(made, BARS, build_id)
    whole = [
        made[field.name].cast(field.type) if field.name in UNIT_COLUMNS
        else rows[field.name] if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in BARS.schema
    ]  # fmt: skip
    return pa.table(whole, schema=BARS.schema)
