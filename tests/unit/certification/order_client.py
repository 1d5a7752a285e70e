"""A client of Binary UMDF and PUMA Conflated with books of its own: lists of orders, and levels made of them.

Of Pregão it uses what reads the wire (decoder, FIX session) only. Bugs are subclasses of it.
"""

from bisect import insort
from decimal import Decimal
from typing import Any

from pregao.codecs.fix import load_builtin_dictionary
from pregao.codecs.fix.compression import StreamInflater
from pregao.feeds.registry import load_decoding, load_tagger
from pregao.io.tcp_stream import Connected, Received
from pregao.sessions.fix import FixSession, SessionSettings
from pregao.sessions.fix import events as fix

Line = dict[str, Any]


class OrderClient:
    def __init__(self, config: dict[str, Any], stream: Any = None, clock: Any = None) -> None:
        self.config, self.stream, self.clock = config, stream, clock
        self.decoder: Any = load_decoding(config["system"]).decoder()
        self.tagger = load_tagger(config["system"])
        self.books: dict[int, tuple[list[Any], list[Any]]] = {}
        self.states: dict[int, Line] = {}
        self.groups: dict[int, str] = {}
        self.phases: dict[str, int] = {}
        self.apart: set[int] = set()
        self.session: FixSession | None = None
        self.forget()

    def forget(self) -> None:
        self.synced: dict[int, int] = {}
        self.queued: list[tuple[int, Line]] = []

    def obey(self, command: Line) -> Any:
        if command["do"] in ("connect", "disconnect"):
            self.forget()
        if self.stream is not None:
            if command["do"] == "connect":
                self.stream.close()
                self.listed = False
                self.stream.open("", 0)
            elif command["do"] == "disconnect":
                self.stream.close()
            yield from self.converse()
        if command["do"] == "settle":
            for stream, payload, _ in self.config["packets"]():
                yield from self.payload(stream["channel"], stream["stream"], payload)
            yield {"see": "settled"}

    # PUMA Conflated: log on, ask for the list (35=x), then for market data of it (35=V)

    def converse(self) -> Any:
        while happened := self.stream.poll(0):
            for each in happened:
                if isinstance(each, Connected):
                    told = self.config["session"]
                    settings = SessionSettings(
                        sender=told["sender"], target=told["target"], heartbeat_s=told["heartbeat_s"],
                        reset_on_logon=True, strict=False, tells_heartbeats=True,
                    )  # fmt: skip
                    self.session = FixSession.initiator(settings, load_builtin_dictionary())
                    self.inflater = StreamInflater()
                    self.session.connect(self.clock())
                elif isinstance(each, Received):
                    for piece in self.inflater.feed(each.data):
                        for event in self.session.receive(piece, self.clock()):
                            yield from self.event(event)
            self.stream.send(self.session.data_to_send())
        if self.session is not None and self.stream.is_open:
            for event in self.session.on_timeout(self.clock()):
                yield from self.event(event)
            self.stream.send(self.session.data_to_send())

    def event(self, event: Any) -> Any:
        if isinstance(event, fix.LoggedOn):
            self.session.send(b"x", {320: "LIST", 263: "1", 559: 4}, self.clock())
        elif isinstance(event, fix.HeartbeatReceived):
            yield from self.heartbeat(0)
        elif isinstance(event, fix.MessageReceived):
            yield from self.payload(0, "incremental" if self.listed else "definition", event.message.raw)
            if event.message.msg_type == b"y" and event.message.text(893) == "Y" and not self.listed:
                self.listed = True
                groups = [{1151: name} for name in sorted(set(self.groups.values()))]
                body = {262: "DATA", 263: "1", 1021: 3, 37022: groups}
                self.session.send(b"V", body, self.clock())

    # Messages, of either system

    def payload(self, channel: int, stream: str, payload: bytes) -> Any:
        flow = channel, stream
        for unit in self.decoder.decode(payload, flow):
            for placed in unit.messages:
                for told in self.tagger.tagged(placed.message, flow):
                    number = unit.header.sequence_number
                    yield from self.message(channel, stream, number, told.kind, told.fields)

    def message(self, channel: int, stream: str, number: int, kind: str, fields: Any) -> Any:
        if kind == "0" and stream == "incremental":
            yield from self.heartbeat(channel)
        elif kind == "B":
            yield {"see": "news", "headline": fields["Headline"]}
        elif kind == "y":
            yield from self.definitions(stream, fields["RelatedSym"])
        elif kind == "f":
            yield from self.status(fields)
        elif kind == "W" and (self.stream is not None or fields["SecurityID"] not in self.synced):
            yield from self.snapshot(fields)
        elif kind == "X":
            for entry in fields["MDEntries"]:
                yield from self.entry(number, entry)

    def heartbeat(self, channel: int) -> Any:
        yield {"see": "heartbeat", "channel": channel}

    def definitions(self, stream: str, instruments: Any) -> Any:
        for each in instruments:
            self.groups[each["SecurityID"]] = each["SecurityGroup"]
            match = each.get("SecurityMatchType")
            yield {
                "see": "definition", "id": each["SecurityID"], "symbol": each["Symbol"], "stream": stream,
                "match": None if match is None else int(match),
                "legs": [leg["LegSecurityID"] for leg in each.get("Legs") or ()],
            }  # fmt: skip

    # States

    def status(self, fields: Any) -> Any:
        session, event = self.session_of(fields), fields.get("SecurityTradingEvent")
        event = None if event is None else int(event)
        security_id = fields.get("SecurityID")
        if security_id is not None:
            yield from self.own_state(security_id, int(fields["SecurityTradingStatus"]), session, event)
            return
        phase = self.phases[fields["SecurityGroup"]] = int(fields["TradingSessionSubID"])
        for each, group in self.groups.items():
            if group == fields["SecurityGroup"] and each not in self.apart:
                yield self.now(each, phase=phase, state=None, session=session, event=event)

    def own_state(self, security_id: int, state: int | None, session: int, event: int | None) -> Any:
        if event == 102:
            self.apart.discard(security_id)
            state = None
        elif event == 101:
            self.apart.add(security_id)
        yield self.now(security_id, state=state, session=session, event=event)

    @staticmethod
    def session_of(fields: Any) -> int:
        return int(fields.get("TradingSessionID") or 1)

    def now(self, security_id: int, **known: Any) -> Line:
        state = self.states.setdefault(security_id, {"phase": None, "state": None})
        state.update(known)
        return {"see": "state", "id": security_id, **state}

    # Books

    def snapshot(self, fields: Any) -> Any:
        security_id = fields["SecurityID"]
        self.synced[security_id] = fields.get("LastMsgSeqNumProcessed") or 0
        self.books[security_id] = self.emptied(security_id)
        for entry in fields["MDEntries"]:
            if entry["MDEntryType"] in ("0", "1"):
                self.snapshot_order(security_id, entry)
            elif entry["MDEntryType"] == "c":
                yield self.phase_of(security_id, entry)
        yield from self.seen(security_id)
        queued, self.queued = self.queued, []
        for number, entry in queued:
            if entry["SecurityID"] == security_id:
                yield from self.entry(number, entry)
            else:
                self.queued.append((number, entry))

    def emptied(self, security_id: int) -> tuple[list[Any], list[Any]]:
        return [], []

    def snapshot_order(self, security_id: int, entry: Any) -> None:
        self.place(security_id, 0, entry)

    def phase_of(self, security_id: int, entry: Any) -> Line:
        """One of 625 and 326 is there: who follows its group is in the state that its phase is."""
        phase, state = entry.get("TradingSessionSubID"), entry.get("SecurityTradingStatus")
        session = self.session_of(entry)
        if str(entry.get("SecurityTradingEvent")) == "101":
            self.apart.add(security_id)
            return self.now(security_id, state=int(state), session=session, event=None)
        self.apart.discard(security_id)
        return self.now(security_id, phase=int(phase or state), state=None, session=session, event=None)

    def entry(self, number: int, entry: Any) -> Any:
        security_id, kind = entry["SecurityID"], entry["MDEntryType"]
        if kind == "3":
            yield {"see": "index", "id": security_id, "value": str(entry["MDEntryPx"])}
        elif kind == "2" and entry.get("MDUpdateAction", 0) == 0:
            yield from self.trade(security_id, entry)
        elif kind in ("0", "1", "J"):
            if self.stream is None and security_id not in self.synced:
                self.queued.append((number, entry))
            elif self.is_new(number, security_id):
                if kind == "J":
                    self.books[security_id] = [], []
                else:
                    self.place(security_id, entry["MDUpdateAction"], entry)
                yield from self.seen(security_id)

    def is_new(self, number: int, security_id: int) -> bool:
        return self.stream is not None or number > self.synced[security_id]

    def trade(self, security_id: int, entry: Any) -> Any:
        conditions = (entry.get("TradeCondition") or "").split()
        if "U" in conditions:
            return
        yield {
            "see": "trade", "depth": "mbo", "id": security_id, "price": str(entry["MDEntryPx"]),
            "size": int(entry["MDEntrySize"]), "conditions": conditions, "last": self.sets_last(conditions),
        }  # fmt: skip

    def sets_last(self, conditions: list[str]) -> bool:
        return "1" not in conditions

    def place(self, security_id: int, action: int, entry: Any) -> None:
        """Rows are (rank, id, price, size): no price is the best of all."""
        rows = self.books.setdefault(security_id, ([], []))[int(entry["MDEntryType"])]
        if action == 3:
            rows.clear()
            return
        order_id = int(entry["OrderID"])
        at = [place for place, row in enumerate(rows) if row[1] == order_id]
        if action in (1, 2):
            self.remove(rows, at[0])
        if action in (0, 1):
            price = entry.get("MDEntryPx")
            insort(rows, (self.rank(entry["MDEntryType"], price), order_id, price, int(entry["MDEntrySize"])))

    def remove(self, rows: list[Any], at: int) -> None:
        del rows[at]

    def rank(self, side: str, price: Decimal | None) -> tuple[bool, Decimal]:
        return price is not None, (price or Decimal()) * (-1 if side == "0" else 1)

    def seen(self, security_id: int) -> Any:
        sides = [self.levels(rows) for rows in self.books[security_id]]
        orders = [[[_text(row[2]), row[3], 1] for row in rows] for rows in self.books[security_id]]
        for depth, (bids, offers) in (
            ("mbo", orders), ("mbp", [side[: self.config["levels"]] for side in sides]),
            ("tob", [side[:1] for side in sides]),
        ):  # fmt: skip
            yield {"see": "book", "depth": depth, "id": security_id, "bids": bids, "offers": offers}

    @staticmethod
    def levels(rows: list[Any]) -> list[list[Any]]:
        found: list[list[Any]] = []
        for _, _, price, size in rows:
            if not found or found[-1][0] != _text(price):
                found.append([_text(price), 0, 0])
            found[-1][1] += size
            found[-1][2] += 1
        return found


def _text(price: Decimal | None) -> str | None:
    return None if price is None else f"{price:.4f}"
