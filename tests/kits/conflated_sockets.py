"""`ScriptedServer` on a real socket, in a thread: for tests of the client's side of TCP."""

import socket
import threading
from collections.abc import Callable
from time import monotonic, time_ns

from tests.kits.conflated_server import ScriptedServer


class SocketServer:
    """One connection at a time. What is wished is done whenever there is nothing to read."""

    def __init__(self, make: Callable[[], ScriptedServer], port: int = 0) -> None:
        self._make = make
        self._listening = socket.create_server(("127.0.0.1", port))
        self._listening.settimeout(0.02)
        self.port: int = self._listening.getsockname()[1]
        self.server: ScriptedServer | None = None
        self.connections = 0
        self._wishes: list[Callable[[ScriptedServer], None]] = []
        self._cut = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "SocketServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5)
        self._listening.close()

    def do(self, wish: Callable[[ScriptedServer], None]) -> None:
        """Have the server do something in its own thread."""
        self._wishes.append(wish)

    def cut(self) -> None:
        """End the connection without a word."""
        self._cut.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listening.accept()
            except TimeoutError:
                continue
            with connection:
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(0.01)
        server = self.server = self._make()
        self.connections += 1
        self._cut.clear()
        server.now_ns = time_ns()
        server.connect()
        while not self._stop.is_set() and not self._cut.is_set():
            server.now_ns = time_ns()
            try:
                data = connection.recv(65_536)
                if not data:
                    return
                server.receive(data)
            except TimeoutError:
                wishes, self._wishes = self._wishes, []
                for wish in wishes:
                    wish(server)
            except OSError:
                return
            connection.sendall(server.data_to_send())


def until(condition: Callable[[], bool], step: Callable[[], object], seconds: float = 20.0) -> None:
    """Step until something holds; a test that waits for nothing fails."""
    ends = monotonic() + seconds
    while not condition():
        assert monotonic() < ends, "it did not happen in time"
        step()
