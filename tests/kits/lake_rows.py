"""Rows of any table as Arrow: what a row does not say is the least thing, or null."""

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import UnitKey

MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)
SECOND = 1_000_000_000
START = 1_794_787_200 * SECOND  # 00:00 UTC of MONDAY


def unit_key(day: date, channel: int, system: str = "binary") -> UnitKey:
    return UnitKey(system, day, str(channel))


PARTITION = unit_key(MONDAY, 84).partition


def at(seconds: float) -> int:
    """Nanoseconds of Monday, so many seconds after midnight UTC."""
    return START + round(seconds * SECOND)


def rows_as_arrow(name: str, rows: list[dict[str, Any]]) -> Any:
    table = find_table(name)
    defaults = {
        "system": "binary", "trade_date": MONDAY, "channel": 84, "quality": 0, "seq_version": 1,
        "msg_index": 0, "entry": 0, "ts_event_kind": "TRANSACT",
    }  # fmt: skip
    if "symbol" in table.by_name:
        defaults |= {"security_id": 1, "symbol": "PETR4"}
    made = []
    for number, row in enumerate(rows, 1):
        known = {**defaults, "seq_num": number, **row}
        known.setdefault("ts_event", known.get("ts_send", START))
        known.setdefault("ts_send", known["ts_event"])
        known.setdefault("source", str(known["channel"]))
        made.append({field.name: _typed(known.get(field.name), field.type) for field in table.schema})
    return pa.Table.from_pylist(made, schema=table.schema)


def _typed(value: Any, type_: Any) -> Any:
    """Decimals may be given as numbers or text, also inside lists and structs."""
    if value is None:
        return None
    if pa.types.is_decimal(type_):
        return Decimal(str(value))
    if pa.types.is_list(type_):
        return [_typed(each, type_.value_type) for each in value]
    if pa.types.is_struct(type_):
        return {field.name: _typed(value.get(field.name), field.type) for field in type_}
    return value
