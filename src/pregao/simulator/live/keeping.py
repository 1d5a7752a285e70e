"""The state of a live exchange on the disk: a journal of changes (`pregao.io.journal`), written before anyone
hears of them.

When it has grown long it starts over with the whole state; if that fails it is said, and the journal goes on
as it is. If a change cannot be written the exchange stops: what it could not keep was neither answered nor
sent.
"""

import logging
from pathlib import Path
from typing import Final

from pregao.io.journal import Journal, JournalError
from pregao.model.errors import ConfigurationError
from pregao.simulator.live.state import NO_CHANGE, KeptState, encode_change, state_of
from pregao.simulator.live.tracking import StateTracker

LOG = logging.getLogger("pregao.exchange")
SHORTEST: Final = 1 << 20  # bytes of a journal that is not started over yet


class StateLostError(ConfigurationError):
    """A change could not be kept."""


class StateFile:
    """The file of a run before, and of this one. Belongs to this process until it is closed."""

    def __init__(self, path: Path) -> None:
        self.journal = Journal(path)
        self.state = KeptState()
        found = self.journal.recovered
        if found is None:
            return
        try:
            self.state = state_of(found.records)
        except ValueError as error:
            self.journal.close()
            raise ConfigurationError(f"is not the state of an exchange: {error}", file=str(path)) from error
        if found.dropped:
            LOG.warning("%s: %d bytes of an unfinished record passed over", path, found.dropped)


class StateKeeper:
    """Keeps the file up to date; `commit` is called before anything that happened is told."""

    def __init__(self, file: StateFile, tracker: StateTracker) -> None:
        self._journal, self._tracker = file.journal, tracker
        self._start_over_at = SHORTEST
        self._started = False

    def commit(self) -> None:
        """StateLostError when what has changed is not on the disk."""
        change = self._tracker.take()
        try:
            if not self._started:
                self._tracker.state.apply(change)
                self._write_whole()
                self._started = True
            elif change != NO_CHANGE:
                self._journal.append(encode_change(change))
                self._tracker.state.apply(change)
        except JournalError as error:
            reason = f"{error.reason}: the exchange stops; what was not kept was neither answered nor sent"
            raise StateLostError(reason, file=error.file) from error
        if self._journal.length > self._start_over_at:
            self._shorten()

    def note_failure(self) -> None:
        """A command ended in the middle."""
        self._tracker.note_failure()

    def close(self) -> None:
        """With the numbers as they are, and nothing kept ahead."""
        try:
            if self._journal.is_open:
                self._tracker.state.apply(self._tracker.take(exact=True))
                self._write_whole()
        except JournalError as error:  # what was acknowledged is in the journal
            LOG.warning("%s; the journal stays as it was", error)
        self._journal.close()

    def _shorten(self) -> None:
        try:
            self._write_whole()
        except JournalError as error:
            if not self._journal.is_open:
                raise StateLostError(f"{error.reason}: the exchange stops", file=error.file) from error
            LOG.warning("%s: cannot be written anew (%s); it grows on", error.file, error.reason)
            self._start_over_at = 2 * self._journal.length

    def _write_whole(self) -> None:
        self._journal.start_over(encode_change(self._tracker.state.whole()))
        self._start_over_at = max(SHORTEST, 4 * self._journal.length)
