from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pregao.lake.computed.unit import keep_findings
from pregao.lake.store.files import write_file
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import PARTITION, at, rows_as_arrow
from tests.unit.lake.computed.conftest import Compute
from tests.unit.lake.computed.kit import found


def packet(number: int, a: int | None, b: int | None, **other: Any) -> dict[str, Any]:
    """Sent in the first minute, 50 + number ns after its event; a and b are when it came."""
    sent = at(1) + 1000 * number
    given = {"stream": "INCREMENTAL", "seq_num": number, "ts_send": sent, "ts_event": sent - 50 - number}
    received = {"ts_recv_a": None if a is None else sent + a, "ts_recv_b": None if b is None else sent + b}
    return given | received | other


def test_latency_per_minute_and_feed(compute: Compute) -> None:
    """A takes 100 to 199 ns, B always 40 more by a clock that is 1,000,000 ahead, and loses one packet;
    a packet without event (a heartbeat) and other streams do not count where they have nothing to say."""
    ahead = 1_000_000
    rows = [packet(n, 100 + n, None if n == 7 else 140 + n + ahead) for n in range(100)]
    rows += [
        packet(500, 100, None, ts_event=None, ts_event_kind=None),
        packet(1, 5_000_000, 5_000_000, stream="SNAPSHOT"),
        packet(2, None, None),
        packet(600, 300, 340 + ahead, ts_send=at(61), ts_event=at(61) - 9, ts_recv_a=at(61) + 300,
               ts_recv_b=at(61) + 340 + ahead),
    ]  # fmt: skip
    made = compute(packets=rows)["latency"]
    minutes = {start: [row for row in made if row["ts_minute"] == start] for start in (at(0), at(60))}
    names = ("feed", "packets", "event_to_send_p50", "event_to_send_p99", "event_to_send_max")
    ways = ("send_to_receive_p50", "send_to_receive_p99", "send_to_receive_max")
    behind = ("behind_other_feed_p50", "behind_other_feed_max", "skew")
    first, second = found(minutes[at(0)], *names, *ways, *behind, by="feed")
    assert first == ("A", 101, 99, 148, 149, 149, 198, 199, -1_000_448, -1_000_040, -1_000_040)
    # Percentiles are of ten bits: 1,000,189 and its like are told as 999,424.
    assert second[:5] == ("B", 99, 100, 149, 149)
    assert abs(second[5] - 1_000_190) < 1_024
    assert second[7:] == (1_000_239, 999_424, 1_000_040, 1_000_040)
    assert found(minutes[at(60)], "feed", "packets", "skew", by="feed") == [
        ("A", 1, -1_000_040), ("B", 1, 1_000_040),
    ]  # fmt: skip
    assert list(made[0]) == find_table("latency").schema.names


def test_clocks_that_differ_are_a_finding_and_hide_no_way(compute: Compute) -> None:
    """B's clock is 16 s ahead for two minutes, in the third by 1 ms: ways are told to the microsecond."""
    ahead = 16_000_000_000
    rows = [packet(n, 100_000 + 10 * n, 150_000 + 10 * n + ahead) for n in range(100)]
    for number, (seconds, more) in enumerate(((61, ahead + 7), (121, 1_000_000)), 600):
        sent = at(seconds)
        received = {"ts_recv_a": sent + 100_000, "ts_recv_b": sent + 150_000 + more}
        rows.append(packet(number, 0, 0, ts_send=sent, ts_event=sent - 9, **received))
    made = compute(packets=rows)
    (first,) = [row for row in made["latency"] if (row["feed"], row["ts_minute"]) == ("B", at(0))]
    assert 0 <= 150_490 + ahead - first["send_to_receive_p50"] < 1_024
    assert 0 <= 50_000 + ahead - first["behind_other_feed_p50"] < 1_024
    (finding,) = made["quality"]
    names = ("finding", "severity", "feed", "stream", "count", "found", "ts_from", "ts_to", "security_id")
    assert tuple(finding[name] for name in names) == (
        "CLOCK_SKEW", "WARNING", "B", "INCREMENTAL", 2, str(ahead + 50_000), at(0), at(120), None,
    )  # fmt: skip
    assert (finding["seq_num"], finding["ts_send"]) == (600, at(61))


def test_a_day_made_again_from_its_trades_keeps_what_clocks_said(tmp_path: Path) -> None:
    location, quality = Location(tmp_path), find_table("quality")
    findings = [{"finding": finding} for finding in ("STATISTIC_DIFFERS", "CLOCK_SKEW")]
    replaced = [
        write_file(location, quality, PARTITION, rows_as_arrow("quality", rows), label="analytics")
        for rows in (findings, findings[:1])
    ]
    (kept,) = keep_findings(location, replaced)
    rows = pq.ParquetFile(location.path("quality", kept.path)).read().to_pylist()
    assert [row["finding"] for row in rows] == ["CLOCK_SKEW"]
    assert "/analytics-" in f"/{kept.path}"
