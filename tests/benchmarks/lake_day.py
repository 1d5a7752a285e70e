"""Captures of a busy channel for the lake, of any size: one channel of a simulated day, many times over.

Copies stand side by side: each packet of the simulated channel is there once for every copy of the market,
one after the other, with securityIDs, groups and symbols of its own and the channel's numbers counted on.
Snapshots tell the places they would have in such a channel. So everything is as the exchange sends it, rptSeq
and books included; there is more of it, of more instruments. Then both feeds lose packets, some of them the
same ones. Heartbeats are there once. The day and its copies are made once and kept in build/."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from pregao.captures.streams import stream_of_file_name
from pregao.model.streams import Stream
from pregao.simulator.run import Simulation
from pregao.simulator.settings import Settings

from .lake_packets import Base, copy_loop, copy_packets, read_base

BASE_MESSAGES, CHANNEL, LOOPS, SEED = 600_000, 84, 40, 8
SQUEEZE = 5  # so that an instrument has as many messages a second as one of a busy channel
LOSS, LOST_BY_BOTH = 0.001, 5
_KEPT = Path("build/bench-lake")
_CHUNK_BYTES = 64 << 20
_FILE_HEADER = 24


def lake_day(messages: int) -> list[Path]:
    """Capture files with about so many messages on the incremental stream."""
    files = _base_files()
    bases = {file: read_base(file, heartbeats=_is_incremental(file)) for file in files}
    of_one = max(base.messages for file, base in bases.items() if _is_incremental(file))
    copies = max(1, round(messages / of_one))
    folder = _KEPT / f"channel-{copies}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        lost = _lost(next(base for file, base in bases.items() if _is_incremental(file)), copies)
        for file, base in bases.items():
            if _is_incremental(file):
                _write(base, part / file.name, copies, lost)
            else:
                _write_loops(base, part / file.name, copies)
        part.rename(folder)
    return sorted(folder.glob("*.pcap"))


def _base_files() -> list[Path]:
    folder = _KEPT / f"day-{BASE_MESSAGES}"
    if not list(folder.glob("*/*.pcap")):
        Simulation(
            Settings(
                folder, seed=SEED, messages=BASE_MESSAGES, loops=LOOPS, squeeze=SQUEEZE, truth=False
            )
        ).run()  # fmt: skip
    return sorted(folder.glob(f"*/{CHANNEL:03}_*.pcap"))


def _is_incremental(file: Path) -> bool:
    return stream_of_file_name(file.name).stream is Stream.INCREMENTAL


def _lost(base: Base, copies: int) -> np.ndarray:
    """Numbers that no feed has."""
    draw = np.random.default_rng(SEED)
    return draw.integers(base.packets * copies // 10, base.packets * copies, LOST_BY_BOTH)


def _write(base: Base, target: Path, copies: int, lost: np.ndarray) -> None:
    """An incremental stream, with losses of its own."""
    draw = np.random.default_rng([SEED, target.stem.endswith("B")])
    step = max(1, _CHUNK_BYTES // int(copies * base.length.mean()))
    with target.open("wb") as file:
        file.write(base.data[:_FILE_HEADER].tobytes())
        for first in range(0, len(base.offset), step):
            data, length, number = copy_packets(base, slice(first, first + step), copies)
            keep = (draw.random(len(length)) >= LOSS) & ~np.isin(number, lost) | (number == 0)
            file.write(data[np.repeat(keep, length)].tobytes())


def _write_loops(base: Base, target: Path, copies: int) -> None:
    edges = [*np.flatnonzero(np.diff(base.version, prepend=-1)).tolist(), len(base.version)]
    with target.open("wb") as file:
        file.write(base.data[:_FILE_HEADER].tobytes())
        for first, last in pairwise(edges):
            file.write(copy_loop(base, slice(first, last), copies).tobytes())
