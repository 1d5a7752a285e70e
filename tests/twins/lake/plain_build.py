"""The tables of one channel's day without losses, from its captures, in plain Python: the slow, obvious twin
of the whole build."""

from datetime import date
from typing import Any

from pregao.books.phases import effective, own_after
from pregao.books.views import Level
from pregao.feeds.binary.reading.values import TranslatedMessage
from pregao.model import events as e
from pregao.model.market import DefinitionAction, Phase, Side, State, StateEvent, TradeCondition
from tests.twins.lake.plain_capture import PlainChannel, PlainPacket, moment
from tests.twins.lake.plain_rows import Row, price, rows_of, time_of
from tests.twins.plain_book import ReferenceBook

TABLES = (
    "packets", "orders", "trades", "executions", "statistics", "bands", "imbalances", "states", "quotes",
    "depth",
)  # fmt: skip
_SIDES = (("bid", Side.BUY), ("offer", Side.SELL))
_CHANGES = (e.OrderUpdate, e.SideDeleted)
AFTER_GAP = 2


class PlainBuild:
    """`tables` has every column but those of the build itself. Without losses nothing is in doubt but a book
    that is being told again (6.5.12 step 6), until an update of it without RecoveryMsg; in these days a loop
    proves it before its second is over. All else has the quality 0."""

    def __init__(self, channel: PlainChannel, trade_date: date) -> None:
        self.channel, self._date = channel, trade_date
        self.tables: dict[str, list[Row]] = {table: [] for table in TABLES}
        self._books: dict[int, ReferenceBook] = {}
        self._best: dict[int, tuple[Level | None, Level | None]] = {}  # as last told
        self._touched: set[int] = set()  # in this event
        self._told_again: set[int] = set()  # whose book is
        self._changed: set[int] = set()  # in this second
        self._execution: Row | None = None
        self._phases: dict[str, Phase] = {}  # by group
        self._own: dict[int, State] = {}  # states that instruments have by themselves
        self._crossed: dict[int, Row] = {}  # the last quote of an instrument whose book is crossed
        last: PlainPacket | None = None
        for packet in channel.packets:
            if last is not None and _second(packet) > _second(last):
                self._sample(last)
            self._take(packet)
            last = packet
        if last is not None:
            self._sample(last)

    # Rows

    def _row(
        self,
        table: str,
        packet: PlainPacket,
        ts_ns: int,
        kind: str,
        told: TranslatedMessage | None,
        own: Row,
        **more: Any,
    ) -> Row:
        row = {
            "system": "binary", "trade_date": self._date, "source": str(self.channel.channel),
            "channel": self.channel.channel, **packet.lineage, "quality": 0,
            "ts_event": ts_ns, "time": moment(ts_ns), "ts_event_kind": kind,
            "msg_index": None if told is None else told.index, "entry": 0,
            "rpt_seq": None if told is None else told.rpt_seq or None, **own, **more,
        }  # fmt: skip
        self.tables[table].append(row)
        return row

    def _who(self, security_id: int | None, packet: PlainPacket) -> Row:
        symbol = self.channel.symbol(security_id, packet.header.sending_time_ns)
        return {"security_id": security_id, "symbol": symbol}

    def _take(self, packet: PlainPacket) -> None:
        self._packet(packet)
        for told in packet.told:
            self._change(told, packet)
            self._follow(told)
            self._tell(told, packet)
            if told.end_of_event:
                self._end_event(told, packet)

    def _packet(self, packet: PlainPacket) -> None:
        own: Row = {"stream": "INCREMENTAL", "size": len(packet.payload), "messages": packet.messages}
        for feed in "AB":
            heard = packet.heard.get(feed)
            repeats = feed == "B" and "A" in packet.heard
            arrived = "LATE" if heard and heard.late else "DUPLICATE" if repeats else "FIRST"
            own[f"state_{feed.lower()}"] = arrived if heard else "MISSING"
            own[f"copies_{feed.lower()}"] = heard.copies if heard else 0
        row = self._row("packets", packet, *self._first_time(packet), None, own)
        row["entry"] = None  # a packet is no row of a message

    def _first_time(self, packet: PlainPacket) -> tuple[int, str]:
        """Of the first that tells one."""
        for told in packet.told:
            if rows_of(told) is not None and not isinstance(told.update, e.ChannelWasReset):
                ts_ns, kind = time_of(told)
                if ts_ns:
                    return ts_ns, kind
        return packet.header.sending_time_ns, "SEND"

    def _when(self, told: TranslatedMessage, packet: PlainPacket) -> tuple[int, str]:
        ts_ns, kind = time_of(told)
        return (ts_ns, kind) if ts_ns else (packet.header.sending_time_ns, "SEND")

    def _tell(self, told: TranslatedMessage, packet: PlainPacket) -> None:
        made = rows_of(told)
        if made is None:
            return
        table, rows = made
        if self._execution is not None:
            self._execution["trades"] += isinstance(told.update, e.Trade)
            self._execution["book_changes"] += isinstance(told.update, _CHANGES)
        who = self._who(getattr(told.update, "security_id", None), packet)
        reset = isinstance(told.update, e.ChannelWasReset)
        if table == "orders" and (reset or who["security_id"] in self._told_again):
            who["quality"] = AFTER_GAP
        if isinstance(told.update, (e.Trade, e.TradeBusted)):
            rows = [rows[0] | self._matched(told.update)]
        for entry, own in enumerate(rows):
            row = self._row(table, packet, *self._when(told, packet), told, who | own, entry=entry)
            if table == "executions":
                self._execution = row

    # Phases and states, and who began a trade

    def _follow(self, told: TranslatedMessage) -> None:
        update = told.update
        if isinstance(update, e.PhaseChanged):
            self._phases[update.group] = update.phase
        elif isinstance(update, e.StateChanged):
            group = self.channel.groups[update.security_id]
            before, phase = self._own.get(update.security_id), self._phases.get(group)
            own = own_after(before, phase, update.state, update.event, False)  # a day is a day
            self._own.pop(update.security_id, None)
            if own is not None:
                self._own[update.security_id] = own
            if update.event is StateEvent.REJOINS_GROUP and update.followed is not None:
                self._phases[group] = update.followed
        else:
            return
        # A book that is crossed when a state is told: its quote of the same moment was in that state.
        for security_id, quote in list(self._crossed.items()):
            state = self._in_state(security_id)
            if {name: quote[name] for name in state} != state:
                if abs(quote["ts_event"] - update.transact_ns) < 1_000_000:
                    quote |= state
                del self._crossed[security_id]

    def _in_state(self, security_id: int) -> Row:
        phase = self._phases.get(self.channel.groups.get(security_id, ""))
        state = effective(phase, self._own.get(security_id))
        return {"phase": phase and phase.name, "state": state and state.name}

    def _matched(self, update: e.Trade | e.TradeBusted) -> Row:
        nothing = dict.fromkeys(("aggressor", "ts_aggressor", "auction", "matching", "phase", "state"))
        if isinstance(update, e.TradeBusted):
            return nothing
        begun = self._execution
        if begun is not None and begun["security_id"] != update.security_id:
            begun = None
        side = begun["aggressor"] if begun is not None and begun["aggressor"] != "NONE" else None
        how = self._how(update, begun is not None, side)
        return {
            "aggressor": side, "ts_aggressor": begun["ts_aggressor"] if begun and side else None,
            "auction": how == "AUCTION", "matching": how, **self._in_state(update.security_id),
        }  # fmt: skip

    def _how(self, update: e.Trade, begun: bool, side: str | None) -> str:
        condition, kind = update.condition, update.sub_type and update.sub_type.name
        if kind == "LEG" or condition & 1 << 5:
            return "LEG"
        if update.forward:
            return "FORWARD"
        if kind in ("BLOCK_BOOK", "RFQ", "MIDPOINT") or TradeCondition.BLOCK in condition:
            return "BLOCK"
        if TradeCondition.CROSSED in condition:
            return "CROSS"
        if kind in ("TAC", "TAA"):
            return "AT_REFERENCE"
        if condition & (TradeCondition.ON_BEHALF | TradeCondition.OUT_OF_SEQUENCE):
            return "ENTERED"
        if begun:
            return "CONTINUOUS" if side else "BOTH_SIDES"
        return "AUCTION" if kind is None else "OTHER"

    # Books

    def _change(self, told: TranslatedMessage, packet: PlainPacket) -> None:
        update = told.update
        if isinstance(update, (*_CHANGES, e.BookEmptied)):
            book = self._books.setdefault(update.security_id, ReferenceBook())
            book.apply(update, told.flags)
            assert not book.suspect
            self._touched.add(update.security_id)
            self._changed.add(update.security_id)
            marked = isinstance(update, e.BookEmptied) or getattr(update, "recovery", False)
            (self._told_again.add if marked else self._told_again.discard)(update.security_id)
        elif isinstance(update, e.ChannelWasReset):
            self._empty(set(self._books), told, packet)
        elif isinstance(update, e.Definition) and update.action is DefinitionAction.DELETE:
            book = self._books.get(update.instrument.security_id, ReferenceBook())
            assert not any(book.orders(side) for side in Side)  # in these days nobody goes with a book

    def _empty(self, security_ids: set[int], told: TranslatedMessage, packet: PlainPacket) -> None:
        for security_id in security_ids:
            self._books[security_id].clear()
            if self._best.get(security_id, (None, None)) != (None, None):
                self._changed.add(security_id)
        self._touched |= security_ids
        self._end_event(told, packet)

    def _end_event(self, told: TranslatedMessage, packet: PlainPacket) -> None:
        for security_id in sorted(self._touched):
            top = self._books[security_id].top
            if (top.bid, top.offer) == self._best.get(security_id, (None, None)):
                continue
            self._best[security_id] = top.bid, top.offer
            own = self._who(security_id, packet)
            if security_id in self._told_again:
                own["quality"] = AFTER_GAP
            for name, level in (("bid", top.bid), ("offer", top.offer)):
                own[f"{name}_price"] = price(level.price) if level else None
                own[f"{name}_size"] = level.size if level else None
                own[f"{name}_orders"] = level.orders if level else None
            own |= self._in_state(security_id) | _NO_STREAM
            row = self._row("quotes", packet, *self._when(told, packet), told, own)
            self._crossed.pop(security_id, None)
            prices = top.bid and top.bid.price, top.offer and top.offer.price
            if None not in prices and prices[0] >= prices[1] and row["state"] == "OPEN":  # type: ignore[operator]
                self._crossed[security_id] = row
        self._touched, self._execution = set(), None

    def _sample(self, packet: PlainPacket) -> None:
        """The second of this packet ends after it."""
        sent_ns = packet.header.sending_time_ns
        for security_id in sorted(self._changed):
            own = self._who(security_id, packet) | {"ts_sample": (_second(packet) + 1) * 10**9}
            own |= self._in_state(security_id) | _NO_STREAM
            for name, side in _SIDES:
                levels = self._books[security_id].levels(side)
                for number in range(1, 11):
                    level = levels[number - 1] if number <= len(levels) else None
                    own[f"{name}_price_{number}"] = level and price(level.price)
                    own[f"{name}_size_{number}"] = level and level.size
                    own[f"{name}_orders_{number}"] = level and level.orders
            self._row("depth", packet, sent_ns, "SEND", None, own)
        self._changed = set()


_NO_STREAM: Row = {"md_stream": None}  # Binary UMDF has one


def _second(packet: PlainPacket) -> int:
    return packet.header.sending_time_ns // 10**9
