"""Memory of a task's process, kept for the next arrays instead of given back.

A slice makes and drops arrays of many megabytes. Given back to the system, each is zeroed and mapped again
page by page at its next use: a fifth of a task's time, measured on slices of a million messages.
"""

import atexit
import ctypes
import gc
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of mallopt
_LARGE: Final = 32 << 20  # the most that glibc takes
_KEPT: Final = 512 << 20
_PAD: Final = 64 << 20
_PAGE: Final = mmap.PAGESIZE


@cache
def keep_memory() -> bool:
    """Once a process; whether its C library can. Arrow uses the same memory then, not a pool of its own."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # not glibc
        return False
    settings = ((_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _KEPT), (_TOP_PAD, _PAD))
    if not all(mallopt(*each) for each in settings):
        return False
    pa.set_memory_pool(pa.system_memory_pool())
    return True


def give_back() -> None:
    """What was kept, when work of another kind begins."""
    if keep_memory():
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def without_collector() -> Iterator[None]:
    """One task. What the one before it left in circles goes first, with all its arrays; then nobody looks for
    more."""
    gc.collect()
    if keep_memory() and _own_bytes() > _KEPT:
        give_back()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def only_tasks() -> None:
    """In a process that does nothing else: what is loaded by now stays, and the collector, which takes 0.1 s
    for a look at it, never looks at it again. Its memory is kept from the first task on, the scans'."""
    keep_memory()
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)


def _own_bytes() -> int:
    """Resident and not mapped from files; 0 where nobody says."""
    try:
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE
