"""How far each book of a channel is to be believed, and when that changes. `ChannelMachine.known` says it of
one instrument; this is the same for many at once, which is cheap enough to look after every packet."""

import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from pregao.recovery.instruments import SYNC, SYNC_SIZE, BookStatus, Mark

if TYPE_CHECKING:
    from pregao.handler.handler import ChannelHandler

_NEVER_TOLD: Final = 255
_IGNORED, _UNVERIFIED, _STALE = int(Mark.IGNORED), int(BookStatus.UNVERIFIED), int(BookStatus.STALE)
_BOOK, _MARKS = (SYNC.fields[name][1] for name in ("book", "marks"))  # type: ignore[index]
_OF: Final = struct.Struct(f"<q{_BOOK - 8}xB{_MARKS - _BOOK - 1}xB").unpack_from
_STATUSES: Final = tuple(BookStatus)

Statuses = np.ndarray[tuple[int], np.dtype[np.uint8]]
Indexes = np.ndarray[tuple[int], np.dtype[np.int64]]


class BookStatuses:
    def __init__(self, handler: "ChannelHandler") -> None:
        self._machine = handler.machine
        self._told: Statuses = np.full(64, _NEVER_TOLD, np.uint8)
        self._count = 0  # of instruments that were looked at
        self._ahead = False  # a book comes from a snapshot that the stream has not reached

    def of(self, indexes: list[int]) -> list[BookStatus]:
        """Of some books; not worth a column when there are few."""
        machine, memory = self._machine, self._machine.table.sync.view(np.uint8).data
        silent, at = machine.sites.silent, machine.at
        statuses = []
        for index in indexes:
            covered, book, marks = _OF(memory, index * SYNC_SIZE)
            most = _UNVERIFIED if silent or covered > at else book
            statuses.append(_STATUSES[_STALE if marks & _IGNORED else min(most, book)])
        return statuses

    @property
    def may_change(self) -> bool:
        """Whether a packet can change one without a word of the channel: an instrument is new, or the
        stream comes up to a snapshot."""
        return self._ahead or len(self._machine.table) != self._count

    def changes(self, indexes: Iterable[int] | None) -> Iterator[tuple[int, BookStatus | None, BookStatus]]:
        """Index, status before and now of each book whose status is another than last time. Only these,
        and those that are new, can have changed; None: any can."""
        looked_at = self._indexes(indexes)
        now, before = self._look(looked_at), self._told[looked_at]
        self._told[looked_at] = now
        changed = now != before
        for index, was, status in zip(
            looked_at[changed].tolist(), before[changed].tolist(), now[changed].tolist(), strict=True
        ):
            yield index, None if was == _NEVER_TOLD else _STATUSES[was], _STATUSES[status]

    def settle(self) -> None:
        """What is now counts as told."""
        everything = self._indexes(None)
        self._told[everything] = self._look(everything)

    def _indexes(self, indexes: Iterable[int] | None) -> Indexes:
        count = len(self._machine.table)
        if count > len(self._told):
            more = np.full(max(count, 2 * len(self._told)), _NEVER_TOLD, np.uint8)
            more[: len(self._told)] = self._told
            self._told = more
        new, self._count = range(self._count, count), count
        if indexes is None or self._ahead:
            return np.arange(count)
        return np.array(sorted({*indexes, *new}), np.int64)

    def _look(self, indexes: Indexes) -> Statuses:
        machine = self._machine
        sync = machine.table.sync
        status, ahead = sync["book"][indexes], sync["covered"][indexes] > machine.at
        self._ahead = bool(ahead.any())
        doubtful = np.ones(len(indexes), np.bool_) if machine.sites.silent else ahead
        status[doubtful & (status > _UNVERIFIED)] = _UNVERIFIED
        status[sync["marks"][indexes] & _IGNORED != 0] = _STALE
        return status
