"""TCP connections of machines that are pushed to: a server tells hundreds of connections something at once.

`io.tcp` drives a machine that speaks when it is spoken to. Here a machine says that it has something to send
(`wake`), and who does not take it is ended: unread bytes and their age are bounded. What is read is bounded
too, at once and in a second, so that nobody who talks much delays others. One thread, one event loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from pregao.io.clock import NS_PER_SECOND, WallClock
from pregao.model.errors import ConfigurationError

READ_AT_ONCE: Final = 16 << 10
READ_A_SECOND: Final = 1 << 20
HIGH_WATER: Final = 1 << 20  # unread bytes above which a machine holds back what can wait
_GRACE_S: Final = 1.0  # for the last words of a connection
_BACKLOG: Final = 512


class PushMachine(Protocol):
    """One side of a connection."""

    wake: Callable[[], None] | None
    unread: Callable[[], int] | None

    @property
    def is_over(self) -> bool: ...

    @property
    def most_unread(self) -> tuple[int, int]:
        """Bytes, and nanoseconds of the oldest of them."""

    def receive(self, data: bytes, now_ns: int) -> None: ...

    def data_to_send(self) -> bytes: ...

    def next_timeout(self) -> int | None: ...

    def on_timeout(self, now_ns: int) -> None: ...

    def resume(self, now_ns: int) -> None:
        """The other side takes bytes again."""

    def disconnected(self, now_ns: int) -> None: ...

    def overflow(self, now_ns: int) -> None:
        """Too much is unread, or for too long: say so, and end."""


class _Connection(asyncio.BufferedProtocol):
    """A machine on a transport."""

    def __init__(self, server: "PushServer") -> None:
        self._server, self._loop = server, asyncio.get_running_loop()
        self._buffer = memoryview(bytearray(READ_AT_ONCE))
        self._machine: PushMachine | None = None
        self._transport: asyncio.Transport | None = None
        self._written = 0
        self._marks: deque[tuple[int, int]] = deque()  # bytes written so far, and when
        self._is_scheduled = self._is_closing = False
        self._read, self._read_since_ns = 0, 0

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        address = transport.get_extra_info("peername")[0]
        machine = self._server.accept(address, self._server.clock.now_ns())
        if machine is None:
            transport.abort()
            return
        self._machine, self._transport = machine, transport
        transport.set_write_buffer_limits(HIGH_WATER, HIGH_WATER // 4)
        machine.wake, machine.unread = self.schedule, transport.get_write_buffer_size
        self._server.connections[self] = None

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._machine is None or self._is_closing:
            return
        now_ns = self._server.clock.now_ns()
        self._count_read(nbytes, now_ns)
        self._machine.receive(bytes(self._buffer[:nbytes]), now_ns)
        self.flush()
        self._server.after()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        """The machine asks `unread` itself."""

    def resume_writing(self) -> None:
        if self._machine is not None:
            self._machine.resume(self._server.clock.now_ns())
            self._server.after()

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.pop(self, None)
        if self._machine is not None:
            self._machine.disconnected(self._server.clock.now_ns())
            self._machine.wake = self._machine.unread = None
            self._machine = None
            self._server.after()

    # Ours

    def schedule(self) -> None:
        """There is something to send: once for all that comes in this turn of the loop."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        self._is_scheduled = False
        machine, transport = self._machine, self._transport
        if machine is None or transport is None or self._is_closing:
            return
        self._write(machine.data_to_send(), transport)
        most, _ = machine.most_unread
        if transport.get_write_buffer_size() > most:
            self._end(machine, transport)
        elif machine.is_over:
            self._close(transport)

    def _write(self, data: bytes, transport: asyncio.Transport) -> None:
        if data:
            transport.write(data)
            self._written += len(data)
            if transport.get_write_buffer_size():
                self._marks.append((self._written, self._server.clock.now_ns()))
            else:
                self._marks.clear()

    def check(self, now_ns: int) -> None:
        """Time has passed."""
        machine, transport = self._machine, self._transport
        if machine is None or transport is None or self._is_closing:
            return
        due_ns = machine.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            machine.on_timeout(now_ns)
            self.flush()
        taken = self._written - transport.get_write_buffer_size()
        while self._marks and self._marks[0][0] <= taken:
            self._marks.popleft()
        if self._marks and now_ns - self._marks[0][1] > machine.most_unread[1]:
            self._end(machine, transport)

    def _end(self, machine: PushMachine, transport: asyncio.Transport) -> None:
        self._server.overflowed += 1
        machine.overflow(self._server.clock.now_ns())
        self._write(machine.data_to_send(), transport)
        self._close(transport)

    def _close(self, transport: asyncio.Transport) -> None:
        """What is written still goes, if it goes soon."""
        self._is_closing = True
        transport.close()
        self._loop.call_later(_GRACE_S, transport.abort)

    def _count_read(self, size: int, now_ns: int) -> None:
        """Who sends more than anybody could need waits for the next second."""
        if now_ns - self._read_since_ns >= NS_PER_SECOND:
            self._read, self._read_since_ns = 0, now_ns
        self._read += size
        if self._read > READ_A_SECOND and self._transport is not None:
            self._transport.pause_reading()
            left_s = 1.0 - (now_ns - self._read_since_ns) / NS_PER_SECOND
            self._loop.call_later(left_s, self._read_on)

    def _read_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


class PushServer:
    """`accept` gives the machine of a connection from an address, or None; `after` is called when machines
    may have work."""

    def __init__(
        self,
        accept: Callable[[str, int], PushMachine | None],
        clock: WallClock,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        self.accept, self.clock, self.after = accept, clock, after
        self.connections: dict[_Connection, None] = {}
        self.overflowed = 0  # connections that were ended because they did not read
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def is_listening(self) -> bool:
        return self._server is not None

    async def start(self, address: str, port: int) -> None:
        """ConfigurationError where nobody can listen there; port 0 is any free one."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: _Connection(self), address, port, backlog=_BACKLOG
            )
        except OSError as error:
            raise ConfigurationError(f"{address} port {port}: {error.strerror}", key="address") from error
        self.port = int(self._server.sockets[0].getsockname()[1])

    def check(self) -> None:
        """Call it every fraction of a second."""
        now_ns = self.clock.now_ns()
        for connection in list(self.connections):
            connection.check(now_ns)

    def stop(self) -> None:
        """Nobody is let in any more; who is in is another's business."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def close(self) -> None:
        self.stop()
        for connection in list(self.connections):
            connection.flush()
            if connection._transport is not None:
                connection._transport.abort()
