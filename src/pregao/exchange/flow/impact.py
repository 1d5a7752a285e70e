"""How trades move prices: who buys pushes the middle up, by the root of what he bought, and it comes back."""

import math

import numpy as np

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.flow.draws import Blocks
from pregao.model.market import Aggressor

_STEP = 0.4  # of the half spread, for an order of the usual size
_LARGEST_STEP = 3.0  # times that
_FARTHEST = 0.002  # of the price
_FADES = 60  # parts of the day in which a push fades


class Impact:
    """`shifts` are the pushes of all instruments, on their ticks."""

    def __init__(self, blocks: Blocks, catalogue: Catalogue, day_ns: int) -> None:
        self._blocks, self._fade_ns = blocks, day_ns / _FADES
        instruments = catalogue.instruments
        self._usual = blocks.sizes.usual_lots * np.array([each.lot for each in instruments])
        self._ticks = np.array([each.tick for each in instruments])
        closings = np.abs([float(listing.closing) for listing in catalogue.listings])
        self._farthest = np.maximum(closings * _FARTHEST, 2 * self._ticks)
        self._pushes = np.zeros(len(instruments))
        self._faded_ns = 0
        self.shifts: list[int] = [0] * len(instruments)

    def traded(self, which: int, aggressor: Aggressor, size: int) -> None:
        if aggressor is Aggressor.NONE:
            return
        step = _STEP * float(self._blocks.half_spreads[which])
        step *= min(math.sqrt(size / self._usual[which]), _LARGEST_STEP)
        pushed = self._pushes[which] + (step if aggressor is Aggressor.BUY else -step)
        farthest = float(self._farthest[which])
        self._pushes[which] = min(max(pushed, -farthest), farthest)
        tick = int(self._ticks[which])
        self.shifts[which] = round(self._pushes[which] / tick) * tick

    def fade(self, now_ns: int) -> None:
        """At the start of a block."""
        self._pushes *= math.exp(-max(now_ns - self._faded_ns, 0) / self._fade_ns)
        self._faded_ns = now_ns
        self.shifts = (np.rint(self._pushes / self._ticks).astype(np.int64) * self._ticks).tolist()
