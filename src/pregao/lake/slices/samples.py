"""Price levels once a second, where something changed: when seconds end, and what was sampled then."""

from typing import Final

import numpy as np

from pregao.books.store import BookStore
from pregao.kernel_context import Context
from pregao.lake.plan.index import Array
from pregao.lake.plan.slicing import Slice
from pregao.lake.slices.feeds import Merged
from pregao.lake.slices.kernels.sampling import SAMPLE_WORDS, SAMPLING_FIELDS, sample_until
from pregao.lake.slices.known import MOST_INSTRUMENTS, KnownInstruments

SECOND_NS: Final = 1_000_000_000
_NEVER: Final = (1 << 63) - 1
_BEFORE_ALL: Final = -(1 << 62)
_FIRST_ROOM: Final = 1 << 20  # memory that is never written to costs nothing


class Samples:
    """A second ends after its last packet, by the exchange's own clock."""

    def __init__(self, slice_: Slice, merged: Merged, store: BookStore, known: KnownInstruments) -> None:
        self._is_last, self._second = slice_.is_last, _BEFORE_ALL
        self._room: Array = np.empty((_FIRST_ROOM, SAMPLE_WORDS), np.int64)
        self._taken: list[Array] = []
        self._context = Context(SAMPLING_FIELDS)
        self._context.set(
            books=store.context, sync=known.sync, changed=np.zeros(MOST_INSTRUMENTS, np.uint8),
            changed_list=np.zeros(MOST_INSTRUMENTS, np.uint32), emit_from=slice_.start,
            emit_to=slice_.stop, samples=self._room, sample_room=len(self._room),
        )  # fmt: skip
        self.address = self._context.address
        self.begin(merged)

    def begin(self, merged: Merged) -> None:
        """Packets of the next window. Its first may end the second of those that are carried."""
        seconds = np.maximum.accumulate(np.maximum(merged.sent // SECOND_NS, self._second))
        seconds[: merged.carried] = self._second
        packets = np.flatnonzero(np.diff(seconds))
        self._second = int(seconds[-1]) if len(seconds) else self._second
        self._put(merged, packets)

    def end(self, merged: Merged) -> None:
        """There is no other window. The last second of a unit ends with its last packet."""
        if self._is_last and len(merged):
            self._put(merged, np.array([len(merged) - 1]))
            self.until(int(merged.place[-1]) + 1)

    def _put(self, merged: Merged, packets: Array) -> None:
        places = np.append(merged.place[packets], _NEVER)
        self._context.set(places=places, packets=np.ascontiguousarray(packets, np.int64), next=0)

    def until(self, place: int) -> None:
        """All seconds that end before a place."""
        while not sample_until(self.address, place):
            self._take(max(2 * len(self._room), self._context["changed_count"]))

    def _take(self, room: int) -> None:
        self._taken.append(self._room[: self._context["sample_count"]])
        self._room = np.empty((room, SAMPLE_WORDS), np.int64)
        self._context.set(samples=self._room, sample_room=room, sample_count=0)

    def taken(self) -> Array:
        last = self._room[: self._context["sample_count"]]
        return np.concatenate([*self._taken, last]) if self._taken else last

    def clear(self) -> None:
        """What was taken is done with."""
        self._taken = []
        self._context.set(sample_count=0)
