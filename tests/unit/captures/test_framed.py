"""Files of messages with technical headers, without datagrams, and chunks of one number in two loops."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest

from pregao.captures.decode import Finding, Selection, decode_capture
from pregao.cli.main import main
from pregao.codecs.fast import FastMessageEncoder, load_builtin_templates
from pregao.feeds.fast.chunks import write_chunks
from pregao.feeds.fast.decoding import DECODING, FastDecoder
from pregao.feeds.fast.times import timestamp_ns
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
    # Nobody has captured them: they came when they say that they were sent (52).
    assert [line["ts_ns"] for line in lines] == [line["sending_time"] for line in lines]
    assert all(after["ts_ns"] - before["ts_ns"] == MS for before, after in pairwise(lines))


def test_messages_are_chosen_by_their_own_time(tmp_path: Path) -> None:
    path = tmp_path / "184_Incremental_FeedA.fast"
    path.write_bytes(b"".join(framed()))
    times = [each.ts_ns for each in decode_capture(str(path), system="fast") if not isinstance(each, Finding)]
    chosen = Selection(since_ns=times[3], until_ns=times[8])
    found = decode_capture(str(path), system="fast", selection=chosen)
    assert [each.ts_ns for each in found if not isinstance(each, Finding)] == times[3:8]


def test_a_template_without_sending_time_has_that_of_its_newest_entry() -> None:
    """272 and 273; what no entry tells has none."""
    entries = [
        {"MDUpdateAction": 0, "MDEntryType": "7", "SecurityID": 1, "RptSeq": number, "MDEntryDate": 20131016,
         "MDEntryTime": 130000000 + number}
        for number in (1, 3, 2)
    ]  # fmt: skip
    encode = FastMessageEncoder(load_builtin_templates()).encode
    for some, time_ns in ((entries, timestamp_ns(20131016130000003)), ([], None)):
        message = encode(145, {"MsgSeqNum": 10, "SendingTime": 0, "MDEntries": some})
        assert DECODING.frame_ns(write_chunks(10, message)[0]) == time_ns
        assert DECODING.frame_ns(write_chunks(10, message, 4)[1]) is None


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
