"""The plan's kernels and their plain twins are equal."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan import kernels
from tests.twins.lake import plain_scan as plain


class Laid:
    """Payloads one behind the other, as kernels take them."""

    def __init__(self, payloads: Sequence[bytes]) -> None:
        self.raw = np.frombuffer(b"".join(payloads) or b"\0", np.uint8)
        self.lengths = np.array([len(each) for each in payloads], np.int64)
        self.offsets = np.cumsum(self.lengths) - self.lengths
        self.addresses = self.offsets + self.raw.ctypes.data

    def __len__(self) -> int:
        return len(self.lengths)


def _hash(content: bytes, seed: int) -> Any:
    array = np.frombuffer(content or b"\0", np.uint8)
    return kernels.content_hash(array.ctypes.data, len(content), seed)


@given(st.binary(max_size=200), st.integers(0, 1 << 62))
def test_hashes_are_equal(content: bytes, seed: int) -> None:
    assert _hash(content, seed) == plain.content_hash(content, seed)


@given(st.binary(max_size=400), st.integers(1, 4), st.integers(0, 1 << 62))
def test_hashes_piece_by_piece_are_equal(content: bytes, stripes: int, seed: int) -> None:
    array = np.frombuffer(content + b"\0", np.uint8)
    base, state = array.ctypes.data, np.zeros(4, np.int64)
    whole = len(content) // kernels.STRIPE * kernels.STRIPE
    kernels.begin_hash(state.ctypes.data, len(content), seed)
    for start in range(0, whole, stripes * kernels.STRIPE):
        size = min(stripes * kernels.STRIPE, whole - start)
        kernels.hash_stripes(state.ctypes.data, base + start, size)
    found = kernels.end_hash(state.ctypes.data, base + whole, len(content) - whole)
    assert found == plain.content_hash(content, seed)


@given(st.binary(min_size=1, max_size=200), st.integers(0, 1 << 30))
def test_a_changed_bit_changes_the_hash(content: bytes, bit: int) -> None:
    changed = bytearray(content)
    bit %= 8 * len(content)
    changed[bit // 8] ^= 1 << bit % 8
    assert _hash(bytes(changed), 1) != _hash(content, 1)


@given(st.lists(st.binary(max_size=90), max_size=12))
def test_hashes_of_many_messages(payloads: list[bytes]) -> None:
    laid = Laid(payloads)
    out = np.zeros(len(laid), np.int64)
    kernels.hash_messages(laid.addresses.ctypes.data, laid.lengths.ctypes.data, len(laid), out.ctypes.data)
    assert out.tolist() == [plain.content_hash(each, 7) for each in payloads]
