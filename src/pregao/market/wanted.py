"""Which events somebody wants: nothing else is made."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from pregao.market.making import ALWAYS, ORDERS, STATISTICS
from pregao.model.errors import ConfigurationError

MOST_LEVELS: Final = 100

Kinds = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`symbols` None: of all instruments. What is not about one is always told."""

    symbols: frozenset[str] | None = None
    orders: bool = False
    quotes: bool = True
    statistics: bool = False
    depth: int = 0  # levels a side; 0: none

    def __post_init__(self) -> None:
        if not 0 <= self.depth <= MOST_LEVELS:
            raise ConfigurationError(f"{self.depth} is not from 0 to {MOST_LEVELS}", key="depth")

    @property
    def kinds(self) -> Kinds:
        """Of rows, by their number."""
        wanted = np.zeros(256, np.bool_)
        orders = ORDERS if self.orders else ()
        wanted[[*ALWAYS, *orders, *(STATISTICS if self.statistics else ())]] = True
        return wanted
