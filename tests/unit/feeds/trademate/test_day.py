"""Days of the market of bonds in Trademate's messages: encoded, validated by the dictionary, parsed and read.
The books that rows give are the engine's after every message, and a snapshot at any moment is what a listener
has who read all of them."""

from collections import defaultdict
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from pregao.codecs.fix import Encoder, load_builtin_dictionary, parse_message, validate
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.exchange.bonds.day import BondDay
from pregao.exchange.bonds.market import BondMarket
from pregao.feeds.trademate.feed import Bulletin, Listing, Refresh, Status, TrademateFeed
from pregao.feeds.trademate.reader import TrademateReader
from pregao.model.errors import Fault
from pregao.model.market import Action, DefinitionAction, Side
from pregao.model.rows import Flag, Kind, Rows
from tests.kits.bonds import CATALOGUE, CRI, DAY, LTN, NOW
from tests.kits.fix_messages import head, raw
from tests.kits.trademate import read_one

TRADEMATE = load_builtin_dictionary(TRADEMATE_DICTIONARY)
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: NOW}
Book = list[tuple[int, int, int]]


class Listener:
    """Encodes, validates and reads, and keeps books by position."""

    def __init__(self, feed: TrademateFeed) -> None:
        self.feed, self.encoder = feed, Encoder(TRADEMATE)
        self.reader = TrademateReader(90, TRADEMATE)
        self.books: dict[tuple[int, int], Book] = defaultdict(list)
        self.values: dict[int, set[bytes]] = defaultdict(set)
        self.kinds: set[int] = set()

    def carried(self, kind: bytes, fields: dict[int, Any]) -> Rows:
        text = self.encoder.message(kind, HEADER, fields)
        message = parse_message(text, TRADEMATE)
        assert validate(message, TRADEMATE) is None, text
        self._count(message.body)
        rows, faults = read_one(self.reader, text)
        assert faults == []
        assert not self.reader.unknowns.tags
        assert not self.reader.unknowns.values
        self.kinds |= set(rows["kind"].tolist())
        return rows

    def _count(self, entry: dict[int, Any]) -> None:
        for tag, value in entry.items():
            for each in value if isinstance(value, list) else ():
                self._count(each)
            if isinstance(value, bytes):
                self.values[tag] |= set(value.split(b" "))

    def hear(self, bulletin: Bulletin) -> None:
        if isinstance(bulletin, Refresh):
            entries = [entry for some in bulletin.entries.values() for entry in some]
            rows = self.carried(b"X", {75: b"20261116", 268: entries})
            assert rows["flags"][-1] & Flag.END_OF_EVENT
            for row in rows:
                if row["kind"] == Kind.ORDER:
                    self._apply(row)
        elif isinstance(bulletin, Status):
            assert self.carried(b"f", bulletin.fields)["kind"].tolist() == [Kind.STATE]
        else:
            self.carried(b"y", {146: [self.feed.listing_fields(bulletin.bond, bulletin.action)]})

    def _apply(self, row: Any) -> None:
        book, place = self.books[int(row["security_id"]), int(row["side"])], int(row["position"]) - 1
        entry = (int(row["id"]), int(row["price"]), int(row["size"]))
        if row["action"] == Action.NEW:
            book.insert(place, entry)
        elif row["action"] == Action.CHANGE:
            assert book[place][0] == entry[0]
            book[place] = entry
        else:
            assert book.pop(place)[:2] == entry[:2]

    def compare(self, market: BondMarket, numbers: set[int]) -> None:
        for number in numbers:
            for side in Side:
                orders = market.floor.listed[number].book.sides[side].orders
                assert self.books[number, side] == [(o.order_id, o.price, o.size) for o in orders]

    def compare_snapshot(self, number: int) -> None:
        rows = self.carried(
            b"W",
            {
                262: b"1",
                911: b"1",
                893: b"Y",
                **self.feed.snapshot_head(number),
                268: self.feed.snapshot_entries(number),
            },
        )
        assert rows["kind"][0] == Kind.SNAPSHOT
        for side in Side:
            mine = rows[(rows["kind"] == Kind.SNAPSHOT_ORDER) & (rows["side"] == side)]
            book = list(zip(mine["id"].tolist(), mine["price"].tolist(), mine["size"].tolist(), strict=True))
            assert book == self.books[number, side]
            assert mine["position"].tolist() == list(range(1, len(book) + 1))


@pytest.fixture(scope="module")
def heard() -> Listener:
    """Two days with other seeds, one after the other."""
    listeners = [run_day(seed) for seed in range(2)]
    for each in listeners[1:]:
        listeners[0].kinds |= each.kinds
        for tag, values in each.values.items():
            listeners[0].values[tag] |= values
    return listeners[0]


def run_day(seed: int) -> Listener:
    day = BondDay(CATALOGUE, DAY, seed=seed, orders=1_000)
    feed = TrademateFeed(CATALOGUE, day.market.floor.trade_date)
    listener, chance, numbers = Listener(feed), Random(seed), list(CATALOGUE.bonds)
    for bond in CATALOGUE:
        listener.hear(Listing(bond, DefinitionAction.ADD))
    for step, (_, events) in enumerate(day.run()):
        for event in events:
            for bulletin in feed.publish(event):
                listener.hear(bulletin)
        listener.compare(day.market, {update.security_id for event in events for update in event.updates})
        if step % 20 == 0:
            listener.compare_snapshot(chance.choice(numbers))
    listener.compare(day.market, set(numbers))
    return listener


def test_books_are_the_engines_after_every_message(heard: Listener) -> None:
    assert heard.books
    assert not any(heard.books.values())  # the day is over


def test_every_entry_and_value_happened(heard: Listener) -> None:
    assert heard.values[269] == set(b"0 1 2 4 5 7 8 9 B c g".split())
    assert heard.values[277] >= set(b"L R AW AWR RFQ VO".split())
    assert heard.values[279] == set(b"0 1 2".split())
    assert heard.values[286] == set(b"0 4 5".split())
    assert heard.values[326] == set(b"2 17 21".split())
    assert heard.values[423] == set(b"1 2 6 9".split())
    assert heard.values[6939] == set(b"1 2 3 4".split())
    assert heard.values[274] == set(b"0 1 2 3".split())
    assert heard.values[1946] == set(b"1 2 3 4".split())
    assert heard.values[876] == set(b"1 2".split())
    assert heard.values[871] == {b"%d" % kind for kind in (8, 15, *range(50, 59))}
    assert heard.values[762] == {b"%d" % kind for kind in range(1, 11)}
    wanted = {
        Kind.ORDER, Kind.TRADE, Kind.BUST, Kind.TOTALS, Kind.OPENING, Kind.THEORETICAL, Kind.CLOSING,
        Kind.HIGH, Kind.LOW, Kind.VWAP, Kind.PRICE_BAND, Kind.STATE, Kind.DEFINITION, Kind.SNAPSHOT,
        Kind.SNAPSHOT_ORDER, Kind.LAST_TRADE,
    }  # fmt: skip
    assert heard.kinds == {int(kind) for kind in wanted}


def test_negative_rates_and_fractions_were_told(heard: Listener) -> None:
    assert any(value.startswith(b"-0.0") for value in heard.values[270])
    assert any(b"." in value for value in heard.values[271])
    assert any(b"." in value for value in heard.values[1020])
    assert {288, 289} & heard.values.keys() == set()  # no firms


def test_bonds_come_back_as_they_were_listed(heard: Listener) -> None:
    assert heard.reader.bonds.keys() == CATALOGUE.bonds.keys()
    for number, bond in heard.reader.bonds.items():
        listed = CATALOGUE.bonds[number]
        own = replace(listed.instrument, closing_price=None, group=bond.instrument.group)
        assert bond == replace(listed, instrument=own)


def test_rows_have_the_scale_of_their_bond() -> None:
    listener = run_small()
    rows = listener.carried(b"X", {75: b"20261116", 268: [order(CRI, b"1018.442871", b"0.5")]})
    assert (rows["price"][0], rows["size"][0]) == (101844287100, 50000000)
    rows = listener.carried(b"X", {75: b"20261116", 268: [order(LTN, b"13.3", b"2000")]})
    assert (rows["price"][0], rows["size"][0]) == (1330000000, 2000)
    assert np.dtype(rows.dtype).itemsize == 128


def run_small() -> Listener:
    listener = Listener(TrademateFeed(CATALOGUE, 20773))
    for number in (CRI, LTN):
        listener.hear(Listing(CATALOGUE.bonds[number], DefinitionAction.ADD))
    return listener


def order(number: int, price: bytes, size: bytes) -> dict[int, Any]:
    return {
        279: b"0", 269: b"0", 37: b"5", 290: b"1", 48: b"%d" % number, 22: b"8", 207: b"BVMF", 270: price,
        271: size, 272: b"20261116", 273: b"123456789", 423: b"2",
    }  # fmt: skip


def test_what_cannot_be_read_makes_a_book_suspect() -> None:
    listener = run_small()
    unknown, beyond = Fault.FIX_UNKNOWN_VALUE, Fault.FIX_BEYOND_SCALE
    wrong = {
        "290": (order(LTN, b"13.3", b"1000") | {290: b"0"}, unknown),
        "37": (order(LTN, b"13.3", b"1000") | {37: b"x"}, unknown),
        "271": (order(LTN, b"13.3", b"0.5"), beyond),  # this bond has no fractions
        "270": (order(LTN, b"13.123456789", b"1000"), beyond),
        "279": (order(LTN, b"13.3", b"1000") | {279: b"5"}, unknown),
    }
    for tag, (entry, fault) in wrong.items():
        text = listener.encoder.message(b"X", HEADER, {75: b"20261116", 268: [entry]})
        rows, faults = read_one(listener.reader, text)
        assert [int(kind) for kind in rows["kind"]] == [Kind.OTHER], tag
        assert rows["security_id"][0] == LTN
        assert [(each.fault, each.index) for each in faults] == [(fault, 0)]
    snapshot = {262: b"1", 48: b"%d" % LTN, 268: [_of_snapshot(wrong["290"][0])]}
    text = listener.encoder.message(b"W", HEADER, snapshot)
    rows, faults = read_one(listener.reader, text)
    assert [int(kind) for kind in rows["kind"]] == [Kind.OTHER]
    assert faults


def test_a_message_without_a_count_of_entries_is_a_fault() -> None:
    """Nothing of it can be read, so nothing may seem to be right."""
    reader = TrademateReader(90, TRADEMATE)
    for wrong in ("", "268=x|", "268=99999999999999999999|"):
        text = raw(head("X") + f"75=20261116|{wrong}279=0|269=c|48={LTN}|272=20261116|273=12:00:00|326=17|")
        rows, faults = read_one(reader, text)
        assert [row["kind"] for row in rows] == [Kind.OTHER]  # the book it names is suspect
        assert [fault.fault for fault in faults] == [Fault.FIX_GROUP_COUNT]
    rows, faults = read_one(reader, raw(head("W") + f"262=m|48={LTN}|268=0|"))
    assert rows["kind"].tolist() == [Kind.SNAPSHOT]
    assert faults == []


def test_a_time_that_no_row_can_hold_is_a_fault() -> None:
    reader = TrademateReader(90, TRADEMATE)
    status = f"48={LTN}|22=8|207=BVMF|60=10261116-12:00:00|326=17|"
    order = f"268=1|279=0|269=c|48={LTN}|272=99991231|273=12:00:00|326=17|"
    late = raw(head("V").replace("52=2026", "52=7026") + "262=m|263=1|")
    for text in (raw(head("f") + status), raw(head("X") + order), late):
        rows, faults = read_one(reader, text)
        assert len(rows) == 0
        assert [fault.fault for fault in faults] == [Fault.FIX_BEYOND_SCALE]


def _of_snapshot(entry: dict[int, Any]) -> dict[int, Any]:
    return {tag: value for tag, value in entry.items() if tag not in (279, 48, 22, 207)}
