"""Sequence versions and numbers of a stream (6.5.5.1)."""

from typing import Final

from pregao.model.rows import place

FIRST_VERSION: Final = 1
LAST_VERSION: Final = 65_534  # then 1 again
NUMBER_BITS: Final = 32
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1

__all__ = ["distance", "is_newer", "number_of", "place", "successor", "valid_version"]


def valid_version(version: int) -> bool:
    return FIRST_VERSION <= version <= LAST_VERSION


def successor(version: int) -> int:
    return FIRST_VERSION if version >= LAST_VERSION else version + 1


def distance(version: int, since: int) -> int:
    """How many versions after `since`, by the shorter way round: negative where it is older."""
    steps = (version - since) % LAST_VERSION
    return steps if steps <= LAST_VERSION // 2 else steps - LAST_VERSION


def is_newer(version: int, than: int) -> bool:
    return distance(version, than) > 0


def number_of(at: int) -> int:
    return at & NUMBER_MASK
