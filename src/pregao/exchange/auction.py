"""The uncrossing of an auction, as pure functions over simple views of orders.

B3's guidelines say that there is a theoretical price (13.9.2), not how it is found. Our rule, each
step deciding only among the prices that the steps before it left equal:

1. the largest quantity that can trade at the price;
2. the smallest surplus, whichever side it is on;
3. market pressure: buyers left over at every such price take the highest, sellers the lowest;
4. the price nearest to the reference price;
5. the higher price.

Candidates are the ticks from the lowest to the highest limit in the book. Orders without price (MOA,
MOC) trade at every price, before all others (12.1); where only they meet, the reference price is the
price, and without one there is none. All trades are at the one price, and orders trade in the order of
their book: without price first, then the better price, then the smaller secondaryOrderID. Prevention of
self-trades has no aggressor to cancel here and does not apply.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pregao.model.market import ImbalanceSide, Side

_NEARBY = 3  # limits to look at on each side of the crossing


@dataclass(frozen=True, slots=True)
class AuctionOrder:
    """What the uncrossing knows of an order; `quantity` is all of it, an iceberg's hidden part too."""

    side: Side
    price: int | None
    quantity: int
    priority: int  # secondaryOrderID: one of its kind, and smaller is first (12.1)


@dataclass(frozen=True, slots=True)
class Theoretical:
    """Where an auction would trade now. `surplus` is buyers' less sellers' quantity at the price."""

    price: int
    quantity: int
    surplus: int

    @property
    def imbalance(self) -> ImbalanceSide:
        if self.surplus > 0:
            return ImbalanceSide.MORE_BUYERS
        return ImbalanceSide.MORE_SELLERS if self.surplus < 0 else ImbalanceSide.BALANCED


@dataclass(frozen=True, slots=True)
class Fill:
    """One trade of the uncross: the priorities (secondaryOrderIDs) of its two orders."""

    buy: int
    sell: int
    quantity: int


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What the uncross did not trade: orders without price are cancelled, limit orders rest."""

    cancelled: tuple[AuctionOrder, ...]
    resting: tuple[AuctionOrder, ...]


@dataclass(frozen=True, slots=True)
class Levels:
    """Both sides as quantities by price; a book that keeps its levels can give them directly."""

    bids: Mapping[int, int]
    offers: Mapping[int, int]
    unpriced_bids: int = 0
    unpriced_offers: int = 0

    @classmethod
    def of(cls, orders: Iterable[AuctionOrder]) -> "Levels":
        priced: dict[Side, dict[int, int]] = {Side.BUY: {}, Side.SELL: {}}
        unpriced = {Side.BUY: 0, Side.SELL: 0}
        for order in orders:
            if order.price is None:
                unpriced[order.side] += order.quantity
            else:
                level = priced[order.side]
                level[order.price] = level.get(order.price, 0) + order.quantity
        return cls(priced[Side.BUY], priced[Side.SELL], unpriced[Side.BUY], unpriced[Side.SELL])


def theoretical(orders: Iterable[AuctionOrder], tick: int, reference: int | None) -> Theoretical | None:
    return theoretical_of_levels(Levels.of(orders), tick, reference)


def theoretical_of_levels(levels: Levels, tick: int, reference: int | None) -> Theoretical | None:
    """The theoretical price, quantity and surplus; None where nothing would trade."""
    if not _can_cross(levels):
        return None
    prices = _candidates(levels, tick, reference)
    if not prices:
        return None
    bids, offers = levels.bids, levels.offers
    # Upwards through the prices: sellers join at their limit, buyers leave behind theirs.
    demand = levels.unpriced_bids + sum(size for price, size in bids.items() if price >= prices[0])
    supply = levels.unpriced_offers
    largest, smallest = 0, 0
    equals: list[tuple[int, int]] = []
    for price in prices:
        supply += offers.get(price, 0)
        surplus = demand - supply
        quantity = supply if surplus > 0 else demand
        size = abs(surplus)
        if quantity > largest or (quantity == largest and size < smallest):
            largest, smallest = quantity, size
            equals = [(price, surplus)]
        elif quantity == largest and size == smallest:
            equals.append((price, surplus))
        demand -= bids.get(price, 0)
    return Theoretical(*_break_tie(equals, reference, largest)) if largest else None


def theoretical_nearby(levels: Levels, tick: int, reference: int | None) -> Theoretical | None:
    """The same, looking only at the limits around the one where demand falls to supply.

    Upwards demand falls and supply rises, so what can trade rises up to that limit and falls after it,
    and the surplus grows on either side. Prices further off can be equal to the best only across a limit
    that neither adds sellers nor loses buyers: there are no two of those in a row. The limits left out
    above are buyers at every price that is looked at, those below sellers.
    """
    if not _can_cross(levels):
        return None
    bids, offers = levels.bids, levels.offers
    limits = sorted({*bids, *offers})
    if len(limits) <= 2 * _NEARBY:
        return theoretical_of_levels(levels, tick, reference)
    surplus = levels.unpriced_bids - levels.unpriced_offers + sum(bids.values())
    place = 0
    for place, price in enumerate(limits):  # noqa: B007
        surplus -= offers.get(price, 0)
        if surplus <= 0:
            break
        surplus -= bids.get(price, 0)
    near = limits[max(place - _NEARBY, 0) : place + _NEARBY]
    lowest, highest = near[0], near[-1]
    return theoretical_of_levels(
        Levels(
            {price: bids[price] for price in near if price in bids},
            {price: offers[price] for price in near if price in offers},
            levels.unpriced_bids + sum(size for price, size in bids.items() if price > highest),
            levels.unpriced_offers + sum(size for price, size in offers.items() if price < lowest),
        ),
        tick,
        reference,
    )


def _can_cross(levels: Levels) -> bool:
    """The common case of an auction's quiet hours is a book that does not meet: say so cheaply."""
    if levels.unpriced_bids:
        return bool(levels.unpriced_offers or levels.offers)
    if levels.unpriced_offers:
        return bool(levels.bids)
    return bool(levels.bids and levels.offers) and max(levels.bids) >= min(levels.offers)


def _candidates(levels: Levels, tick: int, reference: int | None) -> list[int]:
    """The prices among which the best is, in rising order.

    Between two neighbouring limits every tick has the same quantity and surplus, so only the first,
    the last and the ones next to the reference can win.
    """
    limits = sorted({*levels.bids, *levels.offers})
    if not limits:
        return [] if reference is None else [reference]
    if not (levels.unpriced_bids or levels.unpriced_offers):
        low, high = min(levels.offers), max(levels.bids)
        limits = [price for price in limits if low <= price <= high]  # elsewhere nothing trades
    prices = set(limits)
    for below, above in pairwise(limits):
        first, last = below + tick, above - tick
        if first > last:
            continue
        prices.update((first, last))
        if reference is not None:
            on_grid = below + (reference - below) // tick * tick
            prices.update(price for price in (on_grid, on_grid + tick) if first <= price <= last)
    return sorted(prices)


def _break_tie(
    equals: Sequence[tuple[int, int]], reference: int | None, quantity: int
) -> tuple[int, int, int]:
    """Steps 3 to 5; `equals` are price and surplus, rising in price."""
    if all(surplus > 0 for _, surplus in equals):
        price, surplus = equals[-1]
    elif all(surplus < 0 for _, surplus in equals):
        price, surplus = equals[0]
    elif reference is None:
        price, surplus = equals[-1]
    else:
        price, surplus = min(equals, key=lambda each: (abs(each[0] - reference), -each[0]))
    return price, quantity, surplus


def trades_at(order: AuctionOrder, price: int) -> bool:
    """Whether an order's limit lets it trade at `price`."""
    if order.price is None:
        return True
    return order.price >= price if order.side is Side.BUY else order.price <= price


def allocate(orders: Iterable[AuctionOrder], price: int) -> tuple[Fill, ...]:
    """The trades of an uncross at `price`, by price and priority on both sides."""
    willing = [order for order in orders if trades_at(order, price)]
    buys = sorted((order for order in willing if order.side is Side.BUY), key=_book_order)
    sells = sorted((order for order in willing if order.side is Side.SELL), key=_book_order)
    fills: list[Fill] = []
    at_buy = at_sell = 0
    left_buy = buys[0].quantity if buys else 0
    left_sell = sells[0].quantity if sells else 0
    while at_buy < len(buys) and at_sell < len(sells):
        quantity = min(left_buy, left_sell)
        fills.append(Fill(buys[at_buy].priority, sells[at_sell].priority, quantity))
        left_buy -= quantity
        left_sell -= quantity
        if left_buy == 0:
            at_buy += 1
            left_buy = buys[at_buy].quantity if at_buy < len(buys) else 0
        if left_sell == 0:
            at_sell += 1
            left_sell = sells[at_sell].quantity if at_sell < len(sells) else 0
    return tuple(fills)


def _book_order(order: AuctionOrder) -> tuple[bool, int, int]:
    if order.price is None:
        return (False, 0, order.priority)
    return (True, -order.price if order.side is Side.BUY else order.price, order.priority)


def leftovers(orders: Iterable[AuctionOrder], fills: Iterable[Fill]) -> Leftovers:
    """What remains of each order after `fills`, in book order of each side as given."""
    filled: dict[int, int] = {}
    for fill in fills:
        for priority in (fill.buy, fill.sell):
            filled[priority] = filled.get(priority, 0) + fill.quantity
    cancelled: list[AuctionOrder] = []
    resting: list[AuctionOrder] = []
    for order in orders:
        rest = order.quantity - filled.get(order.priority, 0)
        if rest:
            kept = AuctionOrder(order.side, order.price, rest, order.priority)
            (cancelled if order.price is None else resting).append(kept)
    return Leftovers(tuple(cancelled), tuple(resting))
