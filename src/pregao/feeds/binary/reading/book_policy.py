"""What orders a side of a book, by the wire version of a message. Books know no versions: every row of an
order or side says it. So a feed may change its version in mid-stream."""

from typing import Any, Final

import numpy as np

from pregao.model.rows import Flag, Kind

Array = np.ndarray[Any, np.dtype[Any]]

FIRST_BY_PRICE: Final = 15  # wire version from which price and id order a book (12.1)
FIRST_WITH_DELETED_PRICE: Final = 16  # in 15 a delete without price may only be a shorter block
WITH_POLICY: Final = frozenset((Kind.ORDER, Kind.SIDE, Kind.SNAPSHOT_ORDER))


def policy_flags(version: int) -> Flag:
    """Of rows of the kinds in WITH_POLICY."""
    flags = Flag.BY_POSITION if version < FIRST_BY_PRICE else Flag(0)
    return flags | Flag.PRICE_UNTOLD if version < FIRST_WITH_DELETED_PRICE else flags


def order_flags(versions: Array) -> Array:
    """The same of rows of stored tables, by their wire versions."""
    known, which = np.unique(versions, return_inverse=True)
    flags: Array = np.array([policy_flags(int(each)) for each in known], np.uint8)[which]
    return flags
