"""What is missing in a sequence and asked for from a replayer: when, how much of it at once, and how long an
answer is waited for before the gap is given up."""

from collections import deque
from collections.abc import Iterable, Iterator

from pregao.recovery.policy import ChannelSettings

Gap = tuple[int, int]  # the first number that is missing, and the one behind the last


class GapRequests:
    """Of one sequence. `first` is the number that comes next, `end` the one behind the first gap."""

    def __init__(self, settings: ChannelSettings) -> None:
        policy = settings.policy
        self._ask_ns, self._most, self._answer_ns = policy.ask_ns, policy.ask_most, policy.answer_ns
        self._hold_ns = settings.hold_ns
        self.may_ask = True  # at start-up snapshots are on their way anyway
        self.filled = 0  # gaps, by what was asked for
        self._asked = 0  # units before this number were asked for, where they were missing
        self._ends: deque[int] = deque()  # of gaps that were asked for: the number behind each

    def begin(self) -> None:
        """Another sequence: nothing of it was asked for."""
        self._asked = 0
        self._ends.clear()

    def wait_ns(self, first: int, end: int) -> int:
        """How long after a gap was noticed it is to be asked for, or given up."""
        if self._ask_ns is not None and self.is_unasked(first) and self._can_ask(first, end):
            return self._ask_ns
        return self.patience_ns(first, end)

    def patience_ns(self, first: int, end: int) -> int:
        """How long what is missing is waited for: an answer may be on its way."""
        awaited = self._ask_ns is not None and (not self.is_unasked(first) or self._can_ask(first, end))
        return self._hold_ns + self._answer_ns if awaited else self._hold_ns

    def is_unasked(self, first: int) -> bool:
        return first >= self._asked

    def has_asked_for(self, number: int) -> bool:
        return number < self._asked

    def _can_ask(self, first: int, end: int) -> bool:
        """Whether a replayer may have what is missing."""
        return self._ask_ns is not None and self.may_ask and end - first <= self._most

    def old_enough_ns(self, gap: Gap, since_ns: int, now_ns: int) -> int | None:
        """Gaps known since this time are to be asked for now; None: none of them."""
        if self._ask_ns is None or not self.is_unasked(gap[0]) or not self._can_ask(*gap):
            return None
        return now_ns - self._ask_ns if now_ns - since_ns >= self._ask_ns else None

    def ask(self, gaps: Iterable[Gap]) -> Iterator[Gap]:
        """Once for each gap, and with the first all others that are as old: one after the other would take as
        many answers. Not more than a replayer gives at once."""
        left = self._most
        for first, end in gaps:
            left -= end - first
            if left < 0:
                break
            self._asked = end
            self._ends.append(end)
            yield first, end

    def forget_over(self, first: int) -> int:
        """Gaps that are over; how many these are."""
        over = 0
        while self._ends and self._ends[0] <= first:
            self._ends.popleft()
            over += 1
        return over
