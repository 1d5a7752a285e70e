"""HTTP servers that nobody can use up: a bound on connections, a time limit on whoever has no request under
way, and one on every request. And one line of log for many failures of a kind.

    connections = Connections(Limits())
    app = web.Application(middlewares=[connections.under_way, …])
    runner, server = await start_bounded(app, connections, host, port)

A connection is idle until its headers are whole and after its answer. When there are as many as may be, the
one that has been idle longest makes room, so that whoever asks whole questions is always heard.
"""

import asyncio
import logging
import resource
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from time import monotonic
from typing import Any, Final

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_AT_ONCE: Final = 32  # accepted in one go, before any of them can be refused
_BACKLOG: Final = 1024  # that the system lets wait
_SHARE: Final = 4  # of the file descriptors there may be, a fourth
_REPEAT_S: Final = 30.0
# aiohttp has a limit of its own on idle connections. With the same span both were due at once, and which of
# them came first, so whether `overdue` counted it, was chance: `sweep` decides, aiohttp's is behind it.
_LATER: Final = 2


@dataclass(frozen=True, slots=True)
class ServerLimits:
    connections: int = 256
    idle_s: float = 10.0  # for the headers of a request, the first or another
    request_s: float = 60.0  # from the end of the headers to the end of the answer
    lingering_s: float = 2.0  # for the rest of a body that nobody wants

    def allowed(self) -> int:
        """Connections, where file descriptors are few."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = self.connections if soft == resource.RLIM_INFINITY else soft // _SHARE
        return max(4, min(self.connections, most))


class _Connection(asyncio.Protocol):
    """Stands between the transport and the protocol of aiohttp."""

    def __init__(self, site: "Connections") -> None:
        self._site = site
        self._inner: asyncio.Protocol | None = None
        self.transport: asyncio.Transport | None = None
        self.since = site.clock()  # idle, or busy
        self.busy = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        inner = self._site.admit(self)
        if inner is None:
            transport.abort()
            return
        self._inner = inner
        inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return None if self._inner is None else self._inner.eof_received()

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        if self._inner is not None:
            self._site.leave(self, self._inner)
            self._inner.connection_lost(error)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class Connections:
    """Those of one server. `under_way` is a middleware of its application; `clock` is in seconds."""

    def __init__(self, limits: ServerLimits, clock: Callable[[], float] = monotonic) -> None:
        self.limits, self.allowed, self.clock = limits, limits.allowed(), clock
        self.refused = self.overdue = 0
        self._make: Callable[[], asyncio.Protocol] | None = None
        self._open: dict[asyncio.Protocol, _Connection] = {}

    def __len__(self) -> int:
        return len(self._open)

    def count(self, *, busy: bool) -> int:
        """Connections with a request under way, or without one."""
        return sum(bool(each.busy) is busy for each in self._open.values())

    def serve(self, make: Callable[[], asyncio.Protocol]) -> None:
        self._make = make

    def admit(self, connection: _Connection) -> asyncio.Protocol | None:
        """The protocol that serves it; None where everybody else is busy."""
        assert self._make is not None
        if len(self._open) >= self.allowed:
            idle = [(each.since, inner) for inner, each in self._open.items() if not each.busy]
            self.refused += 1
            if not idle:
                return None
            self._drop(min(idle, key=lambda pair: pair[0])[1])
        inner = self._make()
        self._open[inner] = connection
        return inner

    def leave(self, connection: _Connection, inner: asyncio.Protocol) -> None:
        if self._open.get(inner) is connection:
            del self._open[inner]

    def sweep(self) -> None:
        """Whoever has had time enough goes."""
        now, limits = self.clock(), self.limits
        for inner, each in list(self._open.items()):
            if now - each.since > (limits.request_s if each.busy else limits.idle_s):
                self.overdue += 1
                self._drop(inner)

    def _drop(self, inner: asyncio.Protocol) -> None:
        self._open.pop(inner).abort()

    @property
    def under_way(self) -> Any:
        @web.middleware
        async def under_way(request: web.Request, handler: Handler) -> web.StreamResponse:
            connection = self._open.get(request.protocol)
            if connection is None:  # of another server, as tests have them
                return await handler(request)
            connection.busy, connection.since = connection.busy + 1, self.clock()
            try:
                return await handler(request)
            finally:
                connection.busy, connection.since = connection.busy - 1, self.clock()

        return under_way


async def start_bounded(
    app: web.Application, connections: Connections, host: str, port: int
) -> tuple[web.AppRunner, asyncio.Server]:
    """Listens; OSError when it cannot. `close_bounded` ends it."""
    limits = connections.limits
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=1.0, keepalive_timeout=_LATER * limits.idle_s,
        lingering_time=limits.lingering_s,
    )  # fmt: skip
    await runner.setup()
    assert runner.server is not None
    connections.serve(runner.server)
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(lambda: _Connection(connections), host, port, backlog=_AT_ONCE)
    except OSError:
        await runner.cleanup()
        raise

    for each in server.sockets:
        with each.dup() as listening:
            listening.listen(_BACKLOG)

    def sweep() -> None:
        if server.is_serving():
            connections.sweep()
            loop.call_later(min(1.0, limits.idle_s / 4), sweep)

    sweep()
    return runner, server


async def close_bounded(runner: web.AppRunner, server: asyncio.Server) -> None:
    server.close()
    await runner.cleanup()


class OneLineForMany(logging.Filter):
    """Of records that begin alike only the first passes; the next one after a while says how many there were
    in between. What is not ours has no traceback either."""

    def __init__(self, repeat_s: float = _REPEAT_S, *, traces: bool = False) -> None:
        super().__init__()
        self._repeat_s, self._traces = repeat_s, traces
        self._said: dict[str, tuple[float, int]] = {}  # when, and how many since

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = str(record.msg).partition("\n")[0][:60], monotonic()
        since, left_out = self._said.get(kind, (-self._repeat_s, 0))
        if now - since < self._repeat_s:
            self._said[kind] = since, left_out + 1
            return False
        if len(self._said) > 100:
            self._said.clear()
        self._said[kind] = now, 0
        more = f" ({left_out} more like it)" if left_out else ""
        if self._traces:
            record.msg, record.args = record.getMessage() + more, ()
            return True
        line = record.getMessage().partition("\n")[0]
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        record.msg, record.args, record.exc_info, record.exc_text = line + more, (), None, None
        return True


def one_line_for_many(*loggers: str) -> None:
    """What these loggers say themselves, from now on."""
    for name in loggers:
        logger = logging.getLogger(name)
        if not any(isinstance(each, OneLineForMany) for each in logger.filters):
            logger.addFilter(OneLineForMany(traces=name.startswith("pregao")))


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
