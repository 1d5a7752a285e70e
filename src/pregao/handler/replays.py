"""Gaps of channels filled by a replayer: what handlers want is asked for, and what comes is handed to them.

One client serves all channels. There is no I/O: whoever has the connection does as `take_connections` says,
gives the bytes that came and sends those of `data_to_send`. What the client cannot have is told to its
channel at once, which then heals by snapshots.
"""

from collections.abc import Iterable, Mapping

from pregao.handler.handler import ChannelHandler
from pregao.recovery.events import Event, UnitsWanted
from pregao.recovery.policy import number_of
from pregao.sessions.replay import ReplayClient
from pregao.sessions.replay.events import (
    ConnectWanted,
    DisconnectWanted,
    Replayed,
    ReplayEvent,
    SpanFailed,
)

Connections = list[ConnectWanted | DisconnectWanted]


class Replays:
    """`handlers` are the channels by number; a replayer knows them by the same numbers."""

    def __init__(self, client: ReplayClient, handlers: Mapping[int, ChannelHandler]) -> None:
        self.client, self._handlers = client, handlers
        self._connections: Connections = []
        self._epochs: dict[int, int] = {}  # of each channel when it last asked

    def take(self, events: Iterable[Event], now_ns: int) -> list[Event]:
        """What handlers told: their wants are asked for. What comes of it is told here, and not taken
        again."""
        told: list[Event] = []
        for event in events:
            if isinstance(event, UnitsWanted):
                self._epochs[event.channel] = event.version
                first, last = number_of(event.first), number_of(event.last)
                told += self._do(self.client.want(str(event.channel), first, last, now_ns), now_ns)
        return told

    def take_connections(self) -> Connections:
        """To the owner: connections to make and to close."""
        taken, self._connections = self._connections, []
        return taken

    # What the owner says

    def connected(self, now_ns: int) -> list[Event]:
        return self._do(self.client.connected(now_ns), now_ns)

    def disconnected(self, now_ns: int) -> list[Event]:
        return self._do(self.client.disconnected(now_ns), now_ns)

    def receive(self, data: bytes, now_ns: int) -> list[Event]:
        return self._do(self.client.receive(data, now_ns), now_ns)

    def data_to_send(self) -> bytes:
        return self.client.data_to_send()

    def next_timeout(self) -> int | None:
        return self.client.next_timeout()

    def on_timeout(self, now_ns: int) -> list[Event]:
        return self._do(self.client.on_timeout(now_ns), now_ns)

    def _do(self, events: list[ReplayEvent], now_ns: int) -> list[Event]:
        told: list[Event] = []
        for event in events:
            if isinstance(event, ConnectWanted | DisconnectWanted):
                self._connections.append(event)
                continue
            channel = int(event.channel if isinstance(event, Replayed) else event.span.channel)
            handler = self._handlers.get(channel)
            if handler is None:
                continue
            if isinstance(event, Replayed):
                told += handler.on_replayed(event.number, event.data, now_ns)
            elif isinstance(event, SpanFailed):
                span, epoch = event.span, self._epochs[channel]
                told += handler.on_unanswered(epoch, span.begin, span.end, now_ns)
        return told
