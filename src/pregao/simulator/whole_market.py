"""The whole market of an exchange as servers ask for it: all instruments as if on one channel, with the
indices that are computed from them."""

from collections.abc import Iterable, Sequence
from typing import Final

from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.clearing import index_instrument
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.feeds.serving import MarketTotal
from pregao.model.instruments import Instrument, Product
from pregao.simulator.routing import Routing
from pregao.simulator.venue import ChannelBooks

_CHANNEL: Final = 0
_CASH: Final = (Product.EQUITY, Product.CORPORATE)


class WholeMarket(ChannelBooks):
    """A `BookSource`."""

    def __init__(self, catalogue: Catalogue, engine: Engine, desk: Desk) -> None:
        super().__init__(_CHANNEL, catalogue, Routing(catalogue, lambda _: (_CHANNEL,)), engine, desk)
        self._indices = [index_instrument(each) for each in catalogue.indices]

    def definitions(self) -> Sequence[Instrument]:
        return [*super().definitions(), *self._indices]


def market_totals(catalogue: Catalogue) -> tuple[MarketTotal, ...]:
    """What is traded at all, in shares and in contracts; and in the groups that the members of each index
    are in."""
    shares = [each for each in catalogue.instruments if each.product in _CASH]
    others = [each for each in catalogue.instruments if each.product not in _CASH]
    totals = [
        MarketTotal("TOTAL", "All markets", _groups(catalogue.instruments)),
        MarketTotal("BOVESPA", "Equities and corporate fixed income", _groups(shares)),
        MarketTotal("BMF", "Derivatives and FX", _groups(others)),
    ]
    for index in catalogue.indices:
        members = [catalogue.by_id[each.security_id].instrument for each in index.members]
        totals.append(
            MarketTotal(f"{index.symbol}T", f"Members of {index.symbol}", _groups(members), index.symbol)
        )
    return tuple(each for each in totals if each.groups)


def _groups(instruments: Iterable[Instrument]) -> tuple[str, ...]:
    return tuple(sorted({each.group for each in instruments}))
