"""Values of every type a column can have, the extreme ones among them, and nulls."""

from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from pregao.lake.tables.table import Column, Table

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=60)


def columns(table: Table, *, nulls: bool = True) -> dict[str, list[Any]]:
    """Four rows of each stored column as Python values."""
    return {
        column.name: [*_values(column), None if nulls and column.nullable else _values(column)[0]]
        for column in table.stored
    }


def _values(column: Column) -> list[Any]:
    if column.words:
        return [column.words[0], column.words[-1], column.words[len(column.words) // 2]]
    return of_type(column.type.arrow)


def of_type(type_: Any) -> list[Any]:
    """Three values: least, greatest, ordinary."""
    if pa.types.is_boolean(type_):
        return [False, True, True]
    if pa.types.is_integer(type_):
        most = 2 ** (type_.bit_width - 1) - 1
        return [-most - 1, most, 1]
    if pa.types.is_decimal(type_):
        most = Decimal(10**type_.precision - 1).scaleb(-type_.scale, _EXACT)
        return [most.copy_negate(), most, Decimal("38.2550").quantize(Decimal(1).scaleb(-type_.scale))]
    if pa.types.is_date(type_):
        return [date(1970, 1, 1), date(2099, 12, 31), date(2026, 11, 16)]
    if pa.types.is_timestamp(type_):
        return [
            _EPOCH,
            _EPOCH + timedelta(days=30_000, microseconds=1),
            datetime(2026, 11, 16, 13, tzinfo=UTC),
        ]
    if pa.types.is_list(type_):
        return [[], of_type(type_.value_type), [of_type(type_.value_type)[2]]]
    if pa.types.is_struct(type_):
        parts = {field.name: of_type(field.type) for field in type_}
        return [{name: values[index] for name, values in parts.items()} for index in range(3)]
    assert pa.types.is_string(type_), type_
    return ["", "São Paulo – ação 🇧🇷", "PETR4"]
