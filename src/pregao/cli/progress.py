"""A progress bar on stderr for work that takes its time; gone when it is done."""

from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOW_AFTER_S = 0.5


class Bar:
    """rich is imported only when there is something to show."""

    def __init__(self, *, enabled: bool, files: int = 1) -> None:
        self._enabled = enabled
        self._files = files
        self._started = monotonic()
        self._name, self._number = "", 0
        self._shown: tuple[Progress, TaskID] | None = None

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
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
        )
        self._shown = (progress, progress.add_task(""))
        progress.start()
        return self._shown

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
