"""Instruments with their state, and events that become messages."""

from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Final

from pregao.feeds.binary.sample.books import Book
from pregao.feeds.binary.sample.instruments import SESSION_NS, TRADE_DATE, Instrument, make_instruments
from pregao.feeds.binary.sample.words import Words

ORDERLESS: Final = frozenset({"FORWARD"})  # traded by agreement, without a book


@dataclass(slots=True)
class Listing:
    """An instrument and what is known of its day. Prices in ticks."""

    instrument: Instrument
    book: Book = field(default_factory=Book)
    rpt_seq: int = 0
    last: int | None = None
    last_size: int = 0
    opening: int | None = None
    high: int | None = None
    low: int | None = None
    volume: int = 0
    turnover: int = 0  # sum of ticks × quantity
    trades: int = 0
    phase: str = "OPEN"

    def price(self, ticks: int) -> Decimal:
        return ticks * self.instrument.tick

    @property
    def reference(self) -> int:
        return self.instrument.price if self.last is None else self.last


class Market:
    """All listings of a channel, a clock that only moves forward, and a source of chance."""

    def __init__(self, words: Words, seed: int) -> None:
        self.words = words
        self.random = Random(seed)
        self.now_ns = SESSION_NS
        self.listings = [Listing(instrument) for instrument in make_instruments()]
        self.groups = sorted({listing.instrument.group for listing in self.listings})
        self.arrivals = 0
        self.trade_ids = 0
        self.news_ids = 0
        self._busy = [one for one in self.listings if one.instrument.kind not in ORDERLESS]
        self._weights: list[float] = []
        total = 0.0
        for rank in range(len(self._busy)):
            total += 1 / (rank % 120 + 4)  # each kind has its own few busy ones
            self._weights.append(total)

    def wait(self, nanoseconds: int) -> None:
        self.now_ns += nanoseconds

    def listing(self) -> Listing:
        """Any listing with a book, the busy ones more often."""
        return self.random.choices(self._busy, cum_weights=self._weights)[0]

    def of_kind(self, *kinds: str) -> Listing:
        return self.random.choice([one for one in self.listings if one.instrument.kind in kinds])

    def firm(self) -> int | None:
        """A broker; none where the order is anonymous."""
        return self.random.choice((3, 8, 16, 23, 39, 40, 72, 85, 88, 93, 114, 127, 131, 147, 238, 386, None))

    def size(self, listing: Listing) -> int:
        return listing.instrument.lot * self.random.choice((1, 1, 1, 2, 2, 3, 5, 5, 10, 20, 50))


class Event:
    """Messages that belong together: only the last says EndOfEvent.

    `numbered` is False for what a snapshot repeats: it has no rptSeq of its own.
    """

    def __init__(self, market: Market, *, numbered: bool = True) -> None:
        self._market, self._numbered = market, numbered
        self._said: list[tuple[int, dict[str, object]]] = []

    def say(self, listing: Listing | None, template: int, /, **fields: object) -> None:
        """Add a message, unless this version has none of its kind. What the market knows is filled in."""
        words = self._market.words
        if template not in words.templates:
            return
        ambient: dict[str, object] = {
            "transactTime": self._market.now_ns,
            "mDEntryTimestamp": self._market.now_ns,
            "tradeDate": TRADE_DATE,
            "matchEventIndicator": (),
        }
        if listing is not None:
            ambient["securityID"] = listing.instrument.security_id
            if self._numbered and words.has(template, "rptSeq"):
                listing.rpt_seq += 1
                ambient["rptSeq"] = listing.rpt_seq
        here = {name: value for name, value in ambient.items() if words.has(template, name)}
        self._said.append((template, here | fields))

    def encode(self) -> list[bytes]:
        if self._said:
            _, fields = self._said[-1]
            indicator = fields.get("matchEventIndicator")
            if isinstance(indicator, tuple):
                fields["matchEventIndicator"] = (*indicator, "EndOfEvent")
        return [self._market.words.encode(template, fields) for template, fields in self._said]
