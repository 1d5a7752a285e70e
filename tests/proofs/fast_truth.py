"""The exchange's truth of a channel of UMDF FIX/FAST: books by position, by level and of the best level, and
which of the exchange's sequences a listener is in."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from pregao.feeds.fast.heads import Head
from pregao.feeds.fast.system import FAST
from pregao.feeds.publishing import SentMessage
from pregao.handler.views import HandledBook
from pregao.model import events as e
from pregao.model.errors import DecodeError
from pregao.model.market import Side
from pregao.simulator.memory import BooksCheckpoint, InstrumentTruth
from pregao.simulator.venue import Resting
from tests.proofs.truth_follower import DifferenceError, Point, TruthFollower

_MS: Final = 1_000_000
_DEPTHS: Final = (None, 5, 1)  # of channels from 166, 196 and 226 on


def depth_of(channel: int) -> int | None:
    """How many levels books of a channel have; None: all orders."""
    return _DEPTHS[(channel - 166) // 30]


class FastTruth(TruthFollower):
    """Of one channel. `counted`: the listener numbers sequences from 1, and has heard all of them."""

    def __init__(
        self, checkpoints: Iterable[BooksCheckpoint], depth: int | None, *, counted: bool = True
    ) -> None:
        found = list(checkpoints)
        if counted:
            versions = sorted({checkpoint.seq_version for checkpoint in found})
            places = {version: place for place, version in enumerate(versions, 1)}
            found = [each._replace(seq_version=places[each.seq_version]) for each in found]
        super().__init__(found, 0)
        self._depth = depth

    def _compare_sides(self, book: HandledBook, truth: InstrumentTruth) -> None:
        for side, resting in ((Side.BUY, truth.bids), (Side.SELL, truth.offers)):
            self.books += 1
            ours, theirs = list(self._ours(book, side)), list(self._theirs(resting))
            if ours != theirs:
                raise DifferenceError(f"channel {book.channel} {book.symbol} {side.name}: {ours} {theirs}")

    def _ours(self, book: HandledBook, side: Side) -> Iterator[tuple[object, ...]]:
        if self._depth is None:
            yield from (
                (each.order_id, each.price, each.size, each.firm, each.inserted_ns)
                for each in book.orders(side)
            )
        else:
            yield from ((each.price, each.size, each.orders) for each in book.side_levels(side))

    def _theirs(self, resting: Iterable[Resting]) -> Iterator[tuple[object, ...]]:
        if self._depth is None:  # times of insertion are in milliseconds (37017)
            yield from (
                (each.order_id, each.price, each.size, each.firm, each.inserted_ns // _MS * _MS)
                for each in resting
            )
            return
        levels: dict[int | None, tuple[int, int]] = {}
        for each in resting:
            size, count = levels.get(each.price, (0, 0))
            levels[each.price] = size + each.size, count + 1
        yield from ((price, *rest) for price, rest in list(levels.items())[: self._depth])

    def _compare_statistics(self, book: HandledBook, truth: InstrumentTruth) -> None:
        names = {e.HighPrice: "high", e.LowPrice: "low", e.OpeningPrice: "opening"}
        told = {names[type(each)]: each.price for each in truth.statistics if type(each) in names}
        for name in names.values():
            self.statistics += 1
            found = getattr(book.statistics, name)
            if (found and found.price) != told.get(name):
                raise DifferenceError(f"{book.symbol}: {name} {found}, truth {told.get(name)}")


class HeardSequences:
    """Nothing on the wire numbers the sequences (5.2.8): a listener counts those of which it hears something.
    This says which of the exchange's each of them is."""

    def __init__(self, sent: Iterable[SentMessage], last_version: int) -> None:
        """`sent` are all messages of a channel, in order; the last one is of `last_version`."""
        messages = list(sent)
        version = last_version - sum(this.number <= last.number for last, this in pairwise(messages))
        self._version_of: dict[Head, int] = {}  # a reset may have the number and the time of what follows it
        before = 0
        for message in messages:
            version += message.number <= before
            before = message.number
            self._version_of[FAST.heads.of(message.data)] = version
        self._heard: list[int] = []
        self.last: Point = (0, 0)  # the newest message of which something came

    def hear(self, message: bytes) -> None:
        """A message of the incremental stream, or the beginning of one."""
        try:
            head = FAST.heads.of(message, whole=False)
        except DecodeError:
            return
        version = self._version_of[head]
        self.last = max(self.last, (version, head.number))
        if not self._heard or version > self._heard[-1]:
            self._heard.append(version)

    def version(self, counted: int) -> int | None:
        """Of the sequence that a listener has counted so far; None: nothing was heard. One whose reset comes
        behind its first messages may be counted twice."""
        known = min(counted, len(self._heard))
        return self._heard[known - 1] if known > 0 else None
