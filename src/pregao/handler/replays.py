"""Gaps of channels filled by a replayer: what handlers want is asked for, and what comes is handed to them.

One asker serves all channels; it has the connection, or somebody else for it. What cannot be had is told to
its channel at once, which then heals by snapshots.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from pregao.handler.handler import ChannelHandler
from pregao.recovery.events import Event, UnitsWanted
from pregao.recovery.policy import number_of
from pregao.sessions.replay import Replayed, SpanFailed

Answer = Replayed | SpanFailed


class Asker(Protocol):
    """A client of a replayer."""

    def ask(self, channel: str, begin: int, end: int, now_ns: int) -> None:
        """For units of a channel by their numbers."""

    def take_answers(self) -> list[Answer]:
        """What came since the last call: each unit once, or that it cannot be had."""


class Replays:
    """`handlers` are the channels by number; a replayer knows them by the same numbers."""

    def __init__(self, asker: Asker, handlers: Mapping[int, ChannelHandler]) -> None:
        self._asker, self._handlers = asker, handlers
        self._epochs: dict[int, int] = {}  # of each channel when it last asked

    def follow(self, events: Iterable[Event], now_ns: int) -> None:
        """What handlers told: their wants are asked for."""
        for event in events:
            if isinstance(event, UnitsWanted):
                self._epochs[event.channel] = event.version
                first, last = number_of(event.first), number_of(event.last)
                self._asker.ask(str(event.channel), first, last, now_ns)

    def deliver(self, now_ns: int) -> Iterator[tuple[int, list[Event]]]:
        """What came, to its channel; what that has to say. Ask to the end."""
        for answer in self._asker.take_answers():
            channel = int(answer.channel if isinstance(answer, Replayed) else answer.span.channel)
            handler = self._handlers.get(channel)
            if handler is None or channel not in self._epochs:
                continue
            if isinstance(answer, Replayed):
                yield channel, handler.on_replayed(answer.number, answer.data, now_ns)
            else:
                span = answer.span
                yield channel, handler.on_unanswered(self._epochs[channel], span.begin, span.end, now_ns)
