"""How a system's packets are known in captures: which channel they are of, and which stream a flow is.

Without arrays and kernels, which take longer to load than most files take to be looked at. A *mark* is a
small number for a kind of message: what was met of them in a flow says what stream it is.
"""

from collections.abc import Collection
from typing import Final, NamedTuple, Protocol, runtime_checkable

from pregao.model.streams import Stream

MARKS: Final = 256  # different ones at most, counted from 0


UNTOLD_CHANNEL: Final = 0  # packets of its system do not say it: configurations or file names do


class Glimpse(NamedTuple):
    """What one packet says of its flow. `units` are those that have a number."""

    channel: int
    epoch: int
    units: int
    marks: frozenset[int]


@runtime_checkable
class Identity(Protocol):
    def channel_of(self, payload: bytes | memoryview) -> int | None:
        """Of any packet; None: it is nothing of this system's."""

    def glimpse(self, payload: bytes | memoryview) -> Glimpse | None:
        """None: it has no number. Heartbeats are no part of a sequence."""

    def stream_of(self, marks: Collection[int]) -> Stream:
        """The only stream that carries all these marks, or UNKNOWN."""

    def settled_stream(self, marks: Collection[int], units: int) -> Stream:
        """What a flow of so many units with these marks most likely is: what did not come counts too."""
