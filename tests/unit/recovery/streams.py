"""Random streams of packets of two feeds, for arbiters: loss, repetition, reorder, conflicts, versions."""

import struct
from itertools import count
from random import Random
from typing import NamedTuple

import numpy as np

from pregao.model.packets import NO_NEXT, PacketBatch, Units, batch_of
from pregao.model.streams import Feed
from pregao.recovery.arbitration import Arbiter, Output, SequencedPacket
from pregao.recovery.arbitration_state import (
    ACCEPTED,
    OUT_AT,
    OUT_LENGTH,
    OUT_OFFSET,
    OUT_ROW,
    OUT_VERSION,
    STOP,
    STOP_ODD,
    STOP_RELEASE,
)
from pregao.recovery.kernels.arrivals import take_in_sequence
from pregao.recovery.policy import ChannelSettings, RecoveryPolicy, Site

CHANNEL = 55
FEEDS = (Feed.A, Feed.B)
POLICY = RecoveryPolicy(own_bytes=16)
SETTINGS = ChannelSettings(POLICY, hold_ns=2_000, hold_packets=16, hold_bytes=10_000, hash_ring=64)


class Arrived(NamedTuple):
    feed: Feed
    version: int
    number: int
    payload: bytes
    arrival_ns: int


def payload_of(
    version: int,
    number: int,
    body: bytes = b"",
    channel: int = CHANNEL,
    *,
    reserved: int = 0,
    sent_ns: int = 0,
) -> bytes:
    return struct.pack("<BBHIQ", channel, reserved, version, number, sent_ns) + body


def new_arbiter(
    settings: ChannelSettings = SETTINGS, feeds: tuple[Feed, ...] = Site.PRIMARY.feeds
) -> Arbiter:
    return Arbiter(CHANNEL, feeds, settings, count(1).__next__)


def random_stream(seed: int, packets: int = 400) -> list[Arrived]:
    random = Random(f"stream/{seed}")
    version, number = random.choice((1, 7, 65_533)), random.choice((1, 1_000, 4_294_960_000))
    chances = [random.choice((0, 0, 0.02, 0.2)) for _ in range(5)]
    loss, repeat, late, conflict, crazy = chances
    found: list[tuple[int, int, Arrived]] = []
    for step in range(packets):
        if random.random() < 0.005:
            version, number = version % 65_534 + 1, 1
        body = random.randbytes(random.randrange(60))
        for feed in FEEDS:
            if random.random() < loss:
                continue
            arrival_ns = step * 100 + random.randrange(300)
            if random.random() < late:
                arrival_ns += random.randrange(5_000)
            for _ in range(1 + (random.random() < repeat)):
                mine = random.randbytes(9) if random.random() < conflict / 10 else body
                payload = payload_of(version, number, mine, reserved=feed, sent_ns=arrival_ns)
                packet = Arrived(feed, version, number, payload, arrival_ns)
                found.append((arrival_ns, len(found), packet))
            if random.random() < crazy / 10:
                wild = random.randrange(1, 1 << 32), random.randrange(1 << 16)
                payload = payload_of(wild[1], wild[0])
                found.append((arrival_ns, len(found), Arrived(feed, wild[1], wild[0], payload, arrival_ns)))
        number += 1
    return [packet for _, _, packet in sorted(found)]


def run_plain(arbiter: Arbiter, stream: list[Arrived]) -> list[Output]:
    out: list[Output] = []
    for feed, version, number, payload, arrival_ns in stream:
        out += arbiter.receive(feed, version, number, payload, arrival_ns)
    return out


def units_of(stream: list[Arrived], batch: PacketBatch) -> Units:
    """A packet is a unit, as headers say it."""
    units = Units(max(len(stream), 1))
    units.count = len(stream)
    for index, packet in enumerate(stream):
        units.row[index], units.channel[index] = index, CHANNEL
        units.epoch[index], units.number[index] = packet.version, packet.number
        units.sent_ns[index], units.next_number[index] = 0, NO_NEXT
    units.offset[: len(stream)], units.length[: len(stream)] = batch.offset, batch.length
    return units


def run_kernel(arbiter: Arbiter, stream: list[Arrived], room: int = 1 << 30) -> tuple[list[Output], int]:
    """What the kernel accepts, with the plain class for the rest; and how many packets the kernel judged."""
    batch = batch_of((packet.feed, packet.arrival_ns, packet.payload) for packet in stream)
    units, feeds = units_of(stream, batch), np.arange(4, dtype=np.uint8)
    kinds = (np.int64, np.int64, np.uint32, np.uint32, np.uint16)
    columns = [np.zeros(min(room, len(stream)) + 1, kind) for kind in kinds]
    state, out, judged, index = arbiter.state, list[Output](), 0, 0
    for field, column in zip((OUT_AT, OUT_OFFSET, OUT_LENGTH, OUT_ROW, OUT_VERSION), columns, strict=True):
        state.set(field, column.ctypes.data)
    while index < len(stream):
        before = index
        index = take_in_sequence(
            state.address, batch.buffer.ctypes.data, *units.addresses, batch.source.ctypes.data,
            batch.arrival_ns.ctypes.data, feeds.ctypes.data, index, len(stream), min(room, len(stream)),
        )  # fmt: skip
        judged += index - before
        for at, offset, length, row, version in zip(
            *(column[: state.get(ACCEPTED)].tolist() for column in columns), strict=True
        ):
            packet = stream[row]
            payload = bytes(batch.buffer[offset : offset + length])
            out.append(SequencedPacket(at, version, packet.number, payload, packet.feed, packet.arrival_ns))
        if state.get(STOP) == STOP_RELEASE:
            out += arbiter.release()
        elif state.get(STOP) == STOP_ODD:
            feed, version, number, payload, arrival_ns = stream[index]
            out += arbiter.receive(feed, version, number, payload, arrival_ns)
            index += 1
    return out, judged
