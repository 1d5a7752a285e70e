"""Files of messages with technical headers, without datagrams, and chunks of one number in two loops."""

import gzip
import json
from pathlib import Path

import pytest

from pregao.captures.decode import Finding, decode_capture
from pregao.cli.main import main
from pregao.feeds.fast.chunks import write_chunks
from pregao.feeds.fast.decoding import FastDecoder
from tests.kits.fast_market import MS, FastToy, datagrams


def framed(count: int = 12) -> list[bytes]:
    """Messages of a market, some of them in chunks."""
    toy, found = FastToy(3), []
    for number in range(1, count + 1):
        toy.now_ns += MS
        found += datagrams(number, toy.step(), size=60 if number % 3 == 0 else 1_410)
    return found


def test_every_message_is_there_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "184_Incremental_FeedA.fast"
    path.write_bytes(b"".join(framed()))
    assert main(["decode", "--system", "fast", "--format", "json", str(path)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["seq_num"] for line in lines] == list(range(1, 13))
    assert {line["channel"] for line in lines} == {184}
    assert {line["seq_version"] for line in lines} == {None}


def test_packed_files_too(tmp_path: Path) -> None:
    path = tmp_path / "messages.gz"
    path.write_bytes(gzip.compress(b"".join(framed())))
    found = list(decode_capture(str(path), system="fast"))
    assert [each.header.sequence_number for each in found if not isinstance(each, Finding)] == [*range(1, 13)]


@pytest.mark.parametrize("damage", ["cut", "no header"])
def test_what_is_no_frame_is_told_by_its_byte(tmp_path: Path, damage: str) -> None:
    frames = framed()
    good = b"".join(frames[:-1])
    rest = frames[-1][:-3] if damage == "cut" else b"\xff" * 40
    path = tmp_path / "messages.bin"
    path.write_bytes(good + rest)
    *_, last = decode_capture(str(path), system="fast")
    assert isinstance(last, Finding)
    assert (last.name, last.offset, last.left) == ("frame-truncated", len(good), len(rest))


def test_what_is_neither_is_no_capture(tmp_path: Path) -> None:
    path = tmp_path / "noise.bin"
    path.write_bytes(b"\xff" * 400)
    (found,) = decode_capture(str(path), system="fast")
    assert isinstance(found, Finding)
    assert found.name == "not-a-capture"


def test_chunks_of_two_loops_are_of_two_messages() -> None:
    """The second chunk is lost in one loop, and the first in the next: nothing can be put together."""
    toy, decoder = FastToy(3), FastDecoder()
    for _ in range(40):
        toy.now_ns += MS
        toy.step()
    halves = []
    for _ in range(2):
        toy.now_ns += 1_000 * MS
        loop = toy.snapshots()
        halves.append(write_chunks(1, loop[0], size=-(-len(loop[0]) // 2)))
        reset = datagrams(len(loop), loop[-1])[0]
    first, second = halves
    assert not decoder.decode(first[0], "flow")
    assert len(decoder.decode(reset, "flow")) == 1
    assert not decoder.decode(second[1], "flow")
    assert len(decoder.decode(second[0], "flow")) == 1
