"""The column path: kernels over windows, then every row back to a message."""

from collections.abc import Callable, Iterable
from typing import Any

from pregao.codecs.sbe import Schema
from pregao.codecs.sbe.kernel_tables import FLAG_LEFTOVER, FLAG_VERSION_INFERRED
from pregao.feeds.binary.batch import ColumnBatch, TableColumns
from pregao.feeds.binary.columns import BinaryColumnDecoder
from pregao.io.captures import Window
from pregao.model.errors import CaptureError
from tests.twins.rebuild import RebuiltTable
from tests.twins.seen import Found, Place, Seen, Sight

UNKNOWN_TABLE = 0  # the first: messages whose version does not have the template
_OF_PACKET = ("channel", "sequence_version", "sequence_number", "sending_time", "ts_recv", "offset")

Inspect = Callable[[ColumnBatch, list[RebuiltTable]], None]


class ColumnPath:
    """Runs captures of one schema through the kernels. Few `rows` make many batches."""

    def __init__(self, schema: Schema, rows: int = 1 << 16) -> None:
        self._schema = schema
        self.decoder = BinaryColumnDecoder(schema, rows)

    def see(self, windows: Iterable[Window], inspect: Inspect | None = None) -> Sight:
        """All of a capture; `inspect` sees each batch with its tables rebuilt."""
        sight = Sight()
        try:
            for batch in self.decoder.batches(windows):
                self._batch(batch, sight, inspect)
        except CaptureError as error:
            sight.error = str(error)
        sight.messages.sort(key=lambda seen: seen.place[:2])
        return sight

    def _batch(self, batch: ColumnBatch, sight: Sight, inspect: Inspect | None) -> None:
        rebuilt: list[RebuiltTable] = []
        for table in batch.tables:
            if not table.table.is_group and len(table):
                sight.messages += self._table(batch, table, rebuilt)
        for finding in batch.findings:
            where = (finding.packet, finding.offset, finding.index, finding.left)
            sight.findings.append(Found(finding.fault.label, *where))
        sight.skipped.update(batch.skipped)
        sight.records += batch.records
        if inspect is not None:
            inspect(batch, rebuilt)

    def _table(self, batch: ColumnBatch, table: TableColumns, rebuilt: list[RebuiltTable]) -> Iterable[Seen]:
        flags = table.row("flags").tolist()
        leftover = [bool(flag & FLAG_LEFTOVER) for flag in flags]
        known = [not flag & FLAG_VERSION_INFERRED for flag in flags]
        places = self._places(batch, table)
        if table.table.index == UNKNOWN_TABLE:
            nothing: list[Any] = [None] * len(table)
            empty: list[dict[str, bytes]] = [{}] * len(table)
            return map(Seen, places, nothing, nothing, empty, leftover, known)
        template = table.table.template_id
        breakpoints = self._schema.breakpoints
        views = [self._schema.at(version).messages for version in breakpoints]
        layouts = {epoch: view[template] for epoch, view in enumerate(views) if template in view}
        made = RebuiltTable(batch, table, layouts)
        rebuilt.append(made)
        names = [layouts[epoch].name for epoch in made.epochs]
        has_data = {epoch: [d.name for d in layout.data] for epoch, layout in layouts.items()}
        data = [
            {name: made.data[name][row] for name in has_data[epoch]} for row, epoch in enumerate(made.epochs)
        ]
        return map(Seen, places, names, made.rows, data, leftover, known)

    def _places(self, batch: ColumnBatch, table: TableColumns) -> list[Place]:
        templates = [table.table.template_id] * len(table)
        if table.table.index == UNKNOWN_TABLE:
            templates = table["template_id"].tolist()
        sent = [table.packet(name).tolist() for name in _OF_PACKET]
        flows = [batch.other_flows[f] if f < 0 else f for f in table.packet("flow").tolist()]
        packets, indices = table.packet("number").tolist(), table.row("place").tolist()
        versions = table.row("version").tolist()
        return [Place(*row) for row in zip(packets, indices, templates, versions, *sent, flows, strict=True)]
