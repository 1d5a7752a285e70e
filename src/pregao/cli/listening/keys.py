"""Keys of a terminal, without waiting for a line to end."""

import os
import select
import sys
from enum import Enum
from types import TracebackType
from typing import Any, Final, Self, TextIO


class Key(Enum):
    NEXT = "next"
    PREVIOUS = "previous"
    QUIT = "quit"


_KEYS: Final = {
    "n": Key.NEXT, "p": Key.PREVIOUS, "q": Key.QUIT, "\x03": Key.QUIT, "\x04": Key.QUIT,
    "\x1b[C": Key.NEXT, "\x1b[B": Key.NEXT, "\x1bOC": Key.NEXT, "\x1bOB": Key.NEXT, "\t": Key.NEXT,
    "\x1b[D": Key.PREVIOUS, "\x1b[A": Key.PREVIOUS, "\x1bOD": Key.PREVIOUS, "\x1bOA": Key.PREVIOUS,
}  # fmt: skip
_LONGEST: Final = 3


def keys_in(text: str) -> list[Key]:
    """What was typed; anything else is ignored."""
    found, at = [], 0
    while at < len(text):
        for size in range(_LONGEST, 0, -1):
            key = _KEYS.get(text[at : at + size].lower() if size == 1 else text[at : at + size])
            if key is not None:
                found.append(key)
                at += size
                break
        else:
            at += 1
    return found


class Keys:
    """Reads a terminal while it is in cbreak mode; of anything else it reads nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdin
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            try:
                import termios
                import tty
            except ImportError:  # not on this system: ^C ends it all the same
                return self
            self._before = termios.tcgetattr(self._stream.fileno())
            tty.setcbreak(self._stream.fileno())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(self._stream.fileno(), termios.TCSADRAIN, self._before)

    def read(self, timeout_s: float = 0.0) -> list[Key]:
        """What was typed since the last time."""
        if self._before is None:
            if timeout_s:
                select.select([], [], [], timeout_s)
            return []
        ready, _, _ = select.select([self._stream], [], [], timeout_s)
        if not ready:
            return []
        typed = os.read(self._stream.fileno(), 1024)
        return keys_in(typed.decode("latin-1")) if typed else [Key.QUIT]  # the terminal is gone
