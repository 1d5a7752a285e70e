"""How far a unit has been streamed, as its row in the lake has it."""

import json

from pregao.lake.plan.slicing import FROM_FIRST, TO_LAST
from pregao.lake.streaming.state import Segment, StreamState


def three_segments() -> StreamState:
    state = StreamState(instruments="abc", reached=900)
    state.add(Segment(0, FROM_FIRST, 100, "a"), {"x:1": {"matches": 3}}, [77])
    state.add(
        Segment(1, 100, 200, "b"), {"x:1": {"matches": 2, "healed": 1}, "x:2": {"matches": 5}}, [77, 88]
    )
    state.add(Segment(2, 200, TO_LAST, "c"), {"x:2": {"matches": 1}}, [])
    return state


def test_it_survives_the_row_of_its_unit() -> None:
    state = three_segments()
    plan = state.to_plan(2)
    assert (plan["slices"], plan["loops"]) == (3, 2)
    assert StreamState.of_plan(json.dumps(plan)) == state


def test_computed_tables_of_a_new_unit_are_still_to_be_made() -> None:
    state = StreamState()
    assert not state.derived
    kept = StreamState.of_plan(json.dumps(state.to_plan(0)))
    assert kept is not None
    assert not kept.derived
    state.derived = True
    kept = StreamState.of_plan(json.dumps(state.to_plan(0)))
    assert kept is not None
    assert kept.derived


def test_a_unit_that_was_built_has_none() -> None:
    assert StreamState.of_plan('{"slices": 3, "loops": 9}') is None
    assert StreamState.of_plan(None) is None


def test_a_loop_in_two_segments_is_counted_once() -> None:
    state = three_segments()
    assert state.found("x:1") == {"matches": 5, "healed": 1}
    assert state.found("x:3") == {}


def test_segments_that_go_take_what_they_found_with_them() -> None:
    state = three_segments()
    assert state.is_finished
    assert [segment.number for segment in state.keep(1)] == [1, 2]
    assert (state.end, state.is_finished, state.next_number) == (100, False, 3)
    assert state.loops == {"x:1": {0: {"matches": 3}}}
    assert state.unnamed == {77: 0}
    assert state.keep(0)
    assert (state.end, state.loops, state.unnamed) == (FROM_FIRST, {}, {})


def test_joined_segments_are_one_with_all_that_they_found() -> None:
    state = three_segments()
    joined = state.join(0, 2)
    assert (joined.start, joined.stop, joined.digest, joined.parts) == (FROM_FIRST, 200, "b", 2)
    assert [segment.number for segment in state.segments] == [3, 2]
    assert state.found("x:1") == {"matches": 5, "healed": 1}
    assert state.found("x:2") == {"matches": 6}
    assert state.unnamed == {77: 3, 88: 3}
    assert state.next_number == 4
    assert StreamState.of_plan(json.dumps(state.to_plan(2))) == state
    assert state.keep(0)
    assert (state.loops, state.unnamed) == ({}, {})


def test_a_row_from_before_segments_could_be_joined() -> None:
    plan = three_segments().to_plan(2)
    plan["stream"]["segments"] = [each[:4] for each in plan["stream"]["segments"]]
    assert StreamState.of_plan(json.dumps(plan)) == three_segments()


def test_books_that_are_crossed_where_a_segment_ends_go_and_are_joined_with_it() -> None:
    state = three_segments()
    state.crossed = {1: [{"security_id": 7}], 2: [{"security_id": 8}]}
    assert state.still_crossed == [{"security_id": 8}]
    assert StreamState.of_plan(json.dumps(state.to_plan(2))) == state
    joined = state.join(0, 2)
    assert state.crossed == {joined.number: [{"security_id": 7}], 2: [{"security_id": 8}]}
    state.keep(1)
    assert state.still_crossed == [{"security_id": 7}]
    state.keep(0)
    assert (state.still_crossed, state.crossed) == ([], {})
