"""The instruments of a channel: an index for each securityID, a record of `SYNC` for each index."""

from typing import Final

import numpy as np

from pregao.sessions.instruments import SYNC, Known, Mark, Sync, new_record, not_clean
from pregao.sessions.settings import Settings

Loops = np.ndarray[tuple[int], np.dtype[np.uint32]]

NOT_FOLLOWED: Final = -1


class InstrumentTable:
    """Bounded: the array is made once, so kernels may keep its address. Indexes are never reused for
    another securityID."""

    def __init__(self, settings: Settings) -> None:
        self._interest = settings.interest
        self._most = settings.instruments
        self._records: Sync = np.zeros(self._most, SYNC)
        self.in_snapshots: Loops = np.zeros(self._most, np.uint32)  # the last loop it was in
        self.in_definitions: Loops = np.zeros(self._most, np.uint32)
        self.security_ids: list[int] = []
        self._indexes: dict[int, int] = {}
        self.refused = 0

    def __len__(self) -> int:
        return len(self.security_ids)

    @property
    def sync(self) -> Sync:
        """The records in use."""
        return self._records[: len(self.security_ids)]

    @property
    def address(self) -> int:
        return int(self._records.ctypes.data)

    def find(self, security_id: int) -> int:
        return self._indexes.get(security_id, NOT_FOLLOWED)

    def add(self, security_id: int, missing: int) -> int:
        """Its index, made now if it is new; NOT_FOLLOWED where nobody is interested."""
        index = self._indexes.get(security_id)
        if index is not None:
            return index
        if self._interest is not None and security_id not in self._interest:
            return NOT_FOLLOWED
        index = len(self.security_ids)
        if index == self._most:
            self.refused += 1
            return NOT_FOLLOWED
        new_record(self._records, index, missing)
        self._indexes[security_id] = index
        self.security_ids.append(security_id)
        return index

    def begin_again(self, index: int, missing: int, *, clean: bool) -> None:
        """Nothing is known of it; or, `clean`, there is nothing to know: it is new. Its rptSeq may go on
        all the same: it may have been listed before, and only an EmptyBook starts it again (7.4.1)."""
        new_record(self._records, index, missing)
        if clean:
            record = self._records[index]
            record["book"] = record["statistics"] = Known.CLEAN
            record["bound"] = 0

    def ignore(self, index: int) -> None:
        self._records[index]["marks"] |= Mark.IGNORED

    def is_followed(self, index: int) -> bool:
        """Not deleted."""
        return not self._records[index]["marks"] & Mark.IGNORED

    def unclean(self) -> list[int]:
        return np.flatnonzero(not_clean(self.sync)).tolist()
