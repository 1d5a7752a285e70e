"""A server of PUMA Conflated under load: 500 sessions of 200 among 2,000 instruments, 10,000 book events and
300 trades a second, on one core; its readers are a process on another. Events are prepared before.

Measured at the server: from a tick until the last byte of it was taken by the system from all sessions. Of
trades: from the event until a client has it, at some of the sessions.
"""

import asyncio
import gc
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from pregao.codecs.fix import Encoder, load_builtin_dictionary
from pregao.feeds.registry import load_serving_system
from pregao.feeds.serving import ServedConnection, ServingSettings, SessionGrant, SessionLimits
from pregao.io.clock import WallClock
from pregao.model import events as e
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import Action, Session, Side, TradeCondition
from pregao.simulator.collector import calm_collector
from pregao.simulator.live.servers import MarketServers, ServerSettings

from .conflated_readers import FIRST_ID, chosen
from .harness import Row

SESSIONS, EACH, INSTRUMENTS = 500, 200, 2_000
BOOK_RATE, TRADE_RATE = 10_000, 300
SECONDS = 60
TICK_BAR_MS, TRADE_BAR_MS = 190, 50
RATES = (20_000, 40_000, 80_000, 160_000, 320_000)  # tried until a tick takes longer than a tick lasts
STEP_S = 8
TICK_S = 0.38
MOST_PREPARED = 400_000  # events at once: memory is measured too


class PreparedMarket:
    """Instruments with a few orders each, without an engine."""

    now_ns = 0

    def __init__(self) -> None:
        self.listed = [
            Instrument(FIRST_ID + n, f"T{n:04}", 84, f"{n % 20:02}", "T", SecurityType.CS, Product.EQUITY)
            for n in range(INSTRUMENTS)
        ]

    def definitions(self) -> list[Instrument]:
        return self.listed

    def phases(self) -> list[e.PhaseChanged]:
        return []

    def instruments(self) -> list[int]:
        return []

    def book(self, security_id: int) -> None:
        return None

    def observe(self, update: e.Update) -> None:
        """Nothing of it is kept."""


def book_events(seed: int, count: int) -> list[e.Event]:
    """Orders that come, change and go, by Zipf over the instruments."""
    draw = random.Random(seed)
    weights = list(accumulate(1 / (place + 1) for place in range(INSTRUMENTS)))
    places = draw.choices(range(INSTRUMENTS), cum_weights=weights, k=count)
    living: dict[int, list[tuple[int, Side, int, int]]] = {}
    made, next_id = [], seed << 40
    now_ns = time.time_ns()
    for place in places:
        orders = living.setdefault(place, [])
        dice, security_id = draw.random(), FIRST_ID + place
        if len(orders) < 5 or dice < 0.45:
            next_id += 1
            side = draw.choice((Side.BUY, Side.SELL))
            order = next_id, side, 100_000 + draw.randrange(100) * 100, draw.randrange(1, 50) * 100
            orders.append(order)
            action = Action.NEW
        elif dice < 0.6:
            at = draw.randrange(len(orders))
            order = orders[at] = (*orders[at][:3], draw.randrange(1, 50) * 100)
            action = Action.CHANGE
        else:
            order = orders.pop(draw.randrange(len(orders)))
            action = Action.DELETE
        order_id, side, price, size = order
        update = e.OrderUpdate(security_id, action, side, order_id, price, size, 1, now_ns, now_ns, firm=3)
        made.append(e.Event((update,)))
    return made


def trade_event(trade_id: int, place: int, now_ns: int) -> e.Event:
    security_id = FIRST_ID + place
    trade = e.Trade(
        security_id, trade_id, 100_000, 100, 20_774, Session.REGULAR, TradeCondition.NONE, now_ns,
        buyer=3, seller=8,
    )  # fmt: skip
    totals = e.ExecutionStatistics(
        security_id, Session.REGULAR, 20_774, 100, 100_000, None, 1, now_ns, 1_000_000
    )
    return e.Event((trade, totals))


class Load:
    """The servers with their clients, and what is measured of them."""

    def __init__(self) -> None:
        limits = SessionLimits(unread_bytes=64 << 20)
        grants = tuple(SessionGrant(f"S{n:04}", limits=limits) for n in range(SESSIONS))
        serving = replace(ServingSettings(), most_of_address=SESSIONS + 10, most_connections=SESSIONS + 10)
        settings = ServerSettings(ports=(0,), grants=grants, serving=serving)
        self.clock = WallClock()
        self.servers = MarketServers(settings, PreparedMarket(), self.clock)  # type: ignore[arg-type]
        self.ticks: list[float] = []
        self.busy = 0.0  # seconds of processor time a second, of the last run
        self.sent: dict[str, int] = {}
        self._trade_id = 0
        self._draw = random.Random(3)
        self._weights = list(accumulate(1 / (place + 1) for place in range(INSTRUMENTS)))

    async def run(self, events: Iterator[e.Event], rate: int, seconds: float) -> None:
        """So many book events and trades a second; ticks are watched beside."""
        watching = asyncio.create_task(self._watch())
        start, done, traded, spent = time.monotonic(), 0, 0, time.process_time()
        while (passed := time.monotonic() - start) < seconds:
            now_ns = self.clock.now_ns()
            for _ in range(int(passed * rate) - done):
                self.servers.publish(next(events), now_ns)
                done += 1
            for _ in range(int(passed * TRADE_RATE) - traded):
                self._trade_id += 1
                place = self._draw.choices(range(INSTRUMENTS), cum_weights=self._weights)[0]
                self.sent[str(self._trade_id)] = time.monotonic_ns()
                self.servers.publish(trade_event(self._trade_id, place, now_ns), now_ns)
                traded += 1
            await asyncio.sleep(0.002)
        self.busy = (time.process_time() - spent) / (time.monotonic() - start)
        watching.cancel()

    async def _watch(self) -> None:
        """From each tick until nothing of it waits, neither with us nor with the system's sockets."""
        feed, server = self.servers.feed, self.servers.servers[0]
        while True:
            before, due_ns = feed.ticks, self.clock.now_ns()  # type: ignore[attr-defined]
            while feed.ticks == before:  # type: ignore[attr-defined]
                due_ns = feed._tick_due_ns or due_ns  # type: ignore[attr-defined]
                await asyncio.sleep(0.001)
            tick = feed.ticks  # type: ignore[attr-defined]
            while feed.ticks == tick and (server.has_work or self._unsent()):  # type: ignore[attr-defined]
                await asyncio.sleep(0.001)  # where the next tick comes first, this one took all its time
            self.ticks.append((self.clock.now_ns() - due_ns) / 1e6)

    def _unsent(self) -> bool:
        return any(each.unread is not None and each.unread() for each in self.servers.servers[0].connections)


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else float("nan")


async def _measure(
    rate: int, seconds: float, *, climb: bool
) -> tuple[Load, dict[str, object], int, list[Row]]:
    load = Load()
    await load.servers.start()
    port = load.servers.sockets[0].port
    cores = sorted(os.sched_getaffinity(0))
    core = cores[-1] if len(cores) > 1 else -1
    if core >= 0:
        os.sched_setaffinity(0, {cores[0]})
    arguments = [str(each) for each in (port, SESSIONS, EACH, INSTRUMENTS, core)]
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.conflated_readers", *arguments,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 28,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdin is not None
    assert (await child.stdout.readline()).strip() == b"ready"
    events = iter(book_events(1, int(rate * (seconds + 3))))
    gc.freeze()
    await load.run(events, rate, 2)  # warm
    load.ticks.clear()
    load.sent.clear()
    await load.run(events, rate, seconds)
    ticks, sent = load.ticks.copy(), load.sent.copy()
    memory_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # with the events, before there are more
    rows = [
        Row("conflated, processor time of the server, with sockets", load.busy * 1e3, "ms/s", better="lower")
    ]
    if climb:
        rows.append(await _climb(load))
    await asyncio.sleep(0.5)
    child.stdin.close()
    answer = json.loads(await child.stdout.readline())
    await child.wait()
    await load.servers.close()
    if core >= 0:
        os.sched_setaffinity(0, set(cores))
    load.ticks, load.sent = ticks, sent
    return load, answer, memory_kb, rows


async def _climb(load: Load) -> Row:
    """The first rate at which a tick, at p99, is not over when the next is due."""
    for step, rate in enumerate(RATES):
        seconds = min(STEP_S, MOST_PREPARED / rate)
        events = iter(book_events(2 + step, int(rate * (seconds + 0.5))))
        load.ticks.clear()
        await load.run(events, rate, seconds)
        worst = percentile(load.ticks, 0.99)
        print(
            f"  {rate:,} book events/s: tick p50 {percentile(load.ticks, 0.5):.0f} ms, p99 {worst:.0f} ms, "
            f"{load.busy:.2f} s of processor time a second",
            file=sys.stderr,
        )
        if not worst <= TICK_S * 1e3:
            return Row("conflated, book events a second at which it breaks", rate, "events/s")
    return Row("conflated, book events a second at which it does not break yet", RATES[-1], "events/s")


class InMemory:
    """The same sessions without sockets: what a tick costs of one core, whoever else uses the machine."""

    def __init__(self) -> None:
        system, settings = load_serving_system("conflated"), ServingSettings()
        settings = replace(settings, most_of_address=SESSIONS + 1, most_connections=SESSIONS + 1)
        self.now_ns = time.time_ns()
        self.feed = system.feed(PreparedMarket(), settings, now_ns=self.now_ns)
        grants = [SessionGrant(f"S{n:04}") for n in range(SESSIONS)]
        self.server = system.server(self.feed, settings, grants)
        self.connections = [self._connect(number) for number in range(SESSIONS)]

    def _connect(self, number: int) -> ServedConnection:
        encoder = Encoder(load_builtin_dictionary())
        found = self.server.accept("127.0.0.1", self.now_ns)
        assert found is not None
        header = {34: 1, 49: f"S{number:04}", 52: self.now_ns, 56: "B3"}
        ids = [FIRST_ID + place for place in chosen(number, EACH, INSTRUMENTS)]
        wanted = {262: "A", 263: "1", 1021: 3, 146: [{48: str(each), 22: "8", 207: "BVMF"} for each in ids]}
        found.receive(encoder.message(b"A", header, {98: 0, 108: 600, 141: b"Y"}), self.now_ns)
        found.receive(encoder.message(b"V", header | {34: 2}, wanted), self.now_ns)
        while self.server.has_work:
            self.server.work(self.now_ns)
        found.data_to_send()
        return found

    def tick_ms(self, events: Iterator[e.Event], rate: int) -> float:
        """Processor time from a tick to the compressed bytes of all sessions."""
        for _ in range(int(rate * TICK_S)):
            self.feed.publish(next(events), self.now_ns)
        start = time.process_time()
        self.now_ns += int(TICK_S * 1e9)
        self.feed.advance(self.now_ns)
        while self.server.has_work:
            self.server.work(self.now_ns)
        for connection in self.connections:
            connection.data_to_send()
        return (time.process_time() - start) * 1e3


def in_memory() -> list[Row]:
    """Until a tick takes more of a core than it lasts."""
    load = InMemory()
    rows = []
    for step, rate in enumerate((BOOK_RATE, *RATES)):
        ticks = max(4, min(20, int(MOST_PREPARED / (rate * TICK_S))))
        events = iter(book_events(100 + step, int(rate * TICK_S + 1) * ticks))
        spent = percentile([load.tick_ms(events, rate) for _ in range(ticks)][2:], 0.5)
        bar = TICK_BAR_MS if rate == BOOK_RATE else None
        rows.append(_wait(f"processor time of a tick at {rate:,} events/s, p50", spent, bar))
        if spent > TICK_S * 1e3:
            break
    return rows


def measure(seconds: float = SECONDS, *, climb: bool = True) -> list[Row]:
    with calm_collector():  # as `pregao exchange` has it
        load, answer, memory_kb, rows = asyncio.run(_measure(BOOK_RATE, seconds, climb=climb))
    processor = in_memory()  # last: memory is the most that the process ever had
    trades = answer["trades"]
    assert isinstance(trades, dict)
    waits = [
        (received - load.sent[trade_id]) / 1e6
        for trade_id, times in trades.items()
        if trade_id in load.sent
        for received in times
    ]
    assert answer["cut"] == 0, f"{answer['cut']} sessions were cut"
    assert load.ticks
    assert waits
    return [
        _wait("tick to last byte, p50", percentile(load.ticks, 0.5)),
        _wait("tick to last byte, p99", percentile(load.ticks, 0.99), TICK_BAR_MS),
        _wait("trade to client, p50", percentile(waits, 0.5)),
        _wait("trade to client, p99", percentile(waits, 0.99), TRADE_BAR_MS),
        Row("conflated, memory of the server", memory_kb / 1024, "MB", bar=1024, better="lower"),
        *rows,
        *processor,
    ]


def _wait(name: str, value: float, bar: float | None = None) -> Row:
    return Row(f"conflated, {name}", value, "ms", bar=bar, better="lower")
