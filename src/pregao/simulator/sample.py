"""A small capture for a first look and for tests: a short day of the simulated exchange on one channel,
from the start of the week to shortly before the closing call, so that it ends with open markets.

    python -m pregao.simulator.sample DIRECTORY [--messages N] [--version V] [--seed N]

Four files with B3's names. Both incremental files carry the same packets, B a few microseconds later;
each lacks a few that the other has. A seed makes the same day again, byte for byte.

Templates of a version that others replaced, and that the publisher never sends, are put in: a sample has
every template of its version.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from pregao.exchange.catalogues.rules import Catalogue
from pregao.feeds.port import Header
from pregao.feeds.publishing import DeprecatingSystem
from pregao.feeds.registry import load_publishing_system, load_system
from pregao.model.local_time import local_midnight_ns
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import STREAM_FILES, CaptureFile, close_all, file_name
from pregao.simulator.memory import CapturedPacket, short_day, simulate_in_memory
from pregao.simulator.pace import DayClock
from pregao.simulator.venue import default_catalogue

MESSAGES: Final = 24_000  # from here on every template of a version occurs
VERSION: Final = 16
CHANNEL: Final = 84

_SHORTER: Final = 100  # a day of six minutes, so that heartbeats are few
_ENDS_S: Final = 16 * 3600 + 45 * 60  # B3's local time
_LOOPS: Final = 4  # of definitions and of snapshots
_LOSS: Final = 0.0005  # of each feed, never the same packet on both

Place = tuple[int, int]  # sequenceVersion and number


def sample_packets(
    *, messages: int = MESSAGES, version: int = VERSION, seed: int = 1, channel: int = CHANNEL
) -> list[CapturedPacket]:
    """The packets of all feeds in the order of capture, none of them lost. `messages` are those that the
    whole day would have on the incremental stream."""
    settings = short_day(
        messages=messages, version=version, seed=seed, instruments=None, squeeze=_SHORTER, loops=_LOOPS,
        trading=1.0, truth=False,
    )  # fmt: skip
    (day,) = simulate_in_memory(settings, on_one_channel(default_catalogue(None), channel))
    end_ns = DayClock(local_midnight_ns(day.trade_date), _SHORTER).at(_ENDS_S)
    system: object = load_publishing_system()
    rewrite = system.deprecated_templates(version) if isinstance(system, DeprecatingSystem) else bytes
    return [
        packet._replace(payload=rewrite(packet.payload)) for packet in day.packets if packet.ts_ns < end_ns
    ]


def on_one_channel(catalogue: Catalogue, channel: int) -> Catalogue:
    """The same instruments, all of them on one channel: each kind of message comes from some of them."""
    listings = (
        replace(each, instrument=replace(each.instrument, channel=channel)) for each in catalogue.listings
    )
    groups = (replace(group, channel=channel) for group in catalogue.groups)
    return replace(catalogue, listings=tuple(listings), groups=tuple(groups))


def write_sample(
    directory: Path,
    *,
    messages: int = MESSAGES,
    version: int = VERSION,
    seed: int = 1,
    channel: int = CHANNEL,
) -> list[Path]:
    """Write the four files."""
    packets = sample_packets(messages=messages, version=version, seed=seed, channel=channel)
    headers = load_system().headers(heartbeats=False)
    places = [_place(packet, headers) for packet in packets]
    lost = _losses(packets, places, Random(seed))
    files = {key: CaptureFile(directory, channel, *key, seed) for key in STREAM_FILES}
    for packet, place in zip(packets, places, strict=True):
        if packet.stream is not Stream.INCREMENTAL or place not in lost[packet.feed]:
            files[packet.stream, packet.feed].record(packet.payload, packet.ts_ns)
    close_all(list(files.values()))
    return [directory / file_name(channel, *key) for key in STREAM_FILES]


def _losses(
    packets: Iterable[CapturedPacket], places: Iterable[Place], random: Random
) -> Mapping[Feed, set[Place]]:
    """What is missing on A and on B, a few packets on each even when there are few."""
    sent = [
        place
        for packet, place in zip(packets, places, strict=True)
        if (packet.stream, packet.feed) == (Stream.INCREMENTAL, Feed.A) and place[1]  # not of heartbeats
    ]
    count = min(max(2, int(len(sent) * _LOSS)), len(sent) // 4)
    lost = random.sample(sent, 2 * count)
    return {Feed.A: set(lost[:count]), Feed.B: set(lost[count:])}


def _place(packet: CapturedPacket, headers: Header) -> Place:
    unit = headers.split(packet.payload)[0]
    return unit.epoch, unit.number


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pregao.simulator.sample", description="A small capture.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--messages", type=int, default=MESSAGES, help="of a whole day, incremental")
    versions = load_publishing_system().versions
    parser.add_argument("--version", type=int, choices=versions, default=VERSION, help="wire version")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    paths = write_sample(
        options.directory, messages=options.messages, version=options.version, seed=options.seed
    )
    size = sum(path.stat().st_size for path in paths)
    sys.stderr.write(f"wrote {len(paths)} files, {size:,} bytes, to {options.directory}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
