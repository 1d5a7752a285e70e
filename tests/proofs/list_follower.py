"""Which instruments a channel has and which books are being told again, by what the exchange published: held
against a handler at the same sequence number. The handler is asked which instruments it follows, under which
names, and whether it shows a book as clean."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pregao.feeds.publishing import PublishingSite
from pregao.handler.handler import ChannelHandler
from pregao.model import events as e
from pregao.model.market import DefinitionAction
from pregao.recovery.instruments import BookStatus
from pregao.simulator.memory import MemoryDay, PlacedUpdate
from tests.proofs.truth_follower import DifferenceError, Point

Place = tuple[int, int]  # how many sequence versions came before, number of the packet


class _Replenishment(NamedTuple):
    security_id: int
    event: int  # of the EmptyBook
    first: Place  # packet in which that event ends: views change there
    last: Place  # packet of the last order


class ListFollower:
    """Of one channel. `check` after every step; `finish` at the end."""

    def __init__(self, day: MemoryDay, channel: int) -> None:
        theirs = [c for c in day.checkpoints if c.channel == channel and c.site is PublishingSite.PRIMARY]
        sent = [
            each
            for each in day.updates
            if each.channel == channel and each.site is PublishingSite.PRIMARY and each.seq_num is not None
        ]
        versions = {c.seq_version for c in theirs} | {u.seq_version for u in sent} - {None}
        self._ranks = {version: rank for rank, version in enumerate(sorted(filter(None, versions)))}
        self._listed: dict[int, str | None] = dict.fromkeys(theirs[0].instruments)  # names not said yet
        self._changes = [
            (self._place_of(each), each.update) for each in sent if isinstance(each.update, e.Definition)
        ]
        self._replenished = _replenishments(sent, self._place_of)
        self._passed = self._begun = 0
        self._loops = -1
        self.comparisons = self.half_told = 0

    def _place_of(self, update: PlacedUpdate) -> Place:
        assert update.seq_version is not None
        assert update.seq_num is not None
        return self._ranks[update.seq_version], update.seq_num

    def check(self, point: Point, handler: ChannelHandler) -> None:
        rank = self._ranks.get(point[0])
        if rank is None:
            return  # nothing was heard yet
        place, passed = (rank, point[1]), self._passed
        while self._passed < len(self._changes) and self._changes[self._passed][0] <= place:
            self._apply(self._changes[self._passed][1])
            self._passed += 1
        self._check_replenished(place, handler)
        definitions = handler.machine.definitions
        if definitions.complete and (passed != self._passed or definitions.tracker.completed != self._loops):
            self._loops = definitions.tracker.completed
            self.compare(handler)

    def _apply(self, definition: e.Definition) -> None:
        instrument = definition.instrument
        if definition.action is DefinitionAction.DELETE:
            self._listed.pop(instrument.security_id, None)
        else:
            self._listed[instrument.security_id] = instrument.symbol

    def compare(self, handler: ChannelHandler) -> None:
        """Who is listed is followed, under its name; who is followed is listed. A loop may be ahead of the
        incremental stream, whose next packets are lost or late: who has a change to come is left out."""
        followed = {book.security_id: book.symbol for book in handler.books()}
        ahead = {change.instrument.security_id for _, change in self._changes[self._passed :]}
        missing = self._listed.keys() - followed.keys() - ahead
        too_many = followed.keys() - self._listed.keys() - ahead
        if missing or too_many:
            words = f"listed and not followed {sorted(missing)}, followed and not listed {sorted(too_many)}"
            raise DifferenceError(f"channel {handler.channel}: {words}")
        for security_id, symbol in self._listed.items():
            if security_id in ahead:
                continue
            self.comparisons += 1
            if symbol is not None and followed[security_id] != symbol:
                raise DifferenceError(f"{security_id} is called {followed[security_id]}, truth {symbol}")
            if symbol is not None and handler.book(symbol).security_id != security_id:
                raise DifferenceError(f"{symbol} is {handler.book(symbol).security_id}, truth {security_id}")

    def _check_replenished(self, place: Place, handler: ChannelHandler) -> None:
        """A book that is told by half is not shown as clean."""
        while self._begun < len(self._replenished) and self._replenished[self._begun].last <= place:
            self._begun += 1
        for each in self._replenished[self._begun :]:
            if each.first > place:
                break
            if place < each.last and handler.machine.table.find(each.security_id) >= 0:
                self.half_told += 1
                if handler.book(each.security_id).status is BookStatus.CLEAN:
                    raise DifferenceError(f"{each.security_id} is clean and told by half at {place}")

    def finish(self, handler: ChannelHandler) -> None:
        """Only the end of the day may keep a list from being complete: see `DayReport.finish`."""
        if handler.machine.definitions.complete:
            self.compare(handler)


def _replenishments(
    sent: Iterable[PlacedUpdate], place_of: Callable[[PlacedUpdate], Place]
) -> list[_Replenishment]:
    found: list[_Replenishment] = []
    latest: dict[int, int] = {}
    for each in sent:
        update = each.update
        if isinstance(update, e.BookEmptied):
            latest[update.security_id] = len(found)
            found.append(_Replenishment(update.security_id, each.event, place_of(each), place_of(each)))
        elif isinstance(update, e.OrderUpdate) and update.recovery and update.security_id in latest:
            at, place = latest[update.security_id], place_of(each)
            first = place if each.event == found[at].event else found[at].first
            found[at] = found[at]._replace(first=first, last=place)
    return [each for each in found if each.first < each.last]
