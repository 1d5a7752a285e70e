"""The instrument list as a table, one row an instrument; legs and underlyings are lists."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from pregao.model.instruments import Instrument
from pregao.simulator.tables import Table

_STRINGS = frozenset((
    "symbol", "group", "asset", "description", "exchange", "isin", "currency", "cfi_code", "strategy_type",
))  # fmt: skip
_FLAGS = frozenset(
    ("is_put", "is_american", "is_odd_lot", "accepts_gt", "implied", "user_defined", "is_test", "is_buy_back")
)
_LEG = pa.struct(
    [("security_id", pa.int64()), ("symbol", pa.string()), ("side", pa.int8()), ("ratio", pa.int64())]
)
_UNDERLYING = pa.struct([("security_id", pa.int64()), ("symbol", pa.string())])
_NAMES = [field.name for field in fields(Instrument) if field.name not in ("legs", "underlyings", "maturity")]


def instrument_table(folder: Path, instruments: Sequence[Instrument]) -> None:
    """Writes `instruments.parquet`."""
    schema = pa.schema(
        [(name, _type_of(name)) for name in _NAMES]
        + [("maturity", pa.string()), ("legs", pa.list_(_LEG)), ("underlyings", pa.list_(_UNDERLYING))]
    )
    columns: list[list[Any]] = [[getattr(each, name) for each in instruments] for name in _NAMES]
    columns.append([each.maturity and f"{each.maturity[0]:04}-{each.maturity[1]:02}" for each in instruments])
    columns.append(
        [
            [
                {"security_id": leg.security_id, "symbol": leg.symbol, "side": leg.side, "ratio": leg.ratio}
                for leg in each.legs
            ]
            for each in instruments
        ]
    )
    columns.append(
        [
            [{"security_id": one.security_id, "symbol": one.symbol} for one in each.underlyings]
            for each in instruments
        ]
    )
    table = Table(folder / "instruments.parquet", schema)
    table.write(columns)
    table.close()


def _type_of(name: str) -> pa.DataType:
    if name == "trade_types":
        return pa.list_(pa.int64())
    return pa.string() if name in _STRINGS else pa.bool_() if name in _FLAGS else pa.int64()
