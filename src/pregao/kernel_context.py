"""Where a kernel finds everything: one block of numbers and addresses."""

from typing import Any

import numpy as np

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
