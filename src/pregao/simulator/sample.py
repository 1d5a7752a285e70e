"""A small capture for a first look and for tests: a short day of the simulated exchange on one channel,
from the start of the week to shortly before the closing call, so that it ends with open markets.

    python -m pregao.simulator.sample DIRECTORY [--messages N] [--version V] [--seed N]

Four files with B3's names. Both incremental files carry the same packets, B a few microseconds later;
each lacks a few that the other has. A seed makes the same day again, byte for byte.

Versions 8 and 9 still declare the templates of 7 that others replaced (5.9.2.4). The publisher sends only
the newer ones; here every second instrument goes out under the deprecated ones, so that a sample has every
template of its version.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

from pregao.codecs.sbe import Message, MessageEncoder, load_builtin_schema
from pregao.codecs.sbe.layout import BlockLayout
from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.timetable import local_midnight_ns
from pregao.feeds.binary.packets import FRAMING_SIZE, MAX_PACKET, PacketDecoder, PacketHeader, encode_packet
from pregao.feeds.registry import load_publishing_system
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import STREAM_FILES, CaptureFile, close_all, file_name
from pregao.simulator.memory import Packet, short_day, simulate_in_memory
from pregao.simulator.pace import DayClock
from pregao.simulator.venue import default_catalogue

MESSAGES: Final = 24_000  # from here on every template of a version occurs
VERSION: Final = 16
CHANNEL: Final = 84

_SHORTER: Final = 100  # a day of six minutes, so that heartbeats are few
_ENDS_S: Final = 16 * 3600 + 45 * 60  # B3's local time
_LOOPS: Final = 4  # of definitions and of snapshots
_LOSS: Final = 0.0005  # of each feed, never the same packet on both
_DEPRECATED: Final = {"SecurityDefinition_12": "SecurityDefinition_4", "PriceBand_22": "PriceBand_20"}


def sample_packets(
    *, messages: int = MESSAGES, version: int = VERSION, seed: int = 1, channel: int = CHANNEL
) -> list[Packet]:
    """The packets of all feeds in the order of capture, none of them lost. `messages` are those that the
    whole day would have on the incremental stream."""
    settings = short_day(
        messages=messages, version=version, seed=seed, instruments=None, squeeze=_SHORTER, loops=_LOOPS,
        trading=1.0, truth=False,
    )  # fmt: skip
    (day,) = simulate_in_memory(settings, on_one_channel(default_catalogue(None), channel))
    end_ns = DayClock(local_midnight_ns(day.trade_date), _SHORTER).at(_ENDS_S)
    rewrite = _rewriter(version)
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
    lost = _losses(packets, Random(seed))
    files = {key: CaptureFile(directory, channel, *key, seed) for key in STREAM_FILES}
    for packet in packets:
        if packet.stream is not Stream.INCREMENTAL or _place(packet) not in lost[packet.feed]:
            files[packet.stream, packet.feed].record(packet.payload, packet.ts_ns)
    close_all(list(files.values()))
    return [directory / file_name(channel, *key) for key in STREAM_FILES]


def _losses(packets: Iterable[Packet], random: Random) -> Mapping[Feed, set[tuple[int, int]]]:
    """What is missing on A and on B, a few packets on each even when there are few."""
    sent = (packet for packet in packets if (packet.stream, packet.feed) == (Stream.INCREMENTAL, Feed.A))
    places = [place for place in map(_place, sent) if place[1]]  # heartbeats have number 0
    count = min(max(2, int(len(places) * _LOSS)), len(places) // 4)
    lost = random.sample(places, 2 * count)
    return {Feed.A: set(lost[:count]), Feed.B: set(lost[count:])}


def _place(packet: Packet) -> tuple[int, int]:
    header = PacketHeader.decode(packet.payload)
    return header.sequence_version, header.sequence_number


def _rewriter(version: int) -> Callable[[bytes], bytes]:
    """What puts the deprecated templates of a version in; nothing where it has only one of each."""
    schema = load_builtin_schema()
    names = schema.at(version).by_name
    if not all(new in names and old in names for new, old in _DEPRECATED.items()):
        return bytes
    decoder, encoder = PacketDecoder(schema), MessageEncoder(schema, version)
    olds = {names[new].id: (old, _field_names(names[old])) for new, old in _DEPRECATED.items()}

    def older(message: Message, raw: bytes) -> bytes:
        fields = message.fields
        if message.template_id not in olds or fields is None or int(str(fields["securityID"])) % 2:
            return raw
        old, known = olds[message.template_id]
        return encoder.encode(old, {name: value for name, value in fields.items() if name in known})

    def rewrite(payload: bytes) -> bytes:
        packet = decoder.decode(payload)
        places = [placed.offset for placed in packet.messages] + [len(payload)]
        raws = [payload[at + FRAMING_SIZE : end] for at, end in pairwise(places)]
        made = [older(placed.message, raw) for placed, raw in zip(packet.messages, raws, strict=True)]
        rewritten = encode_packet(packet.header, made)
        return rewritten if len(rewritten) <= MAX_PACKET else payload

    return rewrite


def _field_names(layout: BlockLayout) -> frozenset[str]:
    fields = {field.name for field in layout.fields}
    return frozenset(fields | {group.name for group in layout.groups} | {data.name for data in layout.data})


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
