"""The process that forks Python workers on an executor, as Spark's own (`spark.python.daemon.module`): but a
worker whose connection Java cuts, as it does when another task has failed, ends without writing its stack.

No thread may begin before a fork, so nothing heavy is imported here.
"""

from collections.abc import Callable
from typing import Any, Final

MODULE: Final = __name__ if __name__ != "__main__" else "pregao.lake.spark.worker_daemon"
_CUT: Final = 1  # exit status of a worker that has nobody to talk to

Worker = Callable[..., int]


def quiet(worker: Worker) -> Worker:
    def work(*given: Any) -> int:
        try:
            return worker(*given)
        except (ConnectionError, EOFError):
            return _CUT

    return work


def main() -> None:
    from pyspark import daemon

    daemon.worker = quiet(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    main()
