"""The entries of 35=W (7.5.3): the book as of the last tick, statistics, and the state.

Statistics of engine's instruments are the source's. What no engine has (indices, lending, totals of other
streams, volatilities) is kept here as it was told.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pregao.codecs.fix import Encoder
from pregao.codecs.fix.bodies import EncodedEntries
from pregao.feeds.conflated.publisher import entries as n
from pregao.feeds.conflated.publisher.books import PublishedBooks
from pregao.feeds.conflated.publisher.desks import STATISTICS, contract_entry, of_instrument
from pregao.feeds.conflated.publisher.listings import state_entry
from pregao.feeds.fix.bulletins import ENTRIES
from pregao.feeds.publishing import BookSource
from pregao.model import events as e
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import Action

SNAPSHOT: Final = b"W"
_DESKS: Final = (
    e.IndexValue, e.LendingContract, e.LendingInterest, e.StreamTotals, e.VolatilityPrice, e.CompositePrice,
)  # fmt: skip
_INDEX_FIGURES: Final = (e.OpeningPrice, e.HighPrice, e.LowPrice, e.ClosingPrice, e.SettlementPrice)
# By a change of session (7.5.5).
_FORGOTTEN: Final = frozenset(
    (e.LendingContract, e.IndexValue, e.StreamTotals, e.OpeningPrice, e.HighPrice, e.LowPrice)
)


class Snapshots:
    """Encoded when they are asked for, and kept until something of the instrument changes."""

    def __init__(
        self,
        source: BookSource,
        instruments: Mapping[int, Instrument],
        books: PublishedBooks,
        encoder: Encoder,
    ) -> None:
        self._source, self._instruments, self._encoder, self._books = source, instruments, encoder, books
        self._encoded: dict[int, dict[bool, EncodedEntries]] = {}  # by instrument, and by level or not
        self._newest: dict[int, dict[tuple[type, Any], e.Update]] = {}

    def is_index(self, security_id: int) -> bool:
        instrument = self._instruments.get(security_id)
        return instrument is not None and instrument.security_type is SecurityType.INDEX

    def keep(self, security_id: int, update: e.Update) -> None:
        """An update was told: the newest of each kind is kept where the source does not keep it."""
        self._encoded.pop(security_id, None)
        if isinstance(update, _DESKS) or (isinstance(update, _INDEX_FIGURES) and self.is_index(security_id)):
            key = type(update), getattr(update, "stream", None) or getattr(update, "origin", None)
            kept = self._newest.setdefault(security_id, {})
            if getattr(update, "action", Action.NEW) is Action.DELETE:
                kept.pop(key, None)
            else:
                kept[key] = update

    def change(self, security_ids: Iterable[int]) -> None:
        for security_id in security_ids:
            self._encoded.pop(security_id, None)

    def change_all(self) -> None:
        self._encoded.clear()

    def start_session(self, security_id: int) -> None:
        """1174=4: the statistics of 7.5.5 are forgotten; the source forgets its own."""
        self._encoded.pop(security_id, None)
        kept = self._newest.get(security_id, {})
        self._newest[security_id] = {key: each for key, each in kept.items() if key[0] not in _FORGOTTEN}

    def forget(self, security_id: int) -> None:
        self._encoded.pop(security_id, None)
        self._newest.pop(security_id, None)

    def of(self, security_id: int, *, by_level: bool = False) -> EncodedEntries:
        kept = self._encoded.setdefault(security_id, {})
        found = kept.get(by_level)
        if found is None:
            instrument = self._instruments.get(security_id)
            told = self._entries(security_id, by_level=by_level)
            entries = [of_instrument(entry, instrument) for entry in told]
            found = kept[by_level] = self._encoder.entries(SNAPSHOT, ENTRIES, entries)
        return found

    def _entries(self, security_id: int, *, by_level: bool) -> Iterator[n.Entry]:
        yield from self._books.entries(security_id, by_level=by_level)
        book = self._source.book(security_id)
        told = [] if book is None else list(book.statistics)
        for update in [*told, *self._newest.get(security_id, {}).values()]:
            yield from _statistic(update)
        if book is not None and book.state is not None:
            yield n.as_snapshot(state_entry(book.state, self._phase(security_id)))

    def _phase(self, security_id: int) -> e.PhaseChanged | None:
        instrument = self._instruments.get(security_id)
        if instrument is None:
            return None
        key = instrument.group, instrument.exchange
        return next((each for each in self._source.phases() if (each.group, each.exchange) == key), None)


def _statistic(update: e.Update) -> Iterator[n.Entry]:
    if isinstance(update, e.LastTrade):
        yield n.snapshot_trade(update)
    elif isinstance(update, e.LendingContract):
        yield n.as_snapshot(contract_entry(update)) | {277: n.EXCHANGE_LAST}
    elif isinstance(update, e.ExecutionStatistics):
        yield n.as_snapshot(n.volume_entry(update))
        if update.vwap is not None:
            yield n.as_snapshot(n.vwap_entry(update))
    elif type(update) in STATISTICS:
        yield n.as_snapshot(STATISTICS[type(update)](update))
