"""A person at a terminal: lines that are waited for while other things go on."""

import select
import sys
import time
from collections.abc import Callable
from io import UnsupportedOperation
from typing import Final, TextIO

_TICK_S: Final = 0.1


class Terminal:
    """Reads `given`, writes `shown`; by default stdin and stdout."""

    def __init__(self, given: TextIO | None = None, shown: TextIO | None = None) -> None:
        self._given, self._shown = given or sys.stdin, shown or sys.stdout

    def say(self, text: str) -> None:
        self._shown.write(text + "\n")
        self._shown.flush()

    def ask(self, question: str, idle: Callable[[int], None]) -> str | None:
        """A line; None at the end of the input. `idle` hears how many nanoseconds have passed meanwhile."""
        self._shown.write(question)
        self._shown.flush()
        before_ns = time.monotonic_ns()
        while not self._is_there():
            now_ns = time.monotonic_ns()
            idle(now_ns - before_ns)
            before_ns = now_ns
        line = self._given.readline()
        return line.rstrip("\n") if line else None

    def _is_there(self) -> bool:
        """Whether a line can be read, after a moment. What is no file has its lines at once."""
        try:
            return bool(select.select([self._given], [], [], _TICK_S)[0])
        except (UnsupportedOperation, ValueError, OSError):
            return True
