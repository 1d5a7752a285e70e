"""What the kernels work with: the contexts that tell them where everything is, the buckets that
messages pass through, and the log of what was wrong. One per decoder, reused for every run."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pregao.codecs.sbe.kernel_tables import CONTEXT_FIELDS, LAYOUT_BUCKET, LEVEL_SIZE
from pregao.codecs.sbe.plan import Plan
from pregao.codecs.sbe.reader import MAX_GROUP_DEPTH
from pregao.codecs.sbe.schema import Schema
from pregao.feeds.binary.kernels.packets import FEED_FIELDS, RUN_MESSAGES, RUN_PACKETS, RUN_ROWS
from pregao.feeds.binary.packets import SBE_BIG_ENDIAN, SBE_LITTLE_ENDIAN
from pregao.feeds.binary.storage import PACKET_COLUMNS, Storage
from pregao.kernel_context import Context

Array = np.ndarray[Any, np.dtype[Any]]

_FAULT_COLUMNS = {"fault": "u1", "fault_offset": "i8", "fault_packet": "u4", "fault_place": "u4"}


class Workspace:
    """The contexts of one decoder, with all that does not change from batch to batch."""

    def __init__(self, schema: Schema, plan: Plan) -> None:
        self.skipped = np.zeros(256, np.int64)
        self._faults = {name: np.zeros(RUN_MESSAGES + RUN_PACKETS, k) for name, k in _FAULT_COLUMNS.items()}
        self.feed = Context(FEED_FIELDS)
        self.feed.set(skipped=self.skipped, **self._faults)
        self.feed.set(**_header_of(schema))
        self.columns = Context(CONTEXT_FIELDS)
        self.columns.set(**_tables_of(plan), **_buckets_of(plan))

    def attach(self, storage: Storage) -> None:
        """Let the kernels write to these columns from now on."""
        self.feed.set(**{name: storage.packets[name] for name in PACKET_COLUMNS})
        self.columns.set(
            tables=storage.table_rows,
            table_count=len(storage.table_rows),
            columns=storage.column_addresses,
            data=storage.data_rows,
            data_count=len(storage.data_rows),
        )

    def take_faults(self) -> Iterator[tuple[int, int, int, int]]:
        """(fault, offset, packet row, index of the message) of each that was noted; then none is."""
        count = self.feed["faults"]
        self.feed.set(faults=0)
        for at in range(count):
            fault, offset, packet, place = (int(array[at]) for array in self._faults.values())
            yield fault, offset, packet, place


def _header_of(schema: Schema) -> dict[str, int]:
    header, big_endian = schema.header, schema.byte_order == ">"
    values = {
        "header_size": header.size,
        "plain": int(header.is_plain and not big_endian),
        "encoding_type": SBE_BIG_ENDIAN if big_endian else SBE_LITTLE_ENDIAN,
        "schema_id": schema.id,
        "big_endian": int(big_endian),
    }
    names = ("block_length", "template", "schema", "version")
    for name, (offset, primitive) in zip(names, header.members(), strict=True):
        values |= {f"{name}_at": offset, f"{name}_width": primitive.size}
    return values


def _tables_of(plan: Plan) -> dict[str, int | Array]:
    return {
        "root_of_template": plan.root_of_template,
        "epoch_of_version": plan.epoch_of_version,
        "version_known": plan.version_known,
        "layout_of": plan.layout_of,
        "epochs": plan.layout_of.shape[1],
        "layout_count": len(plan.layouts),
        "entries": plan.entries,
        "steps": plan.steps,
        "swapped": int(plan.schema.byte_order == ">"),
    }


def _buckets_of(plan: Plan) -> dict[str, int | Array]:
    """Messages cannot be more than a run has; a hostile run may hold an entry of a group a byte."""
    sizes = [RUN_ROWS if plan.is_group(layout) else RUN_MESSAGES for layout in range(len(plan.layouts))]
    layouts = plan.layouts.copy()  # of one's own: the kernels count in it what is in the buckets
    layouts[:, LAYOUT_BUCKET // 8] = np.cumsum([0, *sizes[:-1]])
    return {
        "layouts": layouts,
        "body": np.empty(sum(sizes), np.int64),
        "row": np.empty(sum(sizes), np.int64),
        "scratch": np.empty(RUN_ROWS * max(plan.longest_block, 1), np.uint8),
        "stack": np.zeros((MAX_GROUP_DEPTH + 2, LEVEL_SIZE), np.int64),
    }
