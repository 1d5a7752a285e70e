"""What a feed has to tell: bulletins, encoded once for everybody, and the queue in which they wait for others
to share a message with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple

from pregao.codecs.fix import EncodedBody, Encoder
from pregao.codecs.fix.bodies import EncodedEntries, JoinedBody
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction

Entry = dict[int, Any]  # of a group: tags and the bytes of their values
REFRESH, ENTRIES = b"X", 268
MOST_ENTRIES: Final = 1_000  # of an instrument in one bulletin
SHARED: Final = 8  # instruments of a 35=X of which sessions are likely to have the same
_FRONTS: Final = 4_096  # heads of messages that are kept
_COUNT: Final = attrgetter("count")


@dataclass(slots=True)
class Refresh:
    """35=X: the entries of each instrument."""

    parts: Mapping[int, EncodedEntries]
    is_book: bool
    trade_date: int
    by_level: bool = False  # of a book
    bodies: dict[tuple[int, ...], JoinedBody] = field(default_factory=dict)  # of some of its instruments
    size: int = field(init=False)
    security_ids: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self.size = sum([each.size for each in self.parts.values()])
        self.security_ids = frozenset(self.parts)


class Notice(NamedTuple):
    """35=f or 35=B: for who has the instrument, or one of the group; of neither: for all who have any."""

    body: EncodedBody
    header: Mapping[int, bytes]
    security_id: int | None = None
    group: str | None = None


class Listing(NamedTuple):
    """35=y of one instrument."""

    instrument: Instrument
    action: DefinitionAction
    body: EncodedBody


class Totals(NamedTuple):
    """35=UTOT."""

    body: EncodedBody


Bulletin = Refresh | Notice | Listing | Totals


@dataclass(slots=True)
class _Entries:
    """Of a 35=X that is not closed yet."""

    is_book: bool
    by_level: bool
    by_instrument: dict[int, list[Entry]] = field(default_factory=dict)


class Outbox:
    """Keeps the order in which bulletins came: entries of 35=X share one until something else comes. `head`
    makes the fields of a 35=X before its entries, of its trade date and whether it is about books;
    `level_head` those of books by level, where a system has them."""

    def __init__(
        self,
        encoder: Encoder,
        head: Callable[[int, bool], Entry],
        level_head: Callable[[int], Entry] | None = None,
    ) -> None:
        self._encoder, self._head, self._level_head = encoder, head, level_head
        self._waiting: list[Notice | Listing | _Entries] = []
        self._fronts: dict[tuple[int, bool, bool, int], EncodedBody] = {}

    def add(self, bulletin: Notice | Listing) -> None:
        self._waiting.append(bulletin)

    def add_entries(
        self, security_id: int, entries: Sequence[Entry], *, is_book: bool = False, by_level: bool = False
    ) -> None:
        last = self._waiting[-1] if self._waiting else None
        if not isinstance(last, _Entries) or (last.is_book, last.by_level) != (is_book, by_level):
            last = _Entries(is_book, by_level)
            self._waiting.append(last)
        last.by_instrument.setdefault(security_id, []).extend(entries)

    def take(self, trade_date: int) -> list[Bulletin]:
        taken, self._waiting = self._waiting, []
        made: list[Bulletin] = []
        for each in taken:
            if isinstance(each, _Entries):
                made += self.refreshes(
                    each.by_instrument, trade_date, is_book=each.is_book, by_level=each.by_level
                )
            else:
                made.append(each)
        return made

    def refreshes(
        self,
        entries: Mapping[int, list[Entry]],
        trade_date: int,
        *,
        is_book: bool,
        by_level: bool = False,
    ) -> Iterable[Refresh]:
        """One, or more where an instrument has very many entries."""
        first, left = 0, dict(entries)
        while left:
            parts = {
                security_id: self._encoder.entries(REFRESH, ENTRIES, some[first : first + MOST_ENTRIES])
                for security_id, some in left.items()
            }
            yield Refresh(parts, is_book, trade_date, by_level)
            first += MOST_ENTRIES
            left = {security_id: some for security_id, some in left.items() if len(some) > first}

    def body(self, refresh: Refresh, security_ids: tuple[int, ...]) -> JoinedBody:
        """35=X of some of its instruments: one body for all sessions that have the same of a few, or all."""
        if SHARED < len(refresh.parts) != len(security_ids):
            return self._join(refresh, security_ids)
        found = refresh.bodies.get(security_ids)
        if found is None:
            found = refresh.bodies[security_ids] = self._join(refresh, security_ids)
            found.shared = True
        return found

    def _join(self, refresh: Refresh, security_ids: tuple[int, ...]) -> JoinedBody:
        parts = list(map(refresh.parts.__getitem__, security_ids))
        count = sum(map(_COUNT, parts))
        key = count, refresh.is_book, refresh.by_level, refresh.trade_date
        front = self._fronts.get(key)
        if front is None:
            fields = self._fields(refresh)
            front = self._encoder.front(REFRESH, fields, ENTRIES, count)
            if len(self._fronts) >= _FRONTS:
                self._fronts.clear()
            self._fronts[key] = front
        return JoinedBody(front, parts)

    def _fields(self, refresh: Refresh) -> Entry:
        if not refresh.by_level:
            return self._head(refresh.trade_date, refresh.is_book)
        assert self._level_head is not None
        return self._level_head(refresh.trade_date)
