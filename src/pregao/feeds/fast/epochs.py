"""Sequences of a stream, told apart by SendingTime (5.2.8): 35=4 ends one, and numbers begin again at 1.

Nothing on the wire names a sequence, and each site resets alone: one feed may still tell the old sequence
while the other tells the new. So each feed is in an epoch of its own. It goes on to another with its reset;
or where its numbers go back while SendingTime goes on, for then the reset was lost; or where it is heard
again beside a feed that has gone on. Feeds that began again with the same reset are in the same epoch. What
is ordinary is done by `kernels.headers`, on the same state.
"""

from bisect import bisect_right
from typing import Any, Final

import numpy as np

from pregao.feeds.fast.identity import NO_EPOCH
from pregao.model.streams import Feed

LAST_EPOCH: Final = 65_534
FEEDS: Final = 4  # as `model.streams.Feed` numbers them
# What is known of a feed: words of 8 bytes. HIGHEST 0: nothing was heard in this epoch.
EPOCH, BEGIN_NS, HIGHEST, HIGHEST_NS, ENDED_WITH, IS_HEARD = range(0, 48, 8)
FEED_SIZE: Final = 48
_KEPT: Final = 64  # beginnings that are remembered: messages are late by milliseconds, not by days


class Epochs:
    """Of one stream, over its feeds. `joins`: feeds carry the same sequences, so that one that was away may
    be found in that of another; loops of two sites may be different ones."""

    def __init__(self, *, joins: bool = True) -> None:
        self._joins = joins
        self.state: np.ndarray[Any, np.dtype[np.int64]] = np.zeros((FEEDS + 1, FEED_SIZE // 8), np.int64)
        self.state[:, EPOCH // 8] = NO_EPOCH  # the last row is nobody's: its epoch is the newest of all
        self._begins = [0]  # nanoseconds, ascending
        self._epochs = [NO_EPOCH]

    @property
    def address(self) -> int:
        return int(self.state.ctypes.data)

    def mark(self) -> bytes:
        """All of it, for `resume` of another."""
        begun = np.array([self._begins, self._epochs], np.int64)
        return self.state.tobytes() + begun.tobytes()

    @classmethod
    def within(cls, epoch: int) -> "Epochs":
        """Of a reader for whom feed A is in a sequence, whenever that began."""
        epochs = cls()
        epochs.state[[Feed.A, FEEDS], EPOCH // 8] = epoch
        epochs.state[Feed.A, IS_HEARD // 8] = 1
        epochs._epochs = [epoch]
        return epochs

    def resume(self, mark: bytes) -> None:
        words = np.frombuffer(mark, np.int64)
        self.state[:] = words[: self.state.size].reshape(self.state.shape)
        begins, epochs = words[self.state.size :].reshape(2, -1).tolist()
        self._begins, self._epochs = begins, epochs

    @property
    def newest(self) -> int:
        return self._epochs[-1]

    def at(self, sent_ns: int) -> int:
        """The epoch that had begun last at a time."""
        return self._epochs[max(0, bisect_right(self._begins, sent_ns) - 1)]

    def of_feed(self, feed: int) -> int:
        """The one that a feed is in."""
        return int(self.state[feed, EPOCH // 8])

    def heard_ns(self, feed: int) -> int:
        """When the message of a feed with the highest number was sent; 0: none was heard."""
        return int(self.state[feed, HIGHEST_NS // 8])

    def of_reset(self, feed: int, number: int, sent_ns: int) -> int:
        """That of a reset, which is the last message of its sequence (5.2.8)."""
        state = self.state[feed]
        epoch, begin_ns, _, _, ended_with, is_heard = state.tolist()
        if is_heard and sent_ns <= begin_ns:
            # Late, or again. Of another number in the same millisecond it is one of the new sequence.
            is_next = sent_ns == begin_ns and ended_with not in (0, number)
            return self.at(sent_ns) if is_next else self.at(sent_ns - 1)
        if not is_heard:
            epoch = self.at(sent_ns - 1)
        if sent_ns > self._begins[-1]:
            self._begin(sent_ns)
        self._enter(feed, sent_ns)
        state[ENDED_WITH // 8] = number
        return int(epoch)

    def of_message(self, feed: int, number: int, sent_ns: int) -> int:
        """That of any other message."""
        state = self.state[feed]
        _, begin_ns, highest, highest_ns, ended_with, is_heard = state.tolist()
        if not is_heard:
            self._enter(feed, sent_ns)
        elif sent_ns < begin_ns:
            return self.at(sent_ns)
        elif sent_ns == begin_ns and ended_with and abs(number - ended_with) < abs(number - highest - 1):
            return self.at(sent_ns - 1)  # just before the reset, in the same millisecond
        elif highest and number <= highest and sent_ns > highest_ns:
            if self.at(sent_ns) == state[EPOCH // 8]:
                self._begin_by(sent_ns)
            self._enter(feed, sent_ns)
        elif self._joins and number > highest + 1 and self._is_nearer_to_others(feed, number, sent_ns):
            self._enter(feed, sent_ns)
        if number > state[HIGHEST // 8]:
            state[HIGHEST // 8], state[HIGHEST_NS // 8] = number, sent_ns
        return int(state[EPOCH // 8])

    def _is_nearer_to_others(self, feed: int, number: int, sent_ns: int) -> bool:
        """Whether a number belongs to the epoch of another feed, which has gone on, rather than to its
        own."""
        newer = self.at(sent_ns)
        if newer == self.state[feed, EPOCH // 8]:
            return False
        theirs = self.state[:FEEDS][self.state[:FEEDS, EPOCH // 8] == newer, HIGHEST // 8]
        return bool((np.abs(theirs - number) < number - self.state[feed, HIGHEST // 8]).any())

    def _begin_by(self, sent_ns: int) -> None:
        """A sequence whose reset was lost had begun at a time: a new one, or one that another feed brought
        first by a later message."""
        place = bisect_right(self._begins, sent_ns)
        if place == len(self._begins):
            self._begin(sent_ns)
            return
        self._begins[place] = sent_ns
        self.state[self.state[:, EPOCH // 8] == self._epochs[place], BEGIN_NS // 8] = sent_ns

    def _begin(self, sent_ns: int) -> None:
        epoch = NO_EPOCH if self.newest >= LAST_EPOCH else self.newest + 1
        self._begins.append(sent_ns)
        self._epochs.append(epoch)
        del self._begins[:-_KEPT], self._epochs[:-_KEPT]
        self.state[FEEDS, EPOCH // 8] = epoch

    def _enter(self, feed: int, sent_ns: int) -> None:
        """The feed is in the epoch of this time from now on."""
        place = max(0, bisect_right(self._begins, sent_ns) - 1)
        self.state[feed] = self._epochs[place], self._begins[place], 0, sent_ns, 0, 1
