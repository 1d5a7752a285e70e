"""Indexes that are kept: scanned once, there again after a restart, whatever the last process left."""

import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard

from pregao.codecs.pcap.writer import pcap_header
from pregao.lake.plan.scan import ScanSettings
from pregao.lake.plan.stored import look
from pregao.lake.runners import InlineRunner
from pregao.lake.streaming.indexes import IndexCache
from tests.kits.lakes import make_days


class CountingRunner(InlineRunner):
    def __init__(self) -> None:
        self.items: list[str] = []

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        self.items += items
        return super().run(task, items, progress)


@pytest.fixture
def captures(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{name}.pcap" for name in "abc"]
    for path in paths:
        path.write_bytes(pcap_header())
    return [str(path) for path in paths]


def opened(folder: Path, runner: CountingRunner, pieces: int = 16) -> IndexCache:
    return IndexCache(folder / "checkpoint", runner, ScanSettings(piece_packets=pieces))


def test_each_is_scanned_once(tmp_path: Path, captures: list[str]) -> None:
    runner = CountingRunner()
    cache = opened(tmp_path, runner)
    assert cache.add(map(look, captures[:2])) == []
    cache.add(map(look, captures))
    again = opened(tmp_path, runner)
    again.add(map(look, captures))
    assert runner.items == captures
    assert [index.path for index in again.all()] == captures


def test_one_that_has_changed_is_scanned_again(tmp_path: Path, captures: list[str]) -> None:
    runner = CountingRunner()
    cache = opened(tmp_path, runner)
    cache.add(map(look, captures))
    before = {index.path: index.content for index in cache.all()}
    Path(captures[1]).write_bytes(pcap_header() + bytes(3))
    cache.add(map(look, captures))
    assert runner.items == [*captures, captures[1]]
    assert [index.path for index in cache.all() if index.content != before[index.path]] == [captures[1]]


def test_what_cannot_be_read_is_said(tmp_path: Path, captures: list[str]) -> None:
    Path(captures[0]).write_bytes(b"this is not a capture")
    cache = opened(tmp_path, CountingRunner())
    (left_out,) = cache.add(map(look, captures))
    assert left_out.path == captures[0]
    assert captures[0] in left_out.reason
    assert cache.paths == set(captures[1:])


def test_a_record_that_was_cut_is_forgotten_and_the_log_goes_on(tmp_path: Path, captures: list[str]) -> None:
    cache = opened(tmp_path, CountingRunner())
    cache.add(map(look, captures[:1]))
    cache.add(map(look, captures[1:2]))
    (log,) = (tmp_path / "checkpoint").iterdir()
    log.write_bytes(log.read_bytes()[:-5])
    runner = CountingRunner()
    opened(tmp_path, runner).add(map(look, captures))
    assert runner.items == captures[1:]
    assert opened(tmp_path, runner).paths == set(captures)


def test_another_way_to_scan_is_another_index(tmp_path: Path, captures: list[str]) -> None:
    opened(tmp_path, CountingRunner(), pieces=16).add(map(look, captures))
    assert opened(tmp_path, CountingRunner(), pieces=32).paths == set()


def test_the_log_does_not_grow_for_ever(tmp_path: Path, captures: list[str]) -> None:
    runner = CountingRunner()
    cache = opened(tmp_path, runner)
    (log,) = [tmp_path / "checkpoint" / "indexes.arrows"]
    for number in range(80):
        Path(captures[0]).write_bytes(pcap_header() + bytes(number % 3))
        cache.add(map(look, captures[:1]))
        cache.forget(captures[:1] if number % 2 else [])
    assert opened(tmp_path, runner).paths <= {captures[0]}
    assert log.stat().st_size < 500_000  # at most some eighty records of a few kilobytes


class Trap:
    """A pickle that tells when it is loaded."""

    def __init__(self, told: Path) -> None:
        self.told = told

    def __reduce__(self) -> Any:
        return Path.touch, (self.told,)


def test_pickles_of_before_are_not_loaded_and_captures_scanned_again(
    tmp_path: Path, captures: list[str]
) -> None:
    trap = zstandard.compress(pickle.dumps(Trap(tmp_path / "sprung")))
    record = len(trap).to_bytes(8, "little") + trap
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "indexes.log").write_bytes(record)
    (folder / "indexes.arrows").write_bytes(record)  # and not where ours are, either
    runner = CountingRunner()
    cache = opened(tmp_path, runner)
    cache.add(map(look, captures))
    assert runner.items == captures
    assert [path.name for path in folder.iterdir()] == ["indexes.arrows"]
    assert not (tmp_path / "sprung").exists()
    assert opened(tmp_path, runner).paths == set(captures)


@pytest.mark.parametrize("seed", range(20))
def test_damage_anywhere_costs_a_scan_and_nothing_else(
    tmp_path: Path, captures: list[str], seed: int
) -> None:
    opened(tmp_path, CountingRunner()).add(map(look, captures))
    (log,) = (tmp_path / "checkpoint").iterdir()
    content, random = bytearray(log.read_bytes()), Random(f"indexes/{seed}")
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    log.write_bytes(content)
    runner = CountingRunner()
    again = opened(tmp_path, runner)
    again.add(map(look, captures))
    assert 1 <= len(runner.items) <= 3
    assert [index.path for index in again.all()] == captures


def test_what_captures_repeat_of_instruments_is_in_memory_once(tmp_path: Path) -> None:
    """Also after a restart, and when captures of days that are over are forgotten."""
    (day,) = make_days(tmp_path / "days", messages=300)
    (capture,) = day.glob("084_InstrumentDefinition.pcap")
    copies = [tmp_path / f"{number}.pcap" for number in range(3)]
    for copy in copies:
        copy.write_bytes(capture.read_bytes())
    cache, paths = opened(tmp_path, CountingRunner()), [str(copy) for copy in copies]
    cache.add(map(look, paths[:2]))
    cache.add(map(look, paths[2:]))
    for each in (cache, opened(tmp_path, CountingRunner())):
        told = [definition.instrument for index in each.all() for definition in index.streams[0].definitions]
        assert len(told) >= 3 * len(set(told)) > 0
        assert len({id(instrument) for instrument in told}) == len(set(told))
    cache.forget(paths[:1])
    assert [index.path for index in cache.all()] == paths[1:]
