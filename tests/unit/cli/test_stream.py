"""What the console says of a batch."""

from datetime import date

from pregao.cli.stream import summary
from pregao.lake.streaming.source import BatchReport, Latency

UNIT = (date(2026, 11, 16), 84)


def test_a_live_batch() -> None:
    report = BatchReport(
        7, files=4, units=[UNIT], counts={"packets": 1200, "messages": 5400}, seconds=1.5,
        horizon_ns=1_794_837_600_000_000_000, latency=Latency(1_500_000_000, 6_200_000_000, of_files=False),
    )  # fmt: skip
    assert summary(report) == (
        "lake version 7, 4 files, 1,200 packets, 5,400 messages, up to 2026-11-16 14:00:00Z,"
        " packet to row 1.5 s (p99 6.2 s) in 1.5 s"
    )


def test_captures_of_another_day_are_told_by_their_files() -> None:
    report = BatchReport(
        2, files=1, units=[UNIT], finished=[UNIT], rebuilt=3, derived=True, compacted=9, seconds=2.0,
        latency=Latency(2_000_000_000, 3_000_000_000, of_files=True),
    )  # fmt: skip
    told = summary(report)
    assert "3 slices built again, 1 unit whole, computed tables too, 9 files fewer" in told
    assert "file to row 2.0 s (oldest 3.0 s)" in told


def test_nothing_new() -> None:
    assert summary(BatchReport(3, files=2, seconds=0.1)) == "lake version 3, 2 files, no new rows in 0.1 s"
