"""What a log says of its table: the entry that makes it, and one that adds columns.

We write them ourselves wherever we can write entries (`Location.can_create`). The `deltalake` library would
read %20 in the name of a folder as another letter, and lists all files of a table to add a column.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa

from pregao.lake.store.checkpoints import INTERVAL
from pregao.lake.tables.page import comment_of
from pregao.lake.tables.table import Table

MARK: Final = "pregao.lakeVersion"
# Old versions must stay readable until `vacuum` says otherwise, so no log is cleaned up on its own. Files
# that were removed are not kept in mind: which ones somebody needs is told by the lake's versions.
CONFIGURATION: Final = {
    "delta.enableExpiredLogCleanup": "false",
    "delta.checkpointInterval": str(INTERVAL),
    "delta.deletedFileRetentionDuration": "interval 0 days",
}
_PROTOCOL: Final = {"minReaderVersion": 1, "minWriterVersion": 2}  # nothing in a lake asks for more
_SIMPLE: Final = {
    pa.bool_(): "boolean", pa.int8(): "byte", pa.int16(): "short", pa.int32(): "integer", pa.int64(): "long",
    pa.float32(): "float", pa.float64(): "double", pa.string(): "string", pa.date32(): "date",
    pa.timestamp("us", tz="UTC"): "timestamp",
}  # fmt: skip


def creating_entry(table: Table, now_ms: int) -> bytes:
    about = {
        "id": str(uuid4()), "name": table.name, "description": table.about,
        "format": {"provider": "parquet", "options": {}}, "schemaString": _text(fields_of(table)),
        "partitionColumns": list(table.partitions), "createdTime": now_ms, "configuration": CONFIGURATION,
    }  # fmt: skip
    return _entry(now_ms, "CREATE TABLE", {"protocol": _PROTOCOL}, {"metaData": about})


def widening_entry(table: Table, about: Mapping[str, Any], missing: Collection[str], now_ms: int) -> bytes:
    """`about`: what the log says now (its `metaData`)."""
    fields = json.loads(about["schemaString"])["fields"]
    fields += [field for field in fields_of(table) if field["name"] in missing]
    return _entry(now_ms, "ADD COLUMN", {"metaData": {**about, "schemaString": _text(fields)}})


def fields_of(table: Table) -> list[dict[str, Any]]:
    """As Delta has them, with what is said of each column as its comment, for whoever reads the tables by
    other means."""
    return [
        _field(field, {"comment": comment_of(table.by_name[field.name])}) for field in table.schema
    ]  # fmt: skip


def _field(field: Any, metadata: dict[str, str]) -> dict[str, Any]:
    return {
        "name": field.name, "type": _type(field.type), "nullable": field.nullable, "metadata": metadata
    }  # fmt: skip


def _type(kind: Any) -> Any:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        inner = kind.value_field
        return {"type": "array", "elementType": _type(inner.type), "containsNull": inner.nullable}
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [_field(field, {}) for field in kind]}
    return _SIMPLE[kind]


def _text(fields: list[dict[str, Any]]) -> str:
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"), ensure_ascii=False)


def _entry(now_ms: int, operation: str, *actions: dict[str, Any]) -> bytes:
    about = {
        "timestamp": now_ms, "operation": operation, "operationParameters": {}, "engineInfo": "pregao",
        MARK: "0",
    }  # fmt: skip
    lines = [json.dumps(each, separators=(",", ":")) for each in ({"commitInfo": about}, *actions)]
    return "\n".join(lines).encode()
