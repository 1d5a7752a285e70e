"""TCP connections of machines without I/O: bytes in, bytes out, and a time at which they want to be called.

A server makes a machine for each connection and drives it until either side ends. All is bounded: how many
connections, what is read at once, and what nobody takes. Listens on loopback unless told otherwise.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from pregao.io.clock import NS_PER_SECOND, WallClock
from pregao.model.errors import ConfigurationError

READ_SIZE: Final = 65_536
MOST_CONNECTIONS: Final = 64
MOST_UNTAKEN: Final = 64 << 20  # bytes written that the other side does not take
_LONGEST_WAIT_S: Final = 1.0


class ByteMachine(Protocol):
    """One side of a connection."""

    @property
    def is_over(self) -> bool:
        """Close the connection when what is to be sent has gone."""

    def connect(self, now_ns: int) -> None: ...

    def receive(self, data: bytes, now_ns: int) -> None: ...

    def data_to_send(self) -> bytes: ...

    def next_timeout(self) -> int | None: ...

    def on_timeout(self, now_ns: int) -> None: ...

    def disconnected(self, now_ns: int) -> None: ...


class TcpServer:
    """`make` gives the machine of a new connection."""

    def __init__(
        self, make: Callable[[], ByteMachine], clock: WallClock, most_connections: int = MOST_CONNECTIONS
    ) -> None:
        self._make, self._clock, self._most = make, clock, most_connections
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.refused = 0

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def connections(self) -> int:
        return len(self._serving)

    async def start(self, address: str, port: int) -> None:
        """ConfigurationError where nobody can listen there; port 0 is any free one."""
        try:
            self._server = await asyncio.start_server(self._accepted, address, port)
        except OSError as error:
            raise ConfigurationError(f"{address} port {port}: {error.strerror}", key="address") from error

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= self._most:
            self.refused += 1
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await drive(self._make(), reader, writer, self._clock)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._serving.discard(task)
            writer.close()


async def drive(
    machine: ByteMachine, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, clock: WallClock
) -> None:
    """A connection until it or its machine is over."""
    machine.connect(clock.now_ns())
    reading = asyncio.ensure_future(reader.read(READ_SIZE))
    try:
        while not machine.is_over:
            writer.write(machine.data_to_send())
            if writer.transport.get_write_buffer_size() > MOST_UNTAKEN:
                return
            done, _ = await asyncio.wait({reading}, timeout=wait_s(machine.next_timeout(), clock))
            now_ns = clock.now_ns()
            if not done:
                machine.on_timeout(now_ns)
                continue
            data = reading.result()
            if not data:
                return
            machine.receive(data, now_ns)
            reading = asyncio.ensure_future(reader.read(READ_SIZE))
        writer.write(machine.data_to_send())
        async with asyncio.timeout(_LONGEST_WAIT_S):
            await writer.drain()
    except TimeoutError:
        pass
    finally:
        reading.cancel()
        machine.disconnected(clock.now_ns())


def wait_s(due_ns: int | None, clock: WallClock) -> float:
    """How long to wait for a time: never long, as clocks may be set."""
    if due_ns is None:
        return _LONGEST_WAIT_S
    return min(max((due_ns - clock.now_ns()) / NS_PER_SECOND, 0.0), _LONGEST_WAIT_S)
