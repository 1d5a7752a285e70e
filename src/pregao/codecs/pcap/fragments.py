"""Putting IP fragments together, within bounds that no capture can push.

- At most `MAX_PENDING` datagrams wait at once; one more evicts the one that began first.
- A datagram waits `TIMEOUT_NS` of capture time from its first fragment; this is looked at
  whenever a fragment comes.
- A fragment seen twice is ignored. Fragments that overlap or contradict each other drop their
  datagram (RFC 5722): there is no telling which bytes are right.
- Evicted datagrams are `FRAGMENT_LOST`, each at the record of its first fragment.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from pregao.codecs.pcap.ip import Fragment
from pregao.codecs.pcap.outcomes import Damage, Record, Skip
from pregao.model.errors import Fault

MAX_PENDING = 64
MAX_DATAGRAM = 65_535
TIMEOUT_NS = 30_000_000_000


class FragmentKey(NamedTuple):
    """What fragments of one datagram have in common."""

    version: int
    src: int
    dst: int
    identification: int
    protocol: int


@dataclass(slots=True)
class _Pending:
    """A datagram that waits for the rest of its fragments."""

    first: Damage  # what to report if the rest never comes
    since_ns: int
    pieces: dict[int, tuple[bytes, bool]] = field(default_factory=dict)  # by offset, with `more`
    offsets: list[int] = field(default_factory=list)  # sorted
    held: int = 0
    total: int | None = None  # known once the last fragment is there

    def contradicts(self, start: int, end: int, more: bool) -> bool:
        at = bisect_left(self.offsets, start)
        if at < len(self.offsets) and self.offsets[at] < end:
            return True
        if at > 0 and self._end(self.offsets[at - 1]) > start:
            return True
        if self.total is not None and end > self.total:
            return True
        # A last fragment in front of others that are there already.
        return not more and at < len(self.offsets)

    def put(self, start: int, payload: bytes, more: bool) -> None:
        self.offsets.insert(bisect_left(self.offsets, start), start)
        self.pieces[start] = (payload, more)
        self.held += len(payload)
        if not more:
            self.total = start + len(payload)

    def whole(self) -> bytes | None:
        # Nothing overlaps and nothing lies past the total: as many bytes as that are all of them.
        if self.held != self.total:
            return None
        return b"".join(self.pieces[offset][0] for offset in self.offsets)

    def _end(self, offset: int) -> int:
        return offset + len(self.pieces[offset][0])


class Reassembler:
    """Fragments in, whole datagrams out at the moment of the fragment that completes them."""

    def __init__(self) -> None:
        self._pending: dict[FragmentKey, _Pending] = {}  # in the order in which they began
        self._lost: list[Damage] = []

    def __len__(self) -> int:
        return len(self._pending)

    def add(
        self, key: FragmentKey, fragment: Fragment, payload: memoryview, record: Record
    ) -> bytes | Skip | Fault:
        """The whole payload when this fragment completes it, else why there is none (yet).

        IP_MALFORMED concerns the fragment alone; other faults drop its datagram.
        """
        self._expire(record.ts_ns)
        if not payload or (fragment.more and len(payload) % 8):
            return Fault.IP_MALFORMED
        start, end = fragment.offset, fragment.offset + len(payload)
        if end > MAX_DATAGRAM:
            self._pending.pop(key, None)
            return Fault.FRAGMENT_TOO_LARGE
        pending = self._pending.get(key) or self._begin(key, record)
        piece = bytes(payload)  # a copy: the window will move on
        if pending.pieces.get(start) == (piece, fragment.more):
            return Skip.FRAGMENT_PENDING
        if pending.contradicts(start, end, fragment.more):
            del self._pending[key]
            return Fault.FRAGMENT_OVERLAP
        pending.put(start, piece, fragment.more)
        whole = pending.whole()
        if whole is None:
            return Skip.FRAGMENT_PENDING
        del self._pending[key]
        return whole

    def take_lost(self) -> list[Damage]:
        """The datagrams given up since the last call."""
        lost, self._lost = self._lost, []
        return lost

    def finish(self) -> list[Damage]:
        """No more fragments will come: everything that still waits is lost."""
        for key in list(self._pending):
            self._give_up(key)
        return self.take_lost()

    def _begin(self, key: FragmentKey, record: Record) -> _Pending:
        if len(self._pending) == MAX_PENDING:
            self._give_up(next(iter(self._pending)))
        first = Damage(Fault.FRAGMENT_LOST, record.offset, record.number)
        pending = self._pending[key] = _Pending(first, record.ts_ns)
        return pending

    def _expire(self, now_ns: int) -> None:
        for key in [key for key, pending in self._pending.items() if now_ns - pending.since_ns > TIMEOUT_NS]:
            self._give_up(key)

    def _give_up(self, key: FragmentKey) -> None:
        self._lost.append(self._pending.pop(key).first)
