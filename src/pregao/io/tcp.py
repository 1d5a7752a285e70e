"""TCP connections of machines without I/O: bytes in, bytes out, and a time at which they want to be called.

A server makes a machine for each connection and drives it until either side ends. All is bounded: how many
connections, what is read at once, and what nobody takes. Listens on loopback unless told otherwise.
"""

import asyncio
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
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


# A server without a loop of its own, for machines whose clock is not the system's.


class PolledMachine(Protocol):
    """One side of a connection: `ByteMachine`, as far as it is needed here."""

    @property
    def is_over(self) -> bool: ...

    def receive(self, data: bytes, now_ns: int) -> None: ...

    def data_to_send(self) -> bytes: ...

    def disconnected(self, now_ns: int) -> None: ...


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    machine: PolledMachine
    unsent: bytearray = field(default_factory=bytearray)


class PolledServer:
    """Who has it calls `turn`, and connections move as far as they can. `accept` gives the machine of a
    connection from an address; None: it is refused."""

    def __init__(self, accept: Callable[[str], PolledMachine | None], clock: Callable[[], int]) -> None:
        self._accept, self._clock = accept, clock
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._connections: list[_Connection] = []

    def start(self, address: str, port: int = 0) -> int:
        """Listens; the port."""
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((address, port))
        self._listener.listen()
        self._listener.setblocking(False)
        return int(self._listener.getsockname()[1])

    def turn(self, wait_s: float = 0.0) -> bool:
        """What can be moved now, after waiting for so long for something; whether anything was."""
        moved = self._write_all()
        sockets = [self._listener, *(each.socket for each in self._connections)]
        ready, _, _ = select.select(sockets, [], [], 0.0 if moved else wait_s)
        if self._listener in ready:
            moved |= self._take_in()
        for connection in [each for each in self._connections if each.socket in ready]:
            self._read(connection)
            moved = True
        return self._write_all() or moved

    def _take_in(self) -> bool:
        try:
            accepted, (address, _) = self._listener.accept()
        except OSError:
            return False
        machine = self._accept(address) if len(self._connections) < MOST_CONNECTIONS else None
        if machine is None:
            accepted.close()
            return True
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections.append(_Connection(accepted, machine))
        return True

    def _read(self, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            connection.machine.receive(data, self._clock())
        else:
            self._end(connection)

    def _write_all(self) -> bool:
        moved = False
        for connection in list(self._connections):
            connection.unsent += connection.machine.data_to_send()
            moved |= self._write(connection)
        return moved

    def _write(self, connection: _Connection) -> bool:
        moved = False
        try:
            while connection.unsent:
                sent = connection.socket.send(bytes(connection.unsent[:READ_SIZE]))
                del connection.unsent[:sent]
                moved = True
        except BlockingIOError:
            pass
        except OSError:
            self._end(connection)
            return True
        if len(connection.unsent) > MOST_UNTAKEN or (connection.machine.is_over and not connection.unsent):
            self._end(connection)
            moved = True
        return moved

    def _end(self, connection: _Connection) -> None:
        self._connections.remove(connection)
        connection.machine.disconnected(self._clock())
        with suppress(OSError):
            connection.socket.close()

    def close(self) -> None:
        for connection in list(self._connections):
            self._end(connection)
        self._listener.close()
