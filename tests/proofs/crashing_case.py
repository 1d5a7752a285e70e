"""A case for the test of `cases`: in a module of its own, which another process can import."""

import os

CRASHES, RAISES = 2, 3


def squared(seed: int) -> int:
    if seed == CRASHES:
        os.abort()
    if seed == RAISES:
        raise ValueError("three")
    return seed * seed
