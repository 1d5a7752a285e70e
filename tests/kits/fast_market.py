"""A small market that speaks UMDF FIX/FAST, with a truth of its own: MBO, MBP and TOB channels of the same
kind of orders. It knows nothing of the code that reads it but the encoder.

Times are virtual: whoever sends says when. Numbers, loops and resets are as 5.2.4 to 5.2.9 have them.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.chunks import write_chunks
from pregao.feeds.fast.times import as_number
from pregao.model.streams import Feed, Stream

CHANNEL: Final = 62
MS: Final = 1_000_000
START_NS: Final = 1_381_928_400_000_000_000  # 2013-10-16 13:00:00 UTC
NEW, CHANGE, DELETE, DELETE_THRU, DELETE_FROM, OVERLAY = range(6)
Entry = dict[str, Any]


class Sent(NamedTuple):
    """A datagram."""

    ts_ns: int
    stream: Stream
    feeds: tuple[Feed, ...]
    payload: bytes


class ToyOrder(NamedTuple):
    id: int
    price: int  # in hundredths
    size: int


class ToySide:
    """Orders by price and time; what it tells of a change depends on the kind of book."""

    def __init__(self, kind: str, letter: str, depth: int) -> None:
        self.kind, self.letter, self.depth = kind, letter, depth
        self.sign = -1 if letter == "0" else 1
        self.orders: list[ToyOrder] = []

    def levels(self, depth: int | None = None) -> list[tuple[int, int, int]]:
        """Price, size and orders of each, best first."""
        found: dict[int, tuple[int, int]] = {}
        for order in self.orders:
            size, count = found.get(order.price, (0, 0))
            found[order.price] = size + order.size, count + 1
        return [(price, *found[price]) for price in found][:depth]

    def told(self) -> list[Entry]:
        """All of it, as new entries."""
        if self.kind == "MBO":
            return [self._order_entry(NEW, index, order) for index, order in enumerate(self.orders)]
        levels = self.levels(self.depth)
        return [self._level_entry(NEW, index, level) for index, level in enumerate(levels)]

    def add(self, order: ToyOrder) -> list[Entry]:
        place = sum((each.price - order.price) * self.sign <= 0 for each in self.orders)
        return self._changed(lambda: self.orders.insert(place, order), (NEW, place, order))

    def shrink(self, place: int, size: int) -> list[Entry]:
        order = self.orders[place]._replace(size=size)
        return self._changed(lambda: self.orders.__setitem__(place, order), (CHANGE, place, order))

    def remove(self, place: int) -> list[Entry]:
        order = self.orders[place]
        return self._changed(lambda: self.orders.pop(place), (DELETE, place, order._replace(size=0)))

    def sweep(self, count: int) -> list[Entry]:
        """The first orders, in one Delete From (9.4); or all of the side, in a Delete Thru (9.5)."""
        action = DELETE_FROM if count else DELETE_THRU
        order = ToyOrder(0, 0, 0)
        keep = count if count else len(self.orders)
        return self._changed(lambda: self.orders.__delitem__(slice(keep)), (action, max(count, 1) - 1, order))

    def _changed(self, change: Any, told: tuple[int, int, ToyOrder]) -> list[Entry]:
        before = self.levels()
        change()
        if self.kind == "MBO":
            return [self._order_entry(*told)]
        after = self.levels()
        return self._top(before, after) if self.kind == "TOB" else self._depth(before, after)

    def _order_entry(self, action: int, place: int, order: ToyOrder) -> Entry:
        entry: Entry = {"MDUpdateAction": action, "MDEntryType": self.letter, "MDEntryPositionNo": place + 1}
        if action in (DELETE_FROM, DELETE_THRU):
            return entry
        entry |= {"OrderID": str(order.id), ("MDEntryBuyer" if self.letter == "0" else "MDEntrySeller"): "72"}
        if action != DELETE:  # real ones have neither
            entry |= {"MDEntryPx": Scaled(order.price, -2), "MDEntrySize": order.size}
        return entry

    def _level_entry(self, action: int, place: int, level: tuple[int, int, int] | None) -> Entry:
        entry: Entry = {"MDUpdateAction": action, "MDEntryType": self.letter, "MDEntryPositionNo": place + 1}
        if level is not None and action != DELETE:
            price, size, orders = level
            entry |= {"MDEntryPx": Scaled(price, -2), "MDEntrySize": size, "NumberOfOrders": orders}
        return entry

    def _top(self, before: list[tuple[int, int, int]], after: list[tuple[int, int, int]]) -> list[Entry]:
        if before[:1] == after[:1]:
            return []
        return [self._level_entry(OVERLAY, 0, after[0] if after else None)]

    def _depth(self, before: list[tuple[int, int, int]], after: list[tuple[int, int, int]]) -> list[Entry]:
        """Deletes from the worst, then new ones from the best, then changes: the receiver drops the
        bottom."""
        depth, entries = self.depth, []
        shown = before[:depth]
        prices = {level[0] for level in after[:depth]}
        for place in reversed(range(len(shown))):
            # One that a better level pushes out is not told (9.2.1); one that is gone is.
            if shown[place][0] not in {level[0] for level in after}:
                entries.append(self._level_entry(DELETE, place, None))
                del shown[place]
        for place, level in enumerate(after[:depth]):
            if place >= len(shown) or shown[place][0] != level[0]:
                entries.append(self._level_entry(NEW, place, level))
                shown.insert(place, level)
                del shown[depth:]
            elif shown[place] != level:
                entries.append(self._level_entry(CHANGE, place, level))
                shown[place] = level
        assert [level[0] for level in shown] == [level[0] for level in after[:depth]], (prices, shown)
        return entries


class ToyInstrument:
    def __init__(self, security_id: int, kind: str, depth: int) -> None:
        self.security_id, self.reports = security_id, 0
        self.bids, self.offers = ToySide(kind, "0", depth), ToySide(kind, "1", depth)
        self.last: tuple[int, int] | None = None  # price and size of the last trade
        self.high: int | None = None

    @property
    def sides(self) -> tuple[ToySide, ToySide]:
        return self.bids, self.offers


class FastToy:
    """`kind`: MBO, MBP or TOB. Messages of the incremental stream come out of the methods that say what
    happens; `archive` keeps them for replayers."""

    def __init__(
        self, seed: int, kind: str = "MBO", *, instruments: int = 6, depth: int = 5, channel: int = CHANNEL,
        groups: int = 2,
    ) -> None:  # fmt: skip
        self.random, self.kind, self.channel = Random(seed), kind, channel
        self.depth = {"MBO": 0, "MBP": depth, "TOB": 1}[kind]
        ids = range(200_000_000_001, 200_000_000_001 + instruments)
        self.instruments = {each: ToyInstrument(each, kind, self.depth) for each in ids}
        self.phases = {f"G{index}": 17 for index in range(groups)}
        self.number, self.now_ns, self._orders, self._trades = 0, START_NS, 0, 0
        self._encoder = FastMessageEncoder(load_builtin_templates())
        self.archive: dict[int, bytes] = {}  # of this sequence
        self.least_orders = 3  # of a side: with fewer, orders only come

    # Messages of the incremental stream

    def group_of(self, security_id: int) -> str:
        return f"G{security_id % len(self.phases)}"

    def step(self) -> bytes:
        """Something happens to one instrument."""
        one = self.random.choice(list(self.instruments.values()))
        entries = self._act(one)
        return self.refresh(one, entries) if entries else self.heartbeat()

    def refresh(self, one: ToyInstrument, entries: list[Entry]) -> bytes:
        return self._send(145, {"TradeDate": 20131016, "MDEntries": [self._placed(one, e) for e in entries]})

    def heartbeat(self) -> bytes:
        return self._send(144, {})

    def phase(self, group: str, phase: int, event: int | None = None) -> bytes:
        self.phases[group] = phase
        more = {} if event is None else {"SecurityTradingEvent": event}
        return self._send(142, {
            "SecurityGroup": group, "SecurityExchange": "BVMF", "TradingSessionSubID": f"{phase:02}",
            "TransactTime": as_number(self.now_ns), "TradeDate": 20131016,
        } | more)  # fmt: skip

    def reset(self) -> bytes:
        """35=4: the last of its sequence; the next is number 1 (5.2.8)."""
        message = self._send(122, {"NewSeqNo": 1})
        self.number = 0
        self.archive.clear()
        return message

    def book_reset(self, security_id: int) -> list[bytes]:
        """5.2.9: J, then all of the book again with R."""
        one = self.instruments[security_id]
        told = [self.refresh(one, [{"MDUpdateAction": NEW, "MDEntryType": "J"}])]
        one.reports = 0
        for entry in [*one.bids.told(), *one.offers.told()]:
            told.append(self.refresh(one, [entry | {"QuoteCondition": "R"}]))
        return told

    def channel_reset(self) -> list[bytes]:
        told = [self._send(81, {"MDEntries": [{"MDEntryType": "J", "MDEntryTime": self._clock}]})]
        for security_id in self.instruments:
            told += self.book_reset(security_id)
        return [*told, *(self.phase(group, phase) for group, phase in list(self.phases.items()))]

    # Loops

    def definitions(self) -> list[bytes]:
        """Messages of two instruments each, then the reset."""
        listed = [self._listed(each) for each in self.instruments]
        groups = [listed[at : at + 2] for at in range(0, len(listed), 2)]
        made = []
        for number, group in enumerate(groups, 1):
            last = "Y" if number == len(groups) else "N"
            fields = {
                "MsgSeqNum": number, "SendingTime": str(as_number(self.now_ns)), "LastFragment": last,
                "TotNoRelatedSym": len(listed), "RelatedSym": group,
            }  # fmt: skip
            made.append(self._encoder.encode(149, fields))
        return [*made, self._loop_reset(len(made) + 1)]

    def snapshots(self) -> list[bytes]:
        """One for each instrument that told something, then the reset."""
        live = [one for one in self.instruments.values() if one.reports]
        made = []
        for number, one in enumerate(live, 1):
            depth = {"MarketDepth": self.depth} if self.depth else {}
            made.append(self._encoder.encode(147, {
                "MsgSeqNum": number, "SendingTime": as_number(self.now_ns), "TotNumReports": len(live),
                "LastMsgSeqNumProcessed": self.number, "RptSeq": one.reports, "SecurityID": one.security_id,
                "TradeDate": 20131016, "MDEntries": self._whole(one),
            } | depth))  # fmt: skip
        return [*made, self._loop_reset(len(made) + 1)]

    # Inside

    @property
    def _clock(self) -> int:
        return as_number(self.now_ns) % 1_000_000_000

    def _act(self, one: ToyInstrument) -> list[Entry]:
        chance = self.random
        side = chance.choice(one.sides)
        dice = chance.random()
        if len(side.orders) < self.least_orders or dice < 0.45:
            return self._add(one, side)
        if dice < 0.6:
            place = chance.randrange(len(side.orders))
            size = side.orders[place].size
            return side.shrink(place, max(100, size // 2)) if size > 100 else side.remove(place)
        if dice < 0.85:
            return side.remove(chance.randrange(len(side.orders)))
        if dice < 0.98:
            return self._trade(one, side)
        return side.sweep(0)

    def _add(self, one: ToyInstrument, side: ToySide) -> list[Entry]:
        self._orders += 1
        away = self.random.randrange(1, 12)
        price = 1_000 + (away if side.letter == "1" else -away)
        return side.add(ToyOrder(self._orders, price, self.random.randrange(1, 20) * 100))

    def _trade(self, one: ToyInstrument, side: ToySide) -> list[Entry]:
        """The first orders are hit."""
        count = self.random.randrange(1, min(3, len(side.orders)) + 1)
        price, size = side.orders[0].price, sum(order.size for order in side.orders[:count])
        self._trades += 1
        one.last = price, size
        entries: list[Entry] = [{
            "MDUpdateAction": NEW, "MDEntryType": "2", "MDEntryPx": Scaled(price, -2), "MDEntrySize": size,
            "TradeID": str(self._trades), "MDStreamID": "E", "TradeVolume": size, "MDEntryBuyer": "1",
            "MDEntrySeller": "2",
        }]  # fmt: skip
        if one.high is None or price > one.high:
            one.high = price
            entries.append({"MDUpdateAction": NEW, "MDEntryType": "7", "MDEntryPx": Scaled(price, -2)})
        return entries + side.sweep(count)

    def _placed(self, one: ToyInstrument, entry: Entry) -> Entry:
        one.reports += 1
        return {
            "SecurityID": one.security_id, "RptSeq": one.reports, "MDEntryTime": self._clock,
            "MDEntryDate": as_number(self.now_ns) // 1_000_000_000, **entry,
        }  # fmt: skip

    def _whole(self, one: ToyInstrument) -> list[Entry]:
        when = {"MDEntryDate": as_number(self.now_ns) // 1_000_000_000, "MDEntryTime": f"{self._clock:09}"}
        entries = [*one.bids.told(), *one.offers.told()]
        if one.last is not None:
            price, size = one.last
            entries.append({
                "MDEntryType": "2", "MDEntryPx": Scaled(price, -2), "MDEntrySize": size,
                "TradeID": str(self._trades), "MDStreamID": "E",
            })  # fmt: skip
        if one.high is not None:
            entries.append({"MDEntryType": "7", "MDEntryPx": Scaled(one.high, -2)})
        phase = self.phases[self.group_of(one.security_id)]
        entries.append({"MDEntryType": "c", "TradingSessionSubID": f"{phase:02}"})
        for entry in entries:
            entry.pop("MDUpdateAction", None)
        return [entry | when for entry in entries]

    def _listed(self, security_id: int) -> Entry:
        kinds = [{"MDFeedType": "STD", "MarketDepth": self.depth}] if self.depth else None
        return {
            "Symbol": f"TOY{security_id % 1000}", "SecurityID": security_id, "SecurityUpdateAction": "A",
            "ApplIDs": [{"ApplID": str(self.channel), "FeedTypes": kinds}], "Product": 4, "SecurityType":
            "CS", "SecuritySubType": "0", "SecurityDesc": "A TOY", "CFICode": "ESXXXX", "CountryOfIssue":
            "BR", "IssueDate": 20100101, "SecurityValidityTimestamp": 20131231235959000,
            "SecurityGroup": self.group_of(security_id),
        }  # fmt: skip

    def _loop_reset(self, number: int) -> bytes:
        return self._encoder.encode(
            122, {"MsgSeqNum": number, "SendingTime": as_number(self.now_ns), "NewSeqNo": 1}
        )

    def _send(self, template: int, fields: Entry) -> bytes:
        self.number += 1
        head = {"MsgSeqNum": self.number, "SendingTime": as_number(self.now_ns)}
        message = self._encoder.encode(template, head | fields)
        self.archive[self.number] = message
        return message


def numbered(messages: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """Of a loop: from 1."""
    return iter(enumerate(messages, 1))


def datagrams(number: int, message: bytes, size: int = 1_410) -> list[bytes]:
    return write_chunks(number, message, size)
