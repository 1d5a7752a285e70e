"""The numbers of FIX sessions on the disk, so that a restart or a kill does not lose them.

Numbers that we send are written ahead: what is kept is a number that was not given yet. After a kill a client
sees a gap, asks, and gets a gap fill. Numbers that we expect are written behind: after a kill we see the gap
and ask. Neither side ever gets a number twice.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pregao.feeds.serving import KeptNumbers
from pregao.io.journal import FileJournal, JournalError

AHEAD: Final = 100_000
BEHIND_NS: Final = 5_000_000_000  # how often the numbers that we expect are written
_LONGEST: Final = 1 << 20  # bytes of a journal before it starts over

Numbers = Mapping[str, KeptNumbers]


class NumbersFile:
    """Of all servers of an exchange, the primary's first."""

    def __init__(self, path: Path) -> None:
        self._journal = FileJournal(path)
        self._kept: dict[int, dict[str, KeptNumbers]] = {}
        if self._journal.recovered is not None:
            for record in self._journal.recovered.records:
                self._apply(_read(record, str(path)))
        self._written_ns = 0
        self._journal.start_over(self._whole())

    def kept(self, server: int) -> Numbers:
        return self._kept.get(server, {})

    def keep(self, numbers: Sequence[Numbers], now_ns: int) -> None:
        """Writes what must be written by now: call it several times a second."""
        is_late = now_ns - self._written_ns >= BEHIND_NS
        changed: dict[str, dict[str, list[Any]]] = {}
        for server, of_server in enumerate(numbers):
            kept = self._kept.setdefault(server, {})
            for name, now in of_server.items():
                before = kept.get(name)
                runs_out = (
                    before is None or before.day != now.day or before.next_out - now.next_out < AHEAD // 2
                )
                went_back = before is not None and now.next_in < before.next_in
                if (
                    runs_out
                    or went_back
                    or (is_late and before is not None and now.next_in != before.next_in)
                ):
                    changed.setdefault(str(server), {})[name] = [now.next_in, now.next_out + AHEAD, now.day]
        if is_late:
            self._written_ns = now_ns
        if changed:
            self._write(changed)

    def close(self, numbers: Sequence[Numbers]) -> None:
        """The numbers as they are: a restart goes on without a gap."""
        exact = {
            str(server): {name: list(now) for name, now in of_server.items()}
            for server, of_server in enumerate(numbers)
        }
        self._write(exact)
        self._journal.close()

    def _write(self, changed: dict[str, dict[str, list[Any]]]) -> None:
        self._apply(changed)
        if self._journal.length > _LONGEST:
            self._journal.start_over(self._whole())
        else:
            self._journal.append(json.dumps(changed).encode("ascii"))

    def _apply(self, changed: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        for server, of_server in changed.items():
            kept = self._kept.setdefault(int(server), {})
            kept |= {name: KeptNumbers(*values) for name, values in of_server.items()}

    def _whole(self) -> bytes:
        whole = {
            str(server): {name: list(each) for name, each in kept.items()}
            for server, kept in self._kept.items()
        }
        return json.dumps(whole).encode("ascii")


def _read(record: bytes, file: str) -> dict[str, dict[str, list[Any]]]:
    try:
        found: dict[str, dict[str, list[Any]]] = json.loads(record)
        for server, of_server in found.items():
            int(server)
            for next_in, next_out, day in of_server.values():
                if not (isinstance(next_in, int) and isinstance(next_out, int) and isinstance(day, str)):
                    raise ValueError("not numbers")
    except (ValueError, TypeError, AttributeError) as error:
        raise JournalError(f"is not a file of session numbers: {error}", file=file) from error
    return found
