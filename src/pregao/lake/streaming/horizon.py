"""How far a unit can be built for good: to the place that all streams have passed.

A row must not change because of what is only late. So the stream waits until both feeds have told a place,
and the snapshot stream too, for it heals books; but for a stream that is silent no longer than `wait_ns`
of recorded time. Behind the last row there must be room for an event that it belongs to.
"""

from typing import Final

import numpy as np

from pregao.lake.plan.index import Array
from pregao.lake.plan.slicing import COOL_PACKETS, FROM_FIRST, piece_starts
from pregao.lake.plan.unit_plan import UnitPlan
from pregao.lake.plan.units import NOWHERE
from pregao.lake.streaming.state import felt_from
from pregao.model.streams import Feed

_EVENT_NS: Final = 1_000_000_000  # no event is sent for so long
_FEEDS: Final = (Feed.A, Feed.B)


def horizon(planned: UnitPlan, wait_ns: int) -> int:
    """The place up to which (exclusive) everything is known; FROM_FIRST: nothing yet."""
    unit = planned.unit
    pieces = piece_starts(unit)
    waited = _last_place(pieces[pieces["sent_ns"] <= unit.last_ns - wait_ns])
    heard = [int(unit.runs[feed]["last"].max()) for feed in _FEEDS if feed in unit.runs]
    passed = min(max(place, waited) for place in [*heard, *[FROM_FIRST] * (len(_FEEDS) - len(heard))])
    healed = max([waited, *(loop.last for loop in planned.loops)])
    known = pieces[pieces["place"] <= min(passed, healed)]
    if not len(known):
        return FROM_FIRST
    roomy = known["place"] + COOL_PACKETS <= known["place"].max()
    roomy |= known["sent_ns"] + _EVENT_NS <= known["sent_ns"].max()
    return _last_place(known[roomy & (known["place"] <= _settled(planned, passed, wait_ns))])


def _settled(planned: UnitPlan, passed: int, wait_ns: int) -> int:
    """Before the first loop of which it is not known yet whether it can be trusted: packets that were
    lost while it was sent may still come, and so may its end, in the next file."""
    waits_ns = planned.unit.last_ns - wait_ns
    open_loops = [
        felt_from(loop)
        for loop in planned.loops
        if loop.last > passed or (loop.is_open and loop.ended_ns > waits_ns)
    ]
    return min([place for place in open_loops if place != NOWHERE], default=passed)


def _last_place(pieces: Array) -> int:
    return int(np.max(pieces["place"])) if len(pieces) else FROM_FIRST
