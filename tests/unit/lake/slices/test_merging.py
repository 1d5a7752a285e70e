"""The merge of feeds A and B against a plain one with dicts: losses, repetitions, conflicts, new versions."""

import struct
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan.index import NUMBER_BITS
from pregao.lake.slices.feeds import Merged, gaps_of
from pregao.lake.slices.kernels.merging import ABSENT, CONFLICT, LATE, MERGED_FIELDS, SECOND, merge_feeds
from pregao.model.rows import NULL


@dataclass(frozen=True)
class Heard:
    """What one feed has of a packet."""

    ts: int
    sent: int
    messages: bytes
    late: bool = False
    copies: int = 1

    @property
    def payload(self) -> bytes:
        """With SendingTime and Reserved of this feed's own."""
        return struct.pack("<BBHIQ", 84, self.ts & 1, 1, 1, self.sent) + self.messages


OWN = 16  # bytes, each feed's own: of a header
PLACE = st.builds(
    lambda version, number: version << NUMBER_BITS | number, st.integers(0, 2), st.integers(1, 12)
)
# Few different messages, of lengths around the eight bytes that are compared at once: conflicts are common.
MESSAGES = st.sampled_from([b"", b"1234567", b"12345678", b"12345679", b"123456789", b"123456780", b"1" * 40])
HEARD = st.builds(Heard, st.integers(0, 50), st.integers(0, 3), MESSAGES, st.booleans(), st.integers(1, 3))
FEED = st.dictionaries(PLACE, HEARD, max_size=20)


def plain_merge(a: dict[int, Heard], b: dict[int, Heard], one_clock: bool) -> list[dict[str, Any]]:
    found = []
    for place in sorted(a.keys() | b.keys()):
        one, other = a.get(place), b.get(place)
        states = [ABSENT if each is None else LATE * each.late for each in (one, other)]
        if one is not None and other is not None:
            if one.messages != other.messages:  # not the header, which may be each feed's own (6.1, 6.5.3)
                states = [state | CONFLICT for state in states]
            states[0 if one_clock and other.ts < one.ts else 1] |= SECOND
        told = one or other
        assert told is not None
        found.append(
            {
                "place": place, "payload": told.payload, "length": len(told.payload), "sent": told.sent,
                "recv_a": one.ts if one else NULL, "recv_b": other.ts if other else NULL,
                "state_a": states[0], "state_b": states[1],
                "copies_a": one.copies if one else 0, "copies_b": other.copies if other else 0,
            }
        )  # fmt: skip
    return found


def kernel_merge(a: dict[int, Heard], b: dict[int, Heard], one_clock: bool) -> list[dict[str, Any]]:
    owners: dict[int, Any] = {}  # memory by address, as long as the kernel runs
    columns = [column for feed in (a, b) for column in _columns(feed, owners)]
    out = np.full((len(MERGED_FIELDS), max(len(a) + len(b), 1)), -7, np.int64)
    once = [len(columns[at]) and (columns[at] == 1).all() for at in (6, 13)]  # no column of copies then
    given_at = np.array([each.ctypes.data for each in columns], np.int64)
    given_at[[at for at, only in zip((6, 13), once, strict=True) if only]] = 0
    put_at = np.array([each.ctypes.data for each in out], np.int64)
    count = merge_feeds(given_at.ctypes.data, len(a), len(b), put_at.ctypes.data, int(one_clock), OWN)
    rows = [dict(zip(MERGED_FIELDS, column, strict=True)) for column in out[:, :count].T.tolist()]
    for row in rows:
        row["payload"] = bytes(owners[row.pop("address")][: row["length"]])
    return rows


def _columns(feed: dict[int, Heard], owners: dict[int, Any]) -> list[Any]:
    """As `slices.feeds` gives them: by place. Each packet has memory of its own."""
    rows = []
    for place, heard in sorted(feed.items()):
        memory = np.frombuffer(heard.payload + b"\0", np.uint8).copy()
        owners[memory.ctypes.data] = memory
        state, size = LATE * heard.late, len(heard.payload)
        rows.append((place, heard.ts, heard.sent, memory.ctypes.data, size, state, heard.copies))
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)] or [np.zeros(0, np.int64)] * 7


@given(FEED, FEED, st.booleans())
def test_two_feeds(a: dict[int, Heard], b: dict[int, Heard], one_clock: bool) -> None:
    assert kernel_merge(a, b, one_clock) == plain_merge(a, b, one_clock)


@given(FEED, st.booleans())
def test_feeds_that_differ_in_nothing(feed: dict[int, Heard], one_clock: bool) -> None:
    """The usual case: A is first, B repeats it."""
    rows = kernel_merge(feed, feed, one_clock)
    assert rows == plain_merge(feed, feed, one_clock)
    assert not any(row["state_a"] & (CONFLICT | ABSENT | SECOND) for row in rows)
    assert all(row["state_b"] & SECOND for row in rows)


@given(FEED, st.booleans())
def test_another_header_is_no_conflict_and_the_row_is_of_a(feed: dict[int, Heard], one_clock: bool) -> None:
    other = {place: replace(heard, sent=heard.sent + 5, ts=heard.ts + 1) for place, heard in feed.items()}
    for a, b in ((feed, other), (other, feed)):
        rows = kernel_merge(a, b, one_clock)
        assert not any(row["state_a"] & CONFLICT for row in rows)
        assert [row["sent"] for row in rows] == [a[row["place"]].sent for row in rows]


@given(st.sets(PLACE, max_size=20), st.integers(-1, 5))
def test_gaps_are_what_neither_feed_has(places: set[int], warm: int) -> None:
    """After the first packet, or after where a slice begins to read; each further sequence begins with 1."""
    there = sorted(place for place in places if place > warm)
    expected, last = set[int](), warm if warm >= 0 else (there[0] - 1 if there else 0)
    for place in there:
        begins = max(last, place >> NUMBER_BITS << NUMBER_BITS)
        expected |= set(range(begins + 1, place))
        last = place
    count = len(there)
    columns = {name: np.zeros(count, np.int64) for name in MERGED_FIELDS} | {
        "place": np.array(there, np.int64)
    }
    merged = Merged(**columns, version=np.zeros(count, np.uint16), owners=[])
    found = [place for last, many in gaps_of(merged, warm) for place in range(last - many + 1, last + 1)]
    assert found == sorted(expected)
