"""The operator interface over HTTP: routes, guards and answers. What can be asked is in the tables of
`pregao.simulator.operator`.

It has no passwords: whoever reaches it is the operator. So it listens on loopback only, unless told
otherwise on purpose, and refuses what a web page elsewhere could make a browser send: another Host
(DNS rebinding), another Origin, a body that is not application/json.
"""

import asyncio
import json
import logging
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web

from pregao.exchange.commands import Rejection, RejectReason
from pregao.io.bounded_http import (
    Connections,
    Handler,
    ServerLimits,
    close_bounded,
    is_loopback,
    one_line_for_many,
    start_bounded,
)
from pregao.model.errors import ConfigurationError
from pregao.simulator.live.loop import LiveLoop, QueueFullError
from pregao.simulator.live.tracking import StateLostError
from pregao.simulator.operator.calls import CALLS, Call
from pregao.simulator.operator.json_forms import outcome_json, parse_json, read_command
from pregao.simulator.operator.kinds import RefusedError, RequestError
from pregao.simulator.operator.openapi import document, page
from pregao.simulator.operator.views import VIEWS, View

LOG = logging.getLogger("pregao.exchange")
BODY_LIMIT: Final = 64 * 1024
_JSON: Final = "application/json"
_READ_TIMEOUT_S: Final = 10.0


class OperatorDesk:
    """What reading a command needs to know."""

    def __init__(self, loop: LiveLoop) -> None:
        self._loop = loop

    def now_ns(self) -> int:
        return self._loop.clock.now_ns()

    def find(self, symbol: str) -> int:
        found = self._loop.market.instruments.by_symbol.get(symbol)
        if found is None:
            raise RefusedError(Rejection(RejectReason.UNKNOWN_INSTRUMENT, symbol[:60]))
        return found

    def find_bond(self, symbol: str) -> int:
        bonds = self._loop.market.bonds
        found = None if bonds is None else bonds.find(symbol)
        if found is None:
            raise RefusedError(Rejection(RejectReason.UNKNOWN_INSTRUMENT, symbol[:60]))
        return found


def make_app(
    loop: LiveLoop, *, bind_anywhere: bool = False, connections: Connections | None = None
) -> web.Application:
    """The application, for a server or a test."""
    outer = [] if connections is None else [connections.under_way]
    middlewares = [*outer, _guard(bind_anywhere=bind_anywhere)]
    app = web.Application(client_max_size=BODY_LIMIT, middlewares=middlewares)
    described, listed = json.dumps(document()), page()

    async def openapi(_: web.Request) -> web.Response:
        return web.Response(text=described, content_type=_JSON)

    async def index(_: web.Request) -> web.Response:
        return web.Response(text=listed, content_type="text/html")

    app.router.add_get("/", index)
    app.router.add_get("/openapi.json", openapi)
    desk = OperatorDesk(loop)
    for call in CALLS:
        app.router.add_post(call.path, _command_handler(call, loop, desk))
    for view in VIEWS:
        app.router.add_get(view.path, _view_handler(view, loop))
    return app


async def start_server(
    loop: LiveLoop, address: str, port: int, *, bind_anywhere: bool, limits: ServerLimits | None = None
) -> "Server":
    """Listens; ConfigurationError if it may not or cannot."""
    if not bind_anywhere and not is_loopback(address):
        reason = f"{address} is not a loopback address: anyone who reaches it could trade (--bind-anywhere)"
        raise ConfigurationError(reason, key="address")
    one_line_for_many("asyncio", "aiohttp.server", LOG.name)
    connections = Connections(limits or ServerLimits())
    app = make_app(loop, bind_anywhere=bind_anywhere, connections=connections)
    try:
        runner, server = await start_bounded(app, connections, address, port)
    except OSError as error:
        raise ConfigurationError(f"{address} port {port}: {error.strerror}", key="address") from error
    return Server(runner, server, connections, address)


class Server:
    def __init__(
        self, runner: web.AppRunner, server: asyncio.Server, connections: Connections, address: str
    ) -> None:
        self._runner, self._server, self.connections = runner, server, connections
        host = f"[{address}]" if ":" in address else address
        self.url = f"http://{host}:{server.sockets[0].getsockname()[1]}/"

    async def close(self) -> None:
        await close_bounded(self._runner, self._server)


def _command_handler(call: Call, loop: LiveLoop, desk: OperatorDesk) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        if request.content_type != _JSON or request.headers.get("Content-Encoding"):
            return _error(415, "not-json", f"the body must be {_JSON}, as it is")
        async with asyncio.timeout(_READ_TIMEOUT_S):
            body = await request.read()
        command = read_command(call.command, parse_json(body), desk)
        outcome = await loop.submit(command)
        if outcome.rejection is not None:
            raise RefusedError(outcome.rejection)
        bonds = loop.market.bonds
        exponents = None if bonds is None else bonds.exponents
        return web.json_response(outcome_json(outcome, exponents))

    return handle


def _view_handler(view: View, loop: LiveLoop) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        which = "" if view.parameter is None else request.match_info[view.parameter]
        return web.json_response(view.show(loop, which))

    return handle


def _guard(*, bind_anywhere: bool) -> Any:
    """Refuses strangers, and gives every fault its answer."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not bind_anywhere and not _is_local(request):
            return _error(403, "forbidden", "the Host or Origin header is not of this machine")
        try:
            response = await handler(request)
        except Exception as error:
            response = _answer(error)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-store"
        return response

    return guard


def _is_local(request: web.Request) -> bool:
    hosts, origins = request.headers.getall("Host", []), request.headers.getall("Origin", [])
    if len(hosts) != 1 or len(origins) > 1:
        return False
    return all(_names_this_machine(f"//{host}") for host in hosts) and all(map(_names_this_machine, origins))


def _names_this_machine(url: str) -> bool:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return host is not None and is_loopback(host)


def _answer(error: Exception) -> web.Response:
    if isinstance(error, RequestError):
        return _error(400, error.reason, error.text, where=error.where)
    if isinstance(error, RefusedError):
        reason = error.rejection.reason
        return _error(409, reason.name, error.rejection.text, code=reason.code)
    if isinstance(error, QueueFullError):
        return _error(503, "busy", "too many commands wait already")
    if isinstance(error, StateLostError):
        return _error(503, "not-kept", "it may or may not have happened: its state could not be written")
    if isinstance(error, TimeoutError):
        return _error(408, "too-slow", f"the body did not come within {_READ_TIMEOUT_S:.0f} seconds")
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return _error(413, "too-large", f"the body is longer than {BODY_LIMIT} bytes")
    if isinstance(error, web.HTTPException):
        answer = _error(error.status, error.reason.lower().replace(" ", "-"), error.reason)
        if "Allow" in error.headers:
            answer.headers["Allow"] = error.headers["Allow"]
        return answer
    if isinstance(error, web.RequestPayloadError):
        return _error(400, "damaged-body", "the body does not arrive as its headers say")
    LOG.error("a request failed", exc_info=error)
    return _error(500, "internal", "a mistake of ours; the log has it")


def _error(status: int, reason: str, text: str, **more: Any) -> web.Response:
    return web.json_response({"reason": reason, "text": text} | more, status=status)
