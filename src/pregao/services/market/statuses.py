"""How far each book of a channel is to be believed, and when that changes. `ChannelMachine.known` says it of
one instrument; this is the same for many at once, which is cheap enough to look after every packet."""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from pregao.sessions.instruments import SYNC, SYNC_SIZE, BookStatus, Mark

if TYPE_CHECKING:
    from pregao.feeds.binary.handler.handler import ChannelHandler

_NEVER_TOLD: Final = 255
_IGNORED, _UNVERIFIED, _STALE = int(Mark.IGNORED), int(BookStatus.UNVERIFIED), int(BookStatus.STALE)
_BOOK, _MARKS = (SYNC.fields[name][1] for name in ("book", "marks"))  # type: ignore[index]
_OF: Final = struct.Struct(f"<q{_BOOK - 8}xB{_MARKS - _BOOK - 1}xB").unpack_from
_STATUSES: Final = tuple(BookStatus)

Statuses = np.ndarray[tuple[int], np.dtype[np.uint8]]


class BookStatuses:
    def __init__(self, handler: "ChannelHandler") -> None:
        self._machine = handler.machine
        self._told: Statuses = np.zeros(0, np.uint8)
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
        return self._ahead or len(self._machine.table) != len(self._told)

    def changes(self) -> Iterator[tuple[int, BookStatus | None, BookStatus]]:
        """Index, status before and now of each book whose status is another than last time."""
        now, before = self._look(), self._told
        told = np.full(len(now), _NEVER_TOLD, np.uint8)
        told[: len(before)] = before
        self._told = now
        for index in np.flatnonzero(now != told).tolist():
            was = int(told[index])
            yield index, None if was == _NEVER_TOLD else _STATUSES[was], _STATUSES[int(now[index])]

    def settle(self) -> None:
        """What is now counts as told."""
        self._told = self._look()

    def _look(self) -> Statuses:
        machine = self._machine
        sync = machine.table.sync
        status = sync["book"].copy()
        ahead = sync["covered"] > machine.at
        self._ahead = bool(ahead.any())
        doubtful = np.ones(len(sync), np.bool_) if machine.sites.silent else ahead
        status[doubtful & (status > _UNVERIFIED)] = _UNVERIFIED
        status[sync["marks"] & _IGNORED != 0] = _STALE
        return status
