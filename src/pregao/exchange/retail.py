"""Retail orders and the hidden orders of their own firm's liquidity provider (RLP; 13.1, 13.3.2).

An RLP order waits unseen. Only an incoming order that is retail and of the same firm meets it, in the event
in which it meets the book: by price, and at one price after all that the book has there, so that nobody who
is seen is passed over. The rest of such an order goes on through the book. The price is the RLP order's own,
held to the spread: a sale is never below the best bid, nor a purchase above the best offer.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter, itemgetter

from pregao.exchange.draft import Draft
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import EnteredOrder
from pregao.model.market import Side, TradeSubType

_BUY = Side.BUY


def _providers(market: InstrumentMarket, order: EnteredOrder) -> list[tuple[int, EnteredOrder]]:
    """The RLP orders that a retail order may meet with their prices, the best first and then the oldest."""
    own = market.book.side(order.side).best_price
    found: list[tuple[int, EnteredOrder]] = []
    for each in market.hidden.values():
        price = each.price
        if each.firm != order.firm or each.side is order.side or price is None:
            continue
        if own is not None:
            price = max(price, own) if order.side is _BUY else min(price, own)
        found.append((price, each))
    return sorted(found, key=itemgetter(0), reverse=order.side is not _BUY)


def provider_before(
    market: InstrumentMarket,
    order: EnteredOrder,
    price: int | None,
) -> tuple[int, EnteredOrder] | None:
    """The RLP order that has a better price than the book's best one, with it."""
    found = _providers(market, order)
    if not found:
        return None
    best = found[0][0]
    is_better = price is None or (best < price if order.side is _BUY else best > price)
    return found[0] if is_better else None


def levels_for(
    market: InstrumentMarket,
    order: EnteredOrder,
) -> Iterator[tuple[int | None, Iterable[EnteredOrder]]]:
    """What an incoming order would meet, level by level; a provider is a level behind that of the book."""
    levels: Iterator[tuple[int | None, Iterable[EnteredOrder]]] = groupby(
        market.book.opposite(order.side).orders, key=attrgetter("price")
    )
    if not (order.retail and market.hidden):
        return levels
    rows: list[tuple[int | None, Iterable[EnteredOrder]]] = [(price, list(level)) for price, level in levels]
    rows += [(price, [each]) for price, each in _providers(market, order)]
    sign = 1 if order.side is _BUY else -1
    return iter(sorted(rows, key=lambda row: (row[0] is not None, sign * (row[0] or 0))))


def trade_with_provider(
    draft: Draft,
    market: InstrumentMarket,
    order: EnteredOrder,
    provider: EnteredOrder,
    price: int,
) -> None:
    """All of it counts as hidden (13.1)."""
    size = min(order.leaves, provider.leaves)
    draft.trade(market, price, size, order.firm, order.firm, sub_type=TradeSubType.RLP)
    draft.execute(market).count(price, size, order.side, size)
    for each in (order, provider):
        each.executed += size
        each.leaves -= size
        market.executed += size
    provider.shown = provider.leaves
    if not provider.leaves:
        del market.hidden[provider.order_id]
        draft.floor.forget(provider)
