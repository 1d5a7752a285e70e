"""Gigabytes a second of one capture: copied, scanned, decoded to columns and to Arrow, and looped over."""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pregao.codecs.pcap.ip import LINKTYPE_ETHERNET
from pregao.codecs.pcap.kernels import ENDED_WINDOW, PCAP, Shape
from pregao.codecs.sbe import load_builtin_schema
from pregao.codecs.sbe.plan import make_plan
from pregao.feeds.binary.columns import BinaryColumnDecoder
from pregao.feeds.binary.kernels.packets import PIECE_MESSAGES, scan
from pregao.feeds.binary.storage import PACKET_COLUMNS, Workspace
from pregao.io.captures import Window

from . import baseline_struct
from .capture import PCAP_HEADER, Capture
from .harness import Row, best_of

MAPPED, IN_MEMORY = "memcpy of the mapped file", "memcpy in memory"
JUDGED_BY = MAPPED  # the copy that the bars stand on
SCAN, COLUMNS, ARROW, LOOP = "scan", "decode to columns", "decode to Arrow", "struct loop"
BARS = {SCAN: 0.5, COLUMNS: 0.25, ARROW: 0.08}  # × memcpy
LOOP_BAR = 40.0  # × the struct loop
# The index that `scan` makes of messages, by the fields of its context.
_INDEX = {
    "body": "i8", "body_length": "u2", "template": "u2", "version": "u2", "block_length": "u2",
    "packet": "u4", "place": "u2",
}  # fmt: skip
LOOP_BLOCKS = 2  # repetitions of the block that the loop goes through: its rate is the same anywhere


@dataclass(frozen=True)
class _Source:
    """The bytes of the capture, mapped, for everything that reads them."""

    capture: Capture
    view: memoryview

    @classmethod
    def open(cls, capture: Capture) -> "_Source":
        with capture.path.open("rb") as file:
            return cls(capture, memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))

    @property
    def array(self) -> np.ndarray:
        return np.frombuffer(self.view, np.uint8)

    def windows(self) -> Iterator[Window]:
        yield Window(0, self.view)


def measure(capture: Capture) -> list[Row]:
    source = _Source.open(capture)
    loop_size = PCAP_HEADER + LOOP_BLOCKS * capture.block_size
    seconds = best_of(
        {
            **_copies(source),
            SCAN: _scan(source),
            COLUMNS: _columns(source),
            ARROW: _arrow(source),
            LOOP: lambda: baseline_struct.decode(source.view[:loop_size]),
        }
    )
    speed = {name: capture.size / taken / 1e9 for name, taken in seconds.items()}
    speed[LOOP] = min(loop_size, capture.size) / seconds[LOOP] / 1e9
    rows = [Row(name, speed[name], "GB/s") for name in (MAPPED, IN_MEMORY, LOOP)]
    for name, bar in BARS.items():
        for copy in (MAPPED, IN_MEMORY):
            judged = bar if copy == JUDGED_BY else None
            rows.append(Row(f"{name} / {copy}", speed[name], "GB/s", speed[copy], judged))
    rows.append(Row(f"{COLUMNS} / {LOOP}", speed[COLUMNS], "GB/s", speed[LOOP], LOOP_BAR))
    messages = {name: capture.messages / seconds[name] / 1e6 for name in BARS}
    messages[LOOP] = LOOP_BLOCKS * capture.block_messages / seconds[LOOP] / 1e6
    rows += [Row(f"{name}, messages", rate, "M messages/s") for name, rate in messages.items()]
    return rows


def _copies(source: _Source) -> dict[str, Callable[[], object]]:
    """To memory that is already there, from the file's pages and from memory of our own."""
    mapped = source.array
    anonymous = mapped.copy()
    target = np.ones_like(mapped)
    return {
        MAPPED: lambda: np.copyto(target, mapped),
        IN_MEMORY: lambda: np.copyto(target, anonymous),
    }


def _scan(source: _Source) -> Callable[[], object]:
    """Every packet and message of the file into one index, which exists already."""
    capture, buffer, schema = source.capture, source.array, load_builtin_schema()
    packets, messages = capture.packets + 1, capture.messages + PIECE_MESSAGES
    work = Workspace(schema, make_plan(schema))
    work.feed.set(**{name: np.ones(packets, kind) for name, kind in PACKET_COLUMNS.items()})
    work.feed.set(**{name: np.ones(messages, kind) for name, kind in _INDEX.items()})
    shape = Shape(PCAP, 0, 1, LINKTYPE_ETHERNET, 0, 0)

    def scan_all() -> None:
        _, packets_seen, messages_seen, _, why = scan(
            buffer.ctypes.data, PCAP_HEADER, len(buffer), shape, 1, work.feed.address, packets, messages,
            work.columns.address,
        )  # fmt: skip
        assert (packets_seen, messages_seen, why) == (capture.packets, capture.messages, ENDED_WINDOW)

    return scan_all


def _columns(source: _Source) -> Callable[[], object]:
    """All columns of all messages, into memory that every batch uses again."""
    decoder = BinaryColumnDecoder(load_builtin_schema())

    def decode_all() -> None:
        messages = sum(batch.messages for batch in decoder.batches(source.windows()))
        assert messages == source.capture.messages

    return decode_all


def _arrow(source: _Source) -> Callable[[], object]:
    """Record batches with decimals and null bitmaps, in memory that is new for every batch."""
    decoder = BinaryColumnDecoder(load_builtin_schema())

    def decode_all() -> None:
        messages = 0
        for batch in decoder.batches(source.windows()):
            messages += batch.messages
            batch.to_arrow()
        assert messages == source.capture.messages

    return decode_all
