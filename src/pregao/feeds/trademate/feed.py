"""The market of bonds as Trademate tells it: events in, messages as fields out. No sessions, no clock.

    feed = TrademateFeed(bonds, trade_date)
    for bulletin in feed.publish(event): ...           # entries of 35=X, or a 35=f, each of some bonds
    feed.snapshot_head(security_id)                    # the fields of its 35=W, as of the last event
    feed.snapshot_entries(security_id)

The feed follows books by the positions (290) that it tells, so that a snapshot is what whoever read all
entries has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pregao.feeds.publishers import Tick
from pregao.feeds.trademate import entries as n
from pregao.feeds.trademate.definitions import bond_fields, casada_fields, status_fields
from pregao.feeds.trademate.values import MARKET, SOURCE, Fields, date_text
from pregao.model import events as e
from pregao.model.fixed_income import Bond
from pregao.model.market import Action, DefinitionAction, PriceOrigin, Side, State

LIST, STATUS, SNAPSHOT, REFRESH = b"y", b"f", b"W", b"X"
_DAY: Final = b"1"  # TradingSessionID of a snapshot's trade


class Refresh(NamedTuple):
    """Entries of 35=X, by bond, in the order of what happened."""

    entries: Mapping[int, list[Fields]]
    trade_date: int


class Status(NamedTuple):
    """35=f of one bond."""

    security_id: int
    fields: Fields


class Listing(NamedTuple):
    """35=y of one bond that came, changed or went."""

    bond: Bond
    action: DefinitionAction


Bulletin = Refresh | Status | Listing


@dataclass(slots=True)
class ToldBond:
    """What was told of a bond: its book by position, and the newest entry of each figure, by its key."""

    bond: Bond
    sides: dict[Side, list[e.OrderUpdate]] = field(default_factory=lambda: {side: [] for side in Side})
    figures: dict[bytes, Fields] = field(default_factory=dict)
    state: State | None = None
    letters: dict[int, bytes] = field(default_factory=dict)  # 277 of trades that had one, by TradeID
    volume: int = 0
    last: int | None = None
    moved: Tick | None = None

    def tick(self, trade: e.Trade) -> Tick | None:
        """Against the last price of the book; trades beside the book do not move it."""
        before, direction = self.last, self.moved
        if before is not None and trade.price != before:
            direction = Tick.PLUS if trade.price > before else Tick.MINUS
            told: Tick | None = direction
        else:
            told = None if direction is None else Tick(direction + 1)
        if trade.sub_type is None:
            self.last, self.moved = trade.price, direction
        return told


class TrademateFeed:
    def __init__(self, bonds: Iterable[Bond], trade_date: int) -> None:
        self.trade_date = trade_date
        self.told = {bond.instrument.security_id: ToldBond(bond) for bond in bonds}

    def publish(self, event: e.Event) -> Iterator[Bulletin]:
        """One 35=X with all entries of the event, and a 35=f for each state, before what follows from it."""
        entries: dict[int, list[Fields]] = {}
        traded: dict[int, int] = {}  # the size of the last trade of a bond in this event
        for update in event.updates:
            security_id = getattr(update, "security_id", None)
            told = None if security_id is None else self.told.get(security_id)
            if told is None or security_id is None:
                continue
            if isinstance(update, e.StateChanged):
                told.state = update.state
                if entries:
                    yield Refresh(entries, self.trade_date)
                    entries = {}
                yield Status(security_id, status_fields(told.bond, update))
            if isinstance(update, e.Trade):
                traded[security_id] = update.size
            made = self._entries(told, update, traded.get(security_id))
            if made:
                entries.setdefault(security_id, []).extend(made)
        if entries:
            yield Refresh(entries, self.trade_date)

    def define(self, bond: Bond, action: DefinitionAction) -> Listing:
        """A bond comes, changes or goes; what was told of one that goes is gone."""
        number = bond.instrument.security_id
        if action is DefinitionAction.DELETE:
            self.told.pop(number, None)
        elif number in self.told:
            self.told[number].bond = bond
        else:
            self.told[number] = ToldBond(bond)
        return Listing(bond, action)

    def listing_fields(self, bond: Bond, action: DefinitionAction) -> Fields:
        told = self.told.get(bond.instrument.security_id)
        return bond_fields(bond, action, None if told is None else told.state)

    def _entries(self, told: ToldBond, update: e.Update, size: int | None) -> list[Fields]:
        bond = told.bond
        if isinstance(update, e.OrderUpdate):
            _apply(told.sides[update.side], update)
            return [n.order_entry(bond, update)]
        if isinstance(update, e.Trade):
            return [self._trade(told, update)]
        if isinstance(update, e.TradeBusted):
            return [self._bust(told, update)]
        if isinstance(update, e.ExecutionStatistics):
            return self._statistics(told, update)
        if isinstance(update, e.OpeningPrice):
            return [_kept(told, b"4", n.opening_entry(bond, update, size), update.action)]
        if isinstance(update, e.StateChanged):
            return [_kept(told, b"c", n.state_entry(bond, update))]
        maker = n.STATISTICS.get(type(update))
        if maker is None:
            return []
        entry: Fields = maker(bond, update)
        return [_kept(told, _key(update, entry), entry, getattr(update, "action", Action.NEW))]

    def _trade(self, told: ToldBond, trade: e.Trade) -> Fields:
        closing = told.bond.instrument.closing_price
        net = None if closing is None else trade.price - closing
        told.volume += trade.size
        entry = n.trade_entry(told.bond, trade, told.volume, told.tick(trade), net)
        if 277 in entry:
            told.letters[trade.trade_id] = entry[277]
        if trade.sub_type is None:  # the last price is the book's
            _kept(told, b"2", entry)
        return entry

    def _bust(self, told: ToldBond, busted: e.TradeBusted) -> Fields:
        last = told.figures.get(b"2")
        if last is not None and last[1003] == b"%d" % busted.trade_id:
            del told.figures[b"2"]  # the one before it is not told again
            told.last = told.moved = None
        return n.bust_entry(told.bond, busted, told.letters.pop(busted.trade_id, b""))

    def _statistics(self, told: ToldBond, update: e.ExecutionStatistics) -> list[Fields]:
        """Volume always; the average where it is there, or was."""
        told.volume = update.volume
        made = [_kept(told, b"B", n.volume_entry(told.bond, update))]
        if update.vwap is not None or b"9" in told.figures:
            action = Action.DELETE if update.vwap is None else Action.NEW
            average = n.average_entry(told.bond, update, action)
            made.insert(0, _kept(told, b"9", average, action))
        return made

    def begin_day(self, trade_date: int) -> None:
        """Figures are those of a day; orders and states are told by events."""
        self.trade_date = trade_date
        for told in self.told.values():
            told.figures = {key: entry for key, entry in told.figures.items() if key == b"c"}
            told.letters.clear()
            told.volume, told.last, told.moved = 0, None, None

    def snapshot_head(self, security_id: int) -> Fields:
        """35=W before its entries, without what belongs to a request (262, 911, 893)."""
        bond = self.told[security_id].bond
        return {
            75: date_text(self.trade_date), 48: b"%d" % security_id, 22: SOURCE, 207: MARKET,
            876: b"%d" % bond.registration, **casada_fields(bond),
        }  # fmt: skip

    def snapshot_entries(
        self, security_id: int, sides: Mapping[Side, Sequence[e.OrderUpdate]] | None = None
    ) -> list[Fields]:
        """`sides`: books as of another moment than the last event."""
        told = self.told[security_id]
        sides = told.sides if sides is None else sides
        entries = [
            n.as_snapshot(n.order_entry(told.bond, order, place))
            for side in (Side.BUY, Side.SELL)
            for place, order in enumerate(sides[side], 1)
        ]
        for key, entry in sorted(told.figures.items()):
            kept = n.as_snapshot(entry)
            entries.append(kept | {336: _DAY} if key == b"2" else kept)
        return entries


def _apply(side: list[e.OrderUpdate], update: e.OrderUpdate) -> None:
    place = update.position - 1
    if update.action is Action.NEW:
        side.insert(place, update)
    elif update.action is Action.CHANGE:
        side[place] = update
    else:
        del side[place]


def _key(update: e.Update, entry: Fields) -> bytes:
    """What replaces what: bands by type, closing prices and theoretical ones apart."""
    if isinstance(update, e.PriceBand):
        return b"g%d" % (update.type or 0)
    if isinstance(update, e.ClosingPrice):
        return b"5 of before" if update.origin is PriceOrigin.PREVIOUS_DAY else b"5"
    if isinstance(update, e.TheoreticalPrice):
        return b"4 theoretical"
    kind: bytes = entry[269]
    return kind


def _kept(told: ToldBond, key: bytes, entry: Fields, action: Action = Action.NEW) -> Fields:
    """For snapshots, until it is deleted."""
    if action is Action.DELETE:
        told.figures.pop(key, None)
    else:
        told.figures[key] = entry
    return entry
