"""Messages that the plan itself must know: resets, phases, definitions, parts of news."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.feeds.port import UnitReader
from pregao.feeds.registry import DEFAULT, load_tabled_system
from pregao.lake.plan.captures import PiecePackets, row_reader
from pregao.lake.plan.index import MARK, Array, Defined, NewsMessage, calendar_day, renumbered, renumbered_key
from pregao.lake.plan.kernels import hash_messages
from pregao.model.errors import PregaoError
from pregao.model.events import News
from pregao.model.instruments import Instrument, group_number
from pregao.model.market import DefinitionAction
from pregao.model.rows import Kind, Rows
from pregao.model.streams import Feed, Stream

_NOWHERE: Final = -1
_NEVER: Final = (1 << 63) - 1
_SECOND_NS: Final = 1_000_000_000
_MARKED: Final = (Kind.PHASE, Kind.CHANNEL_RESET, Kind.EMPTY_BOOK, Kind.SEQUENCE_RESET, Kind.DEFINITION)


class MarkReader:
    """`reader`: its own, where a channel must have one."""

    def __init__(
        self, channel: int, stream: Stream, system: str = DEFAULT, reader: UnitReader | None = None
    ) -> None:
        self._system, self._channel, self.stream, self._own = system, channel, stream, reader
        self._marks: list[Array] = []
        self._definitions: list[Defined] = []
        self._news: list[NewsMessage] = []
        self._told = ToldDefinitions()
        self._known: dict[int, tuple[int, int]] = {}  # by id: hash of its definition, and the day it was told
        self._firsts: dict[int, tuple[tuple[int, int], int]] = {}  # told first, and which of ours it is

    @property
    def _reader(self) -> UnitReader:
        return self._own or row_reader("marks", self._system)

    def take(self, packets: PiecePackets, keys: Array, sent: Array) -> None:
        reading = self._reader.read(
            0, np.ascontiguousarray(packets.address), np.ascontiguousarray(packets.length),
            np.ascontiguousarray(keys), np.zeros(len(keys), np.uint16),
        )  # fmt: skip
        while True:
            self._take_rows(reading.rows, sent, packets.ts)
            if reading.whole:
                return
            reading = self._reader.go_on()

    def _take_rows(self, rows: Rows, sent: Array, received: Array) -> None:
        kinds = rows["kind"]
        if self.stream is Stream.INCREMENTAL:
            marked = rows[np.isin(kinds, _MARKED)]
            marks = np.zeros(len(marked), MARK)
            marks["kind"], marks["key"], marks["index"] = marked["kind"], marked["at"], marked["index"]
            marks["sent_ns"], marks["security_id"] = sent[marked["packet"]], marked["security_id"]
            marks["trade_date"] = np.where(marked["kind"] == Kind.PHASE, marked["trade_date"], 0)
            self._marks.append(marks)
            for row in rows[kinds == Kind.NEWS]:
                packet = int(row["packet"])
                self._news.append(self._part(row, int(sent[packet]), int(received[packet])))
        self._take_definitions(rows[kinds == Kind.DEFINITION], sent)

    def _take_definitions(self, rows: Any, sent: Array) -> None:
        if not len(rows):
            return
        places, sizes = self._reader.messages_at(rows)
        hashes = np.empty(len(rows), np.int64)
        hash_messages(places.ctypes.data, sizes.ctypes.data, len(rows), hashes.ctypes.data)
        sent = sent[rows["packet"]]
        if self.stream is not Stream.DEFINITION:
            for row, sent_ns in zip(rows, sent.tolist(), strict=True):
                self._define(row, sent_ns)
            return
        for number in self._told.news(rows["security_id"], hashes, sent).tolist():
            row, sent_ns = rows[number], int(sent[number])
            security_id, told = int(row["security_id"]), (int(hashes[number]), calendar_day(sent_ns))
            place = len(self._definitions)
            is_told = self._define(row, sent_ns)
            self._known[security_id] = told
            self._firsts.setdefault(security_id, (told, place if is_told else _NOWHERE))

    def _define(self, row: Any, sent_ns: int) -> bool:
        """Whether it can be read."""
        try:
            listed = self._reader.definition(row)
        except PregaoError:
            return False
        if listed is None:
            return False
        instrument = replace(listed.definition.instrument, channel=self._channel)
        key = int(row["at"]) if self.stream is Stream.INCREMENTAL else -1
        self._definitions.append(
            Defined(instrument, listed.definition.action, sent_ns, key, int(row["index"]))
        )
        return True

    def _part(self, row: Any, sent_ns: int, received_ns: int) -> NewsMessage:
        return NewsMessage(int(row["at"]), int(row["index"]), sent_ns, self._reader.message(row), received_ns)

    def append(self, later: "MarkReader", versions: Array) -> None:
        """What a later range of the same file has, without the definitions that were told before it."""
        for each in later._marks:
            each["key"] = renumbered(each["key"], versions)
        repeated = {place for one, (told, place) in later._firsts.items() if self._known.get(one) == told}
        for place, defined in enumerate(later._definitions):
            if place not in repeated:
                self._definitions.append(replace(defined, key=renumbered_key(defined.key, versions)))
        self._marks += later._marks
        self._news += [replace(part, key=renumbered_key(part.key, versions)) for part in later._news]
        self._known.update(later._known)

    def finish(self) -> tuple[Array, list[Defined], list[NewsMessage]]:
        marks = np.concatenate(self._marks) if self._marks else np.zeros(0, MARK)
        return marks, self._definitions, self._news


class ToldDefinitions:
    """Loops tell the same again and again: once a day is enough, for a file may be of several."""

    def __init__(self) -> None:
        self._last = np.zeros((3, 0), np.int64)  # id, hash and day of what was told last, by id

    def news(self, ids: Array, hashes: Array, sent: Array) -> Array:
        """Which rows tell of an instrument what the row before them did not, or not on that day."""
        seconds, which = np.unique(sent // _SECOND_NS, return_inverse=True)
        days = np.array([calendar_day(second * _SECOND_NS) for second in seconds.tolist()], np.int64)[which]
        before = self._last.shape[1]
        told = np.concatenate([self._last, np.stack((ids, hashes, days))], axis=1)
        order = np.argsort(told[0], kind="stable")
        told = told[:, order]
        again = (told[:, 1:] == told[:, :-1]).all(axis=0)
        self._last = told[:, np.append(told[0, 1:] != told[0, :-1], True)]
        found: Array = np.sort(order[np.insert(~again, 0, True)])
        return found[found >= before] - before


# Parts of news put together for a whole unit, at the place of the part that completed them.


@dataclass(slots=True)
class PlacedNews:
    news: News
    place: int
    index: int
    sent_ns: int
    received: dict[Feed, int]


def assemble(
    channel: int, messages: list[tuple[int, NewsMessage]], system: str = DEFAULT
) -> list[PlacedNews]:
    desk = load_tabled_system(system).news_desk(channel)
    found: list[PlacedNews] = []
    last: tuple[int, NewsMessage] | None = None
    for place, message in messages:
        try:
            told = desk.receive(message.message, message.sent_ns)
        except PregaoError:
            continue  # the slice that holds it says that it is damaged
        last = place, message
        found += [_placed(news, place, message) for news in told]
    if last is not None:
        found += [_placed(news, *last) for news in desk.flush()]
    return found


def _placed(news: News, place: int, message: NewsMessage) -> PlacedNews:
    return PlacedNews(news, place, message.index, message.sent_ns, message.received)


# Definitions of a unit put together: versions of instruments, and their symbols as of a time.


Symbols = dict[int, list[tuple[int, str]]]


class Groups(NamedTuple):
    """Instruments by id, and the group of each as rows name it (`model.instruments.group_number`)."""

    ids: Array
    numbers: Array


@dataclass(slots=True)
class Version:
    """An instrument from one time to another; `place` of the message that told it, -1: in a loop."""

    instrument: Instrument
    action: DefinitionAction
    from_ns: int
    place: int
    index: int
    to_ns: int | None = None


def versions(definitions: Iterable[Defined]) -> list[Version]:
    """By id and time. Told again as it was is no new version; deleted ends it. Of what is told at one time
    the incremental stream counts first: the loop only repeats it. A loop that tells what the one before it
    told has no news, though the incremental stream had some in between: it may have begun before them."""
    found: dict[int, list[Version]] = {}
    looped: dict[int, Instrument] = {}
    for told in sorted(definitions, key=lambda told: (told.sent_ns, told.key < 0, told.key, told.index)):
        known = found.setdefault(told.instrument.security_id, [])
        last = known[-1] if known else None
        if told.key < 0:
            if looped.get(told.instrument.security_id) == told.instrument:
                continue
            looped[told.instrument.security_id] = told.instrument
        if told.action is DefinitionAction.DELETE:
            if last is not None and last.to_ns is None:
                last.to_ns = told.sent_ns
            continue
        if last is not None and last.instrument == told.instrument and last.to_ns is None:
            continue
        if last is not None and last.to_ns is None:
            last.to_ns = told.sent_ns
        known.append(Version(told.instrument, told.action, told.sent_ns, told.key, told.index))
    return [version for security_id in sorted(found) for version in found[security_id]]


def symbols(told: Iterable[Version]) -> Symbols:
    """When each symbol of an id began; the first of an id holds from the beginning."""
    found: Symbols = {}
    for version in told:
        known = found.setdefault(version.instrument.security_id, [])
        if not known or known[-1][1] != version.instrument.symbol:
            known.append((version.from_ns, version.instrument.symbol))
    return found


class Deleted(NamedTuple):
    """Instruments that were deleted on the incremental stream, each from that place on until an EmptyBook.
    Should one be listed again, its rptSeq goes on (7.4.1), and no snapshot or silence says from where."""

    ids: Array
    since: Array
    until: Array

    def at(self, place: int) -> Array:
        """Ids of those that were deleted by then."""
        found: Array = np.unique(self.ids[(self.since <= place) & (place < self.until)])
        return found

    def has(self, security_id: int, place: int) -> bool:
        mine = self.ids == security_id
        return bool((mine & (self.since <= place) & (place < self.until)).any())


def deleted(definitions: Iterable[Defined], marks: Array) -> Deleted:
    """As a unit has them: keys are places."""
    emptied: dict[int, list[tuple[int, int]]] = {}
    for mark in marks[marks["kind"] == Kind.EMPTY_BOOK]:
        emptied.setdefault(int(mark["security_id"]), []).append((int(mark["key"]), int(mark["index"])))
    spans = set()
    for told in definitions:
        if told.action is DefinitionAction.DELETE and told.key >= 0:
            each, place = told.instrument.security_id, (told.key, told.index)
            later = [at for at, index in emptied.get(each, []) if (at, index) > place]
            spans.add((each, told.key, min(later, default=_NEVER)))
    columns = np.array(sorted(spans), np.int64).reshape(-1, 3).T
    return Deleted(*np.ascontiguousarray(columns))


NONE_DELETED: Final = deleted((), np.zeros(0, MARK))


def groups(told: Iterable[Version]) -> Groups:
    """By the last definition of each."""
    found = {each.instrument.security_id: group_number(each.instrument.group) for each in told}
    ids = sorted(found)
    return Groups(np.array(ids, np.int64), np.array([found[each] for each in ids], np.int64))
