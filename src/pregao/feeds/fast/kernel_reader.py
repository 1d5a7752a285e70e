"""Messages to rows by kernel: to columns first, then the entries of 35=X and 35=W to rows. All else, and
every message that has anything unusual, is read by the plain reader: so one set of rules is enough for those.
"""

from typing import Final

import numpy as np

from pregao.codecs.fast import Templates
from pregao.codecs.fast.columns import FastColumnDecoder
from pregao.codecs.fast.plan import FastPlan, make_plan
from pregao.feeds.fast.identity import msg_type
from pregao.feeds.fast.kernels.entries import fill_rows
from pregao.feeds.fast.kernels.gathering import gather, size_of
from pregao.feeds.fast.kernels.layout import CONTEXT_FIELDS, ENTRY_FIELDS, ROOT_FIELDS, SHAPE_WORDS
from pregao.feeds.fast.reader import BookShape, FastReader, KnownLists
from pregao.feeds.one_by_one import joined
from pregao.feeds.port import Array, Reading, RowFault
from pregao.kernels import Context
from pregao.model.rows import ROW, Rows

FEW: Final = 4  # messages: so few are sooner read one by one
_NOT_KNOWN: Final = -1
_ENTRIES, _FLAG, _TIME = "MDEntries", "OpenCloseSettlFlag", "MDEntryTime"
_EITHER: Final = (_FLAG, _TIME)  # numbers or text
_TEXTS: Final = frozenset((
    "MDEntryType", "QuoteCondition", "MDStreamID", "TickDirection", "TradeCondition", "OrderID", "TradeID",
    "MDEntryBuyer", "MDEntrySeller", "Currency", "PriceType", "PriceBandType", "TradingSessionSubID",
))  # fmt: skip
_DECIMALS: Final = frozenset((
    "MDEntryPx", "MDEntryInterestRate", "NetChgPrevDay", "LowLimitPrice", "HighLimitPrice",
    "TradingReferencePrice",
))  # fmt: skip


class KernelReader(FastReader):
    """Its rows are its own memory: the next reading overwrites them."""

    def __init__(
        self, channel: int, templates: Templates, shape: BookShape | None = None,
        lists: KnownLists | None = None, plan: FastPlan | None = None,
    ) -> None:  # fmt: skip
        """`plan`: of the templates, which takes long to make."""
        super().__init__(channel, templates, shape, lists)
        self._columns = FastColumnDecoder(plan or make_plan(templates))
        self._roots, self._entries_of, shapes = _shapes(self._columns.plan)
        self._cursors = np.zeros(len(shapes), np.int64)
        self._context = Context(CONTEXT_FIELDS)
        self._context.set(decoder=self._columns.context, shapes=shapes, cursors=self._cursors)
        self._kept: Rows = np.empty(0, ROW)
        self._make_room(1, 1)

    def _make_room(self, messages: int, size: int) -> None:
        self._buffer = np.empty(2 * size, np.uint8)
        self._offsets, self._lengths = np.empty((2, 2 * messages), np.int64)
        self._shape_of, self._root_row = np.empty((2, 2 * messages), np.int64)
        self._context.set(buffer=self._buffer, shape_of=self._shape_of, root_row=self._root_row)

    def read(
        self, address: int, offsets: Array, lengths: Array, at: Array, epochs: Array, count: int | None = None
    ) -> Reading:
        count = len(offsets) if count is None else count
        if count < FEW:
            return super().read(address, offsets, lengths, at, epochs, count)
        self._places, self._sizes = address + offsets[:count], lengths[:count]
        self._decode(address, offsets, lengths, count)
        self._context.set(at=at, epochs=epochs)
        return self._fill(offsets, at, epochs, count)

    def _show_shape(self) -> None:
        by_level = self.shape.by_level
        known = _NOT_KNOWN if by_level is None else int(by_level)
        self._context.set(by_level=known, depth=self.shape.depth)

    def _learn_shape(self) -> None:
        """What snapshots that the kernel has read say of the books."""
        known = self._context["by_level"]
        if known != _NOT_KNOWN:
            self.shape.by_level, self.shape.depth = bool(known), self._context["depth"]

    def _decode(self, address: int, offsets: Array, lengths: Array, count: int) -> None:
        """To columns, and where each message is in them."""
        size = size_of(lengths.ctypes.data, count)
        if size > len(self._buffer) or count > len(self._offsets):
            self._make_room(max(count, len(self._offsets)), max(size, len(self._buffer)))
        new_offsets, new_lengths = self._offsets[:count], self._lengths[:count]
        gather(
            address, offsets.ctypes.data, lengths.ctypes.data, count, self._buffer.ctypes.data,
            new_offsets.ctypes.data, new_lengths.ctypes.data,
        )  # fmt: skip
        self._columns.decode(self._buffer, new_offsets, new_lengths)
        self._shape_of[:count] = 0
        for number, root in enumerate(self._roots, 1):
            table = self._columns.table(root)
            if table.rows:
                self._shape_of[table.origins] = number
                self._root_row[table.origins] = np.arange(table.rows)
        self._cursors.fill(0)
        entries = count + sum(self._columns.table(each).rows for each in self._entries_of)
        if entries > len(self._kept):
            self._kept = np.empty(2 * entries, ROW)
            self._context.set(rows=self._kept)

    def _fill(self, offsets: Array, at: Array, epochs: Array, count: int) -> Reading:
        """Rows of all messages, in order."""
        found: list[Rows] = []
        faults: list[RowFault] = []
        done = made = first = 0
        self._show_shape()
        while done < count:
            done, made = fill_rows(self._context.address, done, count, made)
            self._learn_shape()
            if made > first:
                found.append(self._kept[first:made])
                first = made
            if done < count:
                found.append(self._read_one(done, offsets, at, epochs, faults))
                self._show_shape()
                done += 1
        rows = found[0] if len(found) == 1 else joined(found)
        return Reading(rows, faults, whole=True)


def _shapes(plan: FastPlan) -> tuple[list[int], list[int], Array]:
    """Root tables of 35=X and 35=W, the tables of their entries, and where the columns of both are."""
    roots, entries, shapes = [], [], []
    for template in plan.templates:
        root, kind = plan.root_of[template.name][0], msg_type(template)
        table = plan.child_of.get((root, _ENTRIES))
        if kind not in ("X", "W") or table is None:
            continue
        columns = [_column(plan, table, name) for name in ENTRY_FIELDS]
        of_root = [_column(plan, root, name) for name in ROOT_FIELDS]
        if not _fits(plan, columns, of_root, snapshot=kind == "W"):
            continue
        texts = [_is_text(plan, columns[ENTRY_FIELDS.index(name)]) for name in _EITHER]
        roots.append(root)
        entries.append(table)
        shapes.append([*columns, *of_root, table, *texts, int(kind == "W")])
        assert len(shapes[-1]) == SHAPE_WORDS
    return roots, entries, np.array(shapes, np.int64).reshape(-1, SHAPE_WORDS)


def _is_text(plan: FastPlan, column: int) -> int:
    return int(column >= 0 and not plan.columns[column].type.is_integer)


def _column(plan: FastPlan, table: int, name: str) -> int:
    """The number of a column; of a decimal that of its mantissas. -1: none."""
    name = name.replace(".", "\0")
    return plan.column_of.get((table, name), plan.column_of.get((table, name + "\0mantissa"), -1))


def _fits(plan: FastPlan, columns: list[int], of_root: list[int], *, snapshot: bool) -> bool:
    """Whether fields are what the kernel takes them for; a template file of others may say otherwise."""
    for name, column in zip(ENTRY_FIELDS, columns, strict=True):
        if column >= 0 and name not in _EITHER:
            kind = plan.columns[column].type
            if kind.is_integer is (name in _TEXTS) and name not in _DECIMALS:
                return False
    column_of = dict(zip(ENTRY_FIELDS, columns, strict=True))
    if not snapshot:
        return min(column_of["MDEntryType"], column_of["MDUpdateAction"], column_of[_TIME]) >= 0
    return column_of["MDEntryType"] >= 0 and all(
        column >= 0 and plan.columns[column].type.is_integer for column in of_root
    )
