"""The incremental stream of one channel: events to messages.

- **An event is one message.** Entries of 35=X that happened together are in one, in their order; phases and
  states (35=f), instruments (35=y) and news (35=B) are messages of their own in between.
- **RptSeq** (83) counts the entries of each instrument, from 1, and from 1 again after its book was emptied.
- **Books** by order, by price level or of the best level only: `Depth` says which.
- **Trades** carry what the trades before them make of them: volume, direction of the price, net change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pregao.feeds.fast.publisher import entries as n
from pregao.feeds.fast.publisher.books import PublishedBooks
from pregao.feeds.fast.publisher.datagrams import MessageStream
from pregao.feeds.fast.publisher.desks import STATISTICS, is_lending, set_stream
from pregao.feeds.fast.publisher.listings import news_fields, status_fields
from pregao.feeds.fast.publisher.lists import InstrumentLists
from pregao.feeds.fast.publisher.writing import MessageWriter
from pregao.feeds.publishers import TradeFigures
from pregao.feeds.publishing import NOT_SENT, Listener
from pregao.model import events as e
from pregao.model.market import Action, DefinitionAction

MOST_ENTRIES: Final = 900  # of a message: an event of more goes on in another
REFRESH: Final = 145
LENDING_REFRESH: Final = 150
VOLATILITY_REFRESH: Final = 10_150
RESET_REFRESH: Final = 81
STATUS: Final = 142
NEWS: Final = 143
_BOOK: Final = (e.OrderUpdate, e.SideDeleted)
_APART: Final = frozenset((e.PhaseChanged, e.StateChanged, e.Definition, e.News, e.ChannelWasReset))
# What takes several rows from the top at once: executions, and phases and states that end orders (9.4; script
# B2.8, B2.11).
_SWEEPING: Final = frozenset((e.Trade, e.ExecutionSummary, e.PhaseChanged, e.StateChanged))


class IncrementalStream:
    """`rpt_seqs` and `booked` say what was sent before, mid-week."""

    def __init__(
        self,
        channel: int,
        stream: MessageStream,
        writer: MessageWriter,
        books: PublishedBooks,
        *,
        rpt_seqs: Mapping[int, int] | None = None,
        booked: Iterable[int] = (),
        listener: Listener | None = None,
        stream_id: str | None = None,
    ) -> None:
        self.stream, self.books = stream, books
        self.booked = set(booked)  # instruments whose orders were told
        self.muted: set[int] = set()  # book updates of these are not told: their book comes whole
        self.figures = TradeFigures()
        self.tells_last_trades = False  # at a week's start; after a bust only 7, 8 and 9 come (13.4)
        self.lists = InstrumentLists(writer, channel, books.depth)
        self._writer, self._listener = writer, listener
        self._rpt_seqs: dict[int, int] = dict(rpt_seqs or {})
        self.stream_id = stream_id
        self._instant_ns = 0
        self._counts: list[int] = []

    def rpt_seq(self, security_id: int) -> int | None:
        return self._rpt_seqs.get(security_id)

    def forget(self) -> None:
        """A week begins: every instrument counts from 1 again."""
        self._rpt_seqs.clear()

    def message_counts(self, updates: Sequence[e.Update]) -> Sequence[int]:
        """Entries of each update of the event that was published last."""
        return self._counts

    def publish(self, event: e.Event, now_ns: int) -> None:
        if now_ns != self._instant_ns:
            self.stream.flush(self._instant_ns)
            self._instant_ns = now_ns
        updates = event.updates
        self._counts = []
        if len(updates) == 1 and type(updates[0]) is e.OrderUpdate:
            self._send_order(updates[0], now_ns)
        elif len(updates) == 1 and type(updates[0]) in STATISTICS:
            self._send_statistic(updates[0], now_ns)
        else:
            self._send_updates(updates, now_ns)
        if self._listener is not None:
            self._listener(event, now_ns)

    def flush(self, now_ns: int) -> None:
        self.stream.flush(now_ns)

    def _send_updates(self, updates: Sequence[e.Update], now_ns: int) -> None:
        kinds = {*map(type, updates)}
        sweeps = not _SWEEPING.isdisjoint(kinds)
        if _APART.isdisjoint(kinds):
            self._send_refresh(updates, now_ns, sweeps=sweeps)
            return
        for run, apart in _runs(updates):
            if apart:
                self._send_apart(run, now_ns)
            else:
                self._send_refresh(run, now_ns, sweeps=sweeps)

    # 35=X

    def _send_statistic(self, update: e.Update, now_ns: int) -> None:
        """What one entry says by itself, and nothing happened besides."""
        self.figures.observe(update)
        entry = STATISTICS[type(update)](update)
        set_stream(entry, self.stream_id)
        self._number(entry)
        self._counts.append(1)
        self._refresh([entry], now_ns)

    def _send_order(self, update: e.OrderUpdate, now_ns: int) -> None:
        """Most of the traffic: the shortest way."""
        security_id = update.security_id
        made = [] if security_id in self.muted else self.books.entries_of_order(update)
        if not made:
            self._counts.append(NOT_SENT)
            return
        self._counts.append(len(made))
        self.booked.add(security_id)
        number = self._rpt_seqs.get(security_id, 0)
        for entry in made:
            number += 1
            entry["RptSeq"] = number
            if self.stream_id is not None:
                set_stream(entry, self.stream_id)
        self._rpt_seqs[security_id] = number
        prepared = self._writer.refresh(REFRESH, made[0]["MDEntryDate"], made)
        self.stream.add(prepared, now_ns, len(made))

    def _send_refresh(self, updates: Sequence[e.Update], now_ns: int, *, sweeps: bool) -> None:
        made: list[n.Entry] = []
        self.figures.begin(updates)
        for entries in self._entries(updates, sweeps=sweeps):
            if entries is None:
                self._counts.append(NOT_SENT)
                continue
            self._counts.append(len(entries))
            made += entries
        if self.stream_id is not None:
            for entry in made:
                set_stream(entry, self.stream_id)
        for entry in made:
            self._number(entry)
        for first in range(0, len(made), MOST_ENTRIES):
            self._refresh(made[first : first + MOST_ENTRIES], now_ns)

    def _number(self, entry: n.Entry) -> None:
        security_id = entry["SecurityID"]
        if entry["MDEntryType"] == "J":
            self._rpt_seqs[security_id] = entry["RptSeq"] = 0
            return
        entry["RptSeq"] = self._rpt_seqs[security_id] = self._rpt_seqs.get(security_id, 0) + 1

    def _refresh(self, made: list[n.Entry], now_ns: int) -> None:
        template = REFRESH
        for entry in made:
            if "PriceDelta" in entry:
                template = VOLATILITY_REFRESH
                break
            if is_lending(entry):
                template = LENDING_REFRESH
        self.stream.add(self._writer.refresh(template, made[0]["MDEntryDate"], made), now_ns, len(made))

    def _entries(self, updates: Sequence[e.Update], *, sweeps: bool) -> Iterator[list[n.Entry] | None]:
        """Of each update; None: it is not sent, an empty list: it is in those of an update before it."""
        of_books = self.books.entries_of([self._unless_muted(update) for update in updates], executed=sweeps)
        for update, of_book in zip(updates, of_books, strict=True):
            if isinstance(update, _BOOK):
                if of_book is not None:
                    self.booked.add(update.security_id)
                yield of_book
            else:
                yield self._other(update)

    def _unless_muted(self, update: e.Update) -> e.Update | None:
        if isinstance(update, e.BookEmptied):
            return update
        return update if isinstance(update, _BOOK) and update.security_id not in self.muted else None

    def _other(self, update: e.Update) -> list[n.Entry] | None:
        kind = type(update)
        if isinstance(update, e.Trade):
            return [n.complete_trade(n.trade_entry(update), self.figures.of(update))]
        self.figures.observe(update)
        if isinstance(update, e.TradeBusted):
            return [n.trade_entry(update)]
        if isinstance(update, e.ExecutionStatistics):
            return [n.vwap_entry(update)]
        if isinstance(update, e.LastTrade) and self.tells_last_trades:
            return [n.exchange_last_entry(update)]
        if isinstance(update, e.BookEmptied):
            return [n.empty_book_entry(update.security_id, update.time_ns)]
        if kind in STATISTICS:
            return [STATISTICS[kind](update)]
        return None

    # Everything else

    def _send_apart(self, updates: Sequence[e.Update], now_ns: int) -> None:
        for update in updates:
            self.figures.observe(update)
        first = updates[0]
        if isinstance(first, e.Definition):
            self._list([each for each in updates if isinstance(each, e.Definition)], now_ns)
        elif isinstance(first, e.News):
            self._send(NEWS, news_fields(first), now_ns)
        elif isinstance(first, e.ChannelWasReset):
            self._send(RESET_REFRESH, _channel_reset(first.time_ns), now_ns)
        else:
            assert isinstance(first, e.PhaseChanged | e.StateChanged)
            self._send(STATUS, status_fields(first), now_ns)
        self._counts += [1] * len(updates)

    def _list(self, definitions: Sequence[e.Definition], now_ns: int) -> None:
        for prepared, count in self.lists.messages(definitions):
            self.stream.add(prepared, now_ns, count)
        for each in definitions:
            if each.action is DefinitionAction.DELETE:
                self._forget_instrument(each.instrument.security_id)

    def _forget_instrument(self, security_id: int) -> None:
        self._rpt_seqs.pop(security_id, None)
        self.booked.discard(security_id)
        self.books.forget(security_id)

    def _send(self, template: int, fields: Mapping[str, Any], now_ns: int) -> None:
        self.stream.add(self._writer.prepared(template, fields), now_ns)


def _runs(updates: Sequence[e.Update]) -> Iterator[tuple[Sequence[e.Update], bool]]:
    """Updates that are in one message, or one list of instruments; whether it is none of 35=X."""
    start = 0
    for index in range(1, len(updates) + 1):
        if index == len(updates) or not _together(updates[index - 1], updates[index]):
            yield updates[start:index], type(updates[start]) in _APART
            start = index


def _together(one: e.Update, other: e.Update) -> bool:
    if isinstance(one, e.Definition) and isinstance(other, e.Definition):
        return True
    return type(one) not in _APART and type(other) not in _APART


def _channel_reset(time_ns: int) -> Mapping[str, Any]:
    """J of no instrument: only template 81 can leave 48 and 83 out; 272 is not sent (5.2.9, 13.9)."""
    entry = {"MDUpdateAction": int(Action.NEW), "MDEntryType": "J", "MDEntryTime": n.clock_number(time_ns)}
    return {"MDEntries": [entry]}
