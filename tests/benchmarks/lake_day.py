"""A day of captures of any size for the lake: one simulated day, there many times over under other channels.

Everything is as the exchange sent it, both feeds with losses, definitions and snapshot loops; only the
channel in the packet headers is another one. The day is simulated once and kept in build/."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pregao.feeds.binary.streams import stream_of_file_name
from pregao.services.simulation.run import Simulation
from pregao.services.simulation.settings import Settings

BASE_MESSAGES = 100_000
FAULTS = "loss=0.1%,both=2"
_KEPT = Path("build/bench-lake")
_FRAME, _HEAD = 16 + 42, 24  # record, Ethernet, IPv4 and UDP; the file's own header
_MOST_CHANNELS = 250


def lake_day(messages: int) -> list[Path]:
    """Capture files with about so many messages on the incremental streams."""
    base = _base()
    copies = max(1, round(messages / BASE_MESSAGES))
    folder = _KEPT / f"copies-{copies}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        for channel, file in _wanted(base, copies):
            _copy(file, part / f"{channel:03}{file.name[3:]}", channel)
        part.rename(folder)
    return sorted(folder.glob("*.pcap"))


def _wanted(base: list[Path], copies: int) -> Iterator[tuple[int, Path]]:
    channels = sorted({stream_of_file_name(file.name).channel or 0 for file in base})
    if copies * len(channels) > _MOST_CHANNELS:
        raise ValueError(f"at most {_MOST_CHANNELS // len(channels) * BASE_MESSAGES:,} messages")
    for copy in range(copies):
        for place, channel in enumerate(channels):
            for file in base:
                if stream_of_file_name(file.name).channel == channel:
                    yield 1 + copy * len(channels) + place, file


def _base() -> list[Path]:
    folder = _KEPT / f"day-{BASE_MESSAGES}"
    if not list(folder.glob("*/*.pcap")):
        Simulation(Settings(folder, seed=8, messages=BASE_MESSAGES, faults=FAULTS, truth=False)).run()
    return sorted(folder.glob("*/*.pcap"))


def _copy(source: Path, target: Path, channel: int) -> None:
    data = np.fromfile(source, np.uint8)
    places = []
    at = _HEAD
    while at < len(data):
        places.append(at + _FRAME)
        at += 16 + int(data[at + 8 : at + 12].view(np.uint32)[0])
    data[places] = channel
    data.tofile(target)
