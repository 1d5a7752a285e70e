"""A server of Trademate under load: 200 sessions of all bonds, 2,000 events a second, on one core; its
readers are a process on another. Events are those of a day of bonds, prepared before.

Measured at the server: from an event until the last byte of it was taken by the system from all sessions. Of
trades also: from the event until a client has it, at some of the sessions.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

from pregao.exchange.bonds.catalogue import load_default_bonds
from pregao.exchange.bonds.day import BondDay
from pregao.feeds.registry import load_serving_system
from pregao.feeds.serving import SessionGrant, SessionLimits
from pregao.feeds.trademate.served import ServedBonds
from pregao.feeds.trademate.server import TrademateServer
from pregao.io.clock import WallClock
from pregao.model import events as e
from pregao.model.fixed_income import Bond
from pregao.model.market import State
from pregao.sessions.fix.passwords import Cost, PasswordBook, hash_password
from pregao.simulator.collector import calm_collector
from pregao.simulator.live.servers import MarketServers, ServerSettings
from tests.kits.trademate import TRADEMATE, Client, served_settings

from .conflated import percentile
from .harness import Row

SESSIONS, RATE, SECONDS, BAR_MS = 200, 2_000, 20, 50
WARM_S = 2
RATES = (4_000, 8_000, 16_000)  # tried until the last byte is later than the bar
STEP_S = 4
USER, PASSWORD = "reader", "of the benchmark"
DAY = date(2026, 11, 16)


class Bonds:
    """A `BondSource`."""

    trade_date = (DAY - date(1970, 1, 1)).days

    def bonds(self) -> list[Bond]:
        return list(load_default_bonds())


def day_events(count: int) -> list[e.Event]:
    """Orders, changes, cancels, quotes, voice trades, busts and halts of a day, as many as are wanted."""
    day, now_ns = BondDay(load_default_bonds(), DAY), time.time_ns()
    made: list[e.Event] = []
    for steps in (day.begin(now_ns), day.change_states(now_ns, day.numbers, State.OPEN)):
        made += [event for _, events in steps for event in events]
    while len(made) < count:
        made += [event for _, events in day.act(now_ns) for event in events]
    return made


class Load:
    """The server with its clients, and what is measured of it."""

    def __init__(self) -> None:
        limits = SessionLimits(unread_bytes=64 << 20)
        grants = tuple(SessionGrant(f"S{n:04}", limits=limits) for n in range(SESSIONS))
        book = PasswordBook({USER: hash_password(PASSWORD.encode(), b"salt of benchmark", Cost(16, 1, 1))})
        serving = replace(
            load_serving_system("trademate").usual, most_of_address=SESSIONS + 10,
            most_connections=SESSIONS + 10, passwords=book,
        )  # fmt: skip
        self.clock = WallClock()
        settings = ServerSettings("trademate", ports=(0,), grants=grants, serving=serving)
        self.servers = MarketServers(settings, Bonds(), self.clock)
        self.waits: list[float] = []  # of events, ms
        self.traded: dict[str, int] = {}
        self._pending: list[int] = []  # when events came that have not left
        feed: Any = self.servers.feed
        self._flush = feed.flush
        self._left: list[list[int]] = []
        feed.flush = self._flushed

    def _flushed(self, now_ns: int) -> None:
        pending, self._pending = self._pending, []
        self._flush(now_ns)
        if pending:
            self._left.append(pending)

    async def run(self, events: Iterator[e.Event], rate: int, seconds: float) -> None:
        watching = asyncio.create_task(self._watch())
        start, done = time.monotonic(), 0
        while (passed := time.monotonic() - start) < seconds:
            for _ in range(int(passed * rate) - done):
                event = next(events)
                now_ns = time.monotonic_ns()
                for update in event.updates:
                    if isinstance(update, e.Trade):
                        self.traded[f"{update.security_id}/{update.trade_id}"] = now_ns
                self._pending.append(now_ns)
                self.servers.publish(event, self.clock.now_ns())
                done += 1
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.2)
        watching.cancel()

    async def _watch(self) -> None:
        """From each event until nothing of it waits, neither with us nor with the system's sockets."""
        server = self.servers.servers[0]
        while True:
            await asyncio.sleep(0.001)
            left, self._left = self._left, []
            if not left:
                continue
            await asyncio.sleep(0)  # sockets are written to in the next turn of the loop
            while server.has_work or any(each.unread and each.unread() for each in server.connections):
                await asyncio.sleep(0.001)
            now_ns = time.monotonic_ns()
            self.waits += [(now_ns - came_ns) / 1e6 for some in left for came_ns in some]


async def _measure(seconds: float, *, climb: bool) -> tuple[Load, dict[str, Any], float, list[Row]]:
    load = Load()
    await load.servers.start()
    cores = sorted(os.sched_getaffinity(0))
    core = cores[-1] if len(cores) > 1 else -1
    total = int(RATE * (seconds + WARM_S)) + (sum(RATES) * STEP_S if climb else 0) + 1_000
    events = iter(day_events(total))
    if core >= 0:
        os.sched_setaffinity(0, {cores[0]})
    arguments = [str(each) for each in (load.servers.sockets[0].port, SESSIONS, core)]
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.trademate_readers", *arguments,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 28,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdin is not None
    assert (await child.stdout.readline()).strip() == b"ready"
    await load.run(events, RATE, WARM_S)
    load.waits.clear()
    load.traded.clear()
    before = time.process_time()
    await load.run(events, RATE, seconds)
    spent = (time.process_time() - before) / seconds
    waits, traded = load.waits.copy(), load.traded.copy()
    rows = [await _climb(load, events)] if climb else []
    await asyncio.sleep(0.5)
    child.stdin.close()
    answer = json.loads(await child.stdout.readline())
    await child.wait()
    await load.servers.close()
    if core >= 0:
        os.sched_setaffinity(0, set(cores))
    load.waits, load.traded = waits, traded
    return load, answer, spent, rows


async def _climb(load: Load, events: Iterator[e.Event]) -> Row:
    """The first rate at which the last byte, at p99, is later than the bar."""
    broken = RATES[-1]
    for rate in RATES:
        load.waits.clear()
        await load.run(events, rate, STEP_S)
        worst = percentile(load.waits, 0.99)
        print(f"  {rate:,} events/s: p99 {worst:.0f} ms", file=sys.stderr)
        if worst > BAR_MS:
            broken = rate
            break
    return Row("trademate, events a second at which it breaks", float(broken), "events/s")


def in_memory(seconds: int = 3) -> list[Row]:
    """Processor time of a second of the load without sockets, and of the moments at which something leaves:
    bytes are made for every session, and thrown away. A machine that others use spoils the waits, and this
    much less. From event to last byte: by a clock on which the server does one thing after the other, each as
    long as its processor time."""
    limits = SessionLimits(unread_bytes=64 << 20)
    names = [f"S{number:04}" for number in range(SESSIONS)]
    now_ns = start_ns = WallClock().now_ns()
    settings = served_settings(most_of_address=SESSIONS + 10, most_connections=SESSIONS + 10)
    feed = ServedBonds(Bonds(), settings, TRADEMATE, now_ns=now_ns)
    server = TrademateServer(feed, settings, [SessionGrant(name, limits=limits) for name in names])
    clients = [Client(server, name, now_ns=now_ns) for name in names]
    for client in clients:
        client.ask(b"V", {262: "all", 263: "1"})
    octets, before = 0, 0.0
    moments, waits, pending, busy_until = list[float](), list[float](), list[float](), 0.0
    for place, event in enumerate(day_events(RATE * (seconds + 1))[: RATE * (seconds + 1)]):
        if place == RATE:  # the first second warms up
            octets, before = 0, time.process_time()
            moments.clear()
            waits.clear()
        now_ns = start_ns + place * 1_000_000_000 // RATE
        due_ns = feed.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            began = time.process_time()
            feed.advance(now_ns)
            octets += sum(len(client.connection.data_to_send()) for client in clients)
            moments.append(1e3 * (time.process_time() - began))
            busy_until = max(1e3 * (due_ns - start_ns) / 1e9, busy_until) + moments[-1]
            waits += [busy_until - came for came in pending]
            pending.clear()
        pending.append(1e3 * place / RATE)
        feed.publish(event, now_ns)
    spent = (time.process_time() - before) / seconds
    assert octets > SESSIONS * 10_000
    return [
        Row("trademate, processor time of a second, without sockets", 100 * spent, "%", better="lower"),
        _wait("processor time of a moment, without sockets, p50", percentile(moments, 0.5)),
        _wait("processor time of a moment, without sockets, longest", max(moments)),
        _wait("event to last byte by processor time, without sockets, p99", percentile(waits, 0.99)),
    ]


def _run(seconds: float, *, climb: bool) -> tuple[Load, dict[str, Any], float, list[Row]]:
    with calm_collector():  # as `pregao exchange` has it
        return asyncio.run(_measure(seconds, climb=climb))


def measure(seconds: float = SECONDS, *, climb: bool = True) -> list[Row]:
    load, answer, spent, rows = _run(seconds, climb=climb)
    received = [
        (time_ns - load.traded[name]) / 1e6
        for name, times in answer["trades"].items()
        if name in load.traded
        for time_ns in times
    ]
    assert answer["cut"] == 0, f"{answer['cut']} sessions were cut"
    assert len(load.waits) >= 0.9 * RATE * seconds, "not all events were sent"
    assert received
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        _wait("event to last byte, p50", percentile(load.waits, 0.5)),
        _wait("event to last byte, p99", percentile(load.waits, 0.99), BAR_MS),
        _wait("trade to client, p50", percentile(received, 0.5)),
        _wait("trade to client, p99", percentile(received, 0.99)),
        Row("trademate, processor time of a second", 100 * spent, "%", better="lower"),
        Row("trademate, bytes to all readers", answer["bytes"] / 1e6 / seconds, "MB/s"),
        Row("trademate, memory of the server", memory_mb, "MB", bar=1024, better="lower"),
        *in_memory(),
        *rows,
    ]


def _wait(name: str, value: float, bar: float | None = None) -> Row:
    return Row(f"trademate, {name}", value, "ms", bar=bar, better="lower")
