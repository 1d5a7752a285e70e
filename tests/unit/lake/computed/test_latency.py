from typing import Any

from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import at
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
