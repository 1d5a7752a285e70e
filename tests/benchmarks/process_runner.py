"""Tasks of the lake in plain processes, kept for the next tasks: what Spark is compared with."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from pregao.lake.runners import Progress, Task, only_tasks


class ProcessRunner:
    def __init__(self, processes: int) -> None:
        self._pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))

    def run(self, task: Task, items: Sequence[Any], progress: Progress) -> list[Any]:
        futures = {self._pool.submit(_in_process, task, item): place for place, item in enumerate(items)}
        found: list[Any] = [None] * len(items)
        for done, future in enumerate(as_completed(futures), 1):
            found[futures[future]] = future.result()
            progress(done, len(items))
        return found

    def close(self) -> None:
        self._pool.shutdown()


def _in_process(task: Task, item: Any) -> Any:
    only_tasks()
    return task(item)
