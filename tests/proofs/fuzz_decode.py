"""fuzz-decode: damaged packets and captures through both decoders.

Neither may crash, hang or read past the capture's memory, and both must say the same of every
byte. A case is a few hundred packets in one capture, or some small captures damaged as files;
everything in it follows from the seed and the case's number.
"""

import faulthandler
import gzip
import io
import os
import random
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import zstandard

from pregao.codecs.pcap.writer import pcap_header, pcap_record
from pregao.codecs.sbe import Schema, load_builtin_schema
from pregao.io.captures import CaptureSource, Window
from pregao.io.compression import compression_of
from tests.kits.mutations import PacketMutator, Sound, damage_file, damage_frame
from tests.proofs.result import Result
from tests.twins.b3 import B3Messages
from tests.twins.captures import START_NS, mixed_pcap, mixed_pcapng, packet, pcap, udp_frame
from tests.twins.compare import Comparer
from tests.twins.foreign import ForeignMessages, foreign

NAME = "fuzz-decode"
DEFAULT_TRIALS = 1_000_000
PACKETS_A_CASE = 500
CAPTURES_A_CASE = 25
WATCHDOG_S = 120
BUILD = Path("build")

_POOL = 600  # sound packets of a schema to begin from
_FOREIGN = (("littleEndian", False), ("bigEndian", False), ("littleEndian", True), ("bigEndian", True))


class Ground:
    """A schema, the comparison of its two decoders, and sound packets of it."""

    def __init__(self, schema: Schema, kind: str, seed: int) -> None:
        self.schema, self.comparer = schema, Comparer(schema)
        rng = random.Random(f"{seed} {kind}")
        messages = B3Messages(rng) if kind == "b3" else ForeignMessages(schema, rng)
        self.sound = [
            Sound(schema, packet(schema, [messages.message() for _ in range(rng.choice((1, 1, 2, 4)))], rng))
            for _ in range(_POOL)
        ]


@cache
def ground(kind: str, seed: int) -> Ground:
    if kind == "b3":
        return Ground(load_builtin_schema(), kind, seed)
    return Ground(foreign(*_FOREIGN[int(kind)]), kind, seed)


def cases(trials: int) -> list[tuple[int, int]]:
    """(number, trials) of the cases that make up so many trials."""
    made, left = [], trials
    while left > 0:
        size = min(left, CAPTURES_A_CASE if len(made) % 2 else PACKETS_A_CASE)
        made.append((len(made), size))
        left -= size
    return made


def run_case(seed: int, number: int, trials: int) -> Result:
    """One case with a watchdog that ends the process, showing where it hangs."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(WATCHDOG_S, exit=True)
    try:
        rng = random.Random(f"{seed} {number}")
        kind = "b3" if rng.random() < 0.75 else str(rng.randrange(len(_FOREIGN)))
        return _Case(seed, number, ground(kind, seed), rng).run(trials)
    finally:
        faulthandler.cancel_dump_traceback_later()


class _Case:
    def __init__(self, seed: int, number: int, on: Ground, rng: random.Random) -> None:
        self._seed, self._number, self._ground, self._rng = seed, number, on, rng
        self._result = Result(NAME)
        self._running = BUILD / f"{NAME}-running-{os.getpid()}.capture"

    def run(self, trials: int) -> Result:
        BUILD.mkdir(exist_ok=True)
        if self._number % 2:
            for _ in range(trials):
                self._file()
        else:
            self._packets(trials)
        self._running.unlink(missing_ok=True)
        return self._result

    def _packets(self, trials: int) -> None:
        rng, mutator = self._rng, PacketMutator(self._ground.sound, self._rng)
        frames = []
        for _ in range(trials):
            made = udp_frame(mutator.packet())
            if rng.random() < 0.12:
                made = damage_frame(made, rng)
                mutator.impairments += 1
            frames.append(made)
        self._result.trials += trials
        self._result.impairments += mutator.impairments
        capture = _capture(frames)
        error = self._failure(capture, rng.getrandbits(32))
        if error is not None:
            self._keep(error, self._narrowed(frames) or capture)

    def _file(self) -> None:
        """A small capture damaged as a file; some are compressed, before or after the damage."""
        rng, on = self._rng, self._ground
        payloads = [rng.choice(on.sound).payload for _ in range(rng.randint(0, 8))]
        form = rng.choice((mixed_pcap, mixed_pcap, mixed_pcapng, mixed_pcapng, None))
        capture = pcap(payloads) if form is None else form(payloads, rng)
        compression = rng.choice(("", "", "", "gzip", "zstd"))
        times = 0
        if not compression or rng.random() < 0.3:
            capture, times = damage_file(capture, rng)
        if compression:
            capture = _compressed(capture, compression, rng)
            if not times:
                capture, times = damage_file(capture, rng)
        self._result.trials += 1
        self._result.impairments += times
        error = self._failure(capture, rng.getrandbits(32))
        if error is not None:
            self._keep(error, capture)

    def _failure(self, capture: bytes, window_seed: int) -> str | None:
        self._running.write_bytes(capture)
        try:
            self._result.comparisons += compare_file(self._ground.comparer, capture, window_seed)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def _narrowed(self, frames: list[bytes]) -> bytes | None:
        """A single frame that fails by itself, if there is one."""
        captures = (_capture([made]) for made in frames)
        return next((capture for capture in captures if self._failure(capture, 0) is not None), None)

    def _keep(self, error: str, capture: bytes) -> None:
        path = BUILD / f"{NAME}-{self._seed}-{self._number}-{self._result.trials}.capture"
        path.write_bytes(capture)
        again = f"python -m tests.proofs --only {NAME} --seed {self._seed} --case {self._number}"
        self._result.failures += 1
        self._result.failed.append(f"{error[:2000]}\n  {path}\n  {again}")
        print(self._result.failed[-1], file=sys.stderr)


def compare_file(comparer: Comparer, capture: bytes, window_seed: int) -> int:
    """The content of a capture file, compressed or not, through both decoders."""
    compression = compression_of(capture[:4])
    if compression == "none":
        return comparer.compare(capture, window_seed if window_seed % 2 else None)[0]

    def windows() -> Iterable[Window]:
        file = io.BytesIO(capture)
        return CaptureSource(Path("fuzz"), file, len(capture), compression).windows(1 + window_seed % 5_000)

    return comparer.compare_windows(windows, windows)[0]


def _capture(frames: list[bytes]) -> bytes:
    return b"".join([pcap_header(), *_records(frames)])


def _records(frames: list[bytes]) -> Iterator[bytes]:
    for number, made in enumerate(frames):
        yield pcap_record(START_NS + number * 1_000, made, original_length=max(len(made), 60))


def _compressed(capture: bytes, compression: str, rng: random.Random) -> bytes:
    """In one piece or in two, as recorders that were restarted write."""
    middle = rng.choice((len(capture), rng.randrange(len(capture) + 1)))
    parts = [part for part in (capture[:middle], capture[middle:]) if part]
    if compression == "gzip":
        return b"".join(gzip.compress(part, 1, mtime=0) for part in parts)
    return b"".join(zstandard.ZstdCompressor(1).compress(part) for part in parts)
