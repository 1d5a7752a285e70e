"""Progress on stderr: bars on a terminal, gone when all is done; elsewhere a line at the start, or none.

rich is imported only when there is something to show.
"""

import sys
from collections.abc import Callable, Mapping
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, TaskID

# stdout is data, stderr is talk.


FLUSH_AFTER_S = 0.2


class Output:
    """Buffered lines on stdout that never wait longer than a moment, and one-line messages on stderr."""

    def __init__(self) -> None:
        self._write = sys.stdout.write
        self._flushed = 0.0  # so that the first line leaves at once
        self._pending = False

    def data(self, text: str) -> None:
        self._write(text)
        if not self._flushed:
            self._flush(monotonic())
        self._pending = True

    def tick(self) -> None:
        """Called now and then while work goes on: lines of a rare kind must not stay in the buffer."""
        if self._pending and monotonic() - self._flushed > FLUSH_AFTER_S:
            self._flush(monotonic())

    def talk(self, line: str) -> None:
        sys.stderr.write(f"pregao: {line}\n")

    def _flush(self, now: float) -> None:
        sys.stdout.flush()
        self._flushed, self._pending = now, False


SHOW_AFTER_S = 0.5


class _Shown:
    """What bars share: rich's, from when there is something to show until the block ends."""

    _shown: "tuple[Progress, TaskID] | None" = None

    def _start_bar(self, *columns: "ProgressColumn", what: str = "") -> "tuple[Progress, TaskID]":
        from rich.progress import Progress

        progress = Progress(*columns, console=_stderr(), transient=True, redirect_stdout=False)
        self._shown = progress, progress.add_task(what, total=None)
        progress.start()
        return self._shown

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()


def _stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


class Bar(_Shown):
    """Bytes of captures that are read; shown when it takes its time."""

    def __init__(self, *, enabled: bool, files: int = 1) -> None:
        self._enabled = enabled
        self._files = files
        self._started = monotonic()
        self._name, self._number = "", 0

    def begin(self, name: str) -> None:
        self._name, self._number = name, self._number + 1

    def watch(self, tick: Callable[[], None]) -> Callable[[int, int], None]:
        """A callback for the bytes done and the bytes in all, which also calls `tick`."""

        def update(done: int, total: int) -> None:
            tick()
            if self._enabled and monotonic() - self._started > SHOW_AFTER_S:
                self._show(done, total)

        return update

    def _show(self, done: int, total: int) -> None:
        progress, task = self._shown or self._start()
        count = f"{self._number}/{self._files} " if self._files > 1 else ""
        name = f"{count}{self._name}" if self._name else "definitions"
        progress.update(task, completed=done, total=total, description=name)

    def _start(self) -> "tuple[Progress, TaskID]":
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        return self._start_bar(
            TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(),
            TransferSpeedColumn(), TimeRemainingColumn(),
        )  # fmt: skip


class MessagesBar(_Shown):
    """Messages made."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled

    def update(self, done: int, total: int) -> None:
        if self._enabled:
            progress, task = self._shown or self._start()
            progress.update(task, completed=min(done, total), total=total)

    def _start(self) -> "tuple[Progress, TaskID]":
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        return self._start_bar(
            TextColumn("messages"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        )


class StepsBar(_Shown):
    """`what` is done so many times of so many."""

    def __init__(self, what: str, *, enabled: bool = True) -> None:
        self._what, self._enabled = what, enabled

    def update(self, done: int, total: int) -> None:
        if self._shown is not None:
            self._shown[0].update(self._shown[1], completed=done, total=total)

    def __enter__(self) -> Self:
        if not self._enabled:
            return self
        if not sys.stderr.isatty():
            sys.stderr.write(f"pregao: {self._what} …\n")
            return self
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._start_bar(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), what=self._what,
        )  # fmt: skip
        return self


class StepsLine:
    """Work in named steps: a bar for each, or a line for each."""

    def __init__(self, names: Mapping[str, str], *, enabled: bool = True) -> None:
        self._names, self._enabled = names, enabled
        self._shown: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._announced: set[str] = set()

    def update(self, step: str, done: int, total: int) -> None:
        if not self._enabled:
            return
        if self._shown is None:
            if step not in self._announced:
                self._announced.add(step)
                sys.stderr.write(f"pregao: {self._names.get(step, step)} …\n")
            return
        if step not in self._tasks:
            self._tasks[step] = self._shown.add_task(self._names.get(step, step), total=total)
        self._shown.update(self._tasks[step], completed=done, total=total)

    def __enter__(self) -> Self:
        if self._enabled and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            self._shown = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed(),
                console=_stderr(), transient=True, redirect_stdout=False,
            )  # fmt: skip
            self._shown.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()
