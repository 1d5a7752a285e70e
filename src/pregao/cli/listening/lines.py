"""`pregao listen` in a pipe: a line for everything that happens."""

from collections.abc import Callable
from threading import Event
from typing import Final

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
