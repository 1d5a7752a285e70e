"""Captures of either format as records, pushed in windows of any size.

    reader = RecordReader()
    for window in windows:                    # each begins at byte `reader.position` of the file
        for outcome in reader.records(window):
            ...                               # a Record, or the Damage of one packet
        ...                                   # carry over what lies past `reader.position`
    damage = reader.finish(end)               # None when the file ended where a record did

The same bytes give the same outcomes however they are cut into windows.
"""

from collections.abc import Iterator

from pregao.codecs.pcap.formats import (
    HEAD_SIZE,
    MAGIC_SIZE,
    Buffer,
    PcapHeader,
    PcapngHeader,
    PcapRecords,
    TakenRecord,
    has_capture_magic,
    recognise,
)
from pregao.codecs.pcap.outcomes import Damage, Record
from pregao.codecs.pcap.pcapng import PcapngBlocks
from pregao.model.errors import Fault


class RecordReader:
    """The state of reading one capture: how far it got, how many packets, whether it had to stop."""

    def __init__(self) -> None:
        self.position = 0  # the byte of the file at which the next window must begin
        self.packets = 0  # so far, damaged ones included
        self.header: PcapHeader | PcapngHeader | None = None
        self._format: PcapRecords | PcapngBlocks | None = None
        self._magic_seen = False
        self._stopped: Damage | None = None

    @property
    def blocks(self) -> PcapngBlocks | None:
        """The state of a pcapng file: byte order and interfaces of its section."""
        return self._format if isinstance(self._format, PcapngBlocks) else None

    @property
    def stopped(self) -> bool:
        """The file cannot be read on. Further windows are swallowed whole."""
        return self._stopped is not None

    def records(self, window: Buffer) -> Iterator[Record | Damage]:
        """Every whole record of a window that begins at `position`; `position` moves past each.

        A Damage here is one packet; reading goes on after it. What ends the reading is kept for
        `finish`, which knows how many bytes were left.
        """
        view = memoryview(window).toreadonly()
        base = self.position
        while (step := self.step(view, base)) is not None:
            if step.outcome is not None:
                yield step.outcome

    def step(self, window: memoryview, base: int) -> TakenRecord | None:
        """One record or block of a window that begins at byte `base`; None when it holds no more."""
        if self._format is None and self._stopped is None:
            self.begin(window)
        step = None
        if self._format is not None and self._stopped is None:
            step = self._format.step(window, self.position - base, self.position, self.packets + 1)
        if isinstance(step, Fault):
            self._stop(step)
            step = None
        if self._stopped is not None:
            self.position = base + len(window)
            return None
        if step is not None:
            self.advance(step.size, packets=step.outcome is not None)
        return step

    def advance(self, size: int, packets: int) -> None:
        """Count records as read: also those that a kernel took from the window."""
        self.position += size
        self.packets += packets

    def finish(self, end: int) -> Damage | None:
        """What is wrong with the end of a file of `end` bytes: why reading stopped, or a cut record.

        The Damage has the number that the next packet would have had.
        """
        if self._stopped is not None:
            stop = self._stopped
            return Damage(stop.fault, stop.offset, stop.number, left=end - stop.offset)
        if not self._magic_seen:
            return Damage(Fault.NOT_A_CAPTURE, 0, 1, left=end)
        if end > self.position:
            left = end - self.position
            return Damage(Fault.RECORD_TRUNCATED, self.position, self.packets + 1, left)
        return None

    def begin(self, view: memoryview) -> None:
        """Recognise the format from the first window."""
        if len(view) < MAGIC_SIZE:
            return
        self._magic_seen = has_capture_magic(view)
        if not self._magic_seen:
            self._stop(Fault.NOT_A_CAPTURE)
            return
        if len(view) < HEAD_SIZE:
            return
        self.header = recognise(view)
        if self.header is None:
            self._stop(Fault.NOT_A_CAPTURE)
            return
        self._format = PcapRecords(self.header) if isinstance(self.header, PcapHeader) else PcapngBlocks()
        self.position += self.header.header_size

    def _stop(self, fault: Fault) -> None:
        self._stopped = Damage(fault, self.position, self.packets + 1)
