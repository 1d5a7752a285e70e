"""An index goes to Arrow and comes back the same; whatever else is not read."""

import pickle
from dataclasses import fields, is_dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.index_arrow import StoredIndexError, from_bytes, to_bytes
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.simulator.sample import write_sample
from tests.twins.captures import mixed_pcapng


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> list[FileIndex]:
    folder = tmp_path_factory.mktemp("sample")
    paths = [*write_sample(folder, messages=2_000), folder / "odd.pcapng"]
    rng = Random("index")
    payloads = [rng.randbytes(40) for _ in range(50)]
    paths[-1].write_bytes(mixed_pcapng(payloads, rng))
    return [scan_capture(str(path), ScanSettings(piece_packets=64)) for path in paths]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if is_dataclass(one) and not isinstance(one, type):
        return type(one) is type(other) and all(
            same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)
        )
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


def test_it_comes_back_the_same(indexes: list[FileIndex]) -> None:
    again = from_bytes(to_bytes(indexes))
    assert len(again) == len(indexes)
    for one, other in zip(indexes, again, strict=True):
        assert same(one, other), one.path
    streams = [stream for index in indexes for stream in index.streams]
    for name in ("runs", "marks", "snapshots", "loops", "definitions", "news", "pieces"):
        assert any(len(getattr(stream, name)) for stream in streams), name  # each was there to be compared
    assert any(index.layout.odd for index in indexes)
    assert any(index.layout.damage for index in indexes)


def test_nothing_and_one_without_streams(indexes: list[FileIndex], tmp_path: Path) -> None:
    assert from_bytes(to_bytes([])) == []
    (again,) = from_bytes(to_bytes(indexes[-1:]))
    assert same(again, indexes[-1])


def test_whatever_is_no_index_of_this_format_is_refused(indexes: list[FileIndex]) -> None:
    good = to_bytes(indexes[:1])
    rng = Random("damage")
    for number in range(200):
        bad = bytearray(good)
        if number % 2:
            del bad[rng.randrange(len(bad)) :]
        else:
            for _ in range(4):
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        try:
            found = from_bytes(bytes(bad))
        except StoredIndexError:
            continue
        assert len(found) == 1  # a value may be another: the log keeps a digest beside it


class Trap:
    sprung: list[int] = []  # noqa: RUF012

    def __reduce__(self) -> Any:
        return Trap.sprung.append, (1,)


def test_a_pickle_is_never_loaded() -> None:
    with pytest.raises(StoredIndexError):
        from_bytes(pickle.dumps(Trap()))
    assert Trap.sprung == []
