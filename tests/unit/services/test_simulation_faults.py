"""The language of faults, and what stands between publisher and capture."""

import json
from pathlib import Path

import pytest

from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.streams import Feed, Stream
from pregao.model.errors import ConfigurationError
from pregao.services.simulation.captures import CaptureFile
from pregao.services.simulation.faults import Cut, FaultPlan, Reset, parse_faults
from pregao.services.simulation.impaired import FaultLog, ImpairedCapture

MIDNIGHT = 1_794_798_000_000_000_000
SECOND = 1_000_000_000


def test_language() -> None:
    plan = parse_faults(
        "loss=0.1%, dup=0.05%@B,delay=2%:5ms@S,reorder=20,both=3,cut=B@11:00+30s,skew=B:-250us,"
        "reset=channel@12:00,reset=failover@13:00:30"
    )
    assert plan.loss == {"A": 0.001, "B": 0.001}
    assert plan.dup == {"B": 0.0005}
    assert plan.delay == {"S": (0.02, 5_000_000)}
    assert (plan.reorder, plan.both) == (20, 3)
    assert plan.cuts == [Cut("B", 11 * 3600, 30 * SECOND)]
    assert plan.skew == {"B": -250_000}
    assert plan.resets == [Reset("channel", 12 * 3600), Reset("failover", 13 * 3600 + 30)]
    assert plan.touches_packets


def test_nothing_is_nothing() -> None:
    assert parse_faults("") == FaultPlan()
    assert not parse_faults("reset=book@10:00").touches_packets


@pytest.mark.parametrize(
    "spec",
    [
        "loss",
        "loss=1",
        "loss=101%",
        "cut=C@11:00+3s",
        "cut=B@25:00+3s",
        "reset=all@12:00",
        "what=1",
        "both=-1",
    ],
)
def test_what_cannot_be_read_is_named(spec: str) -> None:
    with pytest.raises(ConfigurationError, match=spec.split("=")[0]):
        parse_faults(spec)


def _run(tmp_path: Path, spec: str, count: int = 2000) -> tuple[FaultLog, CaptureFile]:
    plan, log = parse_faults(spec), FaultLog(spec, 1)
    file = CaptureFile(tmp_path, 84, Stream.INCREMENTAL, Feed.B, 1)
    impaired = ImpairedCapture(file, "B", 84, "2026-11-16", MIDNIGHT, plan, log, [], 1)
    for number in range(1, count + 1):
        now_ns = MIDNIGHT + 11 * 3600 * SECOND + number * SECOND // 10
        impaired.send(PacketHeader(84, 1, number, now_ns).encode() + b"data", now_ns)
    impaired.finish()
    file.close()
    return log, file


def test_counts_agree_with_the_log(tmp_path: Path) -> None:
    log, file = _run(tmp_path, "loss=2%,dup=3%,delay=1%:300ms,reorder=4,cut=B@11:01+5s")
    kinds = [each["kind"] for each in log.done]
    assert kinds.count("cut") == 50
    assert all(kinds.count(kind) > 0 for kind in ("loss", "dup", "delay"))
    assert file.packets == 2000 - kinds.count("cut") - kinds.count("loss") + kinds.count("dup")


def test_log_is_json(tmp_path: Path) -> None:
    log, _ = _run(tmp_path, "loss=5%,skew=B:+1ms", 100)
    log.write(tmp_path / "faults.json")
    written = json.loads((tmp_path / "faults.json").read_text())
    assert written["spec"] == "loss=5%,skew=B:+1ms"
    assert written["faults"] == log.done
    assert log.done[0] == {
        "kind": "skew", "date": "2026-11-16", "channel": 84, "feed": "B", "ns": 1_000_000,
    }  # fmt: skip
