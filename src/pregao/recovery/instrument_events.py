"""What the machine of a channel or session tells people of instruments: which are in doubt, and which are
whole again."""

from enum import Enum

from pregao.model.records import record
from pregao.recovery.policy import number_of


class DoubtReason(Enum):
    """Why an instrument is not known to be right."""

    REPORTS_MISSING = "its rptSeq does not follow the last one"
    QUEUE_OVERFLOW = "the queue of held rows was dropped"
    SITE_CHANGED = "another site has taken over"
    SUSPECT = "an update did not fit its book"
    SESSION_LOST = "its session is gone"


class Healer(Enum):
    """What made an instrument whole again."""

    SNAPSHOT = "snapshot"
    EMPTY_BOOK = "empty book"  # and its orders, told to their end (6.5.13)
    FIRST_REPORT = "first report"  # rptSeq 1: the book was emptied just before (6.5.13)
    ABSENT = "absent from loop"
    CONTINUITY = "continuity"


@record
class InstrumentsUnverified:
    """Something was lost that may have concerned them, or their books are being told again."""

    channel: int
    security_ids: tuple[int, ...]
    at: int

    @property
    def instruments(self) -> int:
        return len(self.security_ids)

    def __str__(self) -> str:
        who = f"{self.instruments} instruments" if self.instruments != 1 else "1 instrument"
        return f"channel {self.channel}: {who} unverified from packet {number_of(self.at)}"


@record
class InstrumentStale:
    security_id: int
    reason: DoubtReason
    at: int

    def __str__(self) -> str:
        return f"instrument {self.security_id} is stale at packet {number_of(self.at)}: {self.reason.value}"


@record
class InstrumentHealed:
    """`book`, `statistics`: which part became clean."""

    security_id: int
    by: Healer
    at: int
    book: bool
    statistics: bool
    loops: int  # snapshot loops begun while it waited

    def __str__(self) -> str:
        parts = " and ".join(
            name for name, healed in (("book", self.book), ("statistics", self.statistics)) if healed
        )
        return f"instrument {self.security_id}: {parts} healed by {self.by.value} after {self.loops} loops"


@record
class HistoryFilled:
    """Trades, or index values, that a session missed have come, from a number to another; not `whole`: some
    could not be had."""

    security_id: int
    first_id: int
    last_id: int
    whole: bool

    def __str__(self) -> str:
        end = "" if self.whole else ", not all of them"
        return f"instrument {self.security_id}: {self.first_id} to {self.last_id} were filled in{end}"
