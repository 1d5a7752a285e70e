"""Ways to damage packets, frames and files. Every one is a pure function of its random numbers."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.packets import FRAMING_SIZE, PacketHeader
from tests.twins.wire import Place, length_places

INTERESTING_BYTES = (0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF, 0x08, 0x10, 0x45, 0x50, 0xEB)
# Of an Ethernet, IPv4 and UDP frame: ethertype, version and header length, total length, fragment,
# protocol, addresses, UDP length.
FRAME_PLACES: tuple[Place, ...] = ((12, 2), (14, 1), (16, 2), (20, 2), (23, 1), (30, 4), (36, 2), (38, 2))


@dataclass(slots=False)
class Sound:
    """A sound packet, and where the lengths in it are."""

    schema: Schema
    payload: bytes
    frames: list[tuple[int, int]] = field(default_factory=list)  # start and end of its messages

    def __post_init__(self) -> None:
        at = PacketHeader.SIZE
        while at < len(self.payload):
            end = at + int.from_bytes(self.payload[at : at + 2], "little")
            self.frames.append((at, end))
            at = end

    @cached_property
    def places(self) -> list[Place]:
        """Every length, count, id and encoding type."""
        places: list[Place] = []
        for start, end in self.frames:
            places += [(start, 2), (start, 2), (start + 2, 2)]
            body = start + FRAMING_SIZE
            places += [(body + at, width) for at, width in length_places(self.schema, self.payload[body:end])]
        return places


def flip_bits(raw: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 8)) if raw else 0):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)


def set_bytes(raw: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 4)) if raw else 0):
        raw[rng.randrange(len(raw))] = rng.choice(INTERESTING_BYTES)


def set_number(raw: bytearray, rng: random.Random) -> None:
    width = rng.choice((2, 4, 8))
    if len(raw) >= width:
        attack(raw, (rng.randrange(len(raw) - width + 1), width), rng)


def truncate(raw: bytearray, rng: random.Random) -> None:
    del raw[rng.randrange(len(raw) + 1) :]


def drop(raw: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(raw) + 1)
    del raw[start : start + rng.choice((1, 2, 8, 40))]


def insert(raw: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(raw) + 1)
    raw[start:start] = rng.randbytes(rng.choice((1, 2, 8, 40)))


def garbage(raw: bytearray, rng: random.Random) -> None:
    raw[:] = rng.randbytes(rng.randrange(200))


def attack(raw: bytearray, place: Place, rng: random.Random) -> None:
    """Write a number where a length is: nothing, everything, or a little more or less than it was."""
    at, width = place
    top = (1 << 8 * width) - 1
    order = rng.choice(("little", "little", "big"))
    was = int.from_bytes(raw[at : at + width], order)
    near = was + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8, 100))
    value = rng.choice((0, 1, 7, top, top >> 1, (top >> 1) + 1, near, near, near, rng.randint(0, top)))
    raw[at : at + width] = (value & top).to_bytes(width, order)


ANYWHERE: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip_bits, flip_bits, set_bytes, set_number, truncate, drop, insert,
)  # fmt: skip


class PacketMutator:
    """Damages packets that are sound: anywhere, in their lengths, and with parts of each other."""

    def __init__(self, sound: list[Sound], rng: random.Random) -> None:
        self._sound, self._rng = sound, rng
        self.impairments = 0

    def packet(self) -> bytes:
        rng = self._rng
        chosen = rng.choice(self._sound)
        raw = bytearray(chosen.payload)
        kind = rng.random()
        self.impairments += 1
        if kind < 0.45:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                attack(raw, rng.choice(chosen.places), rng) if chosen.places else garbage(raw, rng)
                self.impairments += 1
        elif kind < 0.6:
            raw = self._mixed(chosen)
        elif kind < 0.62:
            garbage(raw, rng)
        if kind > 0.55:
            for _ in range(rng.choice((1, 1, 2, 4))):
                rng.choice(ANYWHERE)(raw, rng)
                self.impairments += 1
        return bytes(raw[:60_000])

    def _mixed(self, chosen: Sound) -> bytearray:
        """A splice with another packet, or messages of it repeated, left out or in another order."""
        rng, other = self._rng, self._rng.choice(self._sound)
        raw = bytearray(chosen.payload)
        if rng.random() < 0.4 or not chosen.frames:
            cut = rng.randrange(len(raw) + 1)
            return raw[:cut] + other.payload[rng.randrange(len(other.payload) + 1) :]
        messages = [raw[start:end] for start, end in chosen.frames]
        messages += rng.choices(messages, k=rng.choice((1, 1, 2, 30)))
        rng.shuffle(messages)
        return raw[: PacketHeader.SIZE] + b"".join(messages[: rng.randint(0, len(messages))])


def damage_frame(made: bytes, rng: random.Random) -> bytes:
    """Attack the headers of a frame, or cut it."""
    raw = bytearray(made)
    kind = rng.random()
    if kind < 0.7:
        attack(raw, rng.choice(FRAME_PLACES), rng)
    elif kind < 0.85:
        raw[rng.randrange(42)] = rng.choice(INTERESTING_BYTES)
    else:
        truncate(raw, rng)
    return bytes(raw)


def damage_file(capture: bytes, rng: random.Random) -> tuple[bytes, int]:
    """Some damage anywhere in a file, often in its first bytes; and how many times."""
    raw, times = bytearray(capture), rng.choice((1, 1, 2, 3, 6))
    for _ in range(times):
        if rng.random() < 0.3:
            head = raw[:64]
            rng.choice((flip_bits, set_bytes, set_number))(head, rng)
            raw[: len(head)] = head
        else:
            rng.choice(ANYWHERE)(raw, rng)
    return bytes(raw), times
