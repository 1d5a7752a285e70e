"""A client for `pregao certify` with books of its own: lists. Whether they are right, B3's script says.

    pregao certify --client "python examples/certify_client.py"

Pregão joins, decodes and asks; docs/certification-client.md has the lines that are read and written."""

import json
import sys

import pregao

NEW, CHANGE, DELETE, DELETE_THRU, DELETE_FROM, OVERLAY = range(6)


class Client:
    def __init__(self, config=None):
        self.streams = pregao.CertifyStreams(config)
        self.longest = {"mbo": 10_000, "mbp": self.streams.config["levels"], "tob": 1}
        self.books, self.states, self.groups, self.apart = {}, {}, {}, set()
        self.synced, self.queued = {}, []

    def obey(self, command):
        if command == {"do": "connect"}:
            self.synced, self.queued = {}, []
        for message in self.streams.obey(command):
            yield from self.message(*message)
        if command["do"] == "settle":
            yield {"see": "settled"}

    def message(self, stream, number, kind, fields):
        depth, security_id = stream.get("depth"), fields.get("SecurityID")
        if kind == "0":
            yield {"see": "heartbeat", "channel": stream["channel"]}
        elif kind == "B":
            yield {"see": "news", "headline": fields.get("EncodedHeadline") or fields["Headline"]}
        elif kind == "replay":  # 35=A, or an answer to 35=BW
            yield {"see": "replay", **fields, "complete": fields.get("report") == 3}
        elif kind == "y":
            for each in fields["RelatedSym"]:
                self.groups[each["SecurityID"]] = each["SecurityGroup"]
                seen = {"see": "definition", "id": each["SecurityID"], "symbol": each["Symbol"]}
                seen |= {"stream": stream["stream"], "match": each.get("SecurityMatchType")}
                yield seen | {"legs": [leg["LegSecurityID"] for leg in each.get("Legs") or ()]}
        elif kind == "f" and security_id is not None:  # it leaves its group (101) or rejoins it (102)
            event, state = fields.get("SecurityTradingEvent"), fields.get("SecurityTradingStatus")
            self.apart = self.apart | {security_id} if event == 101 else self.apart - {security_id}
            yield self.state(security_id, fields, state=None if event == 102 else state, event=event)
        elif kind == "f":
            for each, group in self.groups.items():
                if group == fields["SecurityGroup"] and each not in self.apart:
                    yield self.state(each, fields, phase=int(fields["TradingSessionSubID"]), state=None)
        elif kind == "W" and depth and (depth, security_id) not in self.synced:
            yield from self.snapshot(depth, security_id, fields)
        elif kind == "X":
            yield from self.refresh(depth, number, fields["MDEntries"])

    def state(self, security_id, fields, **known):
        state = self.states.setdefault(security_id, {"phase": None, "state": None})
        state |= {"session": fields.get("TradingSessionID") or 1, "event": None} | known
        return {"see": "state", "id": security_id, **state}

    def snapshot(self, depth, security_id, fields):
        number = self.synced[depth, security_id] = fields["LastMsgSeqNumProcessed"]
        book = self.books[depth, security_id] = ([], [])
        for entry in fields["MDEntries"]:
            if entry["MDEntryType"] in ("0", "1"):
                self.place(depth, book[int(entry["MDEntryType"])], NEW, entry)
            elif entry["MDEntryType"] == "c":
                phase, own = int(entry["TradingSessionSubID"]), entry.get("SecurityTradingEvent") == 101
                state = entry.get("SecurityTradingStatus") if own else None
                yield self.state(security_id, entry, phase=phase, state=state)
        yield self.seen(depth, security_id, number)
        queued, self.queued = self.queued, []
        for of, later, entry in queued:  # of others: they queue again
            yield from self.refresh(of, later, [entry])

    def refresh(self, depth, number, entries):
        changed = {}
        for entry in entries:
            kind, security_id = entry["MDEntryType"], entry.get("SecurityID")
            if kind == "3":
                yield {"see": "index", "id": security_id, "value": str(entry["MDEntryPx"])}
            elif kind == "2" and entry["MDUpdateAction"] == NEW:
                conditions = (entry.get("TradeCondition") or "").split()
                seen = {"see": "trade", "depth": depth, "id": security_id, "price": str(entry["MDEntryPx"])}
                seen |= {"size": entry["MDEntrySize"], "conditions": conditions}
                yield seen | {"last": "1" not in conditions}
            elif kind in ("0", "1") and depth and (depth, security_id) not in self.synced:
                self.queued.append((depth, number, entry))
            elif kind in ("0", "1") and depth and number > self.synced[depth, security_id]:
                self.place(depth, self.books[depth, security_id][int(kind)], entry["MDUpdateAction"], entry)
                changed[security_id] = None
        for security_id in changed:
            yield self.seen(depth, security_id, number)

    def place(self, depth, rows, action, entry):
        """An entry of a book at its position (9); no price is a price, no size is a removal (9.6)."""
        price, size, at = entry.get("MDEntryPx"), entry.get("MDEntrySize"), entry["MDEntryPositionNo"] - 1
        row = [None if price is None else str(price), size, entry.get("NumberOfOrders") or 1]
        here, all_rows, to_here = slice(at, at + 1), slice(None), slice(0, at + 1)
        before = {NEW: slice(at, at), CHANGE: here, DELETE: here, DELETE_FROM: to_here}.get(action, all_rows)
        rows[before] = [row] if action in (NEW, CHANGE) or (action == OVERLAY and size is not None) else []
        del rows[self.longest[depth] :]

    def seen(self, depth, security_id, number):
        bids, offers = self.books[depth, security_id]
        seen = {"see": "book", "depth": depth, "id": security_id, "seq": number}
        return seen | {"bids": bids, "offers": offers}


if __name__ == "__main__":
    client = Client()
    for line in sys.stdin:
        for seen in client.obey(json.loads(line)):
            print(json.dumps(seen), flush=True)
