"""A vendor's client of PUMA Conflated for `pregao certify`, of the standard library only.

Written from docs/certification-client.md and B3's text (sections in brackets), with nothing of Pregão in it:
so what the exchange sends and what the judge demands are held to another reading of both.
"""

import json
import os
import select
import socket
import sys
import time
import zlib
from collections.abc import Iterator

Fields = list[tuple[int, str]]
Order = tuple[str | None, int]  # price and size
# Every request needs a filter (7.4.1, 7.5.1): products, one after the other, are all instruments.
PRODUCTS = (2, 3, 4, 5, 6, 7, 15, 16)


class Block(dict[int, str]):
    """Fields by tag; of a tag that is there twice, the first."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(reversed(fields))

    def number(self, tag: int) -> int | None:
        return int(self[tag]) if tag in self else None


class Session:
    """FIX 4.4 over TCP; what comes is compressed (2.3)."""

    def __init__(self, settings: dict[str, object]) -> None:
        host, port = str(settings["primary"]).split(":")
        self._ids = settings["sender"], settings["target"]
        self._pause_s = 0.8 * float(str(settings["heartbeat_s"]))
        self._socket: socket.socket | None = socket.create_connection((host, int(port)))
        self._inflate, self._text, self._number = zlib.decompressobj(), b"", 0
        self.send("A", (98, 0), (108, settings["heartbeat_s"]), (141, "Y"))

    def send(self, kind: str, *fields: tuple[int, object]) -> None:
        if self._socket is None:
            return
        self._number, self._sent_s = self._number + 1, time.monotonic()
        now = time.strftime("%Y%m%d-%H:%M:%S.000", time.gmtime())
        sender, target = self._ids
        head = ((35, kind), (49, sender), (56, target), (34, self._number), (52, now))
        body = "".join(f"{tag}={value}\x01" for tag, value in (*head, *fields)).encode()
        whole = b"8=FIX.4.4\x019=%d\x01%s" % (len(body), body)
        self._socket.sendall(b"%s10=%03d\x01" % (whole, sum(whole) % 256))

    def arrived(self) -> Iterator[Fields]:
        while self._socket is not None and select.select([self._socket], [], [], 0)[0]:
            data = self._socket.recv(1 << 16)
            if not data:
                self.close()
                return
            self._text += self._inflate.decompress(data)
            while (end := self._text.find(b"\x0110=")) >= 0 and len(self._text) >= end + 8:
                raw, self._text = self._text[:end], self._text[end + 8 :]
                pairs = (field.decode("utf-8", "replace").partition("=") for field in raw.split(b"\x01"))
                yield [(int(tag), value) for tag, _, value in pairs]
        if self._socket is not None and time.monotonic() - self._sent_s > self._pause_s:
            self.send("0")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None


class Client:
    def __init__(self) -> None:
        with open(os.environ["PREGAO_CERTIFY"], encoding="utf-8") as file:
            self.config = json.load(file)
        self.session: Session | None = None

    def connect(self) -> None:
        self.leave()
        self.books: dict[int, tuple[dict[int, Order], dict[int, Order]]] = {}
        self.groups: dict[int, str] = {}
        self.states: dict[int, dict[str, object]] = {}
        self.apart: set[int] = set()
        self.lists = self.asked = 0
        self.session = Session(self.config["session"])

    def leave(self) -> None:
        if self.session is not None:
            self.session.send("5")
            self.session.close()
            self.session = None

    def settle(self) -> None:
        if self.session is not None:
            for fields in self.session.arrived():
                self.message(self.session, fields, Block(fields))
        say(see="settled")

    def message(self, session: Session, fields: Fields, own: Block) -> None:
        kind = own[35]
        if kind == "A":
            for number, product in enumerate(PRODUCTS):
                session.send("x", (320, f"L{number}"), (263, 1), (460, product))
        elif kind == "0":
            say(see="heartbeat", channel=0)
        elif kind == "1":
            session.send("0", (112, own[112]))
        elif kind == "B":
            say(see="news", headline=own.get(359) or own[148])
        elif kind == "y":
            self.definitions(session, fields, own)
        elif kind == "f":
            self.status(own)
        elif kind in ("W", "X"):
            self.market(fields, own, kind == "W")
            if kind == "W" and own.get(893) == "Y":
                self.ask(session)

    def ask(self, session: Session) -> None:
        """For market data, a product at a time: the next when the last has been answered (7.5.2)."""
        if self.asked < len(PRODUCTS):
            product = (460, PRODUCTS[self.asked])
            session.send("V", (262, f"M{self.asked}"), (263, 1), (1021, 3), product)
            self.asked += 1

    def definitions(self, session: Session, fields: Fields, own: Block) -> None:
        is_answer = 320 in own
        for block in groups(fields, 55):
            found = Block(block)
            security_id = int(found[48])
            self.groups[security_id] = found[1151]
            say(
                see="definition", id=security_id, symbol=found[55], match=found.number(37015),
                stream="definition" if is_answer else "incremental",
                legs=[int(value) for tag, value in block if tag == 602],
            )  # fmt: skip
        if is_answer and own.get(893) == "Y":
            self.lists += 1
            if self.lists == len(PRODUCTS):
                self.ask(session)

    # Phases and states

    def status(self, own: Block) -> None:
        """Of an instrument, which leaves its group (1174=101) or rejoins it (102), or of a group (7.5.5)."""
        told = {"event": own.number(1174), "session": own.number(336) or 1}
        if 48 in own:
            security_id = int(own[48])
            self.apart = self.apart | {security_id} if told["event"] == 101 else self.apart - {security_id}
            self.state(security_id, state=own.number(326) if security_id in self.apart else None, **told)
            return
        for security_id, group in self.groups.items():
            if group == own.get(1151) and security_id not in self.apart:
                self.state(security_id, phase=own.number(625), state=None, **told)

    def state(self, security_id: int, **told: object) -> None:
        state = self.states.setdefault(security_id, {"phase": None, "state": None})
        state.update(told)
        if state["phase"] is None:  # it is apart: its group's others say it
            others = (of for of in self.states if self.groups.get(of) == self.groups.get(security_id))
            state["phase"] = next(filter(None, (self.states[of]["phase"] for of in others)), None)
        say(see="state", id=security_id, **state)

    # Books

    def market(self, fields: Fields, own: Block, is_snapshot: bool) -> None:
        changed = set()
        if is_snapshot and 48 in own:  # without it nothing fits what was asked for
            self.books[int(own[48])] = {}, {}
            changed.add(int(own[48]))
        for block in groups(fields, 269 if is_snapshot else 279):
            entry = Block(block)
            security_id = int(entry.get(48) or own[48])
            if entry[269] in ("0", "1", "J"):
                self.order(security_id, entry)
                changed.add(security_id)
            elif entry[269] == "2" and not is_snapshot:
                trade(security_id, entry)
            elif entry[269] == "3":
                say(see="index", id=security_id, value=entry[270])
            elif entry[269] == "c":  # 625 of who follows its group, 326 of who does not (7.8.14)
                follows, session = 625 in entry, entry.number(336) or 1
                self.apart = self.apart - {security_id} if follows else self.apart | {security_id}
                told = {"phase": entry.number(625)} if follows else {}
                self.state(security_id, state=entry.number(326), session=session, event=None, **told)
        for security_id in changed:
            self.show(security_id)

    def order(self, security_id: int, entry: Block) -> None:
        book = self.books.setdefault(security_id, ({}, {}))
        action, side = entry.get(279, "0"), {} if entry[269] == "J" else book[int(entry[269])]
        if entry[269] == "J":
            self.books[security_id] = {}, {}
        elif action == "3":
            side.clear()
        elif action == "2":
            side.pop(int(entry[37]), None)
        else:
            side[int(entry[37])] = entry.get(270), int(entry[271])

    def show(self, security_id: int) -> None:
        bids, offers = self.books[security_id]
        sides = [sorted(bids.items(), key=lambda each: rank(each, -1))]
        sides.append(sorted(offers.items(), key=lambda each: rank(each, 1)))
        for depth, longest in (("mbo", None), ("mbp", self.config["levels"]), ("tob", 1)):
            rows = [rows_of([order for _, order in side], depth == "mbo")[:longest] for side in sides]
            say(see="book", depth=depth, id=security_id, bids=rows[0], offers=rows[1])


def rank(item: tuple[int, Order], sign: int) -> tuple[bool, float, int]:
    order_id, (price, _) = item
    return price is not None, sign * float(price or 0), order_id


def rows_of(orders: list[Order], by_order: bool) -> list[list[object]]:
    rows: list[list[object]] = []
    for price, size in orders:
        if rows and rows[-1][0] == price and not by_order:
            rows[-1] = [price, int(str(rows[-1][1])) + size, int(str(rows[-1][2])) + 1]
        else:
            rows.append([price, size, 1])
    return rows


def trade(security_id: int, entry: Block) -> None:
    conditions = entry.get(277, "").split()
    if entry[279] == "0" and "U" not in conditions:  # which only tells the last price again (7.8.3)
        found = {"price": entry[270], "size": int(entry[271]), "conditions": conditions}
        say(see="trade", depth="mbo", id=security_id, last="1" not in conditions, **found)


def groups(fields: Fields, first: int) -> list[Fields]:
    """Entries of a repeating group, which each begin with this tag."""
    found: list[Fields] = []
    for tag, value in fields:
        if tag == first:
            found.append([])
        if found:
            found[-1].append((tag, value))
    return found


def say(**line: object) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    client = Client()
    for line in sys.stdin:
        match json.loads(line)["do"]:
            case "connect":
                client.connect()
            case "settle":
                client.settle()
            case "disconnect" | "end":
                client.leave()
