"""What the `deltalake` library does for us in stores where we cannot put entries ourselves (`conditional`):
it makes tables, adds columns, and puts entries.

It takes the same application transaction twice, so we look first (`DeltaLog.transaction`); a wider schema
must be added before a file that has it. Nothing is ever retried by the library: we want to know who was
faster.
"""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from pregao.extras import name_missing_extra
from pregao.lake.errors import named
from pregao.lake.store.checkpoints import LOG
from pregao.lake.store.definitions import CONFIGURATION, MARK
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.tables.page import comment_of
from pregao.lake.tables.table import Table

__all__ = ["CommitFailedError", "DeltaError", "add_columns", "create", "put_entry"]

with name_missing_extra():
    from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError
    from deltalake.transaction import AddAction, RemoveAction

APPLICATION: Final = "pregao.lake"


def create(location: Location, table: Table) -> None:
    """DeltaError when there is one already."""
    with named(location.full(table.name, LOG)):
        DeltaTable.create(
            location.full(table.name), _schema(table), mode="error",
            partition_by=list(table.partitions), name=table.name, description=table.about,
            configuration=CONFIGURATION, storage_options=location.storage_options,
            commit_properties=_properties(0, with_transaction=False),
        )  # fmt: skip


def add_columns(location: Location, table: Table, missing: Sequence[str]) -> None:
    fields = [field for field in _schema(table).fields if field.name in missing]
    with named(location.full(table.name, LOG)):
        _open(location, table).alter.add_columns(
            fields, commit_properties=_properties(0, with_transaction=False)
        )


def put_entry(
    location: Location, table: Table, version: int, adds: Sequence[DataFile], removes: Sequence[DataFile],
    now_ms: int, data_change: bool, lake_version: int,
) -> None:  # fmt: skip
    """After `version`; CommitFailedError when there is one already. The library lists all files of the table
    first: what it costs grows with them."""
    actions: list[AddAction | RemoveAction] = [
        RemoveAction(file.path, data_change, now_ms, file.size, dict(file.partition)) for file in removes
    ]
    actions += [
        AddAction(file.path, file.size, dict(file.partition), now_ms, data_change, file.statistics)
        for file in adds
    ]
    opened = _open(location, table, version)
    opened.create_write_transaction(
        actions, mode="append", schema=_schema(table), partition_by=list(table.partitions),
        commit_properties=_properties(lake_version, with_transaction=True),
        post_commithook_properties=PostCommitHookProperties(
            create_checkpoint=False, cleanup_expired_logs=False
        ),
    )  # fmt: skip


def _open(location: Location, table: Table, version: int | None = None) -> Any:
    return DeltaTable(location.full(table.name), version=version, storage_options=location.storage_options)


def _schema(table: Table) -> Schema:
    """With what is said of each column as its comment, for whoever reads the tables by other means."""
    commented = [
        field.with_metadata({"comment": comment_of(table.by_name[field.name])}) for field in table.schema
    ]
    return Schema.from_arrow(pa.schema(commented))


def _properties(lake_version: int, *, with_transaction: bool) -> CommitProperties:
    transactions: Sequence[Transaction] = [Transaction(APPLICATION, lake_version)] if with_transaction else []
    return CommitProperties(
        custom_metadata={MARK: str(lake_version)},
        max_commit_retries=0,
        app_transactions=list(transactions),
    )
