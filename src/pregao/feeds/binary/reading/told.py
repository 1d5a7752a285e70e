"""What a message tells: an update of the model, or a word about the stream itself, with the facts of
the wire that the model leaves out.

**What is missing or unknown.** Nothing that a peer sends makes reading fail. A value that the model's
vocabulary lacks stays the integer that was sent (of a side, the character's code), in place of the
enumeration's member, and is counted. What a message lacks (null, or its block is too short) is None, or 0
where the model says that 0 is none (positions, times); where the model knows no None, the field's name is
in `lacks`, and whoever uses the update decides. A number that the model cannot hold is there by its name on
the wire: one with more places (a price increment below a ten-thousandth) is rounded down, one that is too
large for 64 bits is None.
"""

from pregao.feeds.binary.news_parts import NewsPart
from pregao.model.events import Update
from pregao.model.market import Side
from pregao.model.records import record
from pregao.model.rows import Flag


@record
class SequenceTold:
    """A heartbeat (7.5): the number that the next packet will have."""

    next_number: int


@record
class SequenceWasReset:
    """The stream starts again at 1 (6.5.11); on the recovery streams the end of a loop."""


@record
class SnapshotBegin:
    """The snapshot of one instrument begins (7.2)."""

    security_id: int
    last_number: int  # lastMsgSeqNumProcessed
    reports: int  # instruments in this loop
    bids: int
    offers: int
    statistics: int
    last_rpt_seq: int | None
    last_sequence_version: int | None  # from version 15 on


@record
class SnapshotOrder:
    """A resting order of a snapshot (7.3)."""

    security_id: int
    side: Side
    order_id: int
    price: int | None
    size: int
    position: int
    inserted_ns: int
    firm: int | None = None
    implied: bool = False


@record
class NotUnderstood:
    """A message of a template that this version does not have, or that means nothing to the model."""

    template_id: int


Control = SequenceTold | SequenceWasReset | SnapshotBegin | SnapshotOrder | NewsPart | NotUnderstood


@record
class TranslatedMessage:
    """An update, and what its message says besides. `index` is that of the message in its packet."""

    update: Update | Control
    version: int
    index: int
    rpt_seq: int | None = None
    flags: Flag = Flag.NO_EVENT
    lacks: tuple[str, ...] = ()
    total: int | None = None  # of a definition: how many the loop has (6.5.8)
    last: bool = False  # of a definition: the last one after a channel reset (6.5.12)

    @property
    def end_of_event(self) -> bool:
        return Flag.END_OF_EVENT in self.flags
