"""Prices and sizes of instruments with exponents of their own, as columns: exactly, and as everywhere else
where nothing is lost by that.

Only slices whose plan has scales come here (`plan.scales`): in all others mantissas are those of the columns.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pregao.lake.tables.arrays import TooLargeError
from pregao.lake.tables.table import exact
from pregao.lake.tables.types import FINE_SCALE, PRICE_SCALE
from pregao.lake.tasks.arrays import Array, codes_of, told_by
from pregao.lake.tasks.kernels import scale_values
from pregao.model.market import PriceKind
from pregao.model.rows import NULL

_KINDS: Final = codes_of(PriceKind)
_PRICE_STEP, _SIZE_STEP = 10 ** (FINE_SCALE - PRICE_SCALE), 10**FINE_SCALE  # of eight places in a column's


@dataclass(slots=True)
class Scaling:
    """Of the instruments of a slice, by number + 1 as in a `Lineage`: which of some scales each has."""

    codes: Array
    price_factors: Array  # by code: eight places of one of a price
    size_factors: Array
    kinds: Array  # by code: places in the vocabulary of price kinds
    changed: dict[int, tuple[Array, Array]] = field(default_factory=dict)  # times and codes, by number

    @classmethod
    def of(cls, scales: Array, security_ids: Array) -> "Scaling | None":
        """`scales` as `plan.scales` makes them. None: all is as usual."""
        if not len(scales):
            return None
        packed = _packed(scales)
        _, places, codes = np.unique(packed, return_index=True, return_inverse=True)
        alike = scales[places]
        firsts = np.searchsorted(scales["security_id"], security_ids)
        ends = np.searchsorted(scales["security_id"], security_ids, side="right")
        known = ends > firsts
        found = cls(
            np.where(known, codes[np.minimum(firsts, len(codes) - 1)], codes[0]),
            _factors(alike["price"]), _factors(alike["size"]), _KINDS[alike["kind"]],
        )  # fmt: skip
        for number in np.flatnonzero(ends - firsts > 1).tolist():
            mine = slice(int(firsts[number]), int(ends[number]))
            found.changed[number] = scales["since_ns"][mine], codes[mine]
        return found

    def rows(self, numbers: Array, sent: Array) -> "RowScales":
        """Of rows of instruments, as of when they were sent."""
        codes = self.codes[numbers]
        for number, (since, told) in self.changed.items():
            mine = np.flatnonzero(numbers == number)
            codes[mine] = told[np.searchsorted(since[1:], sent[mine], side="right")]
        return RowScales(self, codes)


@dataclass(slots=True)
class RowScales:
    scaling: Scaling
    codes: Array

    def kinds(self) -> Array:
        """What prices of each row are, as codes of words."""
        found: Array = self.scaling.kinds[self.codes]
        return found

    def scale(self, columns: dict[str, Any], prices: Iterable[str], sizes: Iterable[str]) -> None:
        """Columns of mantissas, each made two: the exact one is new. TooLargeError names the message by the
        other columns of its row."""
        for name in prices:
            self._scale(columns, name, self.scaling.price_factors, _PRICE_STEP)
        for name in sizes:
            self._scale(columns, name, self.scaling.size_factors, _SIZE_STEP)

    def _scale(self, columns: dict[str, Any], name: str, factors: Array, step: int) -> None:
        values = np.ascontiguousarray(columns[name], np.int64)
        columns[exact(name)], columns[name] = self._scaled(columns, name, values, factors, step)

    def _scaled(
        self, columns: dict[str, Any], name: str, values: Array, factors: Array, step: int
    ) -> tuple[Array, Array]:
        """Eight places, and what the column of that name holds."""
        made, coarse = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        codes = np.ascontiguousarray(self.codes, np.int64)
        bad = scale_values(
            values.ctypes.data, codes.ctypes.data, factors.ctypes.data, len(values), made.ctypes.data,
            coarse.ctypes.data, step,
        )  # fmt: skip
        if bad >= 0:
            raise TooLargeError(exact(name), bad, int(values[bad]), told_by(columns, bad))
        return made, coarse


def unscale(orders: Array, scales: Array) -> None:
    """Orders of a stored book, in eight places, as integers of what the first definition of the day says.
    What that cannot hold is cut: an instrument that has had more places the day before."""
    scaling = Scaling.of(scales, orders["security_id"])
    if scaling is None:
        return
    for name, factors in (("price", scaling.price_factors), ("size", scaling.size_factors)):
        told = orders[name] != NULL
        orders[name][told] //= factors[scaling.codes[told]]


def _packed(scales: Array) -> Array:
    """One number for each scale."""
    price, size, kind = (scales[name].astype(np.int64) for name in ("price", "size", "kind"))
    return (price << 16) + (size << 8) + kind


def _factors(exponents: Array) -> Array:
    return np.array([10 ** (int(each) + FINE_SCALE) for each in exponents], np.int64)
