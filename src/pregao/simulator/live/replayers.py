"""The TCP Replayer and the TCP Historical Replayer of a live exchange: what its publishers sent, to be asked
for again over FIX sessions (UMDF FIX/FAST 5.1.4, 5.1.5, 6.2)."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self

from pregao.codecs.fix import Dictionary, load_builtin_dictionary
from pregao.feeds.publishing import SentMessage
from pregao.io.clock import WallClock
from pregao.io.tcp import ByteMachine, TcpServer
from pregao.model.channel_map import LOOPBACK
from pregao.sessions.fix import SessionDirectory, SessionRecord, SessionSettings, SessionState
from pregao.sessions.replay import HISTORICAL, REPLAYER, Archive, ReplayServer, ReplayServerSettings
from pregao.simulator.live.schedule import trade_date_at

_MS: Final = 1_000_000
_CHANNEL_BYTES: Final = 64 << 20  # that are kept of a channel
COMP_ID: Final = "B3"


@dataclass(frozen=True, slots=True)
class ReplayerSettings:
    """`clients` are the CompIDs that may log on, each once at a time."""

    address: str = LOOPBACK
    port: int = 8385  # 0: any free one
    historical_port: int = 8386
    delay_ms: int = 25  # from the sending of a message until it can be asked for
    historical_delay_ms: int = 2_000  # of the other one, which is slower
    history_days: int = 5
    max_messages: int = 2_000
    clients: tuple[str, ...] = ("CLIENT",)


class ReplayConnection:
    """A `ReplayServer` as a machine of bytes."""

    def __init__(self, server: ReplayServer) -> None:
        self._server, self._session = server, server.session
        self.connect, self.data_to_send = server.connect, server.session.data_to_send
        self.next_timeout = server.session.next_timeout

    @property
    def is_over(self) -> bool:
        return self._session.state is SessionState.CUT

    def receive(self, data: bytes, now_ns: int) -> None:
        self._server.receive(data, now_ns)

    def on_timeout(self, now_ns: int) -> None:
        self._session.on_timeout(now_ns)

    def disconnected(self, now_ns: int) -> None:
        self._session.disconnected(now_ns)


Around = Callable[[ByteMachine], ByteMachine]  # who hears what a connection receives and sends


class Replayer:
    """One of the two: an archive, its sessions and its port. `around` is put around each connection."""

    def __init__(
        self,
        settings: ReplayServerSettings,
        clients: Iterable[str],
        dictionary: Dictionary,
        clock: WallClock,
        around: Around | None = None,
    ) -> None:
        self._settings, self._dictionary, self._around = settings, dictionary, around
        self.archive = Archive(max_channel_bytes=_CHANNEL_BYTES)
        self._directory = SessionDirectory()
        for client in clients:
            self._directory.add(SessionRecord(COMP_ID, client))
        self.server = TcpServer(self.connection, clock)

    def connection(self) -> ByteMachine:
        """The machine of a new connection."""
        session = SessionSettings(COMP_ID, reset_on_logon=True)
        made = ReplayConnection(
            ReplayServer(self._settings, session, self._dictionary, self._directory, self.archive)
        )
        return made if self._around is None else self._around(made)

    def add(self, channel: int, messages: Iterable[SentMessage], days: int) -> None:
        for message in messages:
            self.archive.begin_day(trade_date_at(message.sent_ns), days)
            self.archive.add(str(channel), message.number, message.data, message.sent_ns)


class Replayers:
    """Both, of one exchange."""

    NAMES: Final = ("replayer", "historical")

    def __init__(
        self, settings: ReplayerSettings, clock: WallClock, around: Mapping[str, Around] | None = None
    ) -> None:
        """`around` is by name."""
        self.settings, around = settings, around or {}
        dictionary = load_builtin_dictionary()
        today = replace(REPLAYER, delay_ns=settings.delay_ms * _MS, max_messages=settings.max_messages)
        week = replace(
            HISTORICAL, delay_ns=settings.historical_delay_ms * _MS,
            history_days=settings.history_days, max_messages=settings.max_messages,
        )  # fmt: skip
        clients = settings.clients
        self.replayer = Replayer(today, clients, dictionary, clock, around.get("replayer"))
        self.historical = Replayer(week, clients, dictionary, clock, around.get("historical"))

    def named(self, name: str) -> Replayer:
        return self.historical if name == self.NAMES[1] else self.replayer

    async def start(self) -> None:
        await self.replayer.server.start(self.settings.address, self.settings.port)
        await self.historical.server.start(self.settings.address, self.settings.historical_port)

    def add(self, channel: int, messages: Iterable[SentMessage]) -> None:
        """What a channel has sent: the Replayer has today, the other the week."""
        kept = list(messages)
        self.replayer.add(channel, kept, 1)
        self.historical.add(channel, kept, self.settings.history_days)

    async def close(self) -> None:
        await self.replayer.server.close()
        await self.historical.server.close()

    def lines(self) -> list[str]:
        address = self.settings.address
        return [
            f"replayer {address}:{self.replayer.server.port}, historical"
            f" {address}:{self.historical.server.port}, as {COMP_ID} for {', '.join(self.settings.clients)}"
        ]


_START_S: Final = 30.0
_STOP_S: Final = 5.0


class ReplayerHost:
    """Replayers of an exchange that runs on no clock: their sessions have a thread, and the wall's time.

        with ReplayerHost(replayers) as host:
            host.addresses          # name of each: address and port

    Whoever adds messages shares a lock with `Replayers(around=…)`: connections are driven in the thread.
    """

    def __init__(self, replayers: Replayers) -> None:
        self._replayers = replayers
        self.addresses: dict[str, tuple[str, int]] = {}
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="pregao-replayers", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(_START_S)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop, over = self._loop, self._over
        if loop is not None and over is not None:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(over.set)
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # whoever starts it must hear of it
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        replayers = self._replayers
        try:
            await replayers.start()
            address = replayers.settings.address
            self.addresses = {name: (address, replayers.named(name).server.port) for name in replayers.NAMES}
            self._ready.set()
            await self._over.wait()
        finally:
            await replayers.close()
