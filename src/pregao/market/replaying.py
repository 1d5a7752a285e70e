"""The client of the replayers on TCP: the machine of `sessions.replay` with connections and a clock.

    link = ReplayLink(client, {"A": ("127.0.0.1", 8385), "B": ("127.0.0.1", 8387)}, on_event)
    task = asyncio.create_task(link.run())
    link.want("184", 17, 20)       # on_event is given Replayed and SpanFailed
    link.stop()

One connection at a time, which is kept: to A, and to B when A is gone. Every wait is the machine's, and
bounded. `ReplayerThread` is the same for a market, which has no loop of that kind.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pregao.captures.subscriptions import load_replayer
from pregao.feeds.port import ReplayedSystem
from pregao.feeds.registry import load_system
from pregao.io.clock import WallClock
from pregao.io.tcp import MOST_UNTAKEN, READ_SIZE, wait_s
from pregao.model.channel_map import ReplayerEntry
from pregao.recovery.policy import RecoveryPolicy
from pregao.sessions.fix import SessionSettings
from pregao.sessions.replay import (
    ReplayClient,
    ReplayClientSettings,
    ReplayConnectWanted,
    ReplayDisconnectWanted,
    Replayed,
    ReplayEvent,
    SpanFailed,
)

Endpoint = tuple[str, int]
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ReplayLink:
    """`want` and `stop` are called in the loop that `run` runs in."""

    def __init__(
        self,
        client: ReplayClient,
        endpoints: Mapping[str, Endpoint],
        on_event: Callable[[Replayed | SpanFailed], None],
        clock: WallClock | None = None,
    ) -> None:
        self.client, self._endpoints, self._on_event = client, endpoints, on_event
        self._clock = clock or WallClock()
        self._woken = asyncio.Event()
        self._connecting: asyncio.Task[_Streams] | None = None
        self._reading: asyncio.Task[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._stopping = False

    def want(self, channel: str, begin: int, end: int) -> None:
        """Numbers that are missing; those of spans that touch are asked for together."""
        self._take(self.client.want(channel, begin, end, self._clock.now_ns()))
        self._woken.set()

    def stop(self) -> None:
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Until it is stopped."""
        try:
            while not self._stopping:
                await self._wait()
                self._look()
                self._send()
        finally:
            self._disconnect()

    async def _wait(self) -> None:
        woken = asyncio.ensure_future(self._woken.wait())
        tasks: set[asyncio.Future[object]] = {woken}  # type: ignore[arg-type]
        tasks |= {task for task in (self._connecting, self._reading) if task is not None}  # type: ignore[misc]
        left_s = wait_s(self.client.next_timeout(), self._clock)
        await asyncio.wait(tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        self._woken.clear()

    def _look(self) -> None:
        """What the network brought, then what the time brings."""
        if self._connecting is not None and self._connecting.done():
            self._connected(self._connecting)
        if self._reading is not None and self._reading.done():
            self._received(self._reading)
        now_ns = self._clock.now_ns()
        due_ns = self.client.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self._take(self.client.on_timeout(now_ns))

    def _connected(self, task: "asyncio.Task[_Streams]") -> None:
        self._connecting = None
        now_ns = self._clock.now_ns()
        try:
            reader, self._writer = task.result()
        except OSError:
            self._take(self.client.disconnected(now_ns))
            return
        self._read(reader)
        self._take(self.client.connected(now_ns))

    def _read(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._reading = asyncio.ensure_future(reader.read(READ_SIZE))

    def _received(self, task: "asyncio.Task[bytes]") -> None:
        self._reading = None
        now_ns = self._clock.now_ns()
        try:
            data = task.result()
        except OSError:
            data = b""
        if not data:
            self._disconnect()
            self._take(self.client.disconnected(now_ns))
            return
        self._read(self._reader)
        self._take(self.client.receive(data, now_ns))

    def _send(self) -> None:
        writer = self._writer
        if writer is None:
            return
        writer.write(self.client.data_to_send())
        if writer.transport.get_write_buffer_size() > MOST_UNTAKEN:
            self._disconnect()
            self._take(self.client.disconnected(self._clock.now_ns()))

    def _take(self, events: Iterable[ReplayEvent]) -> None:
        for event in events:
            if isinstance(event, ReplayConnectWanted):
                host, port = self._endpoints[event.endpoint]
                self._connecting = asyncio.ensure_future(asyncio.open_connection(host, port))
            elif isinstance(event, ReplayDisconnectWanted):
                self._disconnect()
                self._woken.set()
            else:
                self._on_event(event)

    def _disconnect(self) -> None:
        for task in (self._connecting, self._reading):
            if task is not None:
                task.cancel()
        self._connecting = self._reading = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None


# A market takes its packets in its own thread, so the connection has another: it lives in system calls, and
# what came is taken by the market when it is its turn.


_START_S: Final = 30.0
_STOP_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class ReplayerHealth:
    """How asking for what was lost goes."""

    connected: bool
    connections: int
    requests: int
    tries: int  # spans of these, repeated ones too
    replayed: int  # messages that came
    failed: int  # spans that were given up
    faults: dict[str, int]  # of what came, by what was wrong with it


def client_settings(policy: RecoveryPolicy, endpoints: int) -> ReplayClientSettings:
    """As a system has it: how often, how far apart and for how long."""
    return ReplayClientSettings(
        endpoints=tuple("AB"[:endpoints]), tries=policy.ask_tries, pause_ns=policy.ask_pause_ns,
        answer_ns=policy.answer_ns, want_ns=policy.answer_ns, max_messages=policy.ask_most,
        stays_connected=True,
    )  # fmt: skip


class ReplayerThread:
    """Asks a replayer in a thread of its own, and keeps what came until it is taken."""

    def __init__(
        self, entry: ReplayerEntry, policy: RecoveryPolicy, number_of: Callable[[bytes], int | None]
    ) -> None:
        self._client = ReplayClient(
            client_settings(policy, len(entry.endpoints)), SessionSettings(entry.sender, entry.target), None,
            number_of,
        )  # fmt: skip
        self._endpoints = dict(zip("AB", entry.endpoints, strict=False))
        self._answers: deque[Replayed | SpanFailed] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._link: ReplayLink | None = None
        self._failure: BaseException | None = None
        self._awaited_until_ns, self._answer_ns = 0, policy.answer_ns
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pregao-replayer", daemon=True)
        self._thread.start()
        self._ready.wait(_START_S)

    def ask(self, channel: str, begin: int, end: int, now_ns: int) -> None:
        self._awaited_until_ns = now_ns + self._answer_ns
        self._call(lambda link: link.want(channel, begin, end))

    def take_answers(self) -> list[Replayed | SpanFailed]:
        if self._failure is not None:
            raise self._failure
        return [self._answers.popleft() for _ in range(len(self._answers))]

    def is_awaited(self, now_ns: int) -> bool:
        """Whether an answer may come soon."""
        return now_ns < self._awaited_until_ns

    def health(self) -> ReplayerHealth:
        counts = self._client.health
        return ReplayerHealth(
            self._client.is_ready, counts.connections, counts.requests, counts.tries, counts.replayed,
            counts.failed, dict(counts.faults),
        )  # fmt: skip

    def close(self) -> None:
        self._call(ReplayLink.stop)
        self._thread.join(_STOP_S)

    def _call(self, what: "Callable[[ReplayLink], None]") -> None:
        loop, link = self._loop, self._link
        if loop is None or link is None:
            return
        with suppress(RuntimeError):  # it is closed
            loop.call_soon_threadsafe(what, link)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # whoever takes answers must hear of it
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._link = ReplayLink(self._client, self._endpoints, self._answers.append)
        self._ready.set()
        await self._link.run()


def open_replayer(config: str | None, name: str) -> ReplayerThread | None:
    """That of a configuration; None where it has none, or the system cannot ask for units again."""
    entry, system = load_replayer(config), load_system(name)
    if entry is None or not isinstance(system, ReplayedSystem):
        return None
    return ReplayerThread(entry, system.policy, system.number_of)
