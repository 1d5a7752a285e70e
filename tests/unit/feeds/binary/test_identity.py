"""What a flow most likely is, from what all of a capture has."""

import pytest

from pregao.feeds.binary.identity import IDENTITY
from pregao.feeds.registry import load_identity, load_system
from pregao.model.streams import Stream

INC, DEF, SNAP, UNKNOWN = Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT, Stream.UNKNOWN


def test_it_is_found_with_and_without_its_system() -> None:
    assert load_identity() is load_system().identity is IDENTITY


@pytest.mark.parametrize(
    ("templates", "packets", "stream"),
    [
        ({50}, 1, INC),
        ({30, 71, 3, 15}, 1, SNAP),
        ({12}, 1, DEF),  # a loop without SequenceReset (6.5.9)
        ({1, 2, 4, 12}, 5, DEF),
        ({12, 3}, 1, INC),  # only there both occur
        ({3, 10, 15}, 64, INC),  # a snapshot begins with its header (7.2)
        ({3, 10, 15}, 63, UNKNOWN),  # too few to be sure that none would have come
        ({1, 2}, 10_000, UNKNOWN),
        (set(), 0, UNKNOWN),
        ({30, 50}, 10_000, UNKNOWN),  # several streams to one place
        ({30, 12}, 10_000, UNKNOWN),
    ],
)
def test_streams(templates: set[int], packets: int, stream: Stream) -> None:
    assert IDENTITY.settled_stream(templates, packets) is stream
