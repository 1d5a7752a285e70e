"""Processes of a build, by their place in the tree: the driver, Java, executors and Python workers."""

import os
import signal
from pathlib import Path

_WORKERS = b"pyspark.daemon"
_EXECUTOR = b"CoarseGrainedExecutorBackend"
_SUBMIT = b"org.apache.spark.deploy.SparkSubmit"


class Tree:
    """One look at all processes of the machine."""

    def __init__(self) -> None:
        self._command: dict[int, bytes] = {}
        self._children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                self._note(int(entry.name), entry)

    def _note(self, pid: int, entry: Path) -> None:
        try:
            # The name of a program may hold blanks and brackets: what follows it begins after the last one.
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (entry / "cmdline").read_bytes()
        except OSError:
            return  # it has just ended
        if state != "Z":
            self._command[pid] = command
            self._children.setdefault(int(parent), []).append(pid)

    def below(self, root: int) -> list[int]:
        found = []
        waiting = [root]
        while waiting:
            for child in self._children.get(waiting.pop(), []):
                found.append(child)
                waiting.append(child)
        return found

    def java_of(self, driver: int) -> list[int]:
        return [pid for pid in self.below(driver) if _SUBMIT in self._command[pid]]

    def executors_of(self, cluster: int) -> list[int]:
        return [pid for pid in self.below(cluster) if _EXECUTOR in self._command[pid]]

    def workers_of(self, root: int) -> list[int]:
        """Workers, not the daemon that has made them."""
        daemons = [pid for pid in self.below(root) if _WORKERS in self._command[pid]]
        return [pid for pid in daemons if any(pid in self._children.get(each, []) for each in daemons)]


def kill(pid: int) -> bool:
    """Whether it was still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_group(leader: int) -> bool:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
