"""How large orders are: by class of instrument and by what one lot of it costs."""

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogues.entries import Listing
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import PRICE_SCALE

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SHARES, _FUNDS = 12_000, 8_000  # reais of a usual order of shares, and of funds and receipts
_ODD_LOT = 12.0  # shares
_OPTIONS = {
    SecurityType.OPT: 10.0, SecurityType.INDEXOPT: 3.0, SecurityType.FOPT: 2.0, SecurityType.SOPT: 4.0,
}  # fmt: skip
_CONTRACTS = {"WIN": 2.0, "WDO": 1.6, "IND": 1.2, "DOL": 1.4, "DI1": 8.0}  # lots
_OTHER_CONTRACTS, _STRATEGIES = 2.5, 4.0
_LARGEST = 60  # times the usual


class OrderSizes:
    """Log-normal lots around what is usual for the instrument, often a round number of them."""

    def __init__(self, listings: tuple[Listing, ...]) -> None:
        self.usual_lots = np.array([_usual_lots(listing.instrument) for listing in listings])
        self._lots = np.array([listing.instrument.lot for listing in listings], np.int64)
        self._largest = np.array(
            [min(each.instrument.maximum_quantity, each.largest_order or 1 << 40) for each in listings],
            np.int64,
        )

    def draw(self, rng: np.random.Generator, which: Ints) -> Ints:
        usual = self.usual_lots[which]
        drawn = np.minimum(usual * rng.lognormal(0.0, 1.0, len(which)), _LARGEST * usual)
        lots = np.maximum(np.rint(drawn), 1).astype(np.int64)
        rounds = rng.random(len(which)) < 0.7
        lots = np.where((lots > 7) & rounds, (lots + 4) // 5 * 5, lots)
        lots = np.where((lots > 70) & rounds, (lots + 24) // 50 * 50, lots)
        bounded: Ints = np.minimum(lots, self._largest[which] // self._lots[which]) * self._lots[which]
        return bounded


def _usual_lots(instrument: Instrument) -> float:
    if instrument.legs:
        return _STRATEGIES
    if instrument.is_odd_lot:
        return _ODD_LOT
    kind = instrument.security_type
    if kind in _OPTIONS:
        return _OPTIONS[kind]
    if kind in (SecurityType.FUT, SecurityType.SPOT):
        return _CONTRACTS.get(instrument.asset, _OTHER_CONTRACTS)
    money = _FUNDS if instrument.lot == 1 else _SHARES
    lot_costs = (instrument.closing_price or 0) / PRICE_SCALE**2 * instrument.lot
    return max(money / max(lot_costs, 1.0), 1.0)
