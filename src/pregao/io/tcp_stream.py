"""One connection of a client, without waiting: it connects, reads and writes as the system lets it.

    stream = TcpStream()
    stream.open("127.0.0.1", 9700)
    for happened in stream.poll(0.1): ...        # Connected, Received, Closed
    stream.send(data)

Bounded: what is read at once, and what the other side does not take.
"""

import os
import selectors
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pregao.io.tcp import MOST_UNTAKEN, READ_SIZE

MOST_READ: Final = 16 * READ_SIZE  # in one poll: others want their turn


@dataclass(frozen=True, slots=True)
class Connected:
    """`local` and `remote` are the ends of the connection: address and port."""

    local: tuple[str, int]
    remote: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Received:
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    reason: str


Happened = Connected | Received | Closed


class TcpStream:
    """At most one connection at a time."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._socket: socket.socket | None = None
        self._is_connected = False
        self._unsent = bytearray()
        self._failed: str | None = None

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def open(self, host: str, port: int) -> None:
        """Begin to connect; `poll` says how it went."""
        self.close()
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            connection = socket.socket(family, kind, protocol)
            self._socket = connection
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection, selectors.EVENT_WRITE)
            connection.connect(address)
        except BlockingIOError:
            pass
        except OSError as error:
            self._failed = _reason(error)

    def send(self, data: bytes) -> None:
        if self._socket is not None and data:
            self._unsent += data
            self._write()

    def poll(self, timeout_s: float) -> list[Happened]:
        """What happened, after waiting for so long at most. Without a connection it waits all the same."""
        if self._failed is not None:
            return [self._end(self._failed)]
        if self._socket is None:
            self._selector.select(max(timeout_s, 0.0))
            return []
        ready = self._selector.select(max(timeout_s, 0.0))
        happened: list[Happened] = []
        for _, mask in ready:
            happened += self._ready(mask)
        return happened

    def _ready(self, mask: int) -> list[Happened]:
        assert self._socket is not None
        happened: list[Happened] = []
        if not self._is_connected:
            code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                return [self._end(_reason(OSError(code, "")))]
            self._is_connected = True
            local, remote = self._socket.getsockname(), self._socket.getpeername()
            happened.append(Connected((local[0], local[1]), (remote[0], remote[1])))
        if mask & selectors.EVENT_WRITE:
            self._write()
        if mask & selectors.EVENT_READ:
            happened += self._read()
        if self._failed is not None:
            happened.append(self._end(self._failed))
        elif self._socket is not None:
            self._watch()
        return happened

    def _read(self) -> list[Happened]:
        happened: list[Happened] = []
        size = 0
        while self._socket is not None and size < MOST_READ:
            try:
                data = self._socket.recv(READ_SIZE)
            except BlockingIOError:
                break
            except OSError as error:
                self._failed = _reason(error)
                break
            if not data:
                self._failed = "closed by the other side"
                break
            size += len(data)
            happened.append(Received(data))
        return happened

    def _write(self) -> None:
        if self._socket is None or not self._is_connected:
            return
        try:
            while self._unsent:
                sent = self._socket.send(memoryview(self._unsent)[:READ_SIZE].tobytes())
                del self._unsent[:sent]
        except BlockingIOError:
            pass
        except OSError as error:
            self._failed = _reason(error)
        if len(self._unsent) > MOST_UNTAKEN:
            self._failed = "the other side takes nothing"
        self._watch()

    def _watch(self) -> None:
        if self._socket is not None:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
            self._selector.modify(self._socket, wanted)

    def _end(self, reason: str) -> Closed:
        self.close()
        return Closed(reason)

    def close(self) -> None:
        """What was not sent is lost."""
        if self._socket is not None:
            with suppress(KeyError, ValueError):  # it may have failed before it was registered
                self._selector.unregister(self._socket)
            self._socket.close()
        self._socket, self._is_connected, self._failed = None, False, None
        self._unsent.clear()

    def release(self) -> None:
        """Closed for good."""
        self.close()
        self._selector.close()


def _reason(error: OSError) -> str:
    return (os.strerror(error.errno) if error.errno else str(error)).lower()
