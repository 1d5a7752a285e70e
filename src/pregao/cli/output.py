"""stdout is data, stderr is talk."""

import sys
from time import monotonic

FLUSH_AFTER_S = 0.2


class Output:
    """Buffered lines on stdout that never wait longer than a moment, and one-line messages on stderr."""

    def __init__(self) -> None:
        self._write = sys.stdout.write
        self._flushed = 0.0  # so that the first line leaves at once
        self._pending = False

    def data(self, text: str) -> None:
        self._write(text)
        if not self._flushed:
            self._flush(monotonic())
        self._pending = True

    def tick(self) -> None:
        """Called now and then while work goes on: lines of a rare kind must not stay in the buffer."""
        if self._pending and monotonic() - self._flushed > FLUSH_AFTER_S:
            self._flush(monotonic())

    def talk(self, line: str) -> None:
        sys.stderr.write(f"pregao: {line}\n")

    def _flush(self, now: float) -> None:
        sys.stdout.flush()
        self._flushed, self._pending = now, False
