"""The servers of a live exchange: a primary and standbys on ports of their own, over one feed (PUMA
Conflated, Trademate).

Everything is on the event loop of the exchange. What happens in the market only waits in the feed; this task
sends it when it is due, in slices, so that trades and requests pass while a tick goes out to hundreds of
sessions.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pregao.exchange.commands import Rejection, RejectReason
from pregao.feeds.registry import load_serving_system
from pregao.feeds.serving import BondSource, MarketServer, ServingSettings, SessionGrant
from pregao.io.clock import Timer, WallClock
from pregao.io.tcp_push import PushServer
from pregao.model.channel_map import LOOPBACK
from pregao.model.events import Event
from pregao.simulator.live.session_numbers import NumbersFile
from pregao.simulator.venue import OBSERVED
from pregao.simulator.whole_market import WholeMarket

LOG = logging.getLogger("pregao.exchange")
CHECK_NS: Final = 200_000_000  # between two looks at timeouts and unread bytes
DEFAULT_PORT: Final = 8387
_THREADS: Final = 2
_GRANTS: Final = (SessionGrant("CLIENT"),)
_SERVING: Final = ServingSettings()


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`ports`: the primary's first; 0 is any free one."""

    system: str = "conflated"
    address: str = LOOPBACK
    ports: tuple[int, ...] = (DEFAULT_PORT,)
    grants: tuple[SessionGrant, ...] = _GRANTS
    serving: ServingSettings = _SERVING
    numbers: str | None = None  # file in which numbers of sessions outlive a restart


# What an operator can ask of servers


@dataclass(frozen=True, slots=True)
class StopServer:
    """Its sessions end with 35=5, and nobody is let in. The primary is server 0."""

    now_ns: int
    server: int = 0
    system: str = ""  # conflated or trademate; without it the first that is served


@dataclass(frozen=True, slots=True)
class StartServer:
    """Listens again, on the port it had."""

    now_ns: int
    server: int = 0
    system: str = ""


@dataclass(frozen=True, slots=True)
class CutSession:
    """The session of a CompID ends with 35=5, on whichever server it is."""

    now_ns: int
    comp_id: str
    reason: str = "Cut by the operator"
    system: str = ""


@dataclass(frozen=True, slots=True)
class AllowHistory:
    """Whether trade history is answered; if not, with 281=X."""

    now_ns: int
    available: bool = True
    system: str = ""


ServerCommand = StopServer | StartServer | CutSession | AllowHistory
SERVER_COMMANDS: Final = (StopServer, StartServer, CutSession, AllowHistory)


class MarketServers:
    """`source` is the market they serve. Give it every event (`publish`) before its consequences are
    asked for."""

    def __init__(
        self, settings: ServerSettings, source: WholeMarket | BondSource, clock: WallClock, totals: Any = ()
    ) -> None:
        self.settings, self._clock = settings, clock
        self._observer = source if isinstance(source, WholeMarket) else None
        system = load_serving_system(settings.system)
        serving = replace(settings.serving, totals=tuple(totals))
        now_ns = clock.now_ns()
        self._set_time(now_ns)
        self.feed = system.feed(source, serving, now_ns=now_ns)
        self.servers: list[MarketServer] = [
            system.server(self.feed, serving, settings.grants) for _ in settings.ports
        ]
        # Passwords are compared there: some 50 ms each, for which no session shall wait.
        self._threads = ThreadPoolExecutor(_THREADS, "passwords")
        for server in self.servers:
            server.beside = self._ask_beside
        self._timer = Timer(clock)
        self.sockets = [PushServer(server.accept, clock, self._timer.wake) for server in self.servers]
        self._task: asyncio.Task[None] | None = None
        self._starting: set[asyncio.Task[None]] = set()
        self._checked_ns = 0
        self._numbers = None if settings.numbers is None else NumbersFile(Path(settings.numbers))
        if self._numbers is not None:
            for place, server in enumerate(self.servers):
                server.restore(self._numbers.kept(place))

    def _ask_beside(self, question: Callable[[], bool], answer: Callable[[bool, int], None]) -> None:
        future = asyncio.get_running_loop().run_in_executor(self._threads, question)

        def tell(done: "asyncio.Future[bool]") -> None:
            failed = done.cancelled() or done.exception() is not None
            answer(not failed and done.result(), self._clock.now_ns())
            self._timer.wake()

        future.add_done_callback(tell)

    # Of the market

    def _set_time(self, now_ns: int) -> None:
        if self._observer is not None:
            self._observer.now_ns = now_ns

    def publish(self, event: Event, now_ns: int) -> None:
        """What fails here must not keep the event from those who publish it."""
        self._set_time(now_ns)
        try:
            for update in event.updates:
                if self._observer is not None and type(update) in OBSERVED:
                    self._observer.observe(update)
            self.feed.publish(event if self._observer is None else self._observer.as_told(event), now_ns)
        except Exception:
            LOG.exception("the servers could not tell an event")
        self._timer.wake()

    def reset_book(self, security_id: int, now_ns: int) -> None:
        self._set_time(now_ns)
        self.feed.reset_book(security_id, now_ns)
        self._timer.wake()

    def carry_out(self, command: ServerCommand, now_ns: int) -> Rejection | None:
        """A command of the operator; why it was refused."""
        if isinstance(command, AllowHistory):
            self.feed.history_available = command.available
            return None
        if isinstance(command, CutSession):
            return self._cut(command, now_ns)
        if not 0 <= command.server < len(self.servers):
            return Rejection(RejectReason.NOT_NOW, f"there is no server {command.server}")
        socket, server = self.sockets[command.server], self.servers[command.server]
        if isinstance(command, StartServer):
            if socket.is_listening:
                return Rejection(RejectReason.NOT_NOW, "it listens already")
            task = asyncio.ensure_future(socket.start(self.settings.address, socket.port))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)
            return None
        socket.stop()
        for connection in server.connections:
            connection.cut("The server is stopped", now_ns)
            if connection.wake is not None:
                connection.wake()
        return None

    def _cut(self, command: CutSession, now_ns: int) -> Rejection | None:
        found = [
            each for server in self.servers for each in server.connections if each.comp_id == command.comp_id
        ]
        for connection in found:
            connection.cut(command.reason, now_ns)
            if connection.wake is not None:
                connection.wake()
        return None if found else Rejection(RejectReason.NOT_NOW, f"{command.comp_id[:60]} is not connected")

    # Of the event loop

    async def start(self) -> None:
        for socket, port in zip(self.sockets, self.settings.ports, strict=True):
            await socket.start(self.settings.address, port)
        self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        now_ns = self._clock.now_ns()
        for connection in [each for server in self.servers for each in server.connections]:
            connection.cut("The exchange ends", now_ns)
        for socket in self.sockets:
            socket.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.sleep(0)  # so that all of them hear of it
        if self._numbers is not None:
            self._numbers.close([server.numbers() for server in self.servers])

    async def _run(self) -> None:
        while True:
            try:
                self.turn()
            except Exception:  # one bad moment must not end the service of everybody
                LOG.exception("the servers failed at something")
            if any(server.has_work for server in self.servers):
                await asyncio.sleep(0)
            else:
                due_ns, check_ns = self.feed.next_timeout(), self._checked_ns + CHECK_NS
                await self._timer.wait(check_ns if due_ns is None else min(due_ns, check_ns))

    def turn(self) -> None:
        """What is due, a slice of what waits, and now and then a look at everybody."""
        now_ns = self._clock.now_ns()
        self._set_time(now_ns)
        self.feed.advance(now_ns)
        for server in self.servers:
            if server.has_work:
                server.work(now_ns)
        if now_ns - self._checked_ns >= CHECK_NS:
            self._checked_ns = now_ns
            for socket in self.sockets:
                socket.check()
            if self._numbers is not None:
                self._numbers.keep([server.numbers() for server in self.servers], now_ns)

    def lines(self) -> Iterator[str]:
        title = load_serving_system(self.settings.system).title
        for place, socket in enumerate(self.sockets):
            kind = "primary" if place == 0 else f"standby {place}"
            names = ", ".join(each.comp_id for each in self.settings.grants[:5])
            yield f"{title}, {kind}: {self.settings.address}:{socket.port}, for {names}"

    def view(self) -> list[dict[str, Any]]:
        """For the operator."""
        return [
            {
                "system": self.settings.system,
                "server": place,
                "port": socket.port,
                "listening": socket.is_listening,
                "refused": server.refused,
                "overflowed": socket.overflowed,
                "sessions": [
                    {"comp_id": each.comp_id, "address": each.address} for each in server.connections
                ],
            }
            for place, (server, socket) in enumerate(zip(self.servers, self.sockets, strict=True))
        ]
