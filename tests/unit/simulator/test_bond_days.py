"""Days of bonds as files: journals that give the books of the truth, and what occurred in them."""

from collections import defaultdict
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pregao.cli.main import main
from pregao.codecs.fix import load_builtin_dictionary, parse_message
from pregao.codecs.fix.dictionary import FieldBlock
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.feeds.trademate.coverage import Occurrences
from pregao.market import Market, OrderAdded, Trade
from pregao.model.errors import ConfigurationError
from pregao.model.fixed_income import BondKind
from pregao.model.market import Action, Side
from pregao.simulator.bond_days import BondDaySettings, simulate_bonds
from pregao.simulator.coverage import journal_messages, session_occurrences


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bonds")
    summary = simulate_bonds(BondDaySettings(out, messages=3_000, sessions=2))
    assert summary.folders == [out / "2026-11-16"]
    assert summary.events > 3_000
    return out / "2026-11-16"


def test_everything_occurs(folder: Path) -> None:
    rows = session_occurrences([folder], "trademate")
    assert [row.name for row in rows if not row.times] == []
    assert {row.name.split("=")[0] for row in rows} >= {
        "167", "263", "269", "274", "277", "279", "281", "286", "326", "336", "423", "456", "460", "560",
        "762", "871", "876", "893", "980", "1093", "1500", "1946", "6939", "9750", "9751",
    }  # fmt: skip
    names = {row.name for row in rows}
    assert names >= {f"560={value}" for value in "016M"} | {f"980={value}" for value in "AMD"}
    assert names >= {"263=1", "263=2", "35=y: 228", "35=f: 342", "35=W, 269=2: 336", "35=X, 269=g: 1149"}


def test_what_the_dictionary_lists_is_counted() -> None:
    """Values of fields of the market's messages; left out are constants, what is only read, and what has no
    cause in a day (docs/specification-notes.md)."""
    dictionary = load_builtin_dictionary(TRADEMATE_DICTIONARY)
    counted = Occurrences(dictionary).counts
    left_out: dict[int, set[str]] = {}

    def look(block: FieldBlock) -> None:
        for tag, member in block.own.items():
            missing = {
                value.decode() for value in member.field.values if f"{tag}={value.decode()}" not in counted
            }
            if missing:
                left_out.setdefault(tag, set()).update(missing)
        for group in block.groups.values():
            look(group)

    for spec in dictionary.messages.values():
        if not spec.is_admin and spec.msg_type != b"j":
            look(spec.body)
    assert left_out == {
        22: {"4", "8"}, 305: {"8"}, 1021: {"3"}, 1022: {"IMP", "STD"}, 281: {"0", "3", "X", "Z"},
        277: {"1", "2", "3", "P", "Q", "U", "X"}, 762: {kind.name for kind in BondKind if kind},
    }  # fmt: skip


# Tags of entries beside 269, 272 and 273, in both messages (1.3.5, 1.3.6); no firms are told.
TAGS: dict[bytes, set[int]] = {
    b"0": {37, 290, 423, 270, 271}, b"1": {37, 290, 423, 270, 271},
    b"2": {1003, 270, 271, 423, 274, 277, 451, 1020}, b"4": {270, 271, 286, 1500}, b"5": {270, 286},
    b"7": {270, 423}, b"8": {270, 423}, b"9": {270, 423}, b"B": {270, 271, 1020}, b"g": {6939, 1148, 1149},
    b"c": {326},
}  # fmt: skip
INSERTED = {37016, 37017}


def test_entries_have_the_tags_of_the_tables_and_no_others(folder: Path) -> None:
    dictionary, seen = (
        load_builtin_dictionary(TRADEMATE_DICTIONARY),
        defaultdict[tuple[bytes, bytes], set[int]](set),
    )
    values = defaultdict[tuple[bytes, int], set[bytes]](set)
    for path in folder.glob("*.pcap.zst"):
        for message in (parse_message(data, dictionary) for data in journal_messages(path)):
            for entry in message.group(268) if message.msg_type in (b"W", b"X") else ():
                kind = entry[269]
                assert isinstance(kind, bytes)
                seen[message.msg_type, kind] |= entry.keys()
                for tag in (279, 286, 1500):
                    values[kind, tag].add(entry.get(tag, b""))  # type: ignore[arg-type]
    for kind, tags in TAGS.items():
        inserted = INSERTED if kind in b"012" else set()
        assert seen[b"X", kind] == tags | inserted | {269, 272, 273, 279, 48, 22, 207, 876}
        assert seen[b"W", kind] == tags | {269, 272, 273} | ({336} if kind == b"2" else set())
        assert values[kind, 279] <= {b"", b"0", b"1", b"2"}  # none in W
    assert {kind for _, kind in seen} == TAGS.keys()
    assert (values[b"4", 286], values[b"4", 1500]) == ({b"0", b"5"}, {b"E"})
    assert values[b"5", 286] == {b"0", b"4"}


def test_a_journal_gives_the_orders_and_trades_of_the_truth(folder: Path) -> None:
    journal = next(folder.glob("SESSION1_*.pcap.zst"))
    trades, orders = (
        pq.read_table(folder / "truth" / "events" / f"{kind}.parquet").to_pylist()
        for kind in ("trade", "order_update")
    )
    heard: dict[tuple[int, int], tuple[int | None, int]] = {}
    entered: dict[int, tuple[int, int | None, int]] = {}
    with Market.replay(journal, system="trademate", orders=True) as market:
        for event in market:
            if isinstance(event, Trade):
                heard[event.security_id, event.trade_id] = event.price, event.size
            elif isinstance(event, OrderAdded):
                entered[event.order_id] = event.security_id, event.price, event.size
        assert market.health().findings == 0
        assert len(list(market.books())) == 84
        assert not any(book.orders(side) for book in market.books() for side in Side)  # the day is over
    assert heard == {(row["security_id"], row["trade_id"]): (row["price"], row["size"]) for row in trades}
    new = [row for row in orders if row["action"] == Action.NEW]
    assert entered == {row["order_id"]: (row["security_id"], row["price"], row["size"]) for row in new}
    assert min(row["price"] for row in new) < 0
    books = pq.read_table(folder / "truth" / "books.parquet").to_pylist()
    assert len({row["event"] for row in books}) >= 3
    bonds = pq.read_table(folder / "truth" / "bonds.parquet").to_pylist()
    assert {row["kind"] for row in bonds} == {kind.name for kind in BondKind if kind}


def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    for out in ("one", "two"):
        simulate_bonds(BondDaySettings(tmp_path / out, messages=300, days=2))
    names = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert {name.parts[0] for name in names} == {"2026-11-16", "2026-11-17"}
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_a_holiday_is_no_day(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="2026-11-20"):
        BondDaySettings(tmp_path, date=date(2026, 11, 20))


def test_coverage_fails_where_something_never_occurred(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["simulate", "--out", str(tmp_path), "--systems", "trademate", "--coverage", "--messages"]
    assert main([*arguments, "5"]) == 1
    said = capsys.readouterr()
    assert "trademate 277=RFQ" in said.err
    assert "trademate             0  277=VO" in said.out
