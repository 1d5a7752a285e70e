"""Metrics over HTTP, from a thread of its own: a slow scrape never keeps packets waiting.

    with MetricsServer("127.0.0.1", 9184) as server:
        server.publish(exposition(market.health()))     # now and then

What is served is what was last published, so no other thread ever looks into a handler at work.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from pregao.io.bounded_http import (
    Connections,
    ServerLimits,
    close_bounded,
    is_loopback,
    one_line_for_many,
    start_bounded,
)
from pregao.market.metrics import CONTENT_TYPE
from pregao.model.errors import ConfigurationError

_PATH: Final = "/metrics"
_BODY_LIMIT: Final = 1024
_START_S: Final = 30.0
# Few ask for metrics, and this process has sockets to keep open.
_LIMITS: Final = ServerLimits(connections=64)


def parse_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `:PORT` or `PORT`; without a host it is loopback. ConfigurationError otherwise."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ConfigurationError(f"must be HOST:PORT, not {text!r}", key="metrics")
    return host.strip("[]") or "127.0.0.1", int(port)


class MetricsServer:
    """Port 0: any free one. On an address that is not loopback everybody on the network can read it."""

    def __init__(self, host: str, port: int, limits: ServerLimits | None = None) -> None:
        self._host, self._port, self._limits = host, port, limits or _LIMITS
        self._text = ""
        self._thread = threading.Thread(target=self._run, name="pregao-metrics", daemon=True)
        self._listening: Future[tuple[int, Callable[[], object]]] = Future()  # the port, and what ends it
        self._end: Callable[[], object] | None = None
        self.url = ""

    def publish(self, text: str) -> None:
        self._text = text

    def start(self) -> None:
        """Listens when this returns; ConfigurationError when it cannot."""
        self._thread.start()
        try:
            port, self._end = self._listening.result(_START_S)
        except OSError as error:
            self._thread.join()
            raise ConfigurationError(f"{self._host}:{self._port}: {error.strerror}", key="metrics") from error
        host = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"http://{host}:{port}{_PATH}"

    def close(self) -> None:
        if self._end is not None:
            self._end()
            self._thread.join()
            self._end = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The thread

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # whoever started it must hear of it
            if self._listening.done():
                raise
            self._listening.set_exception(error)

    async def _serve(self) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        one_line_for_many("asyncio", "aiohttp.server")
        connections = Connections(self._limits)
        app = self._app(connections)
        runner, server = await start_bounded(app, connections, self._host, self._port)

        def end() -> None:
            loop.call_soon_threadsafe(ended.set)

        try:
            self._listening.set_result((server.sockets[0].getsockname()[1], end))
            await ended.wait()
        finally:
            await close_bounded(runner, server)

    def _app(self, connections: Connections) -> web.Application:
        app = web.Application(client_max_size=_BODY_LIMIT, middlewares=[connections.under_way])
        app.router.add_get(_PATH, self._metrics)
        app.router.add_get("/", self._index)
        return app

    async def _metrics(self, request: web.Request) -> web.Response:
        if is_loopback(self._host) and not _asks_this_machine(request):
            return web.Response(status=403, text="the Host header is not of this machine\n")
        headers = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"}
        return web.Response(body=self._text.encode(), headers=headers)

    async def _index(self, _: web.Request) -> web.Response:
        return web.Response(text=f"metrics are at {_PATH}\n")


def _asks_this_machine(request: web.Request) -> bool:
    """What a page elsewhere makes a browser ask for has another name (DNS rebinding)."""
    try:
        host = request.url.host
    except ValueError:
        return False
    return host is not None and is_loopback(host)
