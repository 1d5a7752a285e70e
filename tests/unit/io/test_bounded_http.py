"""Servers that nobody can use up: half-sent requests, slow bodies, too many connections, many failures."""

import asyncio
import logging
import resource
import socket
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from pregao.io.bounded_http import Connections, OneLineForMany, ServerLimits
from pregao.market.metrics_server import MetricsServer
from pregao.simulator.operator.api import Server, start_server
from tests.kits.operator import Wire, make_loop

QUICK = ServerLimits(connections=8, idle_s=0.4, request_s=0.8, lingering_s=0.2)
PATIENT = ServerLimits(connections=8, idle_s=30.0)
HALF = b"POST /v1/orders/new HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Ty"
SLOW_BODY = (
    b"POST /v1/orders/new HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 4000\r\n\r\n{"
)
WHOLE = b"GET /v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(limits: ServerLimits) -> AsyncIterator[Server]:
    loop = make_loop(Wire())
    server = await start_server(loop, "127.0.0.1", 0, bind_anywhere=False, limits=limits)
    task = asyncio.create_task(loop.run())
    try:
        yield server
    finally:
        loop.stop()
        await task
        await server.close()


async def connect(server: Server, data: bytes) -> Stream:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rsplit(":", 1)[1].strip("/")))
    writer.write(data)
    return reader, writer


async def answer(stream: Stream) -> bytes:
    """What comes until it is closed; a connection that is aborted has said nothing more."""
    reader, writer = stream
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def status(stream: Stream) -> bytes:
    line = await asyncio.wait_for(stream[0].readline(), 10)
    stream[1].close()
    return line


@pytest.mark.parametrize("data", [b"", HALF, b"GET / HTTP/1.1\r\n"])
def test_whoever_sends_no_whole_headers_is_let_go(data: bytes) -> None:
    async def go() -> None:
        async with serving(QUICK) as server:
            assert await answer(await connect(server, data)) == b""
            await asyncio.sleep(0)
            assert (len(server.connections), server.connections.overdue) == (0, 1)

    asyncio.run(go())


class Clock:
    """A clock that the test holds."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("data", [b"", HALF, b"GET / HTTP/1.1\r\n", SLOW_BODY])
def test_the_limit_is_that_of_headers_or_of_a_request(data: bytes) -> None:
    """To the second, on a clock of the test's own: nobody else's limit comes first."""
    limit_s = PATIENT.request_s if data == SLOW_BODY else PATIENT.idle_s

    async def go() -> None:
        async with serving(PATIENT) as server:
            connections = server.connections
            clock = connections.clock = Clock()
            stream = await connect(server, data)
            await _until(lambda: connections.count(busy=data == SLOW_BODY) == 1)
            clock.now += limit_s
            connections.sweep()
            assert (len(connections), connections.overdue) == (1, 0)
            clock.now += 0.001
            connections.sweep()
            assert (len(connections), connections.overdue) == (0, 1)
            assert await answer(stream) == b""

    asyncio.run(go())


def test_time_begins_again_with_the_answer() -> None:
    async def go() -> None:
        async with serving(PATIENT) as server:
            connections = server.connections
            clock = connections.clock = Clock()
            reader, writer = await connect(server, b"")
            for _ in range(3):  # far more than one limit in all
                clock.now += PATIENT.idle_s - 1
                writer.write(WHOLE)
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
                assert b" 200 OK" in head
                await reader.readexactly(int(head.partition(b"Content-Length: ")[2].partition(b"\r")[0]))
                await _until(lambda: connections.count(busy=False) == 1)
                connections.sweep()
            assert (len(connections), connections.overdue) == (1, 0)
            clock.now += PATIENT.idle_s + 0.001
            connections.sweep()
            assert (len(connections), connections.overdue) == (0, 1)
            writer.close()

    asyncio.run(go())


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.001)


def test_headers_that_come_byte_by_byte_have_no_more_time() -> None:
    async def go() -> None:
        async with serving(QUICK) as server:
            reader, writer = await connect(server, b"GET ")
            dripping = asyncio.create_task(_drip(writer))
            assert await answer((reader, writer)) == b""
            assert server.connections.overdue == 1
            dripping.cancel()

    async def _drip(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.05)

    asyncio.run(go())


def test_a_body_that_does_not_come_has_a_limit_too() -> None:
    async def go() -> None:
        async with serving(QUICK) as server:
            assert await answer(await connect(server, SLOW_BODY)) == b""
            assert server.connections.overdue == 1
            assert len(server.connections) == 0

    asyncio.run(go())


def test_a_connection_is_kept_between_requests_but_not_for_ever() -> None:
    async def go() -> None:
        async with serving(QUICK) as server:
            reader, writer = await connect(server, WHOLE)
            assert b"200" in await reader.readline()
            await asyncio.sleep(0.1)
            writer.write(WHOLE)
            assert b"200 OK" in await answer((reader, writer))

    asyncio.run(go())


def test_the_longest_idle_makes_room_and_the_busy_do_not() -> None:
    async def go() -> None:
        async with serving(PATIENT) as server:
            idle = [await connect(server, HALF) for _ in range(50)]
            assert b"200" in await status(await connect(server, WHOLE))
            assert len(server.connections) <= 8
            assert server.connections.refused >= 42
            assert await answer(idle[0]) == b""
            busy = [await connect(server, SLOW_BODY) for _ in range(8)]
            await asyncio.sleep(0.1)
            assert await answer(await connect(server, WHOLE)) == b""
            for _, writer in busy + idle:
                writer.close()
            await asyncio.sleep(0.1)
            assert b"200" in await status(await connect(server, WHOLE))

    asyncio.run(go())


def test_few_file_descriptors_mean_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 4096))
    assert Connections(ServerLimits()).allowed == 25
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert Connections(ServerLimits()).allowed == ServerLimits().connections


def test_metrics_are_served_beside_half_sent_requests() -> None:
    with MetricsServer("127.0.0.1", 0, QUICK) as server:
        server.publish("up 1\n")
        port = int(server.url.split(":")[2].partition("/")[0])
        half = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for each in half:
            each.sendall(b"GET /metrics HTTP/1.1\r\nHo")
        with urllib.request.urlopen(server.url, timeout=10) as got:
            assert got.read() == b"up 1\n"
        for each in half:  # all are let go
            each.settimeout(10)
            with suppress(ConnectionError):
                assert each.recv(100) == b""
            each.close()


def test_one_line_for_many_failures(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("pregao.test.many")
    quiet = OneLineForMany(0.2)
    log.addFilter(quiet)
    for number in range(1000):
        try:
            raise OSError(24, "Too many open files")
        except OSError:
            log.exception("accept failed\nsocket %d", number)
    assert caplog.messages == ["accept failed: OSError: [Errno 24] Too many open files"]
    assert caplog.records[0].exc_info is None
    time.sleep(0.25)
    log.error("accept failed\nsocket")
    assert caplog.messages[1:] == ["accept failed (999 more like it)"]
    log.error("something else")
    assert len(caplog.messages) == 3
