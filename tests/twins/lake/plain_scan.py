"""Plain twins of the plan's kernels: a packet at a time, with nothing but `struct`."""

from collections.abc import Iterable, Iterator, Sequence
from struct import unpack_from

HEADER, FRAMING, SBE = 16, 4, 8
_WORD = (1 << 64) - 1
_MULTIPLIER = 0x9E3779B97F4A7C15


def header(payload: bytes) -> tuple[int, int, int, int] | None:
    """Channel, sequenceVersion, sequenceNumber, sendingTime; None: too short to have one (6.5.5.1)."""
    if len(payload) < HEADER:
        return None
    channel, _, version, number, sent_ns = unpack_from("<BBHIq", payload)
    return channel, version, number, sent_ns


def templates(payload: bytes) -> Iterator[int]:
    """Of each framed message, as far as the lengths of the framing make sense (6.5.5.2)."""
    at = HEADER
    while at + FRAMING + SBE <= len(payload):
        length, _, _, template = unpack_from("<HHHH", payload, at)
        if length < FRAMING + SBE or at + length > len(payload):
            return
        yield template
        at += length


def find_messages(payloads: Sequence[bytes], wanted: Iterable[int]) -> tuple[int, list[int], set[int]]:
    """Messages in all, which packets carry a wanted template, all templates seen; 255 is any above."""
    found = [[min(template, 255) for template in templates(payload)] for payload in payloads]
    chosen = set(wanted)
    noted = [number for number, each in enumerate(found) if chosen & set(each)]
    return sum(map(len, found)), noted, {template for each in found for template in each}


def content_hash(content: bytes, seed: int) -> int:
    """Four lanes of words, then what is left by bytes into the first."""

    def mix(value: int, word: int) -> int:
        return ((value ^ word & _WORD) * _MULTIPLIER) & _WORD

    shifts = (29, 31, 33, 27)
    lanes = [mix(seed, len(content) + lane) for lane in range(4)]
    whole = len(content) // 32 * 32
    for at in range(0, whole, 32):
        for lane, word in enumerate(unpack_from("<4Q", content, at)):
            mixed = mix(lanes[lane], word)
            lanes[lane] = mixed ^ mixed >> shifts[lane]
    for byte in content[whole:]:
        mixed = mix(lanes[0], byte)
        lanes[0] = mixed ^ mixed >> 29
    value = lanes[0]
    for lane in lanes[1:]:
        value = mix(value, lane >> 1)
    return (value ^ value >> 32) >> 1
