"""The language of faults, and what stands between publisher and capture."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.system import BINARY
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream
from pregao.simulator.fault_language import parse_faults
from pregao.simulator.fault_plan import ROWS, AppliedFault, DayOfFaults, FaultFile, FaultList
from pregao.simulator.faults import (
    ANY_TIME,
    IN_LOOP,
    PRIMARY,
    Burst,
    CutFeed,
    FaultPlan,
    Reset,
    Runs,
    SiteFailure,
)
from pregao.simulator.impaired import ImpairedCapture
from pregao.simulator.pace import DayClock

MIDNIGHT = 1_794_798_000_000_000_000
SECOND = 1_000_000_000
CLOCK = DayClock(MIDNIGHT)


def test_language_of_the_way() -> None:
    plan = parse_faults(
        "loss=0.1%, dup=0.05%@B,delay=2%:5ms@S+CI,reorder=20,reorder=7:100@S,both=3x40,gap=2x5@I,"
        "cut=2xB@11:00+30s,silence=?+10s,gone=B,skew=B:-250us,header=B"
    )
    assert plan.loss == {"A": 0.001, "B": 0.001}
    assert plan.dup == {"B": 0.0005}
    assert plan.delay == dict.fromkeys(("S", "CI"), (0.02, 5_000_000))
    assert plan.reorder == {"A": (20, 3), "B": (20, 3), "S": (7, 100)}
    assert (plan.both, plan.gaps) == (Runs(3, 40), {"I": Runs(2, 5)})
    cut = CutFeed(("B",), 11 * 3600, 30 * SECOND)
    silence = CutFeed(PRIMARY, ANY_TIME, 10 * SECOND, "silence")
    assert plan.cuts == [cut, cut, silence, CutFeed(("B",), 0, None, "gone")]
    assert plan.skew == {"B": -250_000}
    assert plan.own_headers == {"B"}
    assert plan.touches_packets


def test_language_of_the_exchange() -> None:
    plan = parse_faults(
        "reset=channel@12:00,reset=failover@13:00:30,reset=2xbook@?,reset=stream@loop,burst=2x500@?,"
        "contingency=13:00,contingency=15:00+10m"
    )
    assert plan.resets == [
        Reset("channel", 12 * 3600), Reset("failover", 13 * 3600 + 30), Reset("book", ANY_TIME),
        Reset("book", ANY_TIME), Reset("stream", IN_LOOP),
    ]  # fmt: skip
    assert plan.bursts == [Burst(500, ANY_TIME)] * 2
    assert plan.contingency == [SiteFailure(13 * 3600, None), SiteFailure(15 * 3600, 600 * SECOND)]


def test_nothing_is_nothing() -> None:
    assert parse_faults("") == FaultPlan()
    assert not parse_faults("reset=book@10:00,burst=5@?").touches_packets
    assert parse_faults("both=1%").both_chance == 0.01
    assert parse_faults("header=B").touches_packets


@pytest.mark.parametrize(
    "spec",
    [
        "loss", "loss=1", "loss=101%", "loss=1%@D", "cut=D@11:00+3s", "cut=B@25:00+3s", "cut=B@11:00+3h",
        "reset=all@12:00", "reset=book@later", "what=1", "both=-1", "both=0", "both=3@A", "reorder=0",
        "gap=2x0", "burst=0@?", "gone=X", "header=D", "silence=11:00", "contingency=yes",
        "reset=9999999xbook@?",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(spec: str) -> None:
    with pytest.raises(ConfigurationError, match=spec.split("=")[0]):
        parse_faults(spec)


class Kept:
    """A capture that keeps what it is given; packets take no time."""

    def __init__(self) -> None:
        self.packets: list[tuple[int, int]] = []  # time and number
        self._last_ns = 0

    def arrival(self, sending_ns: int) -> int:
        self._last_ns = max(self._last_ns + 1, sending_ns)
        return self._last_ns

    def record(self, payload: bytes, ts_ns: int) -> None:
        self.packets.append((ts_ns, PacketHeader.decode(payload).sequence_number))

    def send(self, payload: bytes, sending_ns: int) -> None:
        self.record(payload, self.arrival(sending_ns))

    @property
    def numbers(self) -> list[int]:
        return [number for _, number in self.packets]


def run(
    spec: str,
    feed: Feed = Feed.B,
    count: int = 2000,
    *,
    every: int = 10,
) -> tuple[list[AppliedFault], Kept]:
    """Packets of half an hour from 11:00, one in `every` a heartbeat."""
    log, kept = FaultList(), Kept()
    day = DayOfFaults(parse_faults(spec), CLOCK, 1, 84)
    impaired = ImpairedCapture(kept, BINARY, 84, Stream.INCREMENTAL, feed, day, "2026-11-16", log)
    for n in range(1, count + 1):
        now_ns = MIDNIGHT + 10 * 3600 * SECOND + n * 7 * 3600 * SECOND // count
        number = n if n % every else 0
        impaired.send(PacketHeader(84, 1, number, now_ns).encode() + b"data", now_ns)
    impaired.finish()
    return log.done, kept


def test_counts_agree_with_the_log() -> None:
    done, kept = run("loss=2%,dup=3%,delay=1%:300ms,reorder=4,cut=B@11:01+5m")
    kinds = Counter(each.kind for each in done)
    assert kinds["cut"] > 10
    assert kinds["reorder"] == 4
    assert all(kinds[kind] > 0 for kind in ("loss", "dup", "delay"))
    assert len(kept.packets) == 2000 - kinds["cut"] - kinds["loss"] + kinds["dup"]


def test_runs_are_of_numbered_packets_in_a_row() -> None:
    done, kept = run("gap=3x25@B")
    lost = [each.seq_num for each in done]
    assert len(lost) == 75
    assert 0 not in lost
    assert set(lost).isdisjoint(kept.numbers)
    numbered = [n for n in range(1, 2001) if n % 10]
    for start in range(0, 75, 25):
        place = numbered.index(lost[start] or 0)
        assert numbered[place : place + 25] == lost[start : start + 25]


@pytest.mark.parametrize("spec", ["both=4x10,loss=1%", "both=2%,loss=5%"])
def test_both_feeds_lose_the_same(spec: str) -> None:
    lost = [{each.seq_num for each in run(spec, feed)[0] if each.kind == "both"} for feed in (Feed.A, Feed.B)]
    assert lost[0] == lost[1]
    assert len(lost[0]) >= 20
    assert not [each for each in run(spec, Feed.C)[0] if each.kind == "both"]


def test_reorder_goes_so_many_places_back() -> None:
    done, kept = run("reorder=30:100")
    places = [each.amount or 0 for each in done]
    assert max(places) > 60
    assert sorted(kept.numbers) == sorted(n if n % 10 else 0 for n in range(1, 2001))
    late = {each.seq_num for each in done}
    for each in done:
        at = kept.numbers.index(each.seq_num or 0)
        passed = [n for n in kept.numbers[:at] if n > (each.seq_num or 0) and n not in late]
        assert 0 < len(passed) <= 100


def test_silence_takes_heartbeats_too() -> None:
    done, kept = run("silence=11:00+30m,gone=A")
    assert {each.kind for each in done} == {"silence"}
    assert 0 in [each.seq_num for each in done]
    starts_ns = MIDNIGHT + 11 * 3600 * SECOND
    assert not [ts for ts, _ in kept.packets if starts_ns <= ts < starts_ns + 1800 * SECOND]
    assert not run("gone=A", Feed.A)[1].packets


def test_one_fault_does_not_move_another() -> None:
    alone = {each.seq_num for each in run("loss=1%")[0]}
    among = run("loss=1%,gap=2x50@B,silence=12:00+20m")[0]
    lost = {each.seq_num for each in among if each.kind == "loss"}
    assert lost < alone


def test_log_is_a_table(tmp_path: Path) -> None:
    log = FaultFile(tmp_path / "faults.parquet", "loss=5%", 7)
    deed = AppliedFault("2026-11-16", "loss", 84, "B", "incremental", 1, 17, MIDNIGHT)
    for _ in range(5000):
        log.note(deed)
    log.close()
    table = pq.read_table(tmp_path / "faults.parquet")
    assert table.num_rows == 5000
    assert table.slice(0, 1).to_pylist() == [deed._asdict()]
    assert table.schema.metadata[b"spec"] == b"loss=5%"
    assert [path.name for path in tmp_path.iterdir()] == ["faults.parquet"]


def test_a_log_of_a_day_without_faults_is_a_table_too(tmp_path: Path) -> None:
    """A short day may lose nothing, and one with exactly as many faults as are written at once ends empty."""
    FaultFile(tmp_path / "none.parquet", "loss=0.001%", 7).close()
    table = pq.read_table(tmp_path / "none.parquet")
    assert (table.num_rows, table.schema.metadata[b"spec"]) == (0, b"loss=0.001%")
    log = FaultFile(tmp_path / "full.parquet", "loss=5%", 7)
    for _ in range(ROWS):
        log.note(AppliedFault("2026-11-16", "loss", 84, "B", "incremental", 1, 17, MIDNIGHT))
    log.close()
    assert pq.read_table(tmp_path / "full.parquet").num_rows == ROWS


def test_a_log_that_is_not_whole_leaves_nothing(tmp_path: Path) -> None:
    log = FaultFile(tmp_path / "faults.parquet", "", 1)
    for _ in range(5000):
        log.note(AppliedFault("2026-11-16", "loss", 84, "B", "incremental", 1, 17, MIDNIGHT))
    log.discard()
    assert not list(tmp_path.iterdir())
