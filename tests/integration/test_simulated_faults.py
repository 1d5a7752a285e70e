"""`--faults` from end to end: what is missing, late or repeated in the files is what the list says."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from pregao.captures.decode import CaptureDecoder, DecodedPacket, load_schema
from pregao.captures.streams import stream_of_file_name
from pregao.model.streams import Feed, Stream
from pregao.simulator import Settings, simulate
from pregao.simulator.captures import CONTINGENCY_FILES, STREAM_FILES

FOLDER = "2026-11-16"
SPEC = (
    "loss=1%@A+B+I+S+C+CI+CS,dup=1%@A+B+I+S+C,delay=0.5%:2ms@A+B+I+S,reorder=5:20@A+B+S,reorder=2@I,"
    "both=3x4,both=0.2%,gap=2x6@A+S,cut=B@11:00+10s,cut=I+S@12:00+15s,silence=?+10s,skew=B:+250us,"
    "skew=S:-1ms,gone=CS"
)
RESETS = "reset=channel@12:00,burst=200@?"
CHANNELS = (68, 72, 78, 84)

Point = tuple[int, int, int]  # sequenceVersion, sequenceNumber, sendingTime


class Seen(NamedTuple):
    point: Point
    ts_ns: int


def settings(out: Path, faults: str, **more: Any) -> Settings:
    """A day of sixteen minutes: its faults need no ten hours."""
    options: dict[str, Any] = {"messages": 4_000, "instruments": 16, "squeeze": 40, "loops": 97}
    options["truth"] = False
    return Settings(out, faults=faults, **(options | more))


def packets(path: Path) -> list[Seen]:
    found = []
    for packet in CaptureDecoder(load_schema()).packets(str(path)):
        assert isinstance(packet, DecodedPacket)
        header = packet.header
        point = header.sequence_version, header.sequence_number, header.sending_time_ns
        found.append(Seen(point, packet.ts_ns))
    return found


def deeds(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / "faults.parquet").to_pylist()
    return rows


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    clean, faulty = (tmp_path_factory.mktemp(name) for name in ("clean", "faulty"))
    simulate(settings(clean, RESETS, contingency=True))
    simulate(settings(faulty, f"{RESETS},{SPEC}", contingency=True))
    return clean, faulty


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("key", [*STREAM_FILES, *CONTINGENCY_FILES], ids=str)
def test_a_file_differs_by_what_is_listed(
    days: tuple[Path, Path], channel: int, key: tuple[Stream, Feed]
) -> None:
    name = f"{channel:03}_{(STREAM_FILES | CONTINGENCY_FILES)[key]}.pcap"
    clean, faulty = (packets(out / FOLDER / name) for out in days)
    where = (channel, key[1].name, key[0].name.lower())
    done = [each for each in deeds(days[1]) if (each["channel"], each["feed"], each["stream"]) == where]
    done = [each for each in done if each["kind"] not in ("reset", "burst")]
    expected = Counter(seen.point for seen in clean)
    touched = set()
    for each in done:
        if each["kind"] != "skew":
            point = each["seq_version"], each["seq_num"], each["sending_ns"]
            assert point in expected
            touched.add(point)
            expected[point] += {"dup": 1, "delay": 0, "reorder": 0}.get(each["kind"], -1)
    assert +expected == Counter(seen.point for seen in faulty)
    assert all(one.ts_ns <= other.ts_ns for one, other in pairwise(faulty))
    skew = sum(each["amount"] for each in done if each["kind"] == "skew")
    before = {seen.point: seen.ts_ns for seen in clean}
    late = [seen for seen in faulty if seen.ts_ns - before[seen.point] != skew]
    assert {seen.point for seen in late} <= touched


def test_every_kind_of_fault_was_done_on_every_feed(days: tuple[Path, Path]) -> None:
    kinds: dict[tuple[str, str], set[str]] = {}
    for each in deeds(days[1]):
        kinds.setdefault((each["feed"], each["stream"]), set()).add(each["kind"])
    common = {"loss", "dup", "delay", "silence", "reorder"}
    incremental = common | {"both", "gap", "reset", "burst"}
    assert kinds["A", "incremental"] == incremental
    assert kinds["B", "incremental"] == common | {"both", "cut", "skew"}
    assert kinds["A", "definition"] == common | {"cut"}
    assert kinds["A", "snapshot"] == common | {"cut", "skew", "gap"}
    assert kinds["C", "incremental"] == {"loss", "dup"}
    assert kinds["C", "definition"] == {"loss"}
    assert kinds["C", "snapshot"] == {"gone"}


def test_some_packets_no_feed_has(days: tuple[Path, Path]) -> None:
    lost = {feed: set[Point]() for feed in "AB"}
    for each in deeds(days[1]):
        if each["kind"] == "both" and each["channel"] == 84:
            lost[each["feed"]].add((each["seq_version"], each["seq_num"], each["sending_ns"]))
    assert lost["A"] == lost["B"]
    assert len(lost["A"]) >= 12


def test_resets_name_their_first_packet(days: tuple[Path, Path]) -> None:
    for each in deeds(days[0]):
        if each["kind"] == "reset":
            path = days[0] / FOLDER / f"{each['channel']:03}_Incremental_FeedA.pcap"
            found = [
                packet.packet.messages[0].message.name
                for packet in CaptureDecoder(load_schema()).packets(str(path))
                if isinstance(packet, DecodedPacket)
                and (packet.header.sequence_version, packet.header.sequence_number)
                == (each["seq_version"], each["seq_num"])
            ]
            assert found == ["ChannelReset_11"]


def test_contingency_files_have_names_of_their_own(days: tuple[Path, Path]) -> None:
    names = {path.name for path in (days[0] / FOLDER).glob("*.pcap")}
    kinds = {**STREAM_FILES, **CONTINGENCY_FILES}
    assert names == {f"{channel:03}_{name}.pcap" for channel in CHANNELS for name in kinds.values()}
    for (stream, feed), name in kinds.items():
        assert stream_of_file_name(f"084_{name}.pcap") == (84, stream, feed)


def test_the_same_faults_by_the_same_seed(tmp_path: Path) -> None:
    for name, seed in (("one", 5), ("two", 5), ("three", 6)):
        simulate(settings(tmp_path / name, "loss=2%,both=2,cut=B@?+9s", seed=seed))
    one, two, three = (deeds(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert one != three
