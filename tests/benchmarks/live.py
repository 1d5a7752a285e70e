"""A live market on loopback: from the sender's hand to the event in a user's loop.

A simulated day of four channels is sent by a process of its own on one core; a process on the other runs

    for event in Market.live(config): ...

as a user does, and notes when each event came. An event's latency is from the time at which its packet was
sent to the time at which the loop had it. A bare receive loop (`baseline_receive`) takes the first stretch of
the same day on the same core. The market joins after it, in the middle of the day, and has some seconds to
become whole. Rates are packets on each of A and B, over all channels.

A market tells events of the exchange when they are whole (4.2), and some are spread over many packets: who is
told of the first waits for the last. So the wait is told in two parts as well (`live_events`): how long the
event was on the wire, from its own packet to the one that ends it, and from there to the loop. And a second
listener, which does not wait, is measured at the same rate.
"""

import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pregao.model.streams import Feed, Stream

from . import live_sender
from .baseline_receive import receive
from .harness import Row
from .live_day import live_day
from .live_events import OTHER, QUOTE, ROW, ends_of, event_ends
from .live_sender import INTERFACE, Destinations

SECONDS = 10.0
RATE, FAST_RATE, QUIET_RATE = 5_000, 40_000, 1_000
BASELINE_S, JOIN_S, FAST_S, PAUSE_S = 4.0, 4.0, 5.0, 1.0
BURST, BURST_S, BURSTS = 12_000, 0.1, 3
LISTENER_CPU, PUBLISHER_CPU = 0, 1
_CHANNELS = [68, 72, 78, 84]
_NUMBER = 0xFFFFFFFF
Span = tuple[int, int, int]  # began, ended, by how much the sender was late at worst
Array = np.ndarray


@dataclass
class Heard:
    """What the listener has to say: every event's packet and time, and how the market was at the end."""

    keys: Array  # channel << 32 | number
    came_ns: Array
    made_of: Array  # as `live_events` has it
    lost: int
    drops: int
    unclean: int
    instruments: int
    buffer_bytes: int


def listen(config: str, whole_events: bool, pipe: Connection) -> None:
    """The listener's process."""
    os.sched_setaffinity(0, {LISTENER_CPU})
    from pregao import Market, Quote
    from pregao.market.making import RowEvent

    row_events = get_args(RowEvent)
    stopped = threading.Event()
    threading.Thread(target=lambda: (pipe.recv(), stopped.set()), daemon=True).start()
    keys, came_ns, made_of = [], [], []
    with Market.live(config, whole_events=whole_events) as market:
        pipe.send("ready")
        for event in market:  # a user's loop
            came_ns.append(time.time_ns())
            keys.append((event.channel, event.stream_position))
            made_of.append(type(event))
            if stopped.is_set():
                break
        health = market.health()
    places = np.array([(channel or 0) << 32 | (position & _NUMBER) for channel, position in keys], np.int64)
    reception = health.reception
    assert reception is not None
    pipe.send(
        Heard(
            places, np.array(came_ns, np.int64),
            np.array([QUOTE if each is Quote else ROW if each in row_events else OTHER for each in made_of]),
            sum(each.counters["lost_packets"] for each in health.channels), reception.reader.drops or 0,
            sum(each.instruments - each.clean for each in health.channels),
            sum(each.instruments for each in health.channels),
            min(each.buffer_bytes for each in reception.lines),
        )
    )  # fmt: skip


def bare_loop(groups: list[tuple[str, int]], seconds: float, pipe: Connection) -> None:
    """The baseline's process."""
    os.sched_setaffinity(0, {LISTENER_CPU})
    pipe.send("ready")
    came = receive(groups, INTERFACE, seconds)
    pipe.send(np.array(list(came.values()), np.int64))


def measure(seconds: float = SECONDS) -> list[Row]:
    destinations = _free_destinations()
    steps = [RATE * s for s in (BASELINE_S, JOIN_S, seconds, JOIN_S, seconds)] + [FAST_RATE * FAST_S]
    packets = int(sum(steps) + BURSTS * (BURST + QUIET_RATE * PAUSE_S) + 6 * QUIET_RATE * PAUSE_S)
    with _process(live_sender.run, destinations, packets, PUBLISHER_CPU) as sender:
        assert sender.recv() == "ready"
        rows = _baseline(sender, destinations)
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "channels.toml"
            config.write_text(_channels_toml(destinations))
            heard, spans = _listen(sender, str(config), seconds, whole_events=True)
            impatient, calm = _listen(sender, str(config), seconds, whole_events=False)
        sender.send(None)
        keys, sent_ns = sender.recv()
    rows += rows_of(heard, keys, sent_ns, spans, seconds)
    rows += parts_of_the_wait(heard, keys, sent_ns, spans["calm"], seconds, event_ends(live_day(packets)))
    name = f"live, {seconds:g} s at {RATE:,}/s, not waiting for the end of events"
    late_ns = _late(impatient, keys, sent_ns, [calm["calm"]])
    return [*rows, *_shares(name, late_ns, {50: 250.0, 99: 2_000.0, 99.9: None, 100: 50_000.0})]


def _listen(
    sender: Connection, config: str, seconds: float, *, whole_events: bool
) -> tuple[Heard, dict[str, Span]]:
    with _process(listen, config, whole_events) as listener:
        assert listener.recv() == "ready"
        if whole_events:
            spans = _play(sender, seconds)
        else:
            _send(sender, RATE, JOIN_S)
            spans = {"calm": _send(sender, RATE, seconds)}
        listener.send("stop")
        _send(sender, QUIET_RATE, PAUSE_S)  # its loop sees it with the next event
        heard: Heard = listener.recv()
    return heard, spans


def _baseline(sender: Connection, destinations: Destinations) -> list[Row]:
    groups = [where for (_, stream, _), where in destinations.items() if stream == Stream.INCREMENTAL]
    with _process(bare_loop, groups, BASELINE_S + PAUSE_S) as baseline:
        assert baseline.recv() == "ready"
        time.sleep(PAUSE_S / 4)
        _send(sender, RATE, BASELINE_S)
        late_ns = baseline.recv()
    run = f"live, a bare receive loop at {RATE:,}/s"
    return [
        Row(f"{run}: p{share:g}", float(np.percentile(late_ns, share)) / 1e3, "µs") for share in (50, 99, 100)
    ]


def _play(sender: Connection, seconds: float) -> dict[str, Span]:
    """Each part with the times of its beginning and end, and how late the sender was at worst."""
    _send(sender, RATE, JOIN_S)
    spans = {"calm": _send(sender, RATE, seconds)}
    _send(sender, QUIET_RATE, PAUSE_S)
    for number in range(BURSTS):
        began_ns, ended_ns, late_ns = _send(sender, BURST / BURST_S, BURST_S)
        spans[f"burst {number}"] = began_ns, ended_ns, late_ns
        _send(sender, QUIET_RATE, PAUSE_S)
    spans["fast"] = _send(sender, FAST_RATE, FAST_S)
    return spans


def _send(sender: Connection, rate: float, seconds: float) -> Span:
    began_ns = time.time_ns()
    sender.send((int(rate * seconds), rate))
    late_ns = sender.recv()
    return began_ns, time.time_ns(), late_ns


def rows_of(heard: Heard, keys: Array, sent_ns: Array, spans: dict[str, Span], seconds: float) -> list[Row]:
    def during(*names: str) -> Array:
        return _late(heard, keys, sent_ns, [spans[name] for name in names])

    bursts = [name for name in spans if name.startswith("burst")]
    burst, fast = f"live, {BURST:,} packets in {BURST_S * 1e3:g} ms", f"live, {FAST_S:g} s at {FAST_RATE:,}/s"
    unclean = f"live: not clean at the end, of {heard.instruments}"
    run = f"live, {seconds:g} s at {RATE:,}/s"
    calm = during("calm")
    rows = [
        Row("live: receive buffer of a socket", heard.buffer_bytes, "bytes"),
        Row(f"{run}: events", len(calm) / seconds, "events/s"),
        *_shares(run, calm, {50: 250.0, 99: 2_000.0, 99.9: None, 100: 50_000.0}),
        *_shares(burst, during(*bursts), {50: None, 99: None, 100: None}),
        *_shares(fast, during("fast"), {50: None, 99: None, 100: None}),
        Row("live: lost on both feeds", heard.lost, "packets", bar=0, better="lower"),
        Row("live: dropped by the kernel", heard.drops, "packets", bar=0, better="lower"),
        Row(unclean, heard.unclean, "instruments", bar=0, better="lower"),
    ]
    worst_ns = {name: late for name, (_, _, late) in spans.items()}
    rows.append(Row("live: sender behind its schedule at worst, calm", worst_ns["calm"] / 1e3, "µs"))
    rows.append(Row("live: sender behind its schedule at worst, fast", worst_ns["fast"] / 1e3, "µs"))
    return rows


def _late(heard: Heard, keys: Array, sent_ns: Array, spans: list[Span]) -> Array:
    """How late each event was whose packet was sent in one of these spans."""
    order = np.argsort(keys)
    keys, sent_ns = keys[order], sent_ns[order]
    place = np.minimum(np.searchsorted(keys, heard.keys), len(keys) - 1)
    of_packet = keys[place] == heard.keys  # others are what channels say of themselves
    sent, late_ns = sent_ns[place[of_packet]], heard.came_ns[of_packet] - sent_ns[place[of_packet]]
    chosen = np.zeros(len(sent), np.bool_)
    for began_ns, ended_ns, _ in spans:
        chosen |= (sent >= began_ns) & (sent <= ended_ns)
    return late_ns[chosen]


def parts_of_the_wait(
    heard: Heard, keys: Array, sent_ns: Array, span: Span, seconds: float, ends: dict[int, list[int]]
) -> list[Row]:
    """The wait of events in its two parts: the exchange's and ours."""
    own, end = heard.keys, ends_of(heard.keys, heard.made_of, ends)
    own_ns, end_ns = _sent(own, keys, sent_ns), _sent(end, keys, sent_ns)
    began_ns, ended_ns, _ = span
    during = (own_ns >= began_ns) & (own_ns <= ended_ns)
    known = during & (end_ns > 0)
    run = f"live, {seconds:g} s at {RATE:,}/s"
    on_the_wire, ours = (end_ns - own_ns)[known] / 1e3, (heard.came_ns - end_ns)[known] / 1e3
    shares = (50, 99, 99.9, 100)
    bars = {50: 250.0, 99: 2_000.0, 100: 50_000.0}
    return [
        Row(f"{run}: events whose last packet is known", 100.0 * known.sum() / max(during.sum(), 1), "%"),
        Row(f"{run}: events that wait for another packet", 100.0 * (on_the_wire > 0).mean(), "%"),
        *(Row(f"{run}: the exchange's event on the wire, p{share:g}",
              float(np.percentile(on_the_wire, share)), "µs") for share in shares),
        *(Row(f"{run}: last packet of the exchange's event to event, p{share:g}",
              float(np.percentile(ours, share)), "µs", bar=bars.get(share), better="lower")
          for share in shares),
    ]  # fmt: skip


def _sent(wanted: Array, keys: Array, sent_ns: Array) -> Array:
    """When packets were sent; 0 where they were not."""
    order = np.argsort(keys)
    keys, sent_ns = keys[order], sent_ns[order]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, sent_ns[place], 0)


def _shares(name: str, late_ns: Array, bars: dict[float, float | None]) -> Iterator[Row]:
    for share, bar in bars.items():
        value = float(np.percentile(late_ns, share)) / 1e3
        yield Row(f"{name}: wire to event, p{share:g}", value, "µs", bar=bar, better="lower")


def _free_destinations() -> Destinations:
    ports = {}
    for key in live_sender.streams_of(_CHANNELS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((INTERFACE, 0))
            ports[key] = probe.getsockname()[1]
    return live_sender.destinations_of(_CHANNELS, ports)


def _channels_toml(destinations: Destinations) -> str:
    return "\n".join(
        f'[[stream]]\nchannel = {channel}\nstream = "{Stream(stream).name.lower()}"\n'
        f'feed = "{Feed(feed).name}"\naddress = "{group}"\nport = {port}\ninterface = "{INTERFACE}"\n'
        for (channel, stream, feed), (group, port) in destinations.items()
    )


@contextmanager
def _process(target: Any, *arguments: Any) -> Iterator[Connection]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    try:
        yield ours
    finally:
        process.join(timeout=5)
        process.terminate()
