"""The capture that is measured: a block of a simulated day, repeated with other numbers and times.

A block of distinct packets is made once from the sample of the simulated exchange: one feed's incremental
stream with the definitions and the snapshots among it, so that every template occurs. It is then repeated
until there are enough messages; each repetition has sequence numbers, sending and capture times of
its own. UDP checksums are left out (zero, as the standard allows): they would no longer be right.
Files are kept in build/bench under a name that changes with what made them.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from struct import unpack_from

import numpy as np

import pregao
from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.feeds.binary.packets import PacketHeader
from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import CapturedPacket
from pregao.simulator.sample import sample_packets

BUILD = Path("build/bench")
BLOCK_MESSAGES = 190_000  # of the incremental stream
VERSION = 16
SEED = 1
CHANNEL = 84
PCAP_HEADER = 24

_RECORD, _HEADERS = 16, 42  # pcap; Ethernet, IPv4 and UDP
_UDP_CHECKSUM = _RECORD + 40
_PAYLOAD = _RECORD + _HEADERS
_PORTS = {Stream.INCREMENTAL: 30_084, Stream.DEFINITION: 32_084, Stream.SNAPSHOT: 33_084}
Array = np.ndarray


@dataclass(frozen=True)
class Capture:
    path: Path
    size: int  # bytes of the file
    packets: int
    messages: int
    block_size: int  # bytes of one repetition
    block_messages: int


def bench_capture(messages: int) -> Capture:
    """A capture of at least so many messages, from build/bench if it is there."""
    block = _Block.load()
    return block.write(BUILD / f"{block.name}-{messages}.pcap", -(-messages // block.messages))


def large_capture(size: int, path: Path) -> Capture:
    """A capture of at least so many bytes, for the caller to delete."""
    block = _Block.load()
    return block.write(path, -(-size // len(block.data)))


class _Block:
    """The packets that are repeated, and where in them the numbers are that change."""

    def __init__(self, name: str, data: Array) -> None:
        self.name, self.data = name, data
        raw = data.tobytes()
        starts, self.messages = _walk(raw)
        self.packets = len(starts)
        self._checksums = np.array([start + _UDP_CHECKSUM for start in starts])
        self._seconds = np.array(starts)
        payloads = np.array([start + _PAYLOAD for start in starts])
        self._sending = payloads + 8
        incremental = _get(data, payloads - 6, ">u2") == _PORTS[Stream.INCREMENTAL]
        numbers = _get(data, payloads + 4, "<u4")
        self._numbers = (payloads + 4)[incremental & (numbers > 0)]
        self._next_numbers = (payloads + 28)[incremental & (numbers == 0)]  # in the Sequence message
        self._versions = (payloads + 2)[~incremental]  # the other streams count loops, not packets
        self._count = int(numbers[incremental].max())
        versions = _get(data, self._versions, "<u2")
        self._loops = int(versions.max() - versions.min()) + 1
        seconds = _get(data, self._seconds, "<u4")
        self._span_s = int(seconds[-1] - seconds[0]) + 1

    @classmethod
    def load(cls) -> "_Block":
        name = f"capture-{VERSION}-{BLOCK_MESSAGES}-{SEED}-{_digest()}"
        path = BUILD / f"{name}.block"
        if not path.exists():
            BUILD.mkdir(parents=True, exist_ok=True)
            for stale in BUILD.glob("capture-*"):
                stale.unlink()
            path.write_bytes(_block())
        return cls(name, np.fromfile(path, np.uint8))

    def write(self, path: Path, repetitions: int) -> Capture:
        size = PCAP_HEADER + repetitions * len(self.data)
        capture = Capture(
            path, size, repetitions * self.packets, repetitions * self.messages, len(self.data), self.messages
        )
        if path.exists() and path.stat().st_size == size:
            return capture
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            file.write(pcap_header())
            for repetition in range(repetitions):
                file.write(self._repeated(repetition))
        unfinished.rename(path)
        path.with_suffix(".json").write_text(json.dumps(asdict(capture), default=str, indent=2))
        return capture

    def _repeated(self, repetition: int) -> Array:
        data = self.data.copy()
        data[self._checksums] = 0
        data[self._checksums + 1] = 0
        later_s = repetition * self._span_s
        _add(data, self._seconds, "<u4", later_s)
        _add(data, self._sending, "<u8", later_s * 1_000_000_000)
        _add(data, self._numbers, "<u4", repetition * self._count)
        _add(data, self._next_numbers, "<u4", repetition * self._count)
        _add(data, self._versions, "<u2", repetition * self._loops)
        return data


def _digest() -> str:
    """Of all that makes the block: the exchange, its publisher, the simulation, the sample, this module."""
    root = Path(pregao.__file__).parent
    rooms = ("exchange", "feeds/binary/publisher", "simulator")
    sources = [path for room in rooms for path in (root / room).rglob("*") if path.suffix != ".pyc"]
    sources += [root / "simulator/sample.py", Path(__file__)]
    digest = hashlib.sha256()
    for source in sorted(path for path in sources if path.is_file()):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def _block() -> bytes:
    """The packets as records. The day is a Monday: what comes before the week's first packet is left out,
    so that the numbers are those of one sequence."""
    packets = sample_packets(messages=BLOCK_MESSAGES, version=VERSION, seed=SEED, channel=CHANNEL)
    kept = [packet for packet in packets if packet.feed is Feed.A]
    week = max(_version(packet) for packet in kept if packet.stream is Stream.INCREMENTAL)
    return b"".join(
        pcap_record(packet.ts_ns, _framed(packet))
        for packet in kept
        if packet.stream is not Stream.INCREMENTAL or _version(packet) == week
    )


def _version(packet: CapturedPacket) -> int:
    return PacketHeader.decode(packet.payload).sequence_version


def _framed(packet: CapturedPacket) -> bytes:
    port = _PORTS[packet.stream]
    return ethernet_udp_frame(
        packet.payload, src="198.51.100.7", dst="233.252.0.1", src_port=port, dst_port=port
    )


def _walk(raw: bytes) -> tuple[list[int], int]:
    """Where the records begin, and how many messages they have."""
    starts, messages, at = [], 0, 0
    while at < len(raw):
        starts.append(at)
        end = at + _RECORD + unpack_from("<I", raw, at + 8)[0]
        message = at + _PAYLOAD + 16
        while message < end:
            messages += 1
            message += raw[message] | raw[message + 1] << 8
        at = end
    return starts, messages


def _places(places: Array, kind: str) -> Array:
    return places[:, None] + np.arange(np.dtype(kind).itemsize)


def _get(data: Array, places: Array, kind: str) -> Array:
    return data[_places(places, kind)].view(kind).ravel()


def _add(data: Array, places: Array, kind: str, amount: int) -> None:
    """Add to the numbers at some places, which need not be aligned."""
    where = _places(places, kind)
    numbers = data[where].view(kind)
    data[where] = (numbers + np.dtype(kind).type(amount)).view(np.uint8)
