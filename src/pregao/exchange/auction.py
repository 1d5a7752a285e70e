"""The uncrossing of an auction, as pure functions over simple views of orders.

B3's guidelines say that there is a theoretical price (13.9.2), not how it is found. Our rule, each
step deciding only among the prices that the steps before it left equal:

1. the largest quantity that can trade at the price;
2. the smallest surplus, whichever side it is on;
3. a price between what the limits and the reference price say, not a tick beyond all of them;
4. market pressure: buyers left over at every such price take the highest, sellers the lowest;
5. the price nearest to the reference price;
6. the higher price.

Candidates are the ticks from one below the lowest limit in the book to one above the highest, and on to
the reference price if that lies further off: where orders without price (MOA, MOC) meet, the limits of
others need not hold them. Those trade at every price, before all others (12.1); where only they meet, the
reference price is the price, and without one there is none. A price that no order says must be within the
hard limits, and above zero unless it is a strategy's; the reference is held to them. All trades are at the
one price, and orders trade in the order of their book: without price first, then the better price, then the
smaller secondaryOrderID. Prevention of self-trades has no aggressor to cancel here and does not apply.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pregao.model.market import ImbalanceSide, Side

_NEARBY = 3  # limits to look at on each side of the crossing
ANY_PRICE = (-(1 << 62), 1 << 62)


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
class Levels:
    """Both sides as quantities by price; a book that keeps its levels can give them directly."""

    bids: Mapping[int, int]
    offers: Mapping[int, int]
    unpriced_bids: int = 0
    unpriced_offers: int = 0


def theoretical(
    levels: Levels, tick: int, reference: int | None, within: tuple[int, int] = ANY_PRICE
) -> Theoretical | None:
    """The theoretical price, quantity and surplus; None where nothing would trade.

    Only the limits around the one where demand falls to supply are looked at. Upwards demand falls and
    supply rises, so what can trade rises up to that limit and falls after it, and the surplus grows on
    either side. Prices further off can be equal to the best only across a limit that neither adds sellers
    nor loses buyers: there are no two of those in a row. The limits left out above are buyers at every
    price that is looked at, those below sellers.
    """
    if not _can_cross(levels):
        return None
    low, high = within
    if reference is not None:
        reference = min(max(reference, -(-low // tick) * tick), high // tick * tick)
    bids, offers = levels.bids, levels.offers
    limits = sorted({*bids, *offers})
    if len(limits) <= 2 * _NEARBY:
        return _theoretical(levels, tick, reference, within)
    surplus = levels.unpriced_bids - levels.unpriced_offers + sum(bids.values())
    place = 0
    for place, price in enumerate(limits):  # noqa: B007
        surplus -= offers.get(price, 0)
        if surplus <= 0:
            break
        surplus -= bids.get(price, 0)
    first, end = max(place - _NEARBY, 0), place + _NEARBY
    near = limits[first:end]
    lowest, highest = near[0], near[-1]
    nearby = Levels(
        {price: bids[price] for price in near if price in bids},
        {price: offers[price] for price in near if price in offers},
        levels.unpriced_bids + sum(size for price, size in bids.items() if price > highest),
        levels.unpriced_offers + sum(size for price, size in offers.items() if price < lowest),
    )
    # Beyond a limit that is not the book's last one others join or leave.
    within = max(low, lowest) if first else low, min(high, highest) if end < len(limits) else high
    return _theoretical(nearby, tick, reference, within)


def _theoretical(
    levels: Levels, tick: int, reference: int | None, within: tuple[int, int]
) -> Theoretical | None:
    bids, offers = levels.bids, levels.offers
    # Upwards through the prices: sellers join at their limit, buyers leave behind theirs.
    demand = levels.unpriced_bids + sum(bids.values())
    supply = levels.unpriced_offers
    largest, smallest = 0, 0
    equals: list[tuple[int, int]] = []
    for price in _candidates(levels, tick, reference, within):
        supply += offers.get(price, 0)
        surplus = demand - supply
        quantity = supply if supply < demand else demand
        size = abs(surplus)
        if quantity > largest or (quantity == largest and size < smallest):
            largest, smallest = quantity, size
            equals = [(price, surplus)]
        elif quantity == largest and size == smallest:
            equals.append((price, surplus))
        demand -= bids.get(price, 0)
    if not largest:
        return None
    said = [*bids, *offers] if reference is None else [*bids, *offers, reference]
    if said:
        low, high = min(said), max(said)
        equals = [each for each in equals if low <= each[0] <= high] or equals
    return Theoretical(*_break_tie(equals, reference, largest))


def _can_cross(levels: Levels) -> bool:
    """The common case of an auction's quiet hours is a book that does not meet: say so cheaply."""
    if levels.unpriced_bids:
        return bool(levels.unpriced_offers or levels.offers)
    if levels.unpriced_offers:
        return bool(levels.bids)
    return bool(levels.bids and levels.offers) and max(levels.bids) >= min(levels.offers)


def _candidates(levels: Levels, tick: int, reference: int | None, within: tuple[int, int]) -> list[int]:
    """The prices among which the best is, in rising order.

    Between two neighbouring limits every tick has the same quantity and surplus, so only the limits, the
    ticks next to them and the ones next to the reference can win.
    """
    limits = {*levels.bids, *levels.offers}
    ticks: set[int] = set()
    for limit in limits:
        ticks.update(((limit - 1) // tick * tick, (limit // tick + 1) * tick))
    if reference is not None:
        ticks.update((reference // tick * tick, -(-reference // tick) * tick))
    low, high = within
    if min(ticks, default=low) < low or max(ticks, default=high) > high:
        first, last = -(-low // tick) * tick, high // tick * tick
        ticks = {min(max(price, first), last) for price in ticks if first <= last}
    return sorted(limits | ticks)


def _break_tie(
    equals: Sequence[tuple[int, int]], reference: int | None, quantity: int
) -> tuple[int, int, int]:
    """Steps 4 to 6; `equals` are price and surplus, rising in price."""
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
