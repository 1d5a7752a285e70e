"""The machine code of all kernels: compiled at once, so that no first packet and no worker of Spark has to
wait for it.

Measured: 39 s of processor time for each Python that begins without it, 7 MB with it. numba keeps it apart by
processor and by the content of the sources, so where it does not fit it is compiled again.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from llvmlite.binding import get_host_cpu_name

from pregao.captures.columns import read_columns
from pregao.captures.survey import survey
from pregao.extras import is_installed
from pregao.kernel_cache import cache_root, state_of_all
from pregao.kernels import is_kernel
from pregao.market import Market
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation

_MESSAGES: Final = 500
_ENDINGS: Final = (".nbi", ".nbc")
STEP: Final = "compile"
OnProgress = Callable[[str, int, int], None]  # step, done, of how many


def compile_all() -> None:
    """By a very small day that is listened to, decoded and, with the lake's libraries, built: what that calls
    is compiled where it is not yet."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in Simulation(short_day(out=folder / "days", messages=_MESSAGES, loops=5)).days():
            pass
        if is_installed("lake"):
            _build(folder / "days", folder / "lake")
        for exact in (False, True):
            Market.replay(folder / "days", exact=exact).run()
        for capture in (folder / "days").rglob("*_Incremental_FeedA.pcap"):
            survey(str(capture), _MESSAGES)
            for _ in read_columns(capture):
                pass
    _marker().touch()


def _build(captures: Path, lake: Path) -> None:
    from pregao.lake.build import Builder, BuildSettings
    from pregao.lake.runners import InlineRunner
    from pregao.lake.store.location import Location

    Builder(Location(lake), InlineRunner(), BuildSettings(derive=False)).build([str(captures)])


def is_compiled() -> bool:
    """Whether that was done on this machine for the sources as they are."""
    return _marker().exists()


def _marker() -> Path:
    """Without the lake's libraries its kernels are not compiled: they are when those are installed."""
    what = "compiled" if is_installed("lake") else "compiled-base"
    return cache_root() / f"{what}-{get_host_cpu_name()}-{state_of_all()}"


@contextmanager
def compiling(on_progress: OnProgress) -> Iterator[None]:
    """Another process compiles what is not compiled yet, while the body does something else; at the end both
    are done. Otherwise every worker of Spark would, each for itself; if it fails, that is what happens."""
    if is_compiled():
        yield
        return
    on_progress(STEP, 0, 1)
    side = get_context("spawn").Process(target=compile_all, daemon=True)
    side.start()
    try:
        yield
        side.join()
        on_progress(STEP, 1, 1)
    finally:
        side.kill()


def compiled_files() -> Iterator[tuple[Path, Path]]:
    """Each with the source file it belongs to, of all kernels that this process has used."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("pregao."):
            continue
        folders = {
            str(value.stats.cache_path)
            for value in vars(module).values()
            if is_kernel(value) and value.__module__ == name and value.stats.cache_path
        }
        source = Path(str(module.__file__))
        for folder in sorted(map(Path, folders)):
            for file in sorted(folder.iterdir()) if folder.is_dir() else ():
                if file.suffix in _ENDINGS and file.name.startswith(f"{source.stem}."):
                    yield source, file
