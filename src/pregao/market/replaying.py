"""The client of the replayers on TCP: the machine of `sessions.replay` with connections and a clock.

    link = ReplayLink(client, {"A": ("127.0.0.1", 8385), "B": ("127.0.0.1", 8387)}, on_event)
    task = asyncio.create_task(link.run())
    link.want("184", 17, 20)       # on_event is given Replayed and SpanFailed
    link.stop()

One connection at a time, which is kept: to A, and to B when A is gone. Every wait is the machine's, and
bounded.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from pregao.io.clock import WallClock
from pregao.io.tcp import MOST_UNTAKEN, READ_SIZE, wait_s
from pregao.sessions.replay import (
    ConnectWanted,
    DisconnectWanted,
    ReplayClient,
    Replayed,
    ReplayEvent,
    SpanFailed,
)

Endpoint = tuple[str, int]
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ReplayLink:
    """`want` and `stop` are called in the loop that `run` runs in."""

    def __init__(
        self,
        client: ReplayClient,
        endpoints: Mapping[str, Endpoint],
        on_event: Callable[[Replayed | SpanFailed], None],
        clock: WallClock | None = None,
    ) -> None:
        self.client, self._endpoints, self._on_event = client, endpoints, on_event
        self._clock = clock or WallClock()
        self._woken = asyncio.Event()
        self._connecting: asyncio.Task[_Streams] | None = None
        self._reading: asyncio.Task[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._stopping = False

    def want(self, channel: str, begin: int, end: int) -> None:
        """Numbers that are missing; those of spans that touch are asked for together."""
        self._take(self.client.want(channel, begin, end, self._clock.now_ns()))
        self._woken.set()

    def stop(self) -> None:
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Until it is stopped."""
        try:
            while not self._stopping:
                await self._wait()
                self._look()
                self._send()
        finally:
            self._disconnect()

    async def _wait(self) -> None:
        woken = asyncio.ensure_future(self._woken.wait())
        tasks: set[asyncio.Future[object]] = {woken}  # type: ignore[arg-type]
        tasks |= {task for task in (self._connecting, self._reading) if task is not None}  # type: ignore[misc]
        left_s = wait_s(self.client.next_timeout(), self._clock)
        await asyncio.wait(tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        self._woken.clear()

    def _look(self) -> None:
        """What the network brought, then what the time brings."""
        if self._connecting is not None and self._connecting.done():
            self._connected(self._connecting)
        if self._reading is not None and self._reading.done():
            self._received(self._reading)
        now_ns = self._clock.now_ns()
        due_ns = self.client.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self._take(self.client.on_timeout(now_ns))

    def _connected(self, task: "asyncio.Task[_Streams]") -> None:
        self._connecting = None
        now_ns = self._clock.now_ns()
        try:
            reader, self._writer = task.result()
        except OSError:
            self._take(self.client.disconnected(now_ns))
            return
        self._read(reader)
        self._take(self.client.connected(now_ns))

    def _read(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._reading = asyncio.ensure_future(reader.read(READ_SIZE))

    def _received(self, task: "asyncio.Task[bytes]") -> None:
        self._reading = None
        now_ns = self._clock.now_ns()
        try:
            data = task.result()
        except OSError:
            data = b""
        if not data:
            self._disconnect()
            self._take(self.client.disconnected(now_ns))
            return
        self._read(self._reader)
        self._take(self.client.receive(data, now_ns))

    def _send(self) -> None:
        writer = self._writer
        if writer is None:
            return
        writer.write(self.client.data_to_send())
        if writer.transport.get_write_buffer_size() > MOST_UNTAKEN:
            self._disconnect()
            self._take(self.client.disconnected(self._clock.now_ns()))

    def _take(self, events: Iterable[ReplayEvent]) -> None:
        for event in events:
            if isinstance(event, ConnectWanted):
                host, port = self._endpoints[event.endpoint]
                self._connecting = asyncio.ensure_future(asyncio.open_connection(host, port))
            elif isinstance(event, DisconnectWanted):
                self._disconnect()
                self._woken.set()
            else:
                self._on_event(event)

    def _disconnect(self) -> None:
        for task in (self._connecting, self._reading):
            if task is not None:
                task.cancel()
        self._connecting = self._reading = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None
