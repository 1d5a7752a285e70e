"""A TCP server without a loop of its own: who has it calls `turn`, and connections move as far as they can.

For machines whose clock is not the system's, as those of a simulated day. Bounded as `io.tcp` is.
"""

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from pregao.io.tcp import MOST_CONNECTIONS, MOST_UNTAKEN, READ_SIZE


class PolledMachine(Protocol):
    """One side of a connection: `io.tcp.ByteMachine`, as far as it is needed here."""

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
    """`accept` gives the machine of a connection from an address; None: it is refused."""

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
