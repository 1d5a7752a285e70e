"""A capture scanned in ranges has, byte for byte, the index of one that was scanned whole."""

import pickle
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from pregao.codecs.pcap.writer import pcap_header, pcap_record
from pregao.lake.plan.contents import CaptureForm, Content
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.index_arrow import to_bytes
from pregao.lake.plan.ranges import FileRange, WholeHash, find_record, ranges_of
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.scanning import Scanning
from pregao.lake.plan.stored import look
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from tests.kits.captures import Captured, read_capture, write_capture
from tests.kits.lakes import make_days

_DAY_NS = 86_400_000_000_000


class Tasks(InlineRunner):
    """Sends items and results as bytes, as Spark does; knows what the tasks were."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        self.items += items
        done = super().run(task, pickle.loads(pickle.dumps(items)), progress)
        return list(pickle.loads(pickle.dumps(done)))

    @property
    def ranges(self) -> int:
        return sum(isinstance(item, FileRange) for item in self.items)

    @property
    def whole(self) -> int:
        return sum(not isinstance(item, FileRange | WholeHash) for item in self.items)


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> list[Captured]:
    """All streams and feeds of a channel in one, as tcpdump writes them: loops, definitions, losses."""
    (day,) = make_days(
        tmp_path_factory.mktemp("day"), seed=3, messages=2_500, loops=20, faults="loss=1%,both=2,delay=1%:5ms"
    )
    files = sorted(day.glob("072_*.pcap"))
    assert len(files) == 4
    return sorted((each for file in files for each in read_capture(file)), key=lambda each: each.ts_ns)


def in_ranges(path: Path, lake: Path, range_bytes: int, **settings: Any) -> tuple[Tasks, FileIndex]:
    tasks, chosen = Tasks(), ScanSettings(range_bytes=range_bytes, **settings)
    (index,) = Scanning(Location(lake), tasks, chosen).indexes([str(path)], lambda *_: None)
    return tasks, index


def check(path: Path, folder: Path, range_bytes: int, **settings: Any) -> Tasks:
    """Equal to the scan by one task, also as it is stored."""
    whole = scan_capture(str(path), ScanSettings(range_bytes=range_bytes, **settings))
    tasks, index = in_ranges(path, folder / f"lake-{range_bytes}", range_bytes, **settings)
    assert to_bytes([index]) == to_bytes([whole])
    again, stored = in_ranges(path, folder / f"lake-{range_bytes}", range_bytes, **settings)
    assert again.items == []
    assert to_bytes([stored]) == to_bytes([whole])
    return tasks


@pytest.mark.parametrize("range_bytes", [3_000, 40_000, 300_000])
def test_the_index_is_that_of_one_scanned_whole(
    packets: list[Captured], range_bytes: int, tmp_path: Path
) -> None:
    path = write_capture(tmp_path / "everything.pcap", packets)
    count = -(-path.stat().st_size // range_bytes)
    assert count > 1
    tasks = check(path, tmp_path, range_bytes, piece_packets=32)
    assert tasks.whole == 0
    # Once more where a flow turned out to be something else than its first packets of a range show.
    assert tasks.ranges in (count, 2 * count)


def test_what_an_index_has_is_in_it(packets: list[Captured], tmp_path: Path) -> None:
    """Else equal indexes would say little."""
    path = write_capture(tmp_path / "everything.pcap", packets)
    _, index = in_ranges(path, tmp_path / "lake", 40_000, piece_packets=32)
    names = {stream.stream.name: stream for stream in index.streams}
    assert len(index.streams) == 4
    assert len(names["SNAPSHOT"].loops) > 10
    assert len(names["SNAPSHOT"].versions) > 10
    assert names["DEFINITION"].definitions
    assert len(names["INCREMENTAL"].marks)
    assert len(names["INCREMENTAL"].runs) > 2
    assert index.content == scan_capture(str(path)).content, "and its hash is that of every scan before"


def test_small_files_and_others_than_plain_pcap_are_scanned_whole(
    packets: list[Captured], tmp_path: Path
) -> None:
    path = write_capture(tmp_path / "one.pcap", packets[:50])
    stored = look(str(path))
    assert ranges_of(stored, ScanSettings()) == 1
    assert ranges_of(stored, ScanSettings(range_bytes=1000)) == -(-stored.size // 1000)
    letter = tmp_path / "letter.pcap"
    letter.write_bytes(b"Dear Sir or Madam, " * 100)
    assert ranges_of(look(str(letter)), ScanSettings(range_bytes=100)) == 1
    assert ranges_of(look(str(path))._replace(path=str(tmp_path / "gone")), ScanSettings(range_bytes=9)) == 1


def test_two_days_a_night_and_a_reset_between_them(packets: list[Captured], tmp_path: Path) -> None:
    """A pause at any place, sequenceVersions that go on, and definitions that are told again."""
    later = [each._replace(ts_ns=each.ts_ns + _DAY_NS) for each in packets]
    path = write_capture(tmp_path / "two.pcap", [*packets, *later])
    for range_bytes in (20_000, 55_555):
        check(path, tmp_path, range_bytes, piece_packets=64)


def test_a_file_that_is_cut_at_its_end(packets: list[Captured], tmp_path: Path) -> None:
    """As a recorder that was killed leaves it: the last range says so."""
    path = write_capture(tmp_path / "cut.pcap", packets)
    path.write_bytes(path.read_bytes()[:-7])
    tasks = check(path, tmp_path, 40_000)
    assert tasks.whole == 0


def test_one_that_is_damaged_inside_is_scanned_whole(packets: list[Captured], tmp_path: Path) -> None:
    path = write_capture(tmp_path / "damaged.pcap", packets)
    content = bytearray(path.read_bytes())
    at = len(content) // 2
    content[at : at + 4000] = Random(1).randbytes(4000)
    path.write_bytes(content)
    tasks = check(path, tmp_path, 40_000)
    assert tasks.whole == 1


def test_fragments_of_a_datagram_may_be_in_two_ranges(packets: list[Captured], tmp_path: Path) -> None:
    frames = [each.frame for each in packets[:400]]
    cut = frames[200]
    first, second = bytearray(cut[:34]), bytearray(cut[:34])
    first[20:22], second[20:22] = b"\x20\x00", b"\x00\x01"
    data = [bytes(first) + cut[34:42], bytes(second) + cut[42:]]
    for each, frame in zip((first, second), data, strict=True):
        assert len(frame) > len(each)
    fixed = [_with_length(frame) for frame in data]
    records = [pcap_record(packets[n].ts_ns, frame) for n, frame in enumerate(frames[:200])]
    half = sum(map(len, records)) + 24
    records += [pcap_record(packets[200].ts_ns, frame) for frame in fixed]
    records += [pcap_record(packets[n].ts_ns, frames[n]) for n in range(201, 400)]
    path = tmp_path / "fragments.pcap"
    path.write_bytes(pcap_header() + b"".join(records))
    range_bytes = half + len(pcap_record(0, fixed[0]))  # the line is between both
    whole = scan_capture(str(path), ScanSettings(range_bytes=range_bytes))
    assert whole.layout.odd, "they are put together"
    assert check(path, tmp_path, range_bytes).whole == 1


def _with_length(frame: bytes) -> bytes:
    """The IPv4 header with the length of this fragment, and no checksum, which nobody looks at."""
    made = bytearray(frame)
    made[16:18] = (len(frame) - 14).to_bytes(2, "big")
    return bytes(made)


def test_records_are_found_from_anywhere(packets: list[Captured], tmp_path: Path) -> None:
    """At every byte of a stretch: the record that has it, or that begins there."""
    path = write_capture(tmp_path / "one.pcap", packets[:300])
    starts = np.cumsum([24, *(16 + len(each.frame) for each in packets[:300])])
    content = Content(look(str(path)), CaptureForm.PLAIN)
    random = Random(5)
    lines = [*random.sample(range(25, int(starts[-2])), 60), *starts[1:-2].tolist()[::20]]
    for line in lines:
        expected = int(starts[np.searchsorted(starts, line, side="right") - 1])
        assert find_record(content, line) == expected, line
    content.close()


def test_payloads_that_look_like_records_mislead_nobody(tmp_path: Path, packets: list[Captured]) -> None:
    """A capture of captures: the guess may be wrong, the index is not."""
    inner = b"".join(pcap_record(each.ts_ns, each.frame[:60]) for each in packets[:40])
    outer = [each.with_payload(each.payload[:20] + inner[:1300]) for each in packets[:400]]
    path = write_capture(tmp_path / "nested.pcap", outer)
    for range_bytes in (9_001, 30_000):
        check(path, tmp_path, range_bytes, piece_packets=32)
