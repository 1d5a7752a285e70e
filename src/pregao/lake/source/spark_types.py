"""Arrow columns as Spark can hold them: it has no unsigned numbers, no narrow decimals, no dictionaries."""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_LARGEST: Final = (1 << 63) - 1
_WIDER: Final = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def spark_type(given: Any) -> Any:
    """The Arrow type that Spark reads in its place."""
    if pa.types.is_dictionary(given):
        return spark_type(given.value_type)
    if pa.types.is_decimal(given):
        return pa.decimal128(given.precision, given.scale)
    if given == pa.uint64():
        return pa.int64()
    if pa.types.is_struct(given):
        return pa.struct([(member.name, spark_type(member.type)) for member in given])
    return _WIDER.get(given, given)


def spark_schema(given: Any) -> Any:
    return pa.schema([(member.name, spark_type(member.type)) for member in given])


def as_spark(column: Any) -> Any:
    """A column of that type. What needs the 64th bit of an unsigned number is null: never a wrap."""
    wanted = spark_type(column.type)
    if column.type == wanted:
        return column
    if pa.types.is_dictionary(column.type):
        return as_spark(column.dictionary_decode())
    if pa.types.is_struct(column.type):
        members = [as_spark(column.field(place)) for place in range(column.type.num_fields)]
        mask = pc.is_null(column) if column.null_count else None
        return pa.StructArray.from_arrays(members, fields=list(wanted), mask=mask)
    if column.type == pa.uint64():
        fits = pc.less_equal(column, pa.scalar(_LARGEST, pa.uint64()))
        column = pc.if_else(fits, column, pa.scalar(None, pa.uint64()))
    return column.cast(wanted)
