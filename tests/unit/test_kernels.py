"""Memory by addresses: what a kernel stores is there, however its address was put together."""

from typing import Any

import numpy as np
import pytest

from pregao.books import layout as t
from pregao.books.kernels.arena import take_block
from pregao.books.memory import BookMemory
from pregao.kernels import inlined, kernel, load_u8, load_u32, store_8, store_32


@inlined
def grow(context, side, place, size_class, free, block):
    """Loads from a place, and stores there what another kernel gives."""
    at, old_class = load_u32(side, place), load_u8(side, size_class)
    new_class = old_class + 1 if at != 0 else 0
    lines = take_block(context, free + new_class * 8, block << new_class)
    store_32(side, place, lines)
    store_8(side, size_class, new_class)
    return lines


@kernel
def grow_at_0(context, side):
    return grow(context, side, t.SIDE_ORDERS_AT, t.SIDE_ORDERS_CLASS, t.FREE_ORDERS, t.ORDERS_BLOCK)


@kernel
def grow_at_4(context, side):
    return grow(context, side, t.SIDE_ORDERS, t.SIDE_ORDERS_CLASS, t.FREE_ORDERS, t.ORDERS_BLOCK)


@pytest.mark.parametrize(("function", "word"), [(grow_at_0, 0), (grow_at_4, 1)])
def test_what_is_stored_at_an_offset_of_0_is_there(function: Any, word: int) -> None:
    """LLVM may take the offset for the pointer and the address for what is added to it. Nothing lies at 0, so
    that a store there is none."""
    memory, side = BookMemory(1_000), np.zeros(8, np.uint32)
    first = function(memory.context, side.ctypes.data)
    assert (first, side[word], side.view(np.uint8)[16]) == (1, 1, 0)
    second = function(memory.context, side.ctypes.data)
    assert (second, side[word], side.view(np.uint8)[16]) == (1 + t.ORDERS_BLOCK // t.LINE, second, 1)
