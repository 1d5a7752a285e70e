"""The Replayer over TCP of loopback: messages a second that a client gets again, and how long a gap lasts.

The server is a process of its own. Of a gap everything is in the time that a live channel does: the next
message comes `APART_MS` after the one that both feeds lost, 20 ms pass for the other feed, the replayer is
asked over the connection that is there, and tried again 140 ms later where it does not have the message
yet (it has it 25 ms after it was sent). The message is checked, taken, and the books are at its successor.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

from pregao.codecs.fix import load_builtin_dictionary
from pregao.feeds.fast.system import FAST
from pregao.handler.handler import ChannelHandler
from pregao.handler.replays import Replays
from pregao.io.clock import WallClock, system_time_ns
from pregao.market.replaying import ReplayerThread, ReplayLink
from pregao.model.channel_map import LOOPBACK, ReplayerEntry
from pregao.model.streams import Feed, Stream
from pregao.sessions.fix import SessionSettings
from pregao.sessions.replay import REPLAYER, ReplayClient, ReplayClientSettings, Replayed, SpanFailed
from pregao.simulator.live.replayers import COMP_ID, Replayer
from tests.kits.fast_market import CHANNEL, FastToy, datagrams

from .harness import Row

MESSAGES, SPAN, GAPS, APART_MS = 60_000, 2_000, 60, 10
_MS, _MINUTE_NS = 1_000_000, 60_000_000_000
_PATIENCE_S = 10.0


def measure(messages: int = MESSAGES, gaps: int = GAPS) -> list[Row]:
    toy = FastToy(1)
    with _server() as (port, keep):
        told = [(toy.number, toy.step()) for _ in range(messages)]
        keep.send([(number + 1, data, 0) for number, data in told])
        assert keep.recv() == messages
        rate = asyncio.run(_asked_again(port, messages))
    with _server() as (port, keep):
        waits = sorted(_gaps(port, keep, gaps))
    p50, p99 = (waits[min(int(len(waits) * share), len(waits) - 1)] for share in (0.5, 0.99))
    return [
        Row("Replayer, messages to a client over TCP", rate, "messages/s"),
        Row("a gap filled by the Replayer, p50", p50, "ms", better="lower"),
        Row("a gap filled by the Replayer, p99", p99, "ms", better="lower"),
    ]


@contextmanager
def _server() -> Iterator[tuple[int, Connection]]:
    """Its port, and a pipe that takes messages to keep."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        ours.send(None)
        process.join(_PATIENCE_S)
        process.terminate()


def _serve(pipe: Connection) -> None:
    async def run() -> None:
        replayer = Replayer(REPLAYER, ["CLIENT"], load_builtin_dictionary(), WallClock())
        replayer.archive.begin_day(1, 1)
        await replayer.server.start(LOOPBACK, 0)
        pipe.send(replayer.server.port)
        over = asyncio.Event()

        def take() -> None:
            told = pipe.recv()
            if told is None:
                over.set()
                return
            for number, data, sent_ns in told:
                replayer.archive.add(str(CHANNEL), number, data, sent_ns)
            pipe.send(len(told))

        asyncio.get_running_loop().add_reader(pipe.fileno(), take)
        await over.wait()
        await replayer.server.close()

    asyncio.run(run())


async def _asked_again(port: int, messages: int) -> float:
    settings = ReplayClientSettings(("A",), answer_ns=_MINUTE_NS, want_ns=_MINUTE_NS, max_messages=SPAN)
    client = ReplayClient(settings, SessionSettings("CLIENT", COMP_ID), None, FAST.number_of)
    came, done, start = 0, asyncio.Event(), 0.0

    def take(event: Replayed | SpanFailed) -> None:
        nonlocal came, start
        assert isinstance(event, Replayed)
        came += 1
        if came == SPAN:
            start = time.perf_counter()  # connected, and everything was called once
        if came == messages:
            done.set()
        elif came % SPAN == 0:
            link.want(str(CHANNEL), came + 1, came + SPAN)

    link = ReplayLink(client, {"A": (LOOPBACK, port)}, take)
    running = asyncio.create_task(link.run())
    link.want(str(CHANNEL), 1, SPAN)
    async with asyncio.timeout(_MINUTE_NS / 1e9):
        await done.wait()
    seconds = time.perf_counter() - start
    link.stop()
    await running
    return (messages - SPAN) / seconds


def _gaps(port: int, keep: Connection, count: int) -> Iterator[float]:
    """Milliseconds from the message behind a gap to the books that have both."""
    toy, handler = FastToy(2), ChannelHandler(CHANNEL, FAST)
    entry = ReplayerEntry(((LOOPBACK, port),), "CLIENT", COMP_ID)
    thread = ReplayerThread(entry, FAST.policy, FAST.number_of)
    replays = Replays(thread, {CHANNEL: handler})

    def send(*, lost: bool = False) -> None:
        toy.now_ns = system_time_ns()
        message = toy.step()
        keep.send([(toy.number, message, toy.now_ns)])
        keep.recv()
        for payload in () if lost else datagrams(toy.number, message):
            for feed in (Feed.A, Feed.B):
                replays.follow(handler.receive(payload, Stream.INCREMENTAL, feed, toy.now_ns), toy.now_ns)

    try:
        _open(toy, handler, send)
        while not thread.health().connected:
            time.sleep(0.01)
        for _ in range(count):
            send(lost=True)
            time.sleep(APART_MS / 1000)
            send()
            start = time.perf_counter()
            while handler.machine.at & 0xFFFFFFFF != toy.number:
                _look(handler, replays)
                assert time.perf_counter() < start + _PATIENCE_S
            yield (time.perf_counter() - start) * 1000
        assert handler.machine.counters.healed_by_replay == count
    finally:
        thread.close()


def _look(handler: ChannelHandler, replays: Replays) -> None:
    """What a market does between two packets."""
    time.sleep(0.0005)
    now_ns, due_ns = system_time_ns(), handler.next_timeout()
    if due_ns is not None and due_ns <= now_ns:
        replays.follow(handler.on_timeout(now_ns), now_ns)
    for _, events in replays.deliver(now_ns):
        replays.follow(events, now_ns)


def _open(toy: FastToy, handler: ChannelHandler, send: object) -> None:
    """Start-up is over: before that nobody is asked."""
    assert callable(send)
    for _ in range(20):
        send()
    for stream, loop in ((Stream.DEFINITION, toy.definitions), (Stream.SNAPSHOT, toy.snapshots)):
        for number, message in enumerate(loop(), 1):
            for payload in datagrams(number, message):
                handler.receive(payload, stream, Feed.A, toy.now_ns)
    send()
    assert handler.machine.ready
