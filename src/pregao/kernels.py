"""What all kernels share: how they are compiled, loads and stores by address, and the block of numbers and
addresses in which a kernel finds everything. `kernel_cache` says where machine code is kept.

Kernels live in files named `kernels.py` or in packages named `kernels`, are table-driven (code made with
`exec` has no disk cache), and take addresses and numbers, never arrays: numba counts references on every use
of an array inside a tuple (decoding took 345 ns a message so, 63 without), and compiles once more for each
kind of array. With addresses there is one signature, one compilation, one file on disk. Whoever calls a
kernel holds the arrays and makes sure of their sizes.

Compiling all of them takes about a minute, once for each machine and state of the sources. Who has set
`SAY_COMPILING` to the number of its process gets a line on stderr when that begins.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core import event as numba_events
from numba.core.caching import UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from pregao.kernel_cache import SAY_COMPILING, folder_of

# Kernels have no annotations: numba finds the types of their arguments.
Kernel = Callable[..., Any]

COMPILING = "compiling kernels for this machine: once, up to a minute"
_COMPILES = "numba:compile"  # an event that numba tells when there is no machine code on disk


class _FirstCompilation(numba_events.Listener):
    """Says so, once."""

    def on_start(self, event: Any) -> None:
        numba_events.unregister(_COMPILES, self)
        sys.stderr.write(f"pregao: {COMPILING} …\n")
        sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        """Only the beginning is told."""


if os.environ.get(SAY_COMPILING) == str(os.getpid()):
    numba_events.register(_COMPILES, _FirstCompilation())


def kernel(function: Kernel) -> Kernel:
    """Compile without the interpreter, release the lock, keep the machine code on disk."""
    with _own_folder(function):
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)(function)
    return cast(Kernel, compiled)


def inlined(function: Kernel) -> Kernel:
    """A helper of the hot path, always folded into its callers: a call costs as much as the work."""
    with _own_folder(function):
        compiled = numba.njit(
            cache=True, nogil=True, error_model="numpy", boundscheck=False, forceinline=True
        )(function)
    return cast(Kernel, compiled)


def hooked(function: Kernel) -> Kernel:
    """A helper as above that is given others of them as arguments, and is compiled anew for each set of them:
    one loop, in which several kernels do what is theirs. Its machine code is kept with theirs."""
    compiled = numba.njit(nogil=True, error_model="numpy", boundscheck=False, forceinline=True)(function)
    return cast(Kernel, compiled)


@contextmanager
def _own_folder(function: Kernel) -> Iterator[None]:
    """numba chooses the place of machine code when a kernel is defined. Only of ours: what others compile in
    this process goes where they want it."""
    config = cast(Any, numba.config)
    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    if "NUMBA_CACHE_DIR" not in os.environ:
        config.CACHE_DIR = str(folder_of(Path(function.__code__.co_filename)))
    if not config.CACHE_LOCATOR_CLASSES:  # an archive of `pack` has machine code beside the sources
        config.CACHE_LOCATOR_CLASSES = f"{__name__}.{SameSources.__name__}"
    try:
        yield
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before


class SameSources(UserProvidedCacheLocator):
    """The folder alone says what the machine code is of: two checkouts or environments with the same kernels
    share it, where numba would keep it apart by the path of the source."""

    @classmethod
    def get_suitable_cache_subpath(cls, _source: str) -> str:
        return ""


def is_kernel(value: object) -> bool:
    return isinstance(value, Dispatcher)


def make_ready(kernels: Iterable[Kernel]) -> None:
    """Have the machine code of kernels ready before it is needed: loaded from disk, or else compiled. A first
    call takes milliseconds even where the code is on disk. Of kernels that take numbers only."""
    for each in kernels:
        dispatcher = cast(Any, each)
        dispatcher.compile((types.int64,) * dispatcher.py_func.__code__.co_argcount)


def _pointer(builder: Any, arguments: Any, kind: Any) -> Any:
    """An offset from an address. Added up as numbers LLVM may take the offset for the pointer, and what is
    stored at 0 for never stored: nothing lies there."""
    byte = ir.IntType(8)
    base = builder.inttoptr(arguments[0], byte.as_pointer())
    place = builder.gep(base, [arguments[1]], source_etype=byte)
    return builder.bitcast(place, kind.as_pointer())


def _loader(wire: Any, result: Any) -> Any:
    """An unaligned load from an address plus an offset, widened: one or two machine instructions."""

    def load(typing_context: Any, address: Any, offset: Any) -> Any:
        signature = result(types.int64, types.int64)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(wire)
            value = builder.load(_pointer(builder, arguments, kind))
            value.align = 1
            return context.cast(builder, value, wire, result)

        return signature, generate

    return intrinsic(load)


def _storer(wire: Any, given: Any) -> Any:
    """An unaligned store to an address plus an offset; what does not fit is cut off."""

    def store(typing_context: Any, address: Any, offset: Any, value: Any) -> Any:
        signature = types.void(types.int64, types.int64, given)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = context.cast(builder, arguments[2], given, wire)
            kind = context.get_value_type(wire)
            written = builder.store(value, _pointer(builder, arguments, kind))
            written.align = 1
            return context.get_dummy_value()

        return signature, generate

    return intrinsic(store)


# All numbers in kernels are int64, so that none is ever turned to a float by accident.
load_u8 = _loader(types.uint8, types.int64)
load_u16 = _loader(types.uint16, types.int64)
load_u32 = _loader(types.uint32, types.int64)
load_i32 = _loader(types.int32, types.int64)
load_i64 = _loader(types.int64, types.int64)
store_8 = _storer(types.uint8, types.int64)
store_16 = _storer(types.uint16, types.int64)
store_32 = _storer(types.uint32, types.int64)
store_64 = _storer(types.int64, types.int64)


def _prefetch(typing_context: Any, address: Any) -> Any:
    """Have the cache line of an address brought near, to be written; an address of nothing does no harm."""
    signature = types.void(types.int64)

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        write, keep, data = word(1), word(3), word(1)
        builder.call(function, [builder.inttoptr(arguments[0], pointer), write, keep, data])
        return context.get_dummy_value()

    return signature, generate


prefetch: Any = intrinsic(_prefetch)


Array = np.ndarray[Any, np.dtype[Any]]


class Context:
    """A block of int64s for the kernels: each field a number, or the address of an array that is
    kept alive here."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        self._places = {name: place for place, name in enumerate(fields)}
        self._values = np.zeros(len(fields), np.int64)
        self._arrays: dict[str, Array] = {}
        self.address: int = self._values.ctypes.data  # asked once: it takes as long as handling a packet

    def set(self, **values: int | Array) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                self._arrays[name] = value
                value = value.ctypes.data
            self._values[self._places[name]] = value

    def __getitem__(self, name: str) -> int:
        return int(self._values[self._places[name]])
