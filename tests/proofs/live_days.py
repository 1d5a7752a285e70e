"""`live-days`: exchange and listener as two processes on loopback multicast, over real sockets, against the
exchange's truth at the same sequence number.

The exchange sends a simulated day at a multiple of real time, impaired by its seed; what the sockets do to it
comes on top. The listener is what `pregao listen` is made of.
"""

import pickle
import socket
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from ipaddress import IPv4Address
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from pregao.model.channel_map import LOOPBACK, ChannelMap, channels_toml, default_channels
from pregao.simulator.memory import MemoryDay, short_day, simulate_in_memory
from tests.proofs.day_report import DayReport
from tests.proofs.impaired_scenarios import NEW, OLD
from tests.proofs.live_exchange import send_day
from tests.proofs.live_listener import hear_day
from tests.proofs.result import Result

NAME = "live-days"
SEEDS = 12
MESSAGES = 2_500
SPEED = 60.0
PATIENCE_S = 120.0
_FAULTS = (
    "loss=1%,both=4",
    "loss=0.5%,both=3x3,reset=channel@?",
    "reorder=40:100,both=2x12,reset=2xbook@?",
    "both=1%,dup=1%,reset=stream@?",
    "gone=B,loss=0.2%@A",
    "delay=2%:20ms,loss=1%,reset=failover@?,both=2x8",
)
_OLD_VERSION_OF = 4


def cases(seeds: int = SEEDS, first: int = 1) -> list[int]:
    return list(range(first, first + seeds))


def version_of(seed: int) -> int:
    return OLD if seed % _OLD_VERSION_OF == _OLD_VERSION_OF - 1 else NEW


def run_case(seed: int, speed: float = SPEED, messages: int = MESSAGES) -> tuple[Result, DayReport | None]:
    faults, version = _FAULTS[seed % len(_FAULTS)], version_of(seed)
    settings = short_day(
        seed=seed, messages=messages, faults=faults, version=version, date=date(2026, 11, 16 + seed % 3),
        checkpoint_events=20,
    )  # fmt: skip
    (day,) = simulate_in_memory(settings)
    result = Result(NAME, trials=1, impairments=len(day.faults))
    said = _exchange_and_listener(day, version, speed)
    if isinstance(said, DayReport):
        result.comparisons = said.comparisons
        return result, said
    result.failures = 1
    result.failed.append(f"{NAME} seed {seed} ({faults}, version {version}): {said}")
    return result, None


def _exchange_and_listener(day: MemoryDay, version: int, speed: float) -> DayReport | str:
    """What the listener says of the day, or why there is nothing to say."""
    context = get_context("spawn")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pregao-live-days-")))
        files = [folder / name for name in ("packets", "truth", "channels.toml")]
        packets_file, truth_file, channels_file = files
        packets_file.write_bytes(pickle.dumps(day.packets))
        truth_file.write_bytes(pickle.dumps(day.checkpoints))
        channels_file.write_text(channels_toml(_free_channels({packet.channel for packet in day.packets})))
        to_exchange, exchange_end = context.Pipe()
        to_listener, listener_end = context.Pipe()
        for target, arguments in (
            (send_day, (packets_file, channels_file, speed, exchange_end)),
            (hear_day, (channels_file, truth_file, version, listener_end)),
        ):
            process = context.Process(target=target, args=arguments)
            process.start()
            stack.callback(end_process, process)
        return _conduct(to_exchange, to_listener)


def _conduct(to_exchange: Connection, to_listener: Connection) -> DayReport | str:
    try:
        if not to_listener.poll(PATIENCE_S):
            return "the listener did not come up"
        to_listener.recv()
        to_exchange.send("go")
        if to_exchange.poll(PATIENCE_S):
            to_listener.send(to_exchange.recv())  # the day is over
        if not to_listener.poll(PATIENCE_S):
            return "the listener did not come to an end"
        said: DayReport | str = to_listener.recv()
        to_exchange.send("stop")
    except (EOFError, BrokenPipeError):
        return "one of the two processes ended"
    return said


def end_process(process: BaseProcess) -> None:
    process.join(PATIENCE_S / 10)
    if process.is_alive():
        process.terminate()
        process.join()


def _free_channels(channels: set[int]) -> ChannelMap:
    """The default groups, with ports that nobody has: others may be at work on this machine."""
    with ExitStack() as stack:
        entries = []
        for entry in default_channels(sorted(channels)):
            probe = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            probe.bind((LOOPBACK, 0))
            assert isinstance(entry.address, IPv4Address)
            entries.append(replace(entry, port=probe.getsockname()[1]))
        return ChannelMap(tuple(entries))
