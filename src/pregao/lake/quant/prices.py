"""Trades beside the quotes before them, and prices adjusted for what changed the share itself.

B3 sends the closing price of the day before again each morning, adjusted for dividends, splits and the
like (13.9.3). Divided by the closing price as it was, that is the factor of the day; prices of a day are
multiplied by the factors of all days after it. Prices are raw unless they are asked for adjusted.
"""

from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pregao.extras import name_missing_extra
from pregao.lake.errors import LakeError
from pregao.lake.quant.calendar import next_trading_day
from pregao.lake.quant.symbology import dates
from pregao.lake.tables.table import exact
from pregao.lake.tables.types import FINE_PRICE

if TYPE_CHECKING:
    from pregao.lake.lake import Lake

PRICES: Final = frozenset(
    ("price", "open", "high", "low", "close", "last", "vwap", "bid_price", "offer_price", "uncross_price")
)
_ADJUSTED: Final = PRICES | {exact(name) for name in PRICES}
_PLACES: Final = Decimal("0.00000001")
_FACTORS: Final = pa.schema(
    [
        ("trade_date", pa.date32()), ("closing_price", FINE_PRICE.arrow),
        ("adjusted_before", FINE_PRICE.arrow), ("factor", pa.decimal128(38, 18)),
        ("to_newest", pa.decimal128(38, 18)),
    ]
)  # fmt: skip
_ASOF: Final = """
WITH quoted AS (
    SELECT security_id, ts_event, {columns} FROM quotes WHERE ts_event IS NOT NULL AND {wanted}
    QUALIFY row_number() OVER (
        PARTITION BY security_id, ts_event
        ORDER BY ts_send DESC, seq_version DESC, seq_num DESC, msg_index DESC NULLS LAST
    ) = 1
), numbered AS (SELECT *, row_number() OVER () AS row_of_trade FROM trades)
SELECT numbered.* EXCLUDE (row_of_trade), quoted.ts_event AS ts_quote, {columns_of_quotes}
FROM numbered ASOF LEFT JOIN quoted
    ON numbered.security_id = quoted.security_id AND numbered.ts_event > quoted.ts_event
ORDER BY row_of_trade
"""
_QUOTE: Final = (
    "bid_price",
    "bid_size",
    "bid_orders",
    "offer_price",
    "offer_size",
    "offer_orders",
    "quality",
)


def asof(trades: Any, quotes: Any) -> Any:
    """Each trade with the last quote of its instrument on the electronic market before its own time: what one
    could see. Tables
    of Arrow, pandas or Polars with the lake's columns; a pyarrow.Table."""
    with name_missing_extra():
        import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("trades", trades)
        connection.register("quotes", quotes)
        chosen = (*_QUOTE, *_exact_columns(connection))
        names = {name: f"quote_{name}" if name == "quality" else name for name in chosen}
        of_quotes = ", ".join(f"quoted.{name} AS {shown}" for name, shown in names.items())
        has_streams = "md_stream" in connection.table("quotes").columns
        wanted = "coalesce(md_stream, 'E') = 'E'" if has_streams else "true"
        query = _ASOF.format(columns=", ".join(chosen), columns_of_quotes=of_quotes, wanted=wanted)
        return connection.sql(query).to_arrow_table()


def _exact_columns(connection: Any) -> list[str]:
    """Those of the quotes that are filled: in systems with exact values."""
    known = {row[0] for row in connection.execute("DESCRIBE quotes").fetchall()}
    wanted = [exact(name) for name in _QUOTE[:-1] if exact(name) in known]
    counts = ", ".join(f"count({name})" for name in wanted)
    filled = connection.execute(f"SELECT {counts} FROM quotes").fetchall() if wanted else ()
    return wanted if any(map(any, filled)) else []


def factors(lake: "Lake", symbol: str) -> Any:
    """For each trade date: its closing price, that of the day before as adjusted this morning, the
    factor that follows, and the product of the factors of all later days. A pyarrow.Table."""
    rows: list[dict[str, Any]] = []
    for day in dates(lake):
        closing = _closings(lake, symbol, day)
        if closing is not None:
            rows.append(
                {
                    "trade_date": day,
                    "closing_price": closing[0],
                    "adjusted_before": closing[1],
                    "factor": None,
                }
            )
    for before, row in pairwise(rows):
        row["factor"] = _factor(symbol, before, row)
    product = Decimal(1)
    for row in reversed(rows):
        row["to_newest"] = product
        product *= Decimal(1) if row["factor"] is None else row["factor"]
    whole = [{**row, "to_newest": round(row["to_newest"], 18)} for row in rows]
    return pa.Table.from_pylist(whole, _FACTORS)


def _factor(symbol: str, before: dict[str, Any], row: dict[str, Any]) -> Decimal:
    """Of a day without a morning's closing price nothing was adjusted."""
    if row["adjusted_before"] is None:
        return Decimal(1)
    if next_trading_day(before["trade_date"]) != row["trade_date"]:
        raise LakeError(
            f"adjusting {symbol}: no trading day of the lake between {before['trade_date']} and"
            f" {row['trade_date']}, so what changed the price there is not known"
        )
    if not before["closing_price"]:
        raise LakeError(f"adjusting {symbol}: no closing price of {before['trade_date']} in the lake")
    factor: Decimal = row["adjusted_before"] / before["closing_price"]
    return round(factor, 18)


def _closings(lake: "Lake", symbol: str, day: date) -> tuple[Decimal | None, Decimal | None] | None:
    """The day's own, and that of the day before as it was sent this day; the last of each. None: not
    listed."""
    where = {"trade_date": day, "symbol": symbol}
    if not lake.arrow("instruments", where, columns=["security_id"]).num_rows:
        return None
    columns = ["ts_send", "seq_num", "origin", "price"]
    rows = lake.arrow("statistics", {**where, "kind": "CLOSING"}, columns=columns).to_pylist()
    found: dict[str, Decimal | None] = {}
    for row in sorted(rows, key=lambda row: (row["ts_send"] or 0, row["seq_num"])):
        found[row["origin"]] = row["price"]
    return found.get("DAILY"), found.get("PREVIOUS_DAY")


def adjust(lake: "Lake", symbol: str, table: Any) -> Any:
    """The table with its prices as they would be today, to eight places; sizes stay."""
    by_day = {row["trade_date"]: row["to_newest"] for row in factors(lake, symbol).to_pylist()}
    days = [by_day.get(day, Decimal(1)) for day in table["trade_date"].to_pylist()]
    for index, field in enumerate(table.schema):
        if field.name in _ADJUSTED and pa.types.is_decimal(field.type):
            values = [
                None if value is None else (value * factor).quantize(_PLACES)
                for value, factor in zip(table.column(index).to_pylist(), days, strict=True)
            ]
            column = pa.array(values, FINE_PRICE.arrow)
            table = table.set_column(index, pa.field(field.name, FINE_PRICE.arrow), column)
    return table.append_column(
        "factor", pc.cast(pa.array(days, pa.decimal128(38, 18)), pa.decimal128(38, 18))
    )
