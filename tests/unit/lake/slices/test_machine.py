"""Slices by kernel and in plain Python are equal: rows, quotes, samples, stored books, findings.

Days with everything that can go wrong in a capture, of all wire versions; slices that begin with an
anchor and slices that begin with nothing.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pregao.books import layout as t
from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.publisher import Habits
from pregao.feeds.binary.reading.rows import RowReader
from pregao.lake.plan.captures import row_reader
from pregao.lake.plan.slicing import FROM_FIRST, Slice
from pregao.lake.slices import buffers as b
from pregao.lake.slices.feeds import Merged, merge
from pregao.lake.slices.kernels.books import QUOTE_QUALITY, QUOTE_TRANSACTED
from pregao.lake.slices.kernels.sampling import HEAD_WORDS, LEVELS, SIDE_WORDS
from pregao.lake.slices.kernels.states import NUMBER_BITS
from pregao.lake.slices.known import LAKE_ROW, NO_INDEX
from pregao.lake.slices.loops import NEVER
from pregao.lake.slices.machine import SliceMachine
from pregao.lake.slices.stored import NO_RPT_SEQ, StoredBook, StoredBooks, UnitEnding
from pregao.model.market import Side
from pregao.model.rows import NULL, ROW, Kind, Rows
from tests.kits.lakes import make_days
from tests.twins.lake.plain_parts import Told, order_of
from tests.twins.lake.plain_slice import PlainSlice

from .kit import TABLES, Found, slices_of

LOSSES = "loss=1%,both=6x2,gap=2x5@A,dup=0.5%,reorder=10:4,loss=1%@S,header=B"
RESETS = "both=0.5%,reset=channel@?,reset=2xbook@?,reset=failover@?,reset=stream@?"
DAYS = {
    "version16": {"version": 16, "faults": LOSSES},
    "version8": {"version": 8, "faults": LOSSES},
    "version17": {"version": 17, "faults": ""},
    "resets16": {"version": 16, "faults": RESETS},
    "resets8": {"version": 8, "faults": RESETS},
    "listed again": {"version": 16, "faults": "both=6x2", "relistings": 60, "messages": 2_000},
    "told in parts": {"version": 16, "faults": f"{RESETS},loss=1%", "habits": Habits(1)},
}
WEEKS = {  # two days each; the second has loops where it says so
    "no loops": {"version": 16, "seed": 17},
    "a gap": {"version": 8, "seed": 17},
    "loops": {"version": 16, "seed": 18, "faults": "both=3%,loss=1%"},
    "resets": {"version": 8, "seed": 19, "faults": RESETS},
}
SHORT = 255  # rows that are read at once, the least that can be


@pytest.fixture(scope="module", params=DAYS)
def slices(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Slice]:
    settings = DAYS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    days = make_days(folder, **{"seed": 17, "messages": 900} | settings)
    return list(slices_of(sorted(path for day in days for path in day.glob("*.pcap"))))


def _rows(merged: Merged) -> Rows:
    reader, parts = row_reader("plain slices"), [np.zeros(0, ROW)]
    reading = reader.read(
        0, merged.address, merged.length.astype(np.uint32), merged.place, merged.version, len(merged)
    )
    while True:
        parts.append(reading.rows.copy())
        if reading.whole:
            return np.concatenate(parts)
        reading = reader.go_on()


def test_slices_are_equal(slices: list[Slice]) -> None:
    """In one stretch, and in as many as there can be."""
    short = RowReader(load_builtin_schema(), rows=SHORT)
    compared: Counter[str] = Counter()
    stretches = 0
    for slice_ in slices:
        expected = PlainSlice(slice_, merged := merge(slice_)).run(_rows(merged))
        for most_orders in (NEVER, 1):
            found = Found(SliceMachine(slice_, merge(slice_), reader=short), most_orders)
            compared["rows"] += _same_rows(found, expected)
            _same_snapshots(found, expected)
            _same_quotes(found, expected)
            _same_samples(found, expected)
            _same_findings(found, expected)
            assert found.stretches == 1 or most_orders == 1
        stretches += found.stretches
        compared["quotes"] += len(expected.quotes)
        compared["samples"] += len(expected.samples)
        compared["stored"] += len(expected.checkpoints)
        compared["matches"] += sum(each["matches"] for each in expected.loops.values())
    assert stretches > 3 * len(slices)
    assert compared["rows"] > 1000
    assert min(compared.values()) > 10, compared


def test_shards_of_a_slice_are_together_what_it_is(slices: list[Slice]) -> None:
    """Each tells of its own instruments, the first also what is of none."""
    orders = 0
    for slice_ in slices:
        if slice_.start == FROM_FIRST:
            orders += _same_in_shards(replace(slice_, loops=[]), 3)
    assert orders > 100


def _same_in_shards(whole: Slice, shards: int) -> int:
    expected = Found(SliceMachine(whole, merge(whole)))
    parts = [replace(whole, shard=shard, shards=shards) for shard in range(shards)]
    found = [Found(SliceMachine(part, merge(part))) for part in parts]
    for number, table in enumerate(TABLES):
        mine = [row for part in found for row in _told_rows(part.rows[number])]
        assert sorted(mine) == sorted(_told_rows(expected.rows[number])), table
    for part, each in zip(parts, found, strict=True):
        ids = {int(row["security_id"]) for row in each.rows[b.ORDERS]} - {NULL}
        assert all(part.has(security_id) for security_id in ids)
        assert part.is_first_shard or not (each.rows[b.STATES]["kind"] == Kind.PHASE).any()
    quotes = [quote for part in found for quote in _told_quotes(part)]
    assert sorted(quotes) == sorted(_told_quotes(expected))
    samples = [_sample(words, part) for part in found for words in part.samples.tolist()]
    theirs = [_sample(words, expected) for words in expected.samples.tolist()]
    assert sorted(samples, key=repr) == sorted(theirs, key=repr)
    findings = [row for part in found for row in part.findings.rows]
    assert sorted(findings, key=repr) == sorted(expected.findings.rows, key=repr)
    return len(expected.rows[b.ORDERS])


def _told_rows(rows: Rows) -> list[str]:
    return [repr(_plain(row)) for row in rows.view(LAKE_ROW)]


def _told_quotes(found: Found) -> list[str]:
    names = [name for name in t.QUOTE.names or () if name != "instrument"]
    return [f"{quote[names].tolist()} {quote['instrument'] >> NUMBER_BITS}" for quote in found.quotes]


@pytest.mark.parametrize("week", WEEKS)
def test_slices_that_begin_with_the_day_before_are_equal(week: str, tmp_path: Path) -> None:
    """The books that each ends with, too."""
    days = make_days(tmp_path, days=2, messages=900, **WEEKS[week])
    captures = [sorted(path for path in day.glob("*.pcap")) for day in days]
    captures[1] = [path for path in captures[1] if week == "loops" or "Snapshot" not in path.name]
    before: dict[int, tuple[PlainSlice, Found]] = {}
    begun = 0
    for slice_ in slices_of([*captures[0], *captures[1]]):
        plain, stored = None, None
        if slice_.start == FROM_FIRST and slice_.channel in before:
            plain, result = before.pop(slice_.channel)
            assert result.ending is not None
            carried = result.ending.carried
            if week == "a gap":
                carried = replace(carried, number=carried.number - 2)
            if carried.runs_on_to((slice_.versions[0], int(merge(slice_).place[0]))):
                slice_.begin_with(carried)
                stored, begun = _stored_books(result.ending), begun + 1
            else:
                plain = None
        twin = PlainSlice(slice_, merged := merge(slice_), plain)
        expected = twin.run(_rows(merged))
        found = Found(SliceMachine(slice_, merge(slice_), stored))
        _same_rows(found, expected)
        _same_snapshots(found, expected)
        _same_quotes(found, expected)
        _same_samples(found, expected)
        _same_findings(found, expected)
        if slice_.is_last:
            before[slice_.channel] = twin, found
            _same_ending(found, expected)
    assert begun >= 2  # after a gap books of few reports cannot be proven, so quiet channels begin anew


def _stored_books(ending: UnitEnding) -> StoredBooks:
    """As they are read again."""
    found: dict[int, StoredBook] = {}
    others = 0
    for row in ending.rows:
        lake = row.reshape(1).view(LAKE_ROW)[0]
        rpt_seq = -1 if lake["rpt_seq"] == NO_RPT_SEQ else int(lake["rpt_seq"])
        security_id = int(lake["security_id"])
        if security_id == NULL:
            others = int(lake["quality"])
            continue
        book = found.setdefault(
            security_id, StoredBook(security_id, rpt_seq, int(lake["quality"]), np.zeros(0, ROW))
        )
        if row["side"]:
            clean = row.copy()
            clean["spare"] = 0
            book.orders = np.concatenate([book.orders, clean.reshape(1)])
    return StoredBooks(ending.carried.sent_ns, others, list(found.values()))


def _same_ending(found: Found, expected: Told) -> None:
    assert found.ending is not None
    books = _stored_books(found.ending)
    mine = {each.security_id: each for each in books.books}
    (others,) = [each for each in expected.stored if each.security_id is None]
    assert books.others == others.quality
    theirs = {each.security_id: each for each in expected.stored if each.security_id is not None}
    assert mine.keys() == theirs.keys()
    for security_id, told in theirs.items():
        one = mine[security_id]
        assert (one.rpt_seq, one.quality) == (told.rpt_seq, told.quality)
        orders = [*told.book.orders(Side.BUY), *told.book.orders(Side.SELL)]
        assert [order_of(_as_new(row)) for row in one.orders] == orders


def _same_rows(found: Found, expected: Told) -> int:
    compared = 0
    for number, table in enumerate(TABLES):
        rows = found.rows[number].view(LAKE_ROW)
        mine = [row for row in rows if row["kind"] != Kind.SNAPSHOT_ORDER]
        theirs = expected.rows.get(table, [])
        assert len(mine) == len(theirs), table
        for row, told in zip(mine, theirs, strict=True):
            assert _plain(row) == _told(told), (table, told.row)
        compared += len(mine)
    return compared


def _plain(row: Any) -> dict[str, Any]:
    return {name: row[name] for name in LAKE_ROW.names if name != "number"}


def _told(told: Any) -> dict[str, Any]:
    row = {name: told.row[name] for name in LAKE_ROW.names if name in ROW.names}
    if told.row["kind"] == Kind.EXECUTION:
        row |= {"firm": told.trades, "position": told.changes}
    return row | {"quality": told.quality}


def _same_snapshots(found: Found, expected: Told) -> None:
    """Orders that healed a book, and those of stored books."""
    orders = found.rows[b.ORDERS]
    assert _books(orders[orders["kind"] == Kind.SNAPSHOT_ORDER]) == _sorted(expected.snapshots)
    assert _books(found.checkpoints["SNAPSHOT"]) == _sorted(expected.checkpoints)
    carried = found.checkpoints["CARRIED"].view(LAKE_ROW)
    assert (carried["id"] == NULL).all()
    told = ("at", "security_id", "rpt_seq", "quality")
    assert sorted(tuple(int(row[name]) for name in told) for row in carried) == sorted(expected.carried)


def _sorted(books: list[Any]) -> list[Any]:
    return sorted(books, key=lambda book: book[:3])


def _books(rows: Rows) -> list[Any]:
    """`low` counts the entries of each; one without an order says that the book is empty."""
    books: list[Any] = []
    for row in rows:
        if row["low"] == 0:
            books.append((int(row["at"]), int(row["security_id"]), int(row["rpt_seq"]), []))
        assert books[-1][1] == row["security_id"]
        assert row["low"] == len(books[-1][3])
        if row["id"] != NULL:
            books[-1][3].append(order_of(_as_new(row)))
    return _sorted(books)


def _as_new(row: Any) -> Any:
    copied = row.copy()
    copied["action"] = 0
    return copied


def _same_quotes(found: Found, expected: Told) -> None:
    def level(price: int, size: int, orders: int) -> tuple[int | None, int, int]:
        return None if price == NULL else price, size, orders

    mine = [
        (
            int(quote["at"]), None if quote["index"] == NO_INDEX else int(quote["index"]),
            int(quote["security_id"]), int(quote["sides"]) & 3, int(quote["sides"]) >> QUOTE_QUALITY,
            bool(int(quote["sides"]) & QUOTE_TRANSACTED), int(quote["instrument"]) >> NUMBER_BITS,
            level(*(int(quote[f"bid_{name}"]) for name in ("price", "size", "orders"))),
            level(*(int(quote[f"offer_{name}"]) for name in ("price", "size", "orders"))),
        )
        for quote in found.quotes
    ]  # fmt: skip
    theirs = [
        (
            *quote.by, quote.security_id, quote.sides, quote.quality, quote.transacted, quote.state,
            *((each.price, each.size, each.orders) for each in quote.top),
        )
        for quote in expected.quotes
    ]  # fmt: skip
    assert sorted(mine, key=repr) == sorted(theirs, key=repr)


def _same_samples(found: Found, expected: Told) -> None:
    mine = sorted((_sample(words, found) for words in found.samples.tolist()), key=repr)
    theirs = [
        (each.packet, each.security_id, each.quality, *map(_levels, (each.bids, each.offers)))
        for each in expected.samples
    ]
    assert mine == sorted(theirs, key=repr)


def _levels(levels: list[Any]) -> list[tuple[int | None, int, int]]:
    return [(each.price, each.size, each.orders) for each in levels]


def _sample(words: list[int], found: Found) -> tuple[Any, ...]:
    number, quality, bids, offers, packet = words[:HEAD_WORDS]
    sides = []
    for which, count in enumerate((bids, offers)):
        start = HEAD_WORDS + which * SIDE_WORDS
        columns = [words[start + place * LEVELS : start + place * LEVELS + count] for place in range(3)]
        sides.append(
            [(None if price == NULL else price, *rest) for price, *rest in zip(*columns, strict=True)]
        )
    return packet, found.store.security_id(number), quality, *sides


def _same_findings(found: Found, expected: Told) -> None:
    mine = []
    for row in found.findings.rows:
        span = row["finding"] in ("HEAL", "STALE_SPAN")
        more = (row["first_seq_num"], row["detail"]) if span else ()
        mine.append((row["place"], row["finding"], row.get("security_id"), *more))
    assert sorted(mine, key=repr) == sorted(expected.findings, key=repr)
    assert found.findings.loops == expected.loops
