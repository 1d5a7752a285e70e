"""Where every update of a channel went: from the packets that were sent, a column at a time."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pregao.feeds.publishing import NOT_SENT
from pregao.model.events import Update

Ints = npt.NDArray[np.int64]


class Told:
    """Updates of a channel and where they are: row by row the event's number, sequenceVersion,
    sequenceNumber and index in the packet. `places` are the last three, all -1 where an update was not
    sent; the lists have None there."""

    __slots__ = ("events", "places", "updates")

    def __init__(self, updates: list[Update], events: list[int], places: Ints) -> None:
        self.updates, self.events, self.places = updates, events, places

    @property
    def versions(self) -> list[int | None]:
        return _or_none(self.places[0])

    @property
    def numbers(self) -> list[int | None]:
        return _or_none(self.places[1])

    @property
    def indexes(self) -> list[int | None]:
        return _or_none(self.places[2])


def _or_none(column: Ints) -> list[int | None]:
    found: list[int | None] = column.tolist()
    return [None if place == NOT_SENT else place for place in found]


def places_of_messages(
    versions: Sequence[int], numbers: Sequence[int], counts: Sequence[int]
) -> Ints:
    """Version, number and index of every message of packets that have so many: a row each."""
    many = np.array(counts, np.int64)
    ends = np.cumsum(many)
    indexes = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - many, many)
    return np.stack(
        (np.repeat(np.array(versions, np.int64), many), np.repeat(np.array(numbers, np.int64), many), indexes)
    )


def places_of_updates(messages: Ints, takes: Ints) -> Ints:
    """The same of updates: `takes` says how many messages each became, NOT_SENT where none."""
    sent = messages.shape[1]
    if not sent:
        return np.full((3, len(takes)), NOT_SENT, np.int64)
    ends = np.cumsum(np.maximum(takes, 0))
    first = np.maximum(ends - np.maximum(takes, 1), 0)
    places: Ints = np.where(takes == NOT_SENT, NOT_SENT, messages[:, np.minimum(first, sent - 1)])
    return places
