"""A market to look at: books, the last trades of each instrument and what the channels said. However fast
packets come, looking costs only whoever looks."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from pregao.captures.formats.text import printable
from pregao.feeds.registry import DEFAULT
from pregao.handler.keeper import Observer
from pregao.handler.views import HandledBook
from pregao.market.channels import Channels
from pregao.market.events import Trade, TradeBusted
from pregao.market.health import MarketHealth
from pregao.market.making import Scene, Symbols, bust, trade
from pregao.market.names import find_book
from pregao.market.session_channels import MarketSource, SessionChannels
from pregao.market.session_replay import ReplayedSessions
from pregao.market.sessions import SessionPackets
from pregao.model.events import News
from pregao.model.rows import ROW_SIZE, Kind, Rows
from pregao.recovery import events as e
from pregao.recovery.instrument_events import InstrumentHealed, InstrumentStale, InstrumentsUnverified
from pregao.recovery.policy import ChannelSettings

# The last trades of every instrument, kept as rows: objects are made of those that somebody looks at.


KEPT: Final = 100  # of one instrument

_IS_TRADE: Final = np.zeros(256, np.bool_)
_IS_TRADE[[Kind.TRADE, Kind.BUST]] = True


class Tape(Observer):
    """Of one channel."""

    def __init__(self, channel: int, kept: int = KEPT) -> None:
        self._scene, self._kept = Scene(channel, Symbols()), kept
        self._rows: dict[int, deque[bytes]] = {}
        self.counts: dict[int, int] = {}

    def on_rows(self, rows: Rows) -> None:
        picked = rows[_IS_TRADE[rows["kind"]]]
        data = picked.tobytes()
        for place, security_id in enumerate(picked["security_id"].tolist()):
            kept = self._rows.get(security_id)
            if kept is None:
                kept = self._rows[security_id] = deque(maxlen=self._kept)
            kept.append(data[place * ROW_SIZE : (place + 1) * ROW_SIZE])
            self.counts[security_id] = self.counts.get(security_id, 0) + 1

    def last(self, security_id: int, count: int) -> list[Trade | TradeBusted]:
        """Newest first. Symbols are not kept here: they are the securityID."""
        rows = list(self._rows.get(security_id, ()))[: -count - 1 : -1] if count > 0 else []
        return [(bust if row[0] == Kind.BUST else trade)(self._scene, row, 0) for row in rows]

    def busiest(self) -> int | None:
        """The instrument with the most trades so far."""
        return max(self.counts, key=self.counts.__getitem__, default=None)


_KEPT: Final = 200
_MANY: Final = 3
_LOOKED_AT: Final = 200  # books, for one to begin with: a channel may have tens of thousands
_ALARMING: Final = (
    e.GapDetected, e.PacketConflict, e.PacketDamaged, e.FeedSilent, e.ChannelSilent, e.FailedOver,
    InstrumentsUnverified, InstrumentStale, e.QueueOverflow, e.SessionEnded, e.RequestRefused,
)  # fmt: skip
# What a start brings by the hundred, or what is of interest to machines only.
_UNINTERESTING: Final = (e.JoinStream, e.LeaveStream, e.SnapshotLoopComplete)


@dataclass(frozen=True, slots=True)
class ChannelNotice:
    """Something that a channel said."""

    time_ns: int
    text: str
    alarming: bool


def _activity_of(book: HandledBook) -> tuple[bool, int, int]:
    """Whether there is anything in the book: one that trades may be empty just now, and shows nothing. Then
    trades of the session as its channel has counted them, and orders at the top."""
    totals, top = book.statistics.totals, book.top
    orders = sum(level.orders for level in (top.bid, top.offer) if level is not None)
    return orders > 0, 0 if totals is None else totals.trades, orders


class _WatchedTape(Tape):
    """News are told too."""

    def __init__(self, channel: int, watch: "Watch") -> None:
        super().__init__(channel)
        self._channel, self._watch = channel, watch

    def on_news(self, news: News) -> None:
        whole = "" if news.complete else " (incomplete)"
        words = f"channel {self._channel}: news: {printable(news.headline)}{whole}"
        self._watch.note(words, alarming=False)


class Watch:
    def __init__(
        self,
        packets: MarketSource,
        settings: ChannelSettings | None = None,
        *,
        system: str = DEFAULT,
    ) -> None:
        self.packets = packets
        self.notices: deque[ChannelNotice] = deque(maxlen=_KEPT)
        self._tapes: dict[int, Tape] = {}
        self._channels: Channels | SessionChannels
        if isinstance(packets, SessionPackets | ReplayedSessions):
            self._channels = SessionChannels(packets, self._observe, quotes=False, settings=settings)
        else:
            self._channels = Channels(packets, self._observe, quotes=False, settings=settings, system=system)
        if packets.speed is None:
            for _, events in self._channels.start():
                self._take(events)

    def step(self, timeout_s: float) -> None:
        """The packets that come next, if any do in time."""
        if not self.packets.ended:
            for channel, events in self._channels.handle(self._channels.wait(timeout_s)):
                self._take(self._summed_up(channel, events))

    def note(self, text: str, *, alarming: bool) -> None:
        self.notices.append(ChannelNotice(self._channels.now_ns, text, alarming))

    # What people look at

    def book(self, instrument: str | int, channel: int | None = None) -> HandledBook:
        return find_book(self._channels.handlers, instrument, channel)

    def books(self) -> Iterable[HandledBook]:
        """Of instruments that were defined."""
        for channel in sorted(self._channels.handlers):
            yield from (book for book in self._channels.handlers[channel].books() if book.instrument)

    def trades(self, book: HandledBook, count: int) -> list[Trade | TradeBusted]:
        """The last ones, newest first."""
        return self._tapes[book.channel].last(book.security_id, count)

    def busiest(self) -> HandledBook | None:
        """The instrument with the most trades that were heard; as long as there is none, the one with orders
        of which its channel tells the most."""
        found = [(tape.counts[busy], busy, channel) for channel, tape in self._tapes.items()
                 if (busy := tape.busiest()) is not None]  # fmt: skip
        if not found:
            return max(islice(self.books(), _LOOKED_AT), key=_activity_of, default=None)
        _, security_id, channel = max(found)
        return self.book(security_id, channel)

    def trade_count(self, security_id: int, channel: int) -> int:
        """Trades that were heard."""
        return self._tapes[channel].counts.get(security_id, 0)

    def health(self) -> MarketHealth:
        return self._channels.health()

    # Inside

    def _observe(self, channel: int) -> Tape:
        tape = self._tapes[channel] = _WatchedTape(channel, self)
        return tape

    def _summed_up(self, channel: int, events: list[e.Event]) -> list[e.Event]:
        """After a restart every instrument of a channel may be healed at once: that is one line."""
        for kind, word in (
            (InstrumentHealed, "whole again"),
            (InstrumentStale, "STALE"),
        ):
            count = sum(isinstance(event, kind) for event in events)
            if count > _MANY:
                events = [event for event in events if not isinstance(event, kind)]
                stale = kind is InstrumentStale
                self.note(f"channel {channel}: {count:,} instruments {word}", alarming=stale)
        return events

    def _take(self, events: Iterable[e.Event]) -> None:
        for event in events:
            if isinstance(event, _UNINTERESTING) or self._is_of_start(event):
                continue
            self.note(self._text(event), alarming=isinstance(event, _ALARMING))

    def _is_of_start(self, event: e.Event) -> bool:
        """A start heals every instrument."""
        if not isinstance(event, InstrumentHealed):
            return False
        return not all(handler.machine.ready for handler in self._channels.handlers.values())

    def _text(self, event: e.Event) -> str:
        if isinstance(event, InstrumentStale | InstrumentHealed):
            for handler in self._channels.handlers.values():
                instrument = handler.instruments.get(event.security_id)
                if instrument is not None:
                    return str(event).replace(f"instrument {event.security_id}", instrument.symbol)
        return str(event)
