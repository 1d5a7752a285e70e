"""The machine code of the kernels that a build needs: compiled here, so that no machine of a cluster must.

Measured: 39 s of processor time for each Python that begins without it, 7 MB with it. numba keeps it apart by
processor and by the content of the sources, so where it does not fit it is compiled again.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pregao.lake.build import Builder, BuildSettings
from pregao.lake.store.location import Location
from pregao.lake.tasks.runners import InlineRunner
from pregao.services.simulation.memory import short_day
from pregao.services.simulation.run import Simulation

_MESSAGES: Final = 500
_ENDINGS: Final = (".nbi", ".nbc")


def compile_all() -> None:
    """By a very small build: what it calls is compiled, or is there already."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in Simulation(short_day(out=folder / "days", messages=_MESSAGES, loops=5)).days():
            pass
        settings = BuildSettings(derive=False)
        Builder(Location(folder / "lake"), InlineRunner(), settings).build([str(folder / "days")])


def compiled_files() -> Iterator[tuple[Path, Path]]:
    """Each with the source file it belongs to, of all kernels that this process has used."""
    seen: set[Path] = set()
    for name, module in list(sys.modules.items()):
        if not name.startswith("pregao.") or not name.endswith("kernels"):
            continue
        source = Path(str(module.__file__))
        for dispatcher in vars(module).values():
            folder = Path(getattr(getattr(dispatcher, "stats", None), "cache_path", None) or "/dev/null")
            if folder in seen or not folder.is_dir() or dispatcher.__module__ != name:
                continue
            seen.add(folder)
            for file in sorted(folder.iterdir()):
                if file.suffix in _ENDINGS and file.name.startswith(f"{source.stem}."):
                    yield source, file
