"""A toy client: the machine with books as dicts, compared with the truth after every packet."""

import struct
from collections import Counter
from typing import Any

import numpy as np

from pregao.model.rows import ROW, Flag, Kind
from pregao.model.streams import Feed
from pregao.recovery.arbitration import SequencedPacket
from pregao.recovery.channel import ChannelMachine
from pregao.recovery.events import Event
from pregao.recovery.held import SnapshotHeader
from pregao.recovery.instruments import BookStatus, Decision, Mark, VerifiedPart, part_of
from pregao.recovery.loops import Follow
from pregao.recovery.policy import ChannelSettings, RecoveryStream, Site, number_of
from tests.unit.recovery.toy_exchange import HALF_TOLD, ORDER_LENGTH, Sent, Truth

CHANNEL = 55
_ACTIONS = {"new": 0, "change": 1, "delete": 2}


class ToyClient:
    """Keeper and decoder in one. `truths` has the truth of each site."""

    def __init__(self, truths: dict[Site, Truth], settings: ChannelSettings) -> None:
        self.machine = ChannelMachine(CHANNEL, self, settings)
        self.settings, self.truths = settings, truths
        self.books: dict[int, dict[int, int]] = {}
        self.statistics: dict[int, dict[str, int]] = {}
        self.events: list[Event] = []
        self.compared: Counter[str] = Counter()
        self._messages: dict[bytes, tuple[Any, ...]] = {}
        self._row = np.zeros(1, ROW)[0]
        self._snapshot: list[Any] | None = None
        self.most_held = 0
        self.now_ns = 0

    # Keeper

    def clear_book(self, index: int) -> None:
        self.books[index] = {}

    def clear_statistics(self, index: int) -> None:
        self.statistics[index] = {}

    def load_snapshot(self, index: int, parts: VerifiedPart) -> None:
        assert self._snapshot is not None
        _, orders, figures = self._snapshot
        if parts & VerifiedPart.BOOK:
            self.books[index] = dict(orders)
        if parts & VerifiedPart.STATISTICS:
            self.statistics[index] = dict(figures)

    def catch_up(self) -> None:
        """Nothing is put off."""

    def lost(self, at: int) -> None:
        """Instruments know it themselves."""

    @property
    def phases_sought(self) -> int:
        """The toy's phases are of no group."""
        return 0

    def apply_held(self, index: int, after_at: int, parts: VerifiedPart) -> None:
        for row in self.machine.held.chain(self.machine.table.sync[index]):
            if row["at"] > after_at and part_of(int(row["kind"])) & parts:
                self._apply(index, row)

    # Packets

    def receive(self, feed: str, sent: Sent, now_ns: int) -> None:
        """A packet by feed A, B, C (incremental), D, S (loops) or CD, CS (those of the other site)."""
        machine = self.machine
        site = Site.CONTINGENCY if feed.startswith("C") else Site.PRIMARY
        self.now_ns = now_ns
        if sent.stream == "D":
            if RecoveryStream.DEFINITIONS in machine.joined:
                self._definitions(site, sent)
        elif sent.stream == "S":
            if RecoveryStream.SNAPSHOTS in machine.joined:
                self._snapshots(site, sent)
        elif sent.number == 0:
            self._take(machine.on_heartbeat(Feed[feed], sent.version, sent.messages[0][1], now_ns))
        else:
            payload = self.encode(sent)
            self._take(machine.on_packet(Feed[feed], sent.version, sent.number, payload, now_ns))
        self._settle(now_ns)

    def encode(self, sent: Sent) -> bytes:
        """A real header; behind it enough to tell packets apart."""
        body = repr(sent.messages).encode()
        payload = struct.pack("<BBHIQ", CHANNEL, 0, sent.version, sent.number, sent.time_ns) + body
        self._messages[payload] = sent.messages
        return payload

    def pass_time(self, now_ns: int) -> None:
        self.now_ns = now_ns
        due_ns = self.machine.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self._take(self.machine.on_timeout(now_ns))
            self._settle(now_ns)

    def _settle(self, now_ns: int) -> None:
        self.machine.settle(now_ns)
        self.machine.check_invariants()
        told = self.machine.take_events()
        self.events += told
        self.most_held = max(self.most_held, self.machine.held.count)
        assert self.machine.held.count <= self.settings.held_rows
        assert self.machine.arbiter.held <= 3 * self.settings.hold_packets + 1_024
        if told:
            self.compare()

    def _take(self, packets: Any) -> None:
        for packet in packets:
            self._packet(packet)
            self.compare(packet.at)

    def _packet(self, packet: SequencedPacket) -> None:
        machine = self.machine
        for message in self._messages[bytes(packet.payload)]:
            kind = message[0]
            if kind == "sequence_reset":
                machine.on_sequence_reset(packet.at)
            elif kind == "channel_reset":
                machine.on_channel_reset(packet.at)
            elif kind == "define":
                new, deleted = message[2] == "new", message[2] == "deleted"
                machine.on_definition(message[1], packet.at, new=new, deleted=deleted)
            elif kind == "phase":
                machine.on_group_phase(packet.at)
                for index in range(len(machine.table)):
                    self._on_row(index, self._as_row(message, packet.at))
            else:
                index = machine.index_of(message[1])
                if index >= 0:
                    self._on_row(index, self._as_row(message, packet.at))

    def _as_row(self, message: tuple[Any, ...], at: int) -> Any:
        row = self._row
        row["at"], row["rpt_seq"], row["flags"] = at, 0, 0
        kind = message[0]
        if kind == "empty":
            row["kind"] = Kind.EMPTY_BOOK
        elif kind == "phase":
            row["kind"] = Kind.PHASE
        else:
            row["rpt_seq"] = message[2]
            if kind == "order":
                row["kind"], row["action"] = Kind.ORDER, _ACTIONS[message[3]]
                row["id"], row["size"] = message[4], message[5]
                row["flags"] = Flag.RECOVERY if len(message) > ORDER_LENGTH else 0
            elif kind == "trade":
                row["kind"], row["price"], row["size"] = Kind.TRADE, message[3], message[4]
            else:
                row["kind"], row["type"] = Kind.STATE, message[3]
        return row

    def _on_row(self, index: int, row: Any) -> None:
        decision = self.machine.on_row(index, row)
        if decision & Decision.EMPTIED:
            self.clear_book(index)
        if decision & Decision.APPLY:
            self._apply(index, row)

    def _apply(self, index: int, row: Any) -> None:
        book, figures = self.books.setdefault(index, {}), self.statistics.setdefault(index, {})
        kind = int(row["kind"])
        if kind == Kind.EMPTY_BOOK:
            book.clear()
        elif kind == Kind.ORDER:
            if row["action"] == 2:
                book.pop(int(row["id"]), None)
            else:
                book[int(row["id"])] = int(row["size"])
        elif kind == Kind.TRADE:
            figures["last"] = int(row["price"])
            figures["volume"] = figures.get("volume", 0) + int(row["size"])
        elif kind == Kind.STATE:
            figures["state"] = int(row["type"])
        else:
            figures.pop("last", None)
            figures.pop("volume", None)

    # Loops

    def _definitions(self, site: Site, sent: Sent) -> None:
        definitions = self.machine.definitions
        if site is not self.machine.sites.active:
            return
        if sent.number == 0:
            definitions.on_heartbeat()
        elif definitions.on_packet(sent.version, sent.number) is not Follow.REPEATED:
            for message in sent.messages:
                if message[0] == "sequence_reset":
                    definitions.on_sequence_reset()
                else:
                    definitions.on_item(message[1], message[2])

    def _snapshots(self, site: Site, sent: Sent) -> None:
        snapshots = self.machine.snapshots
        if sent.number == 0:
            snapshots.on_heartbeat()
            return
        follow = snapshots.on_packet(site, sent.version, sent.number)
        if follow is Follow.REPEATED:
            return
        if follow is not Follow.FOLLOWED:
            self._snapshot = None
        for message in sent.messages:
            if message[0] == "sequence_reset":
                snapshots.on_sequence_reset()
            else:
                self._snapshot_message(message)

    def _snapshot_message(self, message: tuple[Any, ...]) -> None:
        snapshots = self.machine.snapshots
        if message[0] == "head":
            _, one, number, version, rpt_seq, reports, orders, figures = message
            header = SnapshotHeader(one, number, version, rpt_seq, reports, orders + figures)
            wanted = snapshots.on_begin(header)
            self._snapshot = [(header, orders, figures), {}, {}] if wanted else None
        elif self._snapshot is not None:
            if message[0] == "orders":
                self._snapshot[1].update(message[2])
            else:
                self._snapshot[2][message[2]] = message[3]
        if self._snapshot is not None:
            (header, orders, figures), book, statistics = self._snapshot
            if (len(book), len(statistics)) == (orders, figures):
                snapshots.on_end(header)
                self._snapshot = None

    # Proof

    def compare(self, at: int | None = None) -> None:
        """Everything shown as clean is the truth at the place where the channel is."""
        machine = self.machine
        arbiter, place = machine.arbiter, machine.at
        truth = self.truths[machine.sites.active]
        if (at is not None and at != place) or (arbiter.version, number_of(place)) not in truth.ordinals:
            return
        sync, version, number = machine.table.sync, arbiter.version, number_of(place)
        states = zip(*(sync[name].tolist() for name in ("marks", "book", "statistics")), strict=True)
        for index, (marks, book, figures) in enumerate(states):
            if marks & Mark.IGNORED:
                continue
            self.compared[BookStatus(book).name] += 1
            if BookStatus.CLEAN in (book, figures):
                self._compare_one(index, truth.at(machine.table.security_ids[index], version, number))

    def _compare_one(self, index: int, right: tuple[Any, dict[str, int]]) -> None:
        book, figures = self.machine.known(index)
        assert not (book is BookStatus.CLEAN and right[0] == HALF_TOLD), f"{self._name(index)} is half-told"
        if book is BookStatus.CLEAN and right[0] is not None:
            mine = self.books.get(index, {})
            assert mine == right[0], f"book of {self._name(index)}: {mine}, not {right[0]}"
        if figures is BookStatus.CLEAN:
            shown = self.statistics.get(index, {})
            assert shown == right[1], f"statistics of {self._name(index)}: {shown}, not {right[1]}"

    def _name(self, index: int) -> str:
        return f"{self.machine.table.security_ids[index]} at {number_of(self.machine.at)}"
