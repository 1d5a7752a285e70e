"""Groups, auction templates and band rules: what many instruments share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pregao.exchange.catalogues.entries import AuctionTemplate, BandRule, Group
from pregao.exchange.catalogues.tables import Table
from pregao.model.market import BandType, LimitType, Midpoint

_SECOND_NS = 1_000_000_000
_PERCENT = 1_000_000  # of a ten-thousandth of a percentage point
_TYPES: Final = {kind.name.lower(): kind for kind in BandType}
_SENT: Final = {"price": LimitType.PRICE, "percentage": LimitType.PERCENTAGE}
_MIDPOINTS: Final = {
    "last": Midpoint.LAST_TRADE,
    "complementary": Midpoint.COMPLEMENTARY_LAST,
    "theoretical": Midpoint.THEORETICAL,
}
# 13.11.5: hard and static limits are only ever told as prices.
_AS_PRICES: Final = (BandType.HARD, BandType.STATIC)


@dataclass(frozen=True, slots=True)
class BandFormula:
    """Limits as a share of the closing price or as points around it."""

    type: BandType
    limit_type: LimitType
    percent: int | None
    points: int | None
    midpoint: Midpoint | None

    def at(self, closing: int, tick: int, *, negative: bool) -> BandRule:
        """The limits of one instrument, on its ticks; below one tick only where prices may be."""
        if self.limit_type is LimitType.PERCENTAGE:
            assert self.percent is not None
            return BandRule(self.type, self.limit_type, -self.percent, self.percent, self.midpoint)
        reach = self.points if self.points is not None else abs(closing) * (self.percent or 0) // _PERCENT
        low, high = -(-(closing - reach) // tick) * tick, (closing + reach) // tick * tick
        return BandRule(self.type, self.limit_type, low if negative else max(low, tick), max(high, tick))


def read_auctions(table: Table) -> dict[str, AuctionTemplate]:
    return {name: _auction(name, table.table(name)) for name in table.names()}


def _auction(name: str, table: Table) -> AuctionTemplate:
    def seconds(key: str, least: int) -> int:
        return table.integer(key, least, 86_400) * _SECOND_NS

    template = AuctionTemplate(
        name,
        duration_ns=seconds("duration_s", 1),
        extension_ns=seconds("extension_s", 0),
        maximum_extensions=table.integer("maximum_extensions", 0, 1000),
        extension_window_ns=seconds("extension_window_s", 0),
        random_end_ns=seconds("random_end_s", 0),
    )
    table.close()
    if template.extension_window_ns > template.duration_ns:
        raise table.error("must not be longer than the auction", "extension_window_s")
    return template


def read_bands(table: Table) -> dict[str, tuple[BandFormula, ...]]:
    return {name: _formulas(table.table(name)) for name in table.names()}


def _formulas(table: Table) -> tuple[BandFormula, ...]:
    for name in table.names():
        if name not in _TYPES:
            raise table.error(f"must be one of {', '.join(_TYPES)}", name)
    return tuple(_formula(_TYPES[name], table.table(name)) for name in table.names())


def _formula(kind: BandType, table: Table) -> BandFormula:
    limit_type = table.choice("sent", _SENT, "price")
    percent = table.price("percent") if table.has("percent") else None
    points = table.price("points") if table.has("points") else None
    midpoint = table.choice("midpoint", _MIDPOINTS) if table.has("midpoint") else None
    table.close()
    if (percent is None) is (points is None):
        raise table.error("must have either percent or points")
    if (percent or points or 0) <= 0:
        raise table.error("must reach above zero")
    if limit_type is LimitType.PERCENTAGE and (percent is None or kind in _AS_PRICES):
        raise table.error("cannot be sent as a percentage", "sent")
    if (midpoint is None) is (limit_type is LimitType.PERCENTAGE):
        raise table.error("belongs to percentages, and they need it", "midpoint")
    return BandFormula(kind, limit_type, percent, points, midpoint)


def read_groups(
    tables: list[Table], auctions: Mapping[str, AuctionTemplate], bands: Mapping[str, object]
) -> dict[tuple[str, str], Group]:
    groups: dict[tuple[str, str], Group] = {}
    for table in tables:
        group = _group(table, auctions, bands)
        if group.key in groups:
            raise table.error(f"{group.code} of {group.exchange} is there twice", "code")
        groups[group.key] = group
    return groups


def _group(table: Table, auctions: Mapping[str, AuctionTemplate], bands: Mapping[str, object]) -> Group:
    group = Group(
        table.text("code", longest=3),
        table.text("exchange", "BVMF", longest=4),
        table.integer("channel", 1, 255),
        table.integer("segment", 1, 99),
        table.text("schedule", longest=20),
        table.choice("auction", auctions),
        table.text("bands", longest=20),
        table.text("description", ""),
        table.integer("minimum_cross", 1, 1_000_000, 1),
    )
    if group.bands not in bands:
        raise table.error(f"must be one of {', '.join(bands)}, not {group.bands!r}", "bands")
    table.close()
    return group
