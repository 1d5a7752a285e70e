"""Live on loopback: publisher and listener as two processes, a core each; nothing lost, nothing stale, and
how long a packet takes from the sender's hand to the books.

40,000 packets a second on each of A and B with bursts of 12,000 within 100 ms on each, one every five
seconds. The listener has `PacketReader`'s thread and the handler on one core. A packet is in the books when
`receive_batch` has come back and its event has ended; its latency is from the time in its header, which is
the wall clock's on the same machine. `--live S` says how many seconds; the bar is on 60, so a shorter run
says so by its name and proves less.
"""

import os
import time
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.handler.handler import ChannelHandler
from pregao.io.multicast import MulticastReceiver
from pregao.io.packet_reader import PacketReader
from pregao.model.packets import PacketBatch

from . import live_sender
from .handler_feeds import LINES, believe_opening, unclean
from .harness import Row
from .market_packets import CHANNEL, packets_of_a_copy

SECONDS, WHOLE_RUN = 10.0, 60.0
_BUFFER = 64 << 20  # a burst of both feeds and then some
_WAIT_S = 0.1
_PATIENCE_S = 30.0  # without a packet: something is wrong
_NUMBER = 0xFFFFFFFF
LISTENER_CPU, PUBLISHER_CPU = 0, 1


class Latencies:
    """Of every packet, when it first came: nanoseconds from its sending until it was in the books."""

    def __init__(self, packets: int) -> None:
        self.ns = np.full(packets + 1, -1, np.int64)  # by sequence number
        self._highest = 0
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []

    def note(self, batch: PacketBatch, in_books: int, now_ns: int) -> None:
        """A batch was taken; packets up to number `in_books` are in the books."""
        words = batch.buffer.view("<u4")
        at = batch.offset[: batch.count] >> 2  # slots begin at multiples of eight
        number, sent_ns = words[at + 1].astype(np.int64), batch.buffer.view("<i8")[(at >> 1) + 1]
        highest = np.maximum.accumulate(np.append(self._highest, number))
        new = number > highest[:-1]
        self._highest = int(highest[-1])
        self._waiting.append((number[new], sent_ns[new]))
        left = []
        for numbers, sent in self._waiting:
            done = numbers <= in_books
            self.ns[numbers[done]] = now_ns - sent[done]
            if not done.all():
                left.append((numbers[~done], sent[~done]))
        self._waiting = left


class LiveListener:
    def __init__(self, receivers: list[MulticastReceiver]) -> None:
        self.handler = ChannelHandler(CHANNEL, load_builtin_schema())
        self.reader = PacketReader(receivers)
        self.latencies = Latencies(0)

    def listen(self, last: int) -> bool:
        """Until packet number `last` is in the books; False when nothing comes any more."""
        handler, heard = self.handler, time.monotonic()
        while self._in_books() < last:
            batch = self.reader.take(_WAIT_S)
            if batch is None:
                handler.on_timeout(time.time_ns())
                if time.monotonic() - heard > _PATIENCE_S:
                    return False
                continue
            handler.receive_batch(batch, LINES, int(batch.arrival_ns[batch.count - 1]))
            self.latencies.note(batch, self._in_books(), time.time_ns())
            heard = time.monotonic()
        return True

    def hear_the_rest(self) -> None:
        """What the slower feed still brings."""
        while (batch := self.reader.take(_WAIT_S)) is not None:
            self.handler.receive_batch(batch, LINES, int(batch.arrival_ns[batch.count - 1]))

    def _in_books(self) -> int:
        waits = self.handler.incremental.waits_from
        if self.handler.machine.arbiter.version < 0:
            return 0
        return (self.handler.machine.at & _NUMBER) if waits is None else (waits & _NUMBER) - 1


def measure(seconds: float = SECONDS) -> list[Row]:
    packets = len(live_sender.due_times(seconds))
    copies = -(-packets // packets_of_a_copy())
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    with ExitStack() as stack:
        receivers = [
            stack.enter_context(MulticastReceiver(group, 0, live_sender.INTERFACE, buffer_size=_BUFFER))
            for group in live_sender.GROUPS
        ]
        ports = tuple(receiver.port for receiver in receivers)
        sender = context.Process(target=live_sender.run, args=(ports, copies, seconds, PUBLISHER_CPU, theirs))
        sender.start()
        stack.callback(sender.join)
        stack.callback(sender.terminate)
        affinity = os.sched_getaffinity(0)
        stack.callback(os.sched_setaffinity, 0, affinity)
        os.sched_setaffinity(0, {LISTENER_CPU})
        listener = LiveListener(receivers)
        stack.enter_context(listener.reader)
        took_s, late_ns, came = _run(listener, ours)
        drops = listener.reader.drops() or 0
    return _rows(listener, packets, seconds, took_s, late_ns, drops, came)


def _run(listener: LiveListener, pipe: Connection) -> tuple[float, int, bool]:
    opening, following = pipe.recv()
    listener.latencies = Latencies(opening)
    pipe.send("open")
    came = listener.listen(opening)
    listener.handler.incremental.catch_up()
    believe_opening(listener.handler)
    listener.latencies = Latencies(opening + following)
    pipe.send("go")
    came = came and listener.listen(opening + following)
    took_s, late_ns = pipe.recv()
    listener.hear_the_rest()
    return took_s, late_ns, came


def _rows(
    listener: LiveListener, packets: int, seconds: float, took_s: float, late_ns: int, drops: int, came: bool
) -> list[Row]:
    machine, ns = listener.handler.machine, listener.latencies.ns
    told = ns[ns >= 0]
    name = f"live, {seconds:g} s" + ("" if seconds >= WHOLE_RUN else f" of the {WHOLE_RUN:g} asked for")
    lost = machine.counters.lost_packets + drops + (0 if came else packets - len(told))
    missed = sum(machine.arbiter.missed(feed) for feed in machine.sites.active.feeds)
    rows = [
        Row(f"{name}: packets on each feed", packets / took_s, "packets/s"),
        Row(f"{name}: sender behind its schedule at worst", late_ns / 1e6, "ms"),
        Row(f"{name}: lost", lost, "packets", bar=0, better="lower"),
        Row(f"{name}: not brought by one of the feeds", max(missed - _ring(listener), 0), "packets"),
        Row(f"{name}: not clean at the end", unclean(listener.handler), "instruments", bar=0, better="lower"),
    ]
    for share in (50, 99, 99.9, 100):
        rows.append(Row(f"{name}: wire to book, p{share:g}", float(np.percentile(told, share)) / 1e3, "µs"))
    return rows


def _ring(listener: LiveListener) -> int:
    """Slots of the ring that no packet was in yet count as missed by both."""
    machine = listener.handler.machine
    return 2 * max(len(machine.arbiter.state.ring) - (machine.at & _NUMBER), 0)
