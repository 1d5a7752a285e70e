"""`fast-live-days`: UMDF FIX/FAST over real sockets. An exchange and a listener are two processes; both feeds
of each channel lose datagrams, together too, and the listener asks the replayer for what it lacks. Every
clean book, statistic and phase is the exchange's at the same number."""

import pickle
import socket
import tempfile
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from pregao.model.channel_map import LOOPBACK, ReplayerEntry, channels_toml
from pregao.simulator.live.replayers import COMP_ID
from pregao.simulator.memory import MemoryDay, short_day, simulate_in_memory
from tests.kits.fast_exchange import free_channels
from tests.proofs.day_report import DayReport
from tests.proofs.fast_live_processes import Losses, hear_day, send_day
from tests.proofs.live_days import PATIENCE_S, end_process
from tests.proofs.result import Result

NAME: Final = "fast-live-days"
SEEDS: Final = 5
MESSAGES: Final = 2_500
SPEED: Final = 60.0
BOOKS: Final = range(166, 256)  # channels of orders, levels and best levels
_FAULTS: Final = (
    ("", Losses(0.01, 0.02, 0)),
    ("reset=channel@?", Losses(0.0, 0.03, 2)),
    ("reset=2xbook@?", Losses(0.05, 0.01, 0)),
    ("reset=stream@?", Losses(0.02, 0.02, 1)),
    ("reset=stream@?,reset=2xbook@?,reset=channel@?", Losses(0.01, 0.01, 5)),
)


def cases(seeds: int = SEEDS, first: int = 1) -> list[int]:
    return list(range(first, first + seeds))


def run_case(seed: int, speed: float = SPEED, messages: int = MESSAGES) -> tuple[Result, DayReport | None]:
    faults, losses = _FAULTS[seed % len(_FAULTS)]
    settings = short_day(seed=seed, messages=messages, faults=faults, beside=("fast",), checkpoint_events=20)
    (day,) = simulate_in_memory(settings)
    result = Result(NAME, trials=1)
    said, lost = _exchange_and_listener(day, speed, losses, seed)
    result.impairments = lost + len(day.faults)
    if isinstance(said, DayReport):
        result.comparisons = said.comparisons
        return result, said
    result.failures = 1
    result.failed.append(f"{NAME} seed {seed} ({faults}, {losses}): {said}")
    return result, None


def _exchange_and_listener(
    day: MemoryDay, speed: float, losses: Losses, seed: int
) -> tuple[DayReport | str, int]:
    """What the listener says of the day, or why there is nothing to say; how many datagrams were lost."""
    context = get_context("spawn")
    packets = [packet for packet in day.packets if packet.channel in BOOKS]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pregao-fast-live-")))
        files = [folder / name for name in ("packets", "truth", "channels.toml")]
        packets_file, truth_file, channels_file = files
        packets_file.write_bytes(pickle.dumps(packets))
        truth_file.write_bytes(pickle.dumps([c for c in day.checkpoints if c.channel in BOOKS]))
        port = _free_port()
        channels = free_channels(
            tuple(sorted({packet.channel for packet in packets})),
            ReplayerEntry(((LOOPBACK, port),), "CLIENT", COMP_ID),
        )
        channels_file.write_text(channels_toml(channels))
        to_exchange, exchange_end = context.Pipe()
        to_listener, listener_end = context.Pipe()
        for target, arguments in (
            (send_day, (packets_file, channels_file, speed, losses, seed, port, exchange_end)),
            (hear_day, (channels_file, truth_file, listener_end)),
        ):
            process = context.Process(target=target, args=arguments)
            process.start()
            stack.callback(end_process, process)
        return _conduct(to_exchange, to_listener)


def _conduct(to_exchange: Connection, to_listener: Connection) -> tuple[DayReport | str, int]:
    lost = 0
    try:
        for pipe in (to_exchange, to_listener):
            if not pipe.poll(PATIENCE_S):
                return "exchange or listener did not come up", 0
            pipe.recv()
        to_exchange.send("go")
        if to_exchange.poll(PATIENCE_S):
            lost = to_exchange.recv()  # the day is over
            to_listener.send(lost)
        if not to_listener.poll(PATIENCE_S):
            return "the listener did not come to an end", lost
        said: DayReport | str = to_listener.recv()
        to_exchange.send("stop")
    except (EOFError, BrokenPipeError):
        return "one of the two processes ended", lost
    return said, lost


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
