"""`pregao listen` in a pipe: a line for everything that happens."""

import os
import select
import sys
from collections.abc import Callable
from enum import Enum
from threading import Event
from types import TracebackType
from typing import Any, Final, Self, TextIO

from pregao.captures.formats.times import Clock
from pregao.cli.listening.kinds import kind_of
from pregao.cli.progress import Output
from pregao.market import (
    BookStatusChanged,
    ChannelReady,
    Definition,
    DefinitionsComplete,
    InstrumentHealed,
    Market,
    MarketEvent,
    UnknownInstrumentError,
)

_WAIT_S: Final = 0.1
_MICROSECONDS: Final = 15  # characters of hh:mm:ss.ffffff


class Lines:
    def __init__(self, market: Market, symbols: list[str], kinds: frozenset[str], output: Output) -> None:
        self._market, self._symbols, self._kinds, self._output = market, symbols, kinds, output
        self._clock = Clock()
        self._defined: set[int] = set()  # channels of which all instruments were told
        self._ready = False

    def run(self, stop: Event, tick: Callable[[], None]) -> None:
        """Until captures end, or somebody says so."""
        while not stop.is_set() and not self._market.ended:
            for event in self._market.poll(_WAIT_S):
                line = self.line(event)
                if line is not None:
                    self._output.data(line)
            self._output.tick()
            tick()
        self._talk_of_unknown()

    def line(self, event: MarketEvent) -> str | None:
        """None: not wanted."""
        if isinstance(event, DefinitionsComplete):
            self._defined.add(event.channel)
        elif isinstance(event, ChannelReady):
            self._ready = True
        kind = kind_of(event)
        if kind not in self._kinds or self._is_of_start(event) or not self._is_chosen(event):
            return None
        channel = "" if kind == "feed" else f"{event.channel:>3} "
        return f"{self._clock.local(event.time_ns, event.time_ns)[:_MICROSECONDS]} {channel}{event}\n"

    def _is_of_start(self, event: MarketEvent) -> bool:
        """A start tells every instrument, and heals it: hundreds of lines that say nothing."""
        if isinstance(event, Definition):
            return event.channel not in self._defined
        return isinstance(event, InstrumentHealed | BookStatusChanged) and not self._ready

    def _is_chosen(self, event: MarketEvent) -> bool:
        """What a channel says of one instrument, it says of all."""
        return not self._symbols or event.symbol is None or event.symbol in self._symbols

    def _talk_of_unknown(self) -> None:
        for symbol in self._symbols:
            try:
                self._market.book(symbol)
            except UnknownInstrumentError as error:
                self._output.talk(str(error))


# Keys of a terminal, without waiting for a line to end.


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
