"""The datagrams of a capture by kernel, many at a time: see `captures.reader`."""

from collections.abc import Generator, Iterator

from pregao.captures.decoded import Finding
from pregao.captures.reader import Source, read_windows
from pregao.codecs.pcap.outcomes import Damage, Datagram
from pregao.codecs.pcap.runs import RUN_PACKETS, DatagramRun, DatagramRuns
from pregao.io.captures import WINDOW_SIZE, Window


class RunReader:
    """One pass over one capture. A run is valid until the next is asked for, and is of `window`."""

    window: Window

    def __init__(self, file: str, packets: int = RUN_PACKETS) -> None:
        self.file, self._runs = file, DatagramRuns(packets)

    @property
    def runs(self) -> DatagramRuns:
        return self._runs

    def read(
        self, source: Source, window_size: int = WINDOW_SIZE
    ) -> Generator[DatagramRun | Datagram | Finding, None, None]:
        """As `CaptureReader.read`. A Datagram by itself is unusual: in fragments, or of IPv6."""
        return read_windows(self.file, source, self._runs.reader, self._of_window, window_size)

    def _of_window(self, window: Window) -> Iterator[DatagramRun | Datagram | Damage]:
        self.window = window
        return self._runs.of_window(window.data, window.base)
