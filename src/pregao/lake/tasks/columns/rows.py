"""Rows of a slice by column."""

import numpy as np

from pregao.lake.slices.rows import LAKE_ROW, Array
from pregao.lake.tasks.kernels import take_fields
from pregao.model.rows import Rows


class ColumnRows:
    """Rows in an order, by column; those that are needed are all taken at once."""

    def __init__(self, rows: Rows, order: Array, names: tuple[str, ...]) -> None:
        self.count = len(order)
        fields = {name: LAKE_ROW.fields[name][:2] for name in names}  # type: ignore[index]
        self._columns = made = {name: np.empty(len(order), kind) for name, (kind, _) in fields.items()}
        plan = np.array(
            [(at, kind.itemsize, made[name].ctypes.data) for name, (kind, at) in fields.items()], np.int64
        )
        order = np.ascontiguousarray(order, np.int64)
        take_fields(rows.ctypes.data, order.ctypes.data, len(order), plan.ctypes.data, len(plan))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def repeat_each(self, times: Array) -> None:
        """Each row as often as is said for it."""
        if (times == 1).all():
            return
        self.count = int(times.sum())
        self._columns = {name: np.repeat(column, times) for name, column in self._columns.items()}
