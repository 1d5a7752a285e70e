"""A small capture of our own making: four files with B3's names, for a first look and for tests.

    python -m pregao.services.sample DIRECTORY [--packets N] [--version V] [--seed N]

A stand-in for the simulated exchange that comes later (see `pregao.feeds.binary.sample` for what
it is and is not). Both incremental files carry the same packets, B a few microseconds later; each
lacks a few that the other has.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.sample.streams import SampleChannel, Sent

PACKETS = 20_000
VERSION = 16
_US = 1_000
_LOSS = 0.0005  # of each feed, never the same packet on both
_SOURCE = "198.51.100.7"  # addresses of the documentation ranges
_GROUPS = {
    "Incremental_FeedA": ("233.252.0.1", 30_000),
    "Incremental_FeedB": ("233.252.0.2", 31_000),
    "InstrumentDefinition": ("233.252.0.3", 32_000),
    "SnapshotRecovery": ("233.252.0.4", 33_000),
}


def write_sample(
    directory: Path, *, packets: int = PACKETS, version: int = VERSION, seed: int = 1, channel: int = 84
) -> list[Path]:
    """Write the four files; every message template of the version occurs from 3,000 packets on."""
    source = SampleChannel(load_builtin_schema(), version=version, seed=seed, channel=channel)
    random = Random(seed)
    sent = list(source.incremental(packets))
    without_a, without_b = _losses(sent, random)
    contents: dict[str, list[Sent]] = {
        "Incremental_FeedA": [one for one in sent if one.number not in without_a],
        "Incremental_FeedB": [one for one in sent if one.number not in without_b],
        "InstrumentDefinition": list(source.definitions()),
        "SnapshotRecovery": source.snapshots,
    }
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, stream in contents.items():
        delay_us = 40 if name.endswith("FeedB") else 25
        path = directory / f"{channel:03}_{name}.pcap"
        path.write_bytes(pcap_header() + b"".join(records(stream, name, channel, delay_us, random)))
        paths.append(path)
    return paths


def records(sent: Iterable[Sent], name: str, channel: int, delay_us: int, random: Random) -> Iterator[bytes]:
    """Packets as they were captured on one of the four streams: frames in pcap records."""
    address, port = _GROUPS[name]
    ts_ns = 0
    for one in sent:
        arrived_ns = one.sending_ns + delay_us * _US + random.randrange(8 * _US)
        ts_ns = max(ts_ns + 1, arrived_ns)  # a link keeps the order
        frame = ethernet_udp_frame(
            one.payload, src=_SOURCE, dst=address, src_port=port, dst_port=port + channel
        )
        yield pcap_record(ts_ns, frame)


def _losses(sent: list[Sent], random: Random) -> tuple[set[int], set[int]]:
    """Numbers missing on A and on B, a few on each even when there are few packets."""
    numbers = [one.number for one in sent if one.number]
    count = min(max(2, int(len(numbers) * _LOSS)), len(numbers) // 4)
    lost = random.sample(numbers, 2 * count)
    return set(lost[:count]), set(lost[count:])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pregao.services.sample", description="A small capture.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--packets", type=int, default=PACKETS, help="of the incremental stream")
    parser.add_argument("--version", type=int, default=VERSION, help="wire version")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    paths = write_sample(
        options.directory, packets=options.packets, version=options.version, seed=options.seed
    )
    size = sum(path.stat().st_size for path in paths)
    sys.stderr.write(f"wrote {len(paths)} files, {size:,} bytes, to {options.directory}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
