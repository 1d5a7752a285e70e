"""A TCP server that moves only when it is told to."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from pregao.io.tcp import PolledServer


class Echo:
    """Says again what it hears, at times of its owner's clock; `bye` ends it."""

    def __init__(self) -> None:
        self.said = b""
        self.heard: list[tuple[bytes, int]] = []
        self.is_over = False
        self.left_ns: int | None = None

    def receive(self, data: bytes, now_ns: int) -> None:
        self.heard.append((data, now_ns))
        self.said += data
        self.is_over = b"bye" in data

    def data_to_send(self) -> bytes:
        said, self.said = self.said, b""
        return said

    def disconnected(self, now_ns: int) -> None:
        self.left_ns = now_ns


@contextmanager
def serving(machines: list[Echo]) -> Iterator[tuple[PolledServer, int]]:
    """As many connections as there are machines; more are refused."""
    left = list(machines)
    server = PolledServer(lambda _: left.pop(0) if left else None, lambda: 77)
    try:
        yield server, server.start("127.0.0.1")
    finally:
        server.close()


def test_bytes_move_when_it_turns() -> None:
    echo = Echo()
    with (
        serving([echo]) as (server, port),
        closing(socket.create_connection(("127.0.0.1", port), 5)) as client,
    ):
        client.sendall(b"hello")
        assert echo.heard == []
        while server.turn(0.05):
            pass
        assert echo.heard == [(b"hello", 77)]
        assert client.recv(100) == b"hello"
        assert not server.turn()


def test_what_is_over_is_closed_when_all_has_gone() -> None:
    echo = Echo()
    with (
        serving([echo]) as (server, port),
        closing(socket.create_connection(("127.0.0.1", port), 5)) as client,
    ):
        client.sendall(b"bye")
        while server.turn(0.05):
            pass
        assert client.recv(100) == b"bye"
        assert client.recv(100) == b""
        assert echo.left_ns == 77


def test_a_client_that_goes_is_told_to_its_machine() -> None:
    echo = Echo()
    with serving([echo]) as (server, port):
        client = socket.create_connection(("127.0.0.1", port), 5)
        server.turn(0.05)
        client.close()
        while echo.left_ns is None:
            server.turn(0.05)
        assert not server.turn()


def test_who_is_refused_is_closed_and_others_stay() -> None:
    echo = Echo()
    with serving([echo]) as (server, port):
        first = socket.create_connection(("127.0.0.1", port), 5)
        server.turn(0.05)
        second = socket.create_connection(("127.0.0.1", port), 5)
        server.turn(0.05)
        with closing(first), closing(second):
            assert second.recv(10) == b""
            first.sendall(b"still")
            while server.turn(0.05):
                pass
            assert first.recv(10) == b"still"


def test_a_client_that_reads_nothing_stops_nobody() -> None:
    """What it does not take waits; the server goes on."""
    slow, quick = Echo(), Echo()
    with serving([slow, quick]) as (server, port):
        first = socket.create_connection(("127.0.0.1", port), 5)
        server.turn(0.05)
        second = socket.create_connection(("127.0.0.1", port), 5)
        server.turn(0.05)
        with closing(first), closing(second):
            slow.said = bytes(32 << 20)
            server.turn()
            second.sendall(b"quick")
            while not quick.heard:
                server.turn(0.05)
            server.turn()
            assert second.recv(10) == b"quick"
