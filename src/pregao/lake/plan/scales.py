"""Which powers of ten prices and sizes of a unit are integers of, by instrument and time, for its slices.

An array, so that slices share it as a file (`shared_parts`). It is empty where all is as usual, and then
nothing is to be done: see `tasks.scaling`.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from pregao.feeds.port import ScaledSystem
from pregao.lake.errors import LakeError
from pregao.lake.plan.index import Array
from pregao.lake.plan.marks import Version
from pregao.lake.tables.types import FINE_SCALE
from pregao.model.rows import NULL
from pregao.model.scales import Scale

# `security_id` NULL: of instruments that nothing has defined. `kind` is 0 where prices are of none.
SCALE: Final = np.dtype(
    [("security_id", "<i8"), ("since_ns", "<i8"), ("price", "i1"), ("size", "i1"), ("kind", "u1")]
)
NO_SCALES: Final = np.zeros(0, SCALE)
LEAST_EXPONENT, MOST_EXPONENT = -FINE_SCALE, 9  # the places that tables have; ten of them fill a column


class ScaleError(LakeError):
    """An instrument with exponents that no table can hold."""


def scales(told: Iterable[Version], system: object) -> Array:
    """By id and time, the first of an id from the beginning on; before all that of undefined ones."""
    default = system.scale if isinstance(system, ScaledSystem) else Scale()
    found = [(NULL, NULL, *_packed(default, "instruments without a definition"))]
    is_usual = not isinstance(system, ScaledSystem)
    for version in told:
        one = version.instrument
        scale = (one.security_id, *_packed(one.scale, one.symbol))
        is_usual &= one.scale.is_usual
        last = found[-1]
        if (last[0], *last[2:]) != scale:
            found.append(
                (one.security_id, NULL if last[0] != one.security_id else version.from_ns, *scale[1:])
            )
    return NO_SCALES if is_usual else np.array(found, SCALE)


def _packed(scale: Scale, whose: str) -> tuple[int, int, int]:
    for exponent in scale[:2]:
        if not LEAST_EXPONENT <= exponent <= MOST_EXPONENT:
            raise ScaleError(
                f"{whose}: prices or sizes in 10^{exponent}, tables hold 10^{LEAST_EXPONENT} to"
                f" 10^{MOST_EXPONENT}"
            )
    return scale.price_exponent, scale.size_exponent, int(scale.price_kind or 0)
