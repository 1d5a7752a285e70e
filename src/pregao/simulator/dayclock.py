"""The clock of a day: B3's hours, or the same day in a fraction of them.

Everything planned is written in B3's local time. A proof that plays hundreds of days has no use for
their quiet hours, so a day can be squeezed: what happens keeps its order and its share of the day,
only heartbeats and loops become fewer.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from pregao.exchange.catalogues.entries import AuctionTemplate, Catalogue
from pregao.exchange.day import SECOND_NS

STARTS_S: Final = 8 * 3600  # local time at which the channels come up
ENDS_S: Final = 18 * 3600 + 45 * 60
_MOMENTS: Final = ("now_ns", "ends_ns")
_LENGTHS: Final = ("by_ns",)


@dataclass(frozen=True, slots=True)
class DayClock:
    """`squeeze` 1 is B3's own clock; 40 makes a day of sixteen minutes."""

    midnight_ns: int
    squeeze: int = 1

    @property
    def starts_ns(self) -> int:
        return self.at(STARTS_S)

    @property
    def ends_ns(self) -> int:
        return self.at(ENDS_S)

    def at(self, local_s: float) -> int:
        """When it is that much of B3's day."""
        return self.moment(self.midnight_ns + int(local_s * SECOND_NS))

    def moment(self, regular_ns: int) -> int:
        """When that happens which B3's clock has at `regular_ns`."""
        starts_ns = self.midnight_ns + STARTS_S * SECOND_NS
        return starts_ns + (regular_ns - starts_ns) // self.squeeze

    def command(self, command: Any) -> Any:
        """A planned command, at its time."""
        if self.squeeze == 1:
            return command
        moments = {name: getattr(command, name, None) for name in _MOMENTS}
        lengths = {name: getattr(command, name, None) for name in _LENGTHS}
        changed = {name: self.moment(ns) for name, ns in moments.items() if ns}
        changed |= {name: ns // self.squeeze for name, ns in lengths.items() if ns}
        return replace(command, **changed)


def squeezed(catalogue: Catalogue, squeeze: int) -> Catalogue:
    """A catalogue whose auctions are as much shorter as the day."""
    if squeeze == 1:
        return catalogue
    listings = (replace(each, auction=_template(each.auction, squeeze)) for each in catalogue.listings)
    groups = (replace(each, auction=_template(each.auction, squeeze)) for each in catalogue.groups)
    return replace(catalogue, listings=tuple(listings), groups=tuple(groups))


def _template(template: AuctionTemplate, squeeze: int) -> AuctionTemplate:
    return replace(
        template,
        duration_ns=template.duration_ns // squeeze,
        extension_ns=template.extension_ns // squeeze,
        extension_window_ns=template.extension_window_ns // squeeze,
        random_end_ns=template.random_end_ns // squeeze,
    )
