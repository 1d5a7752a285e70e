"""How a recording goes: one line that is written over on a terminal, a line now and then elsewhere."""

from collections.abc import Callable
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TextIO

if TYPE_CHECKING:
    from pregao.captures.recording.record import RecordHealth

_TERMINAL_S: Final = 0.5
_PIPE_S: Final = 10.0
_CLEAR: Final = "\r\x1b[K"
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


class HealthLine:
    def __init__(self, stream: TextIO, *, enabled: bool) -> None:
        self._stream, self._enabled = stream, enabled
        self._terminal = stream.isatty()
        self._every_s = _TERMINAL_S if self._terminal else _PIPE_S
        self._shown_s, self._shown_packets, self._hinted = 0.0, 0, False

    def watch(self, stop: Event, duration_s: float | None) -> "Callable[[RecordHealth], None]":
        """A callback that shows how it goes, and ends it when it has gone on for long enough."""

        def update(health: "RecordHealth") -> None:
            if duration_s is not None and health.seconds >= duration_s:
                stop.set()
            self.show(health)

        return update

    def show(self, health: "RecordHealth") -> None:
        if health.buffer_hint and not self._hinted:
            self._hinted = True
            self._say(f"pregao: {health.buffer_hint}")
        passed = health.seconds - self._shown_s
        if self._enabled and passed >= self._every_s:
            rate = (health.reader.packets - self._shown_packets) / passed
            self._shown_s, self._shown_packets = health.seconds, health.reader.packets
            text = f"{summary(health)}, {rate:,.0f} packets/s"
            if self._terminal:
                self._stream.write(_CLEAR + text)
                self._stream.flush()
            else:
                self._say(f"pregao: {text}")

    def _say(self, line: str) -> None:
        self._stream.write(f"{_CLEAR if self._terminal else ''}{line}\n")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal and self._enabled:
            self._stream.write(_CLEAR)
            self._stream.flush()


def summary(health: "RecordHealth") -> str:
    """Packets, bytes, drops and files in one line."""
    reader, files = health.reader, health.files
    parts = [
        f"{reader.packets:,} packets",
        f"{amount(reader.bytes)} received",
        f"{amount(files.bytes)} written",
        f"{files.closed} files" + (f" and {files.open} open" if files.open else ""),
        "drops unknown here" if reader.drops is None else f"{reader.drops:,} dropped by the kernel",
    ]
    parts += [f"{reader.too_long:,} too long"] if reader.too_long else []
    parts += [f"{reader.errors:,} socket errors"] if reader.errors else []
    parts += [f"ring full {reader.stalls:,} times"] if reader.stalls else []
    return ", ".join(parts)


def amount(size: int) -> str:
    """Bytes as people read them."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} B"
