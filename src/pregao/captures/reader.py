"""From a capture file to its datagrams: the one way, on which decode, columns, replay, the lake and its Spark
source stand.

    reader = CaptureReader(path)
    with open_capture(path) as source:
        for item in reader.read(source):
            ...                            # a Datagram, a Skip, or a Finding: file, packet and byte

What is wrong never ends the reading of the rest. `captures.runs` is the same by kernel, many packets at a
time; `captures.streams` says which channel, stream and feed a flow is.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final, Protocol, TypeVar

from pregao.captures.decoded import Finding
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.formats import HEAD_SIZE, recognise
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.feeds.decoding import FramedSystem
from pregao.io.captures import WINDOW_SIZE, Window
from pregao.model.errors import CaptureError, Fault

FrameSize = Callable[[memoryview], int | None]
_FRAME_HEAD: Final = 64  # bytes that are enough to say how long a frame is
_LOOKED_AT: Final = 8  # frames
COMPRESSION_DAMAGED: Final = "compression-damaged"
UNKNOWN_LINK_TYPE: Final = "unknown-link-type"
T = TypeVar("T")


class Source(Protocol):
    """An open capture: `io.captures.CaptureSource`, or a file of a lake's plan."""

    @property
    def compression(self) -> str: ...

    @property
    def length(self) -> int:
        """Bytes of the capture given out so far."""

    def windows(self, window_size: int = ...) -> Iterator[Window]:
        """Each begins where the one before was consumed."""


class CaptureReader:
    """One pass over one capture, a datagram at a time, without arrays."""

    def __init__(self, file: str, reader: DatagramReader | None = None) -> None:
        self.file, self.reader = file, reader or DatagramReader()

    def read(
        self, source: Source, window_size: int = WINDOW_SIZE
    ) -> Generator[Datagram | Skip | Finding, None, None]:
        """In the order of the file. CaptureError when it can no longer be read; damage of its compression is
        a finding, for what came before is good."""
        return read_windows(self.file, source, self.reader, self._of_window, window_size)

    def _of_window(self, window: Window) -> Iterator[Datagram | Skip | Damage]:
        return self.reader.outcomes(window.data)


class FramedReader:
    """One pass over a file of messages with headers of their own. Each frame is given as a datagram of nobody
    that came when its message was sent, by the message's own words; one that does not say came with the one
    before. Where no frame begins the rest is not read: there is nothing to find the next one by."""

    def __init__(self, file: str, system: FramedSystem) -> None:
        self.file, self.packets, self.position = file, 0, 0
        self._frame_size, self._frame_ns = system.frame_size, system.frame_ns
        self._last_ns = 0

    def read(self, source: Source, window_size: int = WINDOW_SIZE) -> Iterator[Datagram | Skip | Finding]:
        try:
            for window in source.windows(window_size):
                yield from self._of_window(window)
                if self._size_at(window.data, window.consumed) is None:
                    break
        except CaptureError as error:
            if source.compression == "none":
                raise
            yield Finding(self.file, COMPRESSION_DAMAGED, 0, error.offset, error.reason)
        left = source.length - self.position
        if left:
            detail = f"{left} bytes left"
            where = self.packets + 1, self.position
            yield Finding(self.file, Fault.FRAME_TRUNCATED.label, *where, detail, left=left)

    def _size_at(self, data: memoryview, at: int) -> int | None:
        return self._frame_size(data[at : at + _FRAME_HEAD]) if at < len(data) else 0

    def _of_window(self, window: Window) -> Iterator[Datagram]:
        data, at = window.data, 0
        while size := self._size_at(data, at):
            if at + size > len(data):
                break
            self.packets += 1
            offset, frame = window.base + at, data[at : at + size]
            self._last_ns = self._frame_ns(frame) or self._last_ns
            yield Datagram(self.packets, self._last_ns, 0, 0, 0, 0, 4, frame, offset, offset)
            at += size
        window.consumed = at
        self.position = window.base + at


def is_framed(source: Source, frame_size: FrameSize) -> bool:
    """Whether a file is no capture and begins with frames: several of them, or one that is all of it."""
    window = next(source.windows(WINDOW_SIZE), None)
    if window is None or recognise(window.data[:HEAD_SIZE]) is not None:
        return False
    data, at = window.data, 0
    for _ in range(_LOOKED_AT):
        size = frame_size(data[at : at + _FRAME_HEAD]) if at < len(data) else 0
        if not size or at + size > len(data):
            return size is not None and at > 0
        at += size
    return True


def read_windows(
    file: str,
    source: Source,
    reader: DatagramReader,
    of_window: Callable[[Window], Iterable[T | Damage]],
    window_size: int,
) -> Generator[T | Finding, None, None]:
    """What is made of each window, with all that is wrong as findings, at the end too."""
    try:
        for window in source.windows(window_size):
            reader.skip_to(window.base, window.skipped)
            for item in of_window(window):
                yield damaged(file, item) if isinstance(item, Damage) else item
            window.consumed = reader.position - window.base
    except CaptureError as error:
        if source.compression == "none":
            raise
        yield Finding(file, COMPRESSION_DAMAGED, 0, error.offset, error.reason)
    for damage in reader.finish(source.length):
        yield damaged(file, damage)
    for linktype, packets in sorted(reader.unknown_links.items()):
        yield Finding(file, UNKNOWN_LINK_TYPE, 0, None, f"{packets} packets of link type {linktype} not read")


def damaged(file: str, damage: Damage) -> Finding:
    detail = f"{damage.left} bytes left" if damage.left else ""
    return Finding(file, damage.fault.label, damage.number, damage.offset, detail, left=damage.left)
