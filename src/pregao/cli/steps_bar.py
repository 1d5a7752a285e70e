"""Progress on stderr: a bar on a terminal, a line at the start and one at the end elsewhere."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class StepsBar:
    """`what` is done so many times of so many. rich is imported only when there is something to show."""

    def __init__(self, what: str, *, enabled: bool = True) -> None:
        self._what, self._enabled = what, enabled
        self._shown: tuple[Progress, TaskID] | None = None

    def update(self, done: int, total: int) -> None:
        if self._shown is not None:
            self._shown[0].update(self._shown[1], completed=done, total=total)

    def __enter__(self) -> Self:
        if not self._enabled:
            return self
        if not sys.stderr.isatty():
            sys.stderr.write(f"pregao: {self._what} …\n")
            return self
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed(),
            console=Console(stderr=True), transient=True, redirect_stdout=False,
        )  # fmt: skip
        self._shown = progress, progress.add_task(self._what, total=None)
        progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
