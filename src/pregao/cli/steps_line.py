"""Progress of work in named steps on stderr: a bar for each on a terminal, a line for each elsewhere."""

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class StepsLine:
    """rich is imported only when there is something to show."""

    def __init__(self, names: Mapping[str, str], *, enabled: bool = True) -> None:
        self._names, self._enabled = names, enabled
        self._shown: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._told: set[str] = set()

    def update(self, step: str, done: int, total: int) -> None:
        if not self._enabled:
            return
        if self._shown is None:
            if step not in self._told:
                self._told.add(step)
                sys.stderr.write(f"pregao: {self._names.get(step, step)} …\n")
            return
        if step not in self._tasks:
            self._tasks[step] = self._shown.add_task(self._names.get(step, step), total=total)
        self._shown.update(self._tasks[step], completed=done, total=total)

    def __enter__(self) -> Self:
        if self._enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            self._shown = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed(),
                console=Console(stderr=True), transient=True, redirect_stdout=False,
            )  # fmt: skip
            self._shown.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()
