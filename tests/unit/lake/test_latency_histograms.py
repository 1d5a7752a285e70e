"""Latencies counted by kernel against a plain count with Python's own numbers."""

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.latency_histograms import Minutes
from pregao.model.rows import NULL

DAY, MINUTE = date(2026, 11, 16), 60_000_000_000
NAMES = ("ts_send", "ts_event", "ts_recv_a", "ts_recv_b", "seq_version", "seq_num", "quality")
DELAY = st.one_of(
    st.integers(-3, 3), st.integers(-5000, 5000), st.integers(-(1 << 55), 1 << 55),
    st.integers(0, 55).map(lambda bits: 1 << bits), st.integers(0, 55).map(lambda bits: -(1 << bits)),
    st.integers(1, 55).map(lambda bits: (1 << bits) - 1),
)  # fmt: skip
PACKET = st.tuples(
    st.integers(0, 3 * MINUTE), st.none() | DELAY, st.none() | DELAY, st.none() | DELAY,
    st.integers(1, 2), st.integers(1, 3), st.integers(0, 7),
)  # fmt: skip


def cut(value: int) -> int:
    """Its first ten bits, or to 1,024 ns if that is finer."""
    dropped = min(max(abs(value).bit_length() - 10, 0), 10)
    return value >> dropped << dropped


def plain(packets: list[Any]) -> dict[tuple[int, int], dict[str, Any]]:
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for feed in range(2):
        for sent, event, *received, version, number, quality in packets:
            mine, other = received[feed], received[1 - feed]
            if mine is None:
                continue
            new = {"ways": [[], [], []], "packets": 0, "quality": 0, "skews": [], "last": (NULL,)}
            minute = found.setdefault((sent // MINUTE * MINUTE, feed), new)
            minute["ways"][0] += [] if event is None else [event]
            minute["ways"][1].append(mine)
            if other is not None:
                minute["ways"][2].append(mine - other)
                minute["skews"].append((mine, other))
            minute["packets"] += 1
            minute["quality"] |= quality
            times = [NULL if event is None else sent - event]
            times += [NULL if each is None else sent + each for each in received]
            last = sent, version, number, *times
            # Of packets of one number the later counts, whatever its times are.
            if last[:3] >= minute["last"][:3]:
                minute["last"] = last
    return found


def counted(packets: list[Any]) -> list[Any]:
    rows = []
    for sent, event, a, b, *rest in packets:
        times = [NULL if event is None else sent - event]
        times += [NULL if each is None else sent + each for each in (a, b)]
        rows.append((sent, *times, *rest))
    minutes = Minutes()
    columns = np.ascontiguousarray(np.array(rows, np.int64).T)
    minutes.add_packets(DAY, 84, dict(zip(NAMES, columns, strict=True)))
    return list(minutes.partial())


def by_kernel(packets: list[Any]) -> dict[tuple[int, int], dict[str, Any]]:
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for batch in counted(packets):
        for row in batch.to_pylist():
            assert (row["trade_date"], row["channel"]) == (DAY, 84)
            minute = found.setdefault((row["ts_minute"], row["feed"]), {"ways": [], "packets": 0})
            counts = dict(zip(row["values"], row["counts"], strict=True))
            minute["ways"].append((counts, row["most"]))
            minute["packets"] += row["packets"]
            names = ("quality", "shortest", "other_shortest")
            minute |= {name: row[name] for name in names} | {"last": tuple(row["last"])}
    return found


def _in_order(packets: list[Any]) -> list[Any]:
    """Packets of a minute stand together."""
    return sorted(packets, key=lambda packet: packet[0] // MINUTE)


@given(packets=st.lists(PACKET, min_size=1, max_size=25).map(_in_order))
def test_counts_equal_a_plain_count(packets: list[Any]) -> None:
    expected, found = plain(packets), by_kernel(packets)
    assert found.keys() == expected.keys()
    for key, minute in expected.items():
        mine = found[key]
        for values, (counts, most) in zip(minute["ways"], mine["ways"], strict=True):
            assert counts == Counter(map(cut, values))
            assert most == max(values, default=NULL)
        skews = minute["skews"] or [((1 << 63) - 1,) * 2]
        assert (mine["shortest"], mine["other_shortest"]) == tuple(map(min, zip(*skews, strict=True)))
        assert (mine["packets"], mine["quality"]) == (minute["packets"], minute["quality"])
        assert mine["last"] == minute["last"]


@given(packets=st.lists(PACKET, min_size=2, max_size=25).map(_in_order), at=st.integers(1, 24))
def test_what_is_counted_in_two_parts_adds_up(packets: list[Any], at: int) -> None:
    def rows(batches: list[Any]) -> Any:
        minutes = Minutes()
        if batches:
            minutes.merge(pa.Table.from_batches(batches))
        return minutes.rows().drop_columns(["ts_event", "ts_recv_a", "ts_recv_b"]).to_pylist()

    parts = [part for part in (packets[:at], packets[at:]) if part]
    assert rows([batch for part in parts for batch in counted(part)]) == rows(counted(packets))
