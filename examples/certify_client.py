"""A client for `pregao certify` with books of its own: lists. Whether they are right, B3's script says.

    pregao certify --client "python examples/certify_client.py"

Of Pregão it uses the FAST decoder only. docs/certification-client.md has the lines it reads and writes."""

import json
import os
import select
import socket
import struct
import sys

from pregao.codecs.fast import FastMessageDecoder, load_builtin_templates

NEW, CHANGE, DELETE, DELETE_THRU, DELETE_FROM, OVERLAY = range(6)
KINDS = {81: "X", 145: "X", 150: "X", 142: "f", 143: "B", 144: "0", 147: "W", 10147: "W", 149: "y"}


class Client:
    def __init__(self, config):
        self.depths = {each["channel"]: each.get("depth") for each in config["streams"]}
        self.longest = {"mbo": None, "mbp": config["levels"], "tob": 1}
        self.decoder = FastMessageDecoder(load_builtin_templates())
        self.books, self.states, self.groups, self.apart, self.parts = {}, {}, {}, set(), {}
        self.synced, self.queued, self.sockets, self.config = {}, [], [], config

    def obey(self, command):
        """Packets wait in the sockets until the runner asks whether everything is taken in."""
        if command["do"] in ("connect", "disconnect"):
            self.synced, self.queued, self.parts = {}, [], {}
            for each, _ in self.sockets:
                each.close()
            self.sockets = list(self.join()) if command["do"] == "connect" else []
        if command["do"] == "settle":
            for each, stream in self.sockets:
                while select.select([each], [], [], 0)[0]:
                    yield from self.receive(stream["channel"], stream["stream"], each.recv(65_535), 0)
            yield {"see": "settled"}

    def join(self):
        """Nothing where somebody hands the packets over."""
        for stream in self.config["streams"] if "interface" in self.config else ():
            each = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind((stream["group"], stream["port"]))
            member = socket.inet_aton(stream["group"]) + socket.inet_aton(self.config["interface"])
            each.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
            yield each, stream

    def receive(self, channel, stream, payload, now_ns):
        """A datagram of chunks (5.2.4); every message has as many as its header says."""
        at = 0
        while at < len(payload):
            number, chunks, current, length = struct.unpack_from(">IHHH", payload, at)
            parts = self.parts.setdefault((channel, stream), [])
            parts.append(payload[at + 10 : at + 10 + length])
            at += 10 + length
            if current == chunks:
                message = self.decoder.decode(b"".join(parts))
                parts.clear()
                kind = KINDS.get(message.template.id)
                yield from self.message(channel, stream, number, kind, message.fields)

    def message(self, channel, stream, number, kind, fields):
        if kind == "0":
            yield {"see": "heartbeat", "channel": channel}
        elif kind == "B":
            yield {"see": "news", "headline": fields["Headline"]}
        elif kind == "y":
            yield from self.definitions(stream, fields["RelatedSym"])
        elif kind == "f":
            yield from self.status(fields)
        elif kind == "W" and self.depths.get(channel) and (channel, fields["SecurityID"]) not in self.synced:
            yield from self.snapshot(channel, fields)
        elif kind == "X":
            yield from self.refresh(channel, number, fields["MDEntries"])

    def definitions(self, stream, instruments):
        for each in instruments:
            self.groups[each["SecurityID"]] = each["SecurityGroup"]
            legs = [leg["LegSecurityID"] for leg in each.get("Legs") or ()]
            yield {
                "see": "definition", "id": each["SecurityID"], "symbol": each["Symbol"], "stream": stream,
                "match": each.get("SecurityMatchType"), "legs": legs,
            }  # fmt: skip

    def status(self, fields):
        """35=f: the phase of a group, or the state of an instrument that leaves (101) or rejoins (102) it."""
        session, event = fields.get("TradingSessionID") or 1, fields.get("SecurityTradingEvent")
        security_id, state = fields.get("SecurityID"), fields.get("SecurityTradingStatus")
        if security_id is not None:
            if event == 102:
                self.apart.discard(security_id)
                state = None
            elif event == 101:
                self.apart.add(security_id)
            yield self.now(security_id, state=state, session=session, event=event)
            return
        for each, group in self.groups.items():
            if group == fields["SecurityGroup"] and each not in self.apart:
                phase = int(fields["TradingSessionSubID"])
                yield self.now(each, phase=phase, state=None, session=session, event=event)

    def now(self, security_id, **known):
        state = self.states.setdefault(security_id, {"phase": None, "state": None})
        state.update(known)
        return {"see": "state", "id": security_id, **state}

    def snapshot(self, channel, fields):
        depth, security_id = self.depths[channel], fields["SecurityID"]
        self.synced[channel, security_id] = fields["LastMsgSeqNumProcessed"]
        book = self.books[depth, security_id] = ([], [])
        for entry in fields["MDEntries"]:
            if entry["MDEntryType"] in ("0", "1"):
                self.place(depth, book[int(entry["MDEntryType"])], NEW, entry)
            elif entry["MDEntryType"] == "c":
                own = entry.get("SecurityTradingEvent") == 101
                state = entry.get("SecurityTradingStatus") if own else None
                session = entry.get("TradingSessionID") or 1
                phase = int(entry["TradingSessionSubID"])
                yield self.now(security_id, phase=phase, state=state, session=session, event=None)
        yield self.seen(depth, security_id, fields["LastMsgSeqNumProcessed"])
        queued, self.queued = self.queued, []
        for number, entry, of in queued:
            if of != channel or entry["SecurityID"] != security_id:
                self.queued.append((number, entry, of))
            elif number > self.synced[channel, security_id]:
                yield from self.refresh(channel, number, [entry])

    def refresh(self, channel, number, entries):
        depth, changed = self.depths.get(channel), {}
        for entry in entries:
            kind, security_id = entry["MDEntryType"], entry.get("SecurityID")
            if kind == "3":
                yield {"see": "index", "id": security_id, "value": str(entry["MDEntryPx"])}
            elif kind == "2" and entry["MDUpdateAction"] == NEW:
                yield self.trade(depth, security_id, entry)
            elif depth is None:
                continue  # of no book that is judged
            elif kind in ("0", "1") and (channel, security_id) not in self.synced:
                self.queued.append((number, entry, channel))
            elif kind in ("0", "1") and number > self.synced[channel, security_id]:
                rows = self.books[depth, security_id][int(kind)]
                self.place(depth, rows, entry["MDUpdateAction"], entry)
                changed[security_id] = None
        for security_id in changed:
            yield self.seen(depth, security_id, number)

    def trade(self, depth, security_id, entry):
        conditions = (entry.get("TradeCondition") or "").split()
        return {
            "see": "trade", "depth": depth, "id": security_id, "price": str(entry["MDEntryPx"]),
            "size": entry["MDEntrySize"], "conditions": conditions, "last": "1" not in conditions,
        }  # fmt: skip

    def place(self, depth, rows, action, entry):
        """An entry of a book at its position (9); no price is a price, no size is a removal (9.6)."""
        price, size, at = entry["MDEntryPx"], entry["MDEntrySize"], entry["MDEntryPositionNo"] - 1
        row = [None if price is None else str(price), size, entry.get("NumberOfOrders") or 1]
        if action == NEW:
            rows.insert(at, row)
        elif action == CHANGE:
            rows[at : at + 1] = [row]
        elif action == DELETE:
            del rows[at : at + 1]
        elif action == DELETE_THRU:
            rows.clear()
        elif action == DELETE_FROM:
            del rows[: at + 1]
        elif action == OVERLAY:
            rows[:] = [] if size is None else [row]
        del rows[self.longest[depth] or len(rows) :]

    def seen(self, depth, security_id, number):
        bids, offers = self.books[depth, security_id]
        return {
            "see": "book", "depth": depth, "id": security_id, "seq": number, "bids": bids, "offers": offers,
        }  # fmt: skip


def main():
    with open(os.environ["PREGAO_CERTIFY"]) as file:
        client = Client(json.load(file))
    for line in sys.stdin:
        for seen in client.obey(json.loads(line)):
            print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
