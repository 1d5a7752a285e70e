"""The data source as Spark knows it. A partition is a capture file, or a part of a large plain one.

Decoders are imported where they are needed: every session of ours registers the source, few use it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pregao.lake.source import FORMAT
from pregao.lake.store.location import is_remote

if TYPE_CHECKING:
    from pregao.captures.parts import Part
    from pregao.lake.source.options import Request


class UmdfDataSource(DataSource):
    """Captures of multicast. Options: message, template, channel, stream, start, end, schema, config,
    rows, split, system."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from pregao.lake.source import messages, tables
        from pregao.lake.source.options import request_of

        request = request_of(self.options)
        return from_arrow_schema(tables.schema_of(request) if request.message else messages.SCHEMA)

    def reader(self, schema: StructType) -> "UmdfReader":
        from pregao.lake.source.options import request_of

        return UmdfReader(request_of(self.options))


class CapturePartition(InputPartition):
    def __init__(self, path: str, part: "Part | None" = None) -> None:
        super().__init__((path, part))
        self.path, self.part = path, part


class UmdfReader(DataSourceReader):
    def __init__(self, request: "Request") -> None:
        self._request = request

    def partitions(self) -> Sequence[InputPartition]:
        from pregao.captures.parts import parts_of
        from pregao.lake.source.options import captures_of

        size, found = self._request.split, list[InputPartition]()
        for path in captures_of(self._request):
            parts = parts_of(path, size) if size and not is_remote(path) else []
            found += [CapturePartition(path, part) for part in parts] or [CapturePartition(path)]
        return found

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from pregao.lake.source import messages, tables

        if not isinstance(partition, CapturePartition):
            return  # Spark asks once where there is no partition: nothing of what is here is wanted
        if self._request.message:
            yield from tables.TableReader(self._request).batches(partition.path, partition.part)
        else:
            yield from messages.batches(self._request, partition.path, partition.part)
