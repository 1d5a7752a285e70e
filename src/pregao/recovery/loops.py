"""A recovery stream: everything, from packet 1 to a SequenceReset, again and again (6.5.8, 7.4).

What one packet says may be used as soon as it is there; that something is *not* said counts only when
the whole loop was heard. Instead of a loop there may be heartbeats: then there is nothing to wait for
but a ChannelReset on the incremental stream (7.5).
"""

from enum import Enum
from typing import Final

from pregao.recovery.policy import RecoveryPolicy

_LATE: Final = 4  # versions: packets of loops so recent are late ones


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
