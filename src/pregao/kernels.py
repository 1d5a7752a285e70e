"""What all kernels share: how they are compiled, where their machine code is kept, and
unaligned loads and stores.

Kernels live in files named `kernels.py`, are table-driven (code made with `exec` has no disk
cache) and take arrays only. numba does not notice when a kernel in *another* file changes, so
the cache folder carries a hash of every kernel file: stale machine code cannot be loaded.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numba
from numba import types
from numba.extending import intrinsic

# Kernels have no annotations: numba finds the types of their arguments.
Kernel = Callable[..., Any]


def _cache_folder() -> Path:
    """A folder of our own per state of the kernel sources, so that no stale code is loaded."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(package.rglob("kernels.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("PREGAO_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "pregao" / "kernels" / digest.hexdigest()[:16]


if "NUMBA_CACHE_DIR" not in os.environ:
    cast(Any, numba.config).CACHE_DIR = str(_cache_folder())


def kernel(function: Kernel) -> Kernel:
    """Compile without the interpreter, release the lock, keep the machine code on disk."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function)
    return cast(Kernel, compiled)


def inlined(function: Kernel) -> Kernel:
    """A helper on the hot path: folded into its caller, so that no array is passed (and counted)."""
    compiled = numba.njit(nogil=True, error_model="numpy", boundscheck=False, inline="always")(function)
    return cast(Kernel, compiled)


def _loader(result: Any) -> Any:
    """An unaligned load of a type from an address plus an offset: one machine instruction."""

    def load(typing_context: Any, address: Any, offset: Any) -> Any:
        signature = result(types.uint64, types.int64)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(result)
            place = builder.add(arguments[0], arguments[1])
            value = builder.load(builder.inttoptr(place, kind.as_pointer()))
            value.align = 1
            return value

        return signature, generate

    return intrinsic(load)


def _storer(stored: Any) -> Any:
    """An unaligned store of a type to an address plus an offset."""

    def store(typing_context: Any, address: Any, offset: Any, value: Any) -> Any:
        signature = types.void(types.uint64, types.int64, stored)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(stored)
            place = builder.add(arguments[0], arguments[1])
            written = builder.store(arguments[2], builder.inttoptr(place, kind.as_pointer()))
            written.align = 1
            return context.get_dummy_value()

        return signature, generate

    return intrinsic(store)


load_u8 = _loader(types.uint8)
load_u16 = _loader(types.uint16)
load_u32 = _loader(types.uint32)
load_u64 = _loader(types.uint64)
store_u8 = _storer(types.uint8)
store_u16 = _storer(types.uint16)
store_u32 = _storer(types.uint32)
store_u64 = _storer(types.uint64)
