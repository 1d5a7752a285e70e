"""A recovery stream: everything, from packet 1 to a SequenceReset, again and again (6.5.8, 7.4).

What one packet says may be used as soon as it is there; that something is *not* said counts only when
the whole loop was heard. Instead of a loop there may be heartbeats: then there is nothing to wait for
but a ChannelReset on the incremental stream (7.5).
"""

from enum import Enum
from typing import Final

import numpy as np

from pregao.recovery.events import DefinitionsComplete, Event
from pregao.recovery.instruments import Mark
from pregao.recovery.policy import RecoveryPolicy
from pregao.recovery.recovery import Recovery
from pregao.recovery.table import NOT_FOLLOWED, InstrumentTable

_LATE: Final = 4  # versions: packets of loops so recent are late ones
_OTHERS: Final = 256  # packets of another feed: then the one that was followed is silent


class Follow(Enum):
    """How a packet stands to the one before it."""

    BEGAN = "first of a loop"
    FOLLOWED = "next of its loop"
    BROKE = "something before it is missing"
    REPEATED = "already heard, or late"


class LoopTracker:
    """One looping stream of one site. `ends_by_count`: a loop may end without a SequenceReset, and the next
    one have the same version."""

    def __init__(self, policy: RecoveryPolicy, *, ends_by_count: bool = False) -> None:
        self._policy, self._ends_by_count = policy, ends_by_count
        self.version = 0
        self.loops = 0  # begun, as far as known
        self.completed = 0
        self.broken = 0
        self.idle = False
        self.at_first_packet = False
        self._next = 0  # 0: not following any
        self._whole = False
        self._items = self._total = 0
        self._totals_differ = False
        self._ended = self._reset_heard = False

    @property
    def items(self) -> int:
        return self._items

    @property
    def following(self) -> bool:
        """Everything of this loop so far was heard."""
        return self._whole

    @property
    def all_counted(self) -> bool:
        """As many items were heard as each of them said that there are."""
        return self._whole and self._items == self._total and not self._totals_differ

    def on_packet(self, version: int, number: int) -> Follow:
        """A packet that is no heartbeat."""
        self.idle = False
        if self._next and version == self.version:
            return self._within(number)
        if self._next and number != 1 and -_LATE <= self._policy.distance(version, self.version) < 0:
            return Follow.REPEATED
        return self._begin(version, number)

    def on_idle(self, number: int = 0) -> None:
        """A heartbeat: the recovery system has nothing to say. In some systems it has a number of the
        loop."""
        self.idle = True
        if number and number == self._next:
            self._next += 1

    def on_item(self, total: int) -> None:
        """A definition or snapshot; each says how many there are in the loop."""
        self._totals_differ |= self._items > 0 and total != self._total
        self._items += 1
        self._total = total

    def on_sequence_reset(self) -> bool:
        """The last packet of a loop; True when the loop was heard from its first to its last item."""
        self._reset_heard = True
        return self.end()

    def end(self) -> bool:
        """The loop is over, as far as one can tell; True as above, once a loop."""
        if self._ended:
            return False
        # A SequenceReset alone lists nobody: it may be a stray packet, and must not empty or drop everything.
        complete = self._whole and 0 < self._items == self._total
        self.completed += complete
        self.broken += not complete
        # Late packets of this loop are still of its version; none follows.
        self._whole, self._ended = False, True
        return complete

    def leave(self) -> None:
        """Nobody listens any more."""
        self._next, self._whole, self.idle = 0, False, False

    def _within(self, number: int) -> Follow:
        if number == 1 and self._ends_by_count and not self._whole and not self._reset_heard:
            return self._begin(self.version, number)
        if number < self._next:
            return Follow.REPEATED
        followed = number == self._next
        self._whole = self._whole and followed
        self.at_first_packet = False
        self._next = number + 1
        return Follow.FOLLOWED if followed else Follow.BROKE

    def _begin(self, version: int, number: int) -> Follow:
        self.broken += self._whole  # what was heard of another one
        self.version, self.at_first_packet = version, number == 1
        self.loops += 1
        self._whole, self._items, self._total = number == 1, 0, 0
        self._totals_differ = self._ended = self._reset_heard = False
        self._next = number + 1
        return Follow.BEGAN if number == 1 else Follow.BROKE


class LoopFeed:
    """Which feed's loop is followed, in systems whose sites may each have a loop of their own. While all of
    one was heard so far, what another feed has of a different one is left; after a loop that is over or
    broken comes whichever begins next."""

    def __init__(self, tracker: LoopTracker) -> None:
        self._tracker = tracker
        self._feed: int | None = None
        self._others = 0  # packets left since the feed was last heard

    def admits(self, feed: int, version: int, number: int) -> bool:
        if feed == self._feed:
            self._others = 0
            return True
        if self._feed is not None and version == self._tracker.version:
            return True  # the same loop
        begins = number == 1 and not self._tracker.following
        self._others += 1
        if self._feed is not None and not begins and self._others < _OTHERS:
            return False
        self._feed, self._others = feed, 0
        return True


def loop_feed(policy: RecoveryPolicy, tracker: LoopTracker) -> LoopFeed | None:
    """None: packets say themselves which loop they are of."""
    return None if policy.tells_epochs else LoopFeed(tracker)


# The instruments there are (6.4, 6.5.8): the definition stream's loops, and changes as they happen.
#
# A loop lists what there was when it began, so the incremental stream may know better: what it told of an
# instrument stands until packets were lost after it *and* a loop has begun after that loss. Until then loops
# neither bring back an instrument that was deleted, nor drop one that was added, nor undo a change.


class InstrumentList:
    """Complete when a whole loop was heard that began after the last loss of packets: a definition may
    have been in what was lost."""

    def __init__(
        self,
        channel: int,
        table: InstrumentTable,
        recovery: Recovery,
        policy: RecoveryPolicy,
        tell: list[Event],
    ) -> None:
        self._channel, self._table, self._recovery, self._tell = channel, table, recovery, tell
        self.tracker = LoopTracker(policy, ends_by_count=policy.definitions_end_by_count)
        self.complete = False
        self._losses = 0
        self._losses_at_beginning = -1  # of the loop that is heard; -1: its beginning was not
        self._heard_of: dict[int, int] = {}  # by securityID: losses before the incremental stream told of it
        self._dropped: list[int] = []

    def on_packet(self, version: int, number: int) -> Follow:
        follow = self.tracker.on_packet(version, number)
        if follow is Follow.BEGAN:
            if self._losses_at_beginning != self._losses:
                self._heard_of = {
                    key: losses for key, losses in self._heard_of.items() if losses == self._losses
                }
            self._losses_at_beginning = self._losses
            self._table.definition_loop = self.tracker.loops
        return follow

    def on_heartbeat(self, number: int = 0) -> None:
        """No list yet: it comes by the incremental stream with a ChannelReset (7.5)."""
        self.tracker.on_idle(number)

    def on_item(self, security_id: int, total: int, ends: bool | None = None) -> int | None:
        """A definition of the loop; the instrument's index. None: the incremental stream has told of it
        since, and this is older."""
        self.tracker.on_item(total)
        index = None if security_id in self._heard_of else self._define(security_id)
        # 6.5.9 counts; not every stream ends its loops with a SequenceReset. Where the last one says so, both
        # must agree: one that says so too early ends a loop that is not whole.
        if ends or (ends is None and self.tracker.all_counted):
            self._end()
        return index

    def on_sequence_reset(self) -> None:
        self._end()
        self.tracker.on_sequence_reset()

    def on_definition(self, security_id: int, at: int, *, new: bool, deleted: bool) -> int:
        """A change told on the incremental stream: one that adds an instrument we do not know, while
        we know them all, has nothing that we could have missed."""
        self._heard_of[security_id] = self._losses
        index = self._table.find(security_id)
        if deleted:
            if index != NOT_FOLLOWED:
                self._recovery.ignore(index)
            return index
        unknown = index == NOT_FOLLOWED or not self._table.is_followed(index)
        index = self._define(security_id)
        if unknown and index != NOT_FOLLOWED:
            self._begin_again(index, max(self._recovery.missing, at), clean=new and self.complete)
        return index

    def may_list(self, security_id: int) -> bool:
        """Whether there may be an instrument that is not known. One that the incremental stream told of is
        known, or was deleted; while the list is complete there are no others, but for those that a snapshot
        ahead of the stream has, and these it will tell."""
        return not self.complete and security_id not in self._heard_of

    def on_loss(self) -> None:
        self.complete = False
        self._losses += 1

    def on_site(self) -> None:
        self.on_loss()
        self.leave()

    def leave(self) -> None:
        self.tracker.leave()

    def take_dropped(self) -> list[int]:
        """Indexes of the instruments that a complete loop did not list, since the last time."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def _define(self, security_id: int) -> int:
        index = self._table.add(security_id, self._recovery.missing)
        if index != NOT_FOLLOWED:
            if not self._table.is_followed(index):
                self._begin_again(index, self._recovery.missing, clean=False)
            self._table.sync[index]["marks"] |= Mark.DEFINED
            self._table.in_definitions[index] = self.tracker.loops
        return index

    def _begin_again(self, index: int, missing: int, *, clean: bool) -> None:
        self._recovery.begin_again(index, missing, clean=clean)
        self._table.sync[index]["marks"] |= Mark.DEFINED

    def _end(self) -> None:
        if self.tracker.end() and self._losses_at_beginning == self._losses:
            if not self.complete:
                self._tell.append(DefinitionsComplete(self._channel, self.tracker.items))
            self.complete = True
            self._drop_unlisted()

    def _drop_unlisted(self) -> None:
        """Its deletion was lost: deleted instruments are not listed (6.5.8)."""
        table = self._table
        in_use = len(table)
        followed = table.sync["marks"] & int(Mark.IGNORED) == 0
        unlisted = np.flatnonzero(followed & (table.in_definitions[:in_use] < self.tracker.loops))
        for index in unlisted.tolist():
            if table.security_ids[index] not in self._heard_of:
                self._recovery.ignore(index)
                self._dropped.append(index)
