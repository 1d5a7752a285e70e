"""What is to be done at a time: orders that end their life, and operations that come a few times a day."""

from heapq import heapify, heappop, heappush
from typing import Final

_NEVER: Final = 1 << 62

Entry = tuple[int, int, int]  # when, an order or below zero an operation, its instrument


class Agenda:
    """Entries by time; `due_ns` is that of the first."""

    __slots__ = ("_entries", "due_ns")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self.due_ns = _NEVER

    def add(self, when_ns: int, what: int, which: int) -> None:
        heappush(self._entries, (when_ns, what, which))
        self.due_ns = self._entries[0][0]

    def take(self) -> Entry:
        entry = heappop(self._entries)
        self.due_ns = self._entries[0][0] if self._entries else _NEVER
        return entry

    def forget_operations(self) -> None:
        self._keep([entry for entry in self._entries if entry[1] >= 0])

    def keep_orders(self, living: "frozenset[int] | set[int]") -> None:
        """Forget operations, and orders that are gone."""
        self._keep([entry for entry in self._entries if entry[1] in living])

    def _keep(self, entries: list[Entry]) -> None:
        self._entries = entries
        heapify(self._entries)
        self.due_ns = self._entries[0][0] if self._entries else _NEVER
