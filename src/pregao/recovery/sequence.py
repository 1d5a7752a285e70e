"""Numbers of units and where they stand in their stream; which feeds carry one sequence."""

from enum import IntEnum
from typing import Final

from pregao.model.rows import place
from pregao.model.streams import Feed

__all__ = ["number_of", "place"]

NUMBER_BITS: Final = 32
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1


def number_of(at: int) -> int:
    return at & NUMBER_MASK


# Feeds and sites (6.1, 6.5.3): A and B are one sequence, C is another site with its own.


FEEDS: Final = (Feed.A, Feed.B, Feed.C)  # without UNKNOWN, which no machine is given


class Site(IntEnum):
    PRIMARY = 0
    CONTINGENCY = 1

    @property
    def feeds(self) -> tuple[Feed, ...]:
        return (Feed.A, Feed.B) if self is Site.PRIMARY else (Feed.C,)


SITE_OF: Final = {feed: site for site in Site for feed in site.feeds}


class RecoveryStream(IntEnum):
    """The two streams that loop; the numbers are those of the wire side's `Stream`."""

    DEFINITIONS = 2
    SNAPSHOTS = 3
