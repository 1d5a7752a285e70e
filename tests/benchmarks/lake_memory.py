"""The most memory of their own that Spark's Python workers have had, looked at while they work.

Of their own: what is mapped of files is the system's to take back."""

import threading
from pathlib import Path
from typing import Self

_EVERY_S = 0.05
_LOOKS = 20  # after which those who have come meanwhile are looked for: all of /proc is much to read


class WorkersMemory:
    """`with WorkersMemory() as memory: …`, then `memory.peak`: bytes of the largest at its worst moment."""

    def __init__(self) -> None:
        self.peak = 0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *about: object) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        look, workers = 0, _workers()
        while not self._ended.wait(_EVERY_S):
            look += 1
            if look % _LOOKS == 0:
                workers = _workers()
            self.peak = max([self.peak, *(_own_bytes(process) for process in workers)])


def _workers() -> list[Path]:
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue  # gone meanwhile
            if b"pyspark" in command and b"daemon" in command:
                found.append(process)
    return found


def _own_bytes(process: Path) -> int:
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0
    sizes = [int(line.split()[1]) for line in lines if line.startswith("RssAnon:")]
    return sizes[0] << 10 if sizes else 0
