"""`pregao listen` in a pipe: a line for everything that happens."""

from collections.abc import Callable
from threading import Event
from typing import Final

from pregao.cli.listening.kinds import kind_of
from pregao.cli.output import Output
from pregao.model.events import Definition
from pregao.services.formats.times import Clock
from pregao.services.market import Change, Market, MarketEvent, UnknownInstrumentError
from pregao.sessions.events import ChannelReady, DefinitionsComplete, InstrumentHealed, InstrumentStale

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
        if kind_of(event) not in self._kinds or self._is_of_start(event) or not self._is_chosen(event):
            return None
        time_ns = event.time_ns if isinstance(event, Change) else 0
        time_ns = time_ns or self._market.time_ns
        channel = f"{event.channel:>3} " if isinstance(event, Change) else ""
        return (
            f"{self._clock.local(time_ns, time_ns)[:_MICROSECONDS]} {channel}{self._market.describe(event)}\n"
        )

    def _is_of_start(self, event: MarketEvent) -> bool:
        """A start tells every instrument, and heals it: hundreds of lines that say nothing."""
        if isinstance(event, Change):
            return isinstance(event.what, Definition) and event.channel not in self._defined
        return isinstance(event, InstrumentHealed) and not self._ready

    def _is_chosen(self, event: MarketEvent) -> bool:
        if not self._symbols or not isinstance(event, InstrumentStale | InstrumentHealed):
            return True
        return any(self._market.describe(event).startswith(f"{symbol} ") for symbol in self._symbols) or any(
            self._market.describe(event).startswith(f"{symbol}:") for symbol in self._symbols
        )

    def _talk_of_unknown(self) -> None:
        for symbol in self._symbols:
            try:
                self._market.book(symbol)
            except UnknownInstrumentError as error:
                self._output.talk(str(error))
