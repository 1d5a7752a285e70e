"""Packets many at a time are written, and placed, as they are one by one."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import CaptureFile
from pregao.simulator.line import NOT_SENT, places_of_messages, places_of_updates


def test_a_batch_is_the_same_file(tmp_path: Path) -> None:
    sent = [(bytes([n % 251]) * (20 + n % 7), 1_000_000_000 + n // 3 * 4_000) for n in range(20_000)]
    one, many = (CaptureFile(tmp_path / name, 84, Stream.INCREMENTAL, Feed.A, 7) for name in ("one", "many"))
    for payload, sending_ns in sent:
        one.send(payload, sending_ns)
    start = 0
    for size in (1, 2, 700, 1, 9_000, 20_000):
        part = sent[start : start + size]
        many.send_all([payload for payload, _ in part], [sending_ns for _, sending_ns in part])
        start += size
    many.send(b"after", 9_000_000_000)
    one.send(b"after", 9_000_000_000)
    assert one.packets == many.packets == len(sent) + 1
    for file in (one, many):
        file.close()
    made = [next((tmp_path / name).iterdir()).read_bytes() for name in ("one", "many")]
    assert made[0] == made[1]


@given(st.lists(st.sampled_from((NOT_SENT, 1, 1, 1, 3))), st.lists(st.integers(1, 4), min_size=1))
def test_places_are_those_of_a_walk(takes: list[int], fills: list[int]) -> None:
    left, counts = sum(take for take in takes if take > 0), list[int]()
    while left:
        counts.append(min(fills[len(counts) % len(fills)], left))
        left -= counts[-1]
    numbers = list(range(11, 11 + len(counts)))
    walked = [(2, number, n) for number, count in zip(numbers, counts, strict=True) for n in range(count)]
    messages = places_of_messages([2] * len(counts), numbers, counts)
    assert [tuple(row) for row in messages.T.tolist()] == walked
    expected, at = list[tuple[int, int, int]](), 0
    for take in takes:  # an update is where its first message is
        expected.append((NOT_SENT,) * 3 if take == NOT_SENT else walked[at])
        at += max(take, 0)
    found = places_of_updates(messages, np.array(takes, np.int64))
    assert [tuple(row) for row in found.T.tolist()] == expected


def test_of_a_sweep_all_but_the_first_share_its_place() -> None:
    messages = places_of_messages([2, 2], [5, 6], [1, 2])
    found = places_of_updates(messages, np.array([1, 1, 0, 0, 1]))
    assert found.T.tolist() == [[2, 5, 0], [2, 6, 0], [2, 6, 0], [2, 6, 0], [2, 6, 1]]
