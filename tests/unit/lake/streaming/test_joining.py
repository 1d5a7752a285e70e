"""Which segments of a running day are joined, however long it gets."""

from pregao.lake.streaming.joining import FULL_BYTES, neighbours
from pregao.lake.streaming.state import Segment, StreamState


def day_of(batches: int, fan: int, size: int = 100) -> tuple[int, int, StreamState]:
    """The most segments that there were at any time, how often a part was written again, and the end."""
    state, most, written = StreamState(), 0, 0
    for number in range(batches):
        state.add(Segment(state.next_number, number, number + 1, str(number), size), {}, [])
        due = neighbours(state.segments, fan)
        if due is not None:
            written += state.join(*due).parts
        most = max(most, len(state.segments))
    return most, written, state


def test_a_long_day_has_few_segments_and_its_rows_are_seldom_written_again() -> None:
    most, written, state = day_of(7000, 16)
    assert most <= 4 * 16
    assert written < 3 * 7000
    assert sum(segment.parts for segment in state.segments) == 7000
    joins = zip(state.segments, state.segments[1:], strict=False)
    assert all(one.stop == other.start for one, other in joins)


def test_the_last_segment_is_left_alone() -> None:
    for batches in range(1, 60):
        *_, state = day_of(batches, 3)
        assert state.segments[-1].parts == 1


def test_as_many_as_the_fan_before_the_last_are_joined_at_once() -> None:
    segments = [Segment(number, number, number + 1, "") for number in range(5)]
    assert [neighbours(segments[:count], 3) for count in range(6)] == [None] * 4 + [(0, 3), (0, 4)]


def test_segments_that_are_large_enough_stay_as_they_are() -> None:
    most, written, _ = day_of(50, 4, FULL_BYTES)
    assert (most, written) == (50, 0)
    most, written, state = day_of(50, 4, FULL_BYTES // 8)
    assert [segment.parts for segment in state.segments[:2]] == [16, 16]
    assert written < 2 * 50
