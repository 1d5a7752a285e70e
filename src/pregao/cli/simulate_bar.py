"""A progress bar for messages made, on stderr; gone when it is done."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class MessagesBar:
    """rich is imported only when there is something to show."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._shown: tuple[Progress, TaskID] | None = None

    def update(self, done: int, total: int) -> None:
        if self._enabled:
            progress, task = self._shown or self._start()
            progress.update(task, completed=min(done, total), total=total)

    def _start(self) -> "tuple[Progress, TaskID]":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("messages"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=Console(stderr=True), transient=True, redirect_stdout=False,
        )  # fmt: skip
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
