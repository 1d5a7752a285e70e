"""Price and quantity bands (13.11): what an order may say, and what a trade may not do without auction.

| band | told as | an order outside |
|---|---|---|
| hard, static | prices | is rejected, in any phase |
| rejection | prices or percentages of a midpoint | is rejected, in any phase |
| auction | prices or percentages of a midpoint | is accepted; trading outside starts an auction instead |
| quantity | largest quantity of an order (equities) | is rejected |

All four types live side by side, and an update replaces only its own (13.11.1). Percentages are
ten-thousandths of a percentage point, the low one negative. A midpoint that is not known, or zero as the
price of a spread may be, leaves its percentage band without effect.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pregao.exchange.catalogues.rules import BandRule
from pregao.exchange.commands import Rejection, RejectReason
from pregao.model.errors import PregaoError
from pregao.model.events import PriceBand, QuantityBand
from pregao.model.market import BandType, LimitType, Midpoint

WHOLE = 100 * 10_000  # 100 % in ten-thousandths of a percentage point

# 13.11.5. Ticks are in the enum, and used for no band.
LIMIT_TYPES: dict[BandType, frozenset[LimitType]] = {
    BandType.HARD: frozenset({LimitType.PRICE}),
    BandType.STATIC: frozenset({LimitType.PRICE}),
    BandType.REJECTION: frozenset({LimitType.PRICE, LimitType.PERCENTAGE}),
    BandType.AUCTION: frozenset({LimitType.PRICE, LimitType.PERCENTAGE}),
}


_REJECTING: tuple[tuple[BandType, RejectReason], ...] = (
    (BandType.HARD, RejectReason.PRICE_OUTSIDE_HARD_LIMIT),
    (BandType.STATIC, RejectReason.PRICE_OUTSIDE_STATIC_LIMIT),
    (BandType.REJECTION, RejectReason.PRICE_OUTSIDE_REJECTION_BAND),
)


@dataclass(frozen=True, slots=True)
class Midpoints:
    """The prices that percentages may be of; `reference` stands in until there is a trade."""

    last: int | None = None
    bid: int | None = None
    offer: int | None = None
    theoretical: int | None = None
    reference: int | None = None

    def of(self, kind: Midpoint | None) -> int | None:
        last = self.reference if self.last is None else self.last
        if kind is Midpoint.THEORETICAL:
            return last if self.theoretical is None else self.theoretical
        if kind is Midpoint.COMPLEMENTARY_LAST and last is not None:
            # The guidelines name this price without its rule. Ours: the last trade, moved to the
            # better bid or offer that has since been placed.
            if self.bid is not None and self.bid > last:
                return self.bid
            if self.offer is not None and self.offer < last:
                return self.offer
        return last


class BandError(PregaoError):
    """A band that 13.11.5 does not have; nothing was changed."""

    def __init__(self, reason: str, *, security_id: int) -> None:
        self.reason, self.security_id = reason, security_id
        super().__init__(f"{security_id}: {reason}")


@dataclass(slots=True)
class BandLimits:
    """What stands for one instrument. `low` and `high` are where all its rejecting bands that are told
    as prices agree; `moving` are those that move with the market."""

    rules: dict[BandType, BandRule] = field(default_factory=dict)
    reference_fine: int | None = None
    average_daily: int | None = None
    largest_order: int | None = None
    low: int | None = None
    high: int | None = None
    moving: tuple[BandRule, ...] = ()

    def put(self, rule: BandRule) -> None:
        self.rules[rule.type] = rule
        rejecting = [self.rules[kind] for kind, _ in _REJECTING if kind in self.rules]
        fixed = [each for each in rejecting if each.limit_type is LimitType.PRICE]
        self.low = max((each.low for each in fixed), default=None)
        self.high = min((each.high for each in fixed), default=None)
        self.moving = tuple(each for each in rejecting if each.limit_type is not LimitType.PRICE)


def limits_of(rule: BandRule, midpoints: Midpoints) -> tuple[int, int] | None:
    """A band as prices, rounded inwards; None where it has no midpoint to be a percentage of."""
    if rule.limit_type is LimitType.PRICE:
        return rule.low, rule.high
    midpoint = midpoints.of(rule.midpoint)
    return limits_around(rule, midpoint) if midpoint else None


def limits_around(rule: BandRule, midpoint: int) -> tuple[int, int]:
    """A band told as percentages, as prices."""
    # Of the absolute value: spreads and rates have negative prices.
    low = -(-abs(midpoint) * rule.low // WHOLE)
    high = abs(midpoint) * rule.high // WHOLE
    return midpoint + low, midpoint + high


class Bands:
    """The bands of all instruments. Messages are what the change is told as (4.2.2: each on its own)."""

    def __init__(self) -> None:
        self._limits: dict[int, BandLimits] = {}

    def add(self, security_id: int, rules: Iterable[BandRule] = ()) -> None:
        limits = self._limits.setdefault(security_id, BandLimits())
        for rule in rules:
            self._checked(security_id, rule)
            limits.put(rule)

    def remove(self, security_id: int) -> None:
        self._limits.pop(security_id, None)

    def find(self, security_id: int) -> BandLimits | None:
        return self._limits.get(security_id)

    def rule(self, security_id: int, kind: BandType) -> BandRule | None:
        return self._limits[security_id].rules.get(kind)

    def set_band(self, security_id: int, rule: BandRule, now_ns: int) -> PriceBand:
        self._checked(security_id, rule)
        self._of(security_id).put(rule)
        return _band_message(security_id, rule, now_ns)

    def set_reference(self, security_id: int, price_fine: int, now_ns: int) -> PriceBand:
        """The reference price has no band type (13.11)."""
        self._of(security_id).reference_fine = price_fine
        return PriceBand(security_id, None, now_ns, reference_fine=price_fine)

    def set_quantity(
        self, security_id: int, average_daily: int | None, largest_order: int | None, now_ns: int
    ) -> QuantityBand:
        self.limit_quantity(security_id, average_daily, largest_order)
        return QuantityBand(security_id, average_daily, largest_order, now_ns)

    def limit_quantity(self, security_id: int, average_daily: int | None, largest_order: int | None) -> None:
        limits = self._of(security_id)
        limits.average_daily, limits.largest_order = average_daily, largest_order

    def current(self, security_id: int, now_ns: int) -> tuple[PriceBand | QuantityBand, ...]:
        """All bands of an instrument as messages: for the start of a day and for snapshots."""
        limits = self._of(security_id)
        messages: list[PriceBand | QuantityBand] = [
            _band_message(security_id, limits.rules[kind], now_ns)
            for kind in BandType
            if kind in limits.rules
        ]
        if limits.reference_fine is not None:
            messages.append(PriceBand(security_id, None, now_ns, reference_fine=limits.reference_fine))
        if limits.average_daily is not None or limits.largest_order is not None:
            messages.append(QuantityBand(security_id, limits.average_daily, limits.largest_order, now_ns))
        return tuple(messages)

    def check(
        self, security_id: int, price: int | None, quantity: int, midpoints: Midpoints
    ) -> Rejection | None:
        """What the bands say to an order with this limit."""
        limits = self._limits.get(security_id)
        if limits is None:
            return None
        if limits.largest_order is not None and quantity > limits.largest_order:
            return Rejection(RejectReason.QUANTITY_ABOVE_LIMIT, f"{quantity} is above {limits.largest_order}")
        for kind, reason in _REJECTING:
            found = self._outside(limits, kind, price, midpoints)
            if found is not None:
                return Rejection(reason, f"{price} is not within {found[0]} and {found[1]}")
        return None

    @staticmethod
    def _outside(
        limits: BandLimits, kind: BandType, price: int | None, midpoints: Midpoints
    ) -> tuple[int, int] | None:
        rule = limits.rules.get(kind)
        if rule is None or price is None:
            return None
        found = limits_of(rule, midpoints)
        return None if found is None or found[0] <= price <= found[1] else found

    def _of(self, security_id: int) -> BandLimits:
        if security_id not in self._limits:
            raise BandError("no such instrument", security_id=security_id)
        return self._limits[security_id]

    @staticmethod
    def _checked(security_id: int, rule: BandRule) -> None:
        if rule.limit_type not in LIMIT_TYPES[rule.type]:
            raise BandError(
                f"{rule.type.name} is not told as {rule.limit_type.name}", security_id=security_id
            )
        if (rule.midpoint is not None) is not (rule.limit_type is LimitType.PERCENTAGE):
            raise BandError("a midpoint belongs to percentages, and only to them", security_id=security_id)
        if rule.low > rule.high:
            raise BandError("the low limit is above the high one", security_id=security_id)


def _band_message(security_id: int, rule: BandRule, now_ns: int) -> PriceBand:
    return PriceBand(security_id, rule.type, now_ns, rule.limit_type, rule.low, rule.high, rule.midpoint)
