"""Kernels and their plain twins are equal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.model.rows import ROW, Flag, Kind
from pregao.recovery.arbitration_state import ACCEPTED, OUT_AT, OUT_VERSION, RING, STOP, messages_hash
from pregao.recovery.held import HeldRows
from pregao.recovery.instruments import (
    NEVER,
    NO_REPORT,
    SYNC,
    SYNC_SIZE,
    BookStatus,
    Decision,
    Mark,
    decide,
    lose_units,
    new_record,
)
from pregao.recovery.kernels.arrivals import hash_of
from pregao.recovery.kernels.instruments import decide_row, first_report_after, sort_row
from tests.unit.recovery.streams import new_arbiter, random_stream, run_kernel, run_plain

HEADER_SIZE = 16  # of Binary UMDF


@given(st.binary(min_size=HEADER_SIZE, max_size=300), st.integers(0, HEADER_SIZE))
def test_hashes_are_equal(payload: bytes, own_bytes: int) -> None:
    array = np.frombuffer(payload, np.uint8)
    assert hash_of(array.ctypes.data, len(payload), own_bytes) == messages_hash(payload, own_bytes)


@given(st.binary(max_size=20))
def test_a_unit_without_bytes_of_its_own_is_read_only_where_it_is(payload: bytes) -> None:
    """What stands before it in the buffer is not of it."""
    array = np.frombuffer(b"before__" + payload + b"behind", np.uint8)
    assert hash_of(array.ctypes.data + 8, len(payload), 0) == messages_hash(payload, 0)


@given(st.binary(min_size=HEADER_SIZE + 1, max_size=60), st.integers(0, 1 << 30))
def test_a_changed_bit_of_the_messages_changes_the_hash(payload: bytes, bit: int) -> None:
    """And one of the header does not: SendingTime and Reserved may be each feed's own (6.1, 6.5.3)."""
    bit %= len(payload) * 8
    changed = bytearray(payload)
    changed[bit // 8] ^= 1 << bit % 8
    one, other = messages_hash(payload, HEADER_SIZE), messages_hash(changed, HEADER_SIZE)
    assert (one == other) is (bit < HEADER_SIZE * 8)


def _shared_words(arbiter: object) -> list[int]:
    block = arbiter.state.block.copy()  # type: ignore[attr-defined]
    for field in (RING, STOP, ACCEPTED, *range(OUT_AT, OUT_VERSION + 8, 8)):
        block[field >> 3] = 0
    return [int(word) for word in block]


@pytest.mark.parametrize("seed", range(60))
def test_runs_in_sequence(seed: int) -> None:
    stream = random_stream(seed)
    plain, fast = new_arbiter(), new_arbiter()
    expected = run_plain(plain, stream)
    found, judged = run_kernel(fast, stream, room=(1 << 30, 7)[seed % 2])
    assert [str(each) for each in found] == [str(each) for each in expected]
    assert found == expected
    assert _shared_words(fast) == _shared_words(plain)
    assert fast.state.ring.tolist() == plain.state.ring.tolist()
    if seed % 5 == 0:
        assert judged > 0


KINDS = st.sampled_from((Kind.ORDER, Kind.SIDE, Kind.EMPTY_BOOK, Kind.TRADE, Kind.STATE, Kind.PHASE))
FLAGS = (Flag(0), Flag.RECOVERY, Flag.RECOVERY | Flag.END_OF_EVENT, Flag.IMPLIED)
RECORDS = st.fixed_dictionaries(
    {
        "covered": st.integers(0, 6),
        "missing": st.integers(0, 6),
        "last": st.sampled_from((NO_REPORT, 0, 1, 2, 40, 100)),
        "last_at": st.integers(0, 4),
        "bound": st.sampled_from((0, 35, 70, NEVER)),
        "held": st.sampled_from((0, 0, 3)),
        "book": st.sampled_from(tuple(BookStatus)),
        "statistics": st.sampled_from(tuple(BookStatus)),
        "marks": st.integers(0, 127),
    }
)


@settings(max_examples=1_000, deadline=None)
@given(
    RECORDS,
    st.lists(
        st.tuples(
            KINDS, st.sampled_from((0, 1, 2, 3, 41, 101, "next")), st.integers(1, 9), st.sampled_from(FLAGS)
        )
    ),
)
def test_decisions_are_equal(fields: dict[str, int], rows: list[tuple[Kind, int | str, int, Flag]]) -> None:
    plain, fast, row = np.zeros(1, SYNC), np.zeros(1, SYNC), np.zeros(1, ROW)
    if fields["book"] is BookStatus.CLEAN:
        fields["marks"] &= ~Mark.REPLENISHING  # never both
    for name, value in fields.items():
        plain[name] = fast[name] = value
    for kind, rpt_seq, at, flags in rows:
        row[0]["flags"] = flags
        number = int(plain[0]["last"]) + 1 if rpt_seq == "next" else int(rpt_seq)
        row[0]["kind"], row[0]["rpt_seq"], row[0]["at"] = kind, number, at
        assert decide_row(fast.ctypes.data, row.ctypes.data) == decide(
            plain[0], kind, number, at, flags & Flag.RECOVERY
        )
        assert fast.tobytes() == plain.tobytes()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), KINDS, st.integers(0, 4), st.booleans()), max_size=60))
def test_held_rows_are_equal(steps: list[tuple[int, Kind, int, bool]]) -> None:
    """The same rows, sorted by the kernel and by the plain functions into pools of twelve."""
    syncs = np.zeros(3, SYNC), np.zeros(3, SYNC)
    pools = HeldRows(12), HeldRows(12)
    row = np.zeros(1, ROW)
    for index in range(3):
        for sync in syncs:
            new_record(sync, index, 0)
    for at, (index, kind, rpt_seq, lost) in enumerate(steps, 1):
        if lost:
            for sync, pool in zip(syncs, pools, strict=True):
                lose_units(sync, at, 35, 0)
                pool.forget(sync[index])
            continue
        row[0]["kind"], row[0]["rpt_seq"], row[0]["at"] = kind, rpt_seq, at
        fast = sort_row(pools[0].address, syncs[0].ctypes.data + SYNC_SIZE * index, row.ctypes.data)
        record = syncs[1][index]
        plain = decide(record, kind, rpt_seq, at, 0)
        if plain & Decision.FORGET:
            pools[1].forget(record)
        if plain & Decision.HOLD and not pools[1].push(record, row[0]):
            assert fast == -1
            for sync, pool in zip(syncs, pools, strict=True):
                pool.forget_all(sync)
        else:
            assert fast == plain
        assert syncs[0].tobytes() == syncs[1].tobytes()
        for each in range(3):
            chains = [
                [held.tobytes() for held in pool.chain(sync[each])]
                for sync, pool in zip(syncs, pools, strict=True)
            ]
            assert chains[0] == chains[1]
            assert len(chains[0]) == syncs[0][each]["held"]
            for after in range(at + 1):
                record = syncs[0][each]
                found = first_report_after(pools[0].address, int(record["head"]), after)
                assert found == pools[1].first_report_after(syncs[1][each], after)
        assert pools[0].count == pools[1].count == int(syncs[0]["held"].sum())
