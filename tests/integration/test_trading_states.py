"""What an instrument is in and who began a trade, in the tables: held against the exchange's own account.

An ordinary day has no book that is crossed while it is open; a capture in which an order was changed has one.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pregao.codecs.sbe import SbeMessageEncoder, load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder, frame
from pregao.lake.lake import Lake
from pregao.model.market import Aggressor, State, TradeCondition, TradeSubType
from tests.kits.captures import Captured, copy_capture
from tests.kits.lakes import build, make_days, rows_of, truth
from tests.kits.streams import feed, rotate, streamer

Row = dict[str, Any]
VERSION = 16


class Built(NamedTuple):
    day: Path
    lake: Lake


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("states")
    (day,) = make_days(folder / "days", seed=31, version=VERSION, messages=6_000, coverage=True)
    build([day], folder / "lake", slices=3, derive=True)
    return Built(day, Lake(folder / "lake"))


def _is_crossed(row: Row, level: str = "") -> bool:
    bid, offer = row[f"bid_price{level}"], row[f"offer_price{level}"]
    return bid is not None and offer is not None and bid >= offer


def test_no_open_book_is_crossed_and_each_crossed_one_is_marked(built: Built) -> None:
    states = Counter(row["state"] for row in built.lake.arrow("quotes").to_pylist() if _is_crossed(row))
    assert sum(states.values()) > 10
    assert set(states) == {"RESERVED", "FINAL_CLOSING_CALL"}
    depth = [row["state"] for row in built.lake.arrow("depth").to_pylist() if _is_crossed(row, "_1")]
    assert depth
    assert set(depth) <= {"RESERVED", "FINAL_CLOSING_CALL"}
    findings = built.lake.arrow("quality").column("finding").to_pylist()
    assert not {"CROSSED_BOOK", "UNKNOWN_TEMPLATE", "UNKNOWN_VALUE"} & set(findings)


def _begun_by(day: Path) -> dict[tuple[int, int, int], Row]:
    """The execution of each event and instrument, as the exchange counts its events."""
    return {
        (row["channel"], row["event"], row["security_id"]): row
        for row in truth(day, "events/execution_summary")
    }


def test_aggressors_are_the_exchange_s(built: Built) -> None:
    executions, trades = _begun_by(built.day), truth(built.day, "events/trade")
    rows = built.lake.arrow("trades", [("action", "=", "TRADE")]).to_pylist()
    found = {(row["channel"], row["seq_version"], row["seq_num"], row["msg_index"]): row for row in rows}
    assert len(found) == len(trades) > 300
    told: Counter[tuple[bool, bool]] = Counter()
    for trade in trades:
        row = found[trade["channel"], trade["seq_version"], trade["seq_num"], trade["msg_index"]]
        begun = executions.get((trade["channel"], trade["event"], trade["security_id"]))
        side = None if begun is None else Aggressor(begun["aggressor"])
        by = None if side in (None, Aggressor.NONE) else side
        assert row["aggressor"] == (by and by.name)
        assert row["ts_aggressor"] == (begun["aggressor_ns"] if begun and by else None)
        assert (row["auction"], row["matching"] == "AUCTION") == (_is_of_an_auction(trade, begun),) * 2
        assert row["matching"] is not None
        told[row["auction"], by is not None] += 1
    assert min(told[True, False], told[False, True], told[False, False]) > 3
    assert not told[True, True]


def _is_of_an_auction(trade: Row, begun: Row | None) -> bool:
    special = int(TradeCondition.CROSSED | TradeCondition.BLOCK | TradeCondition.ON_BEHALF)
    special |= int(TradeCondition.OUT_OF_SEQUENCE)
    return begun is None and trade["sub_type"] is None and not trade["condition"] & special


def test_auction_trades_are_where_the_exchange_had_auctions(built: Built) -> None:
    """The first test knows them by what they lack; here by when they were, and by `auctions`."""
    spans = list(_auctions_of(built.day))
    rows = built.lake.arrow("trades_clean", [("auction", "=", True)]).to_pylist()
    assert len(rows) > 20
    for row in rows:
        mine = [(since, until) for each, since, until in spans if each == row["security_id"]]
        assert any(since <= row["ts_event"] <= until for since, until in mine), row["trade_id"]
    uncrossed = sum(row["trades"] for row in built.lake.arrow("auctions").to_pylist())
    assert len(rows) >= uncrossed > 0


def _auctions_of(day: Path) -> Iterator[tuple[int, int, int]]:
    """From when to when an instrument was in auction, by the exchange's phases and states: its own state
    where it has one, else the phase of its group. What is told at one moment counts together."""
    groups = {row["security_id"]: row["group"] for row in truth(day, "instruments")}
    told = [
        (row["transact_ns"], None, row["group"], row["phase"], None)
        for row in truth(day, "events/phase_changed")
    ]
    told += [
        (row["transact_ns"], row["security_id"], None, row["state"], row["cause"])
        for row in truth(day, "events/state_changed")
    ]
    told.sort(key=lambda each: each[0])
    for security_id, group in groups.items():
        phase, own, since = 0, 0, None
        for at, of, of_group, number, cause in told:
            if of == security_id:
                own = number or 0 if cause == 101 else 0
            elif of_group == group:
                phase = number
            else:
                continue
            now = (own or phase) in (State.RESERVED, State.FINAL_CLOSING_CALL)
            if now and since is None:
                since = at
            elif not now and since is not None:
                yield security_id, since, at + 1_000_000_000
                since = None
        if since is not None:
            yield security_id, since, 1 << 62


def test_bars_tell_the_state_of_their_last_trade(built: Built) -> None:
    trades = built.lake.arrow("trades_clean").to_pylist()
    compared = 0
    for bar in built.lake.arrow("bars", [("interval", "=", 60_000_000_000)]).to_pylist():
        mine = [
            row for row in trades
            if row["security_id"] == bar["security_id"]
            and 0 <= row["ts_event"] - bar["ts_start"] < 60_000_000_000
        ]  # fmt: skip
        last = max(mine, key=lambda row: (row["ts_send"], row["seq_num"], row["msg_index"]))
        assert (bar["phase"], bar["state"]) == (last["phase"], last["state"])
        assert bar["auction_trades"] == sum(row["auction"] for row in mine)
        compared += 1
    assert compared > 20


def test_the_names_of_matchings_are_those_of_the_day(built: Built) -> None:
    """Of this day, which has some of each: nothing is put under OTHER."""
    rows = built.lake.arrow("trades", [("action", "=", "TRADE")]).to_pylist()
    how = Counter(row["matching"] for row in rows)
    assert {"CONTINUOUS", "AUCTION", "BLOCK", "CROSS"} <= set(how)
    assert not how["OTHER"]
    assert all(row["matching"] == "LEG" for row in rows if row["sub_type"] == TradeSubType.LEG.name)


# A book that is crossed


def _crossing(order: Row, *, in_snapshots: bool = False) -> Any:
    """The order in its own packet, or in all snapshots, at twice its price."""
    schema = load_builtin_schema()
    decoder, encoder = PacketDecoder(schema), SbeMessageEncoder(schema, VERSION)

    def is_it(fields: Row) -> bool:
        return bool(fields.get("secondaryOrderID") == order["order_id"])

    def change(packets: list[Captured]) -> list[Captured]:
        for place, each in enumerate(packets):
            if not in_snapshots and each.header.sequence_number != order["seq_num"]:
                continue
            made, spoiled = each.payload[:16], False
            for message in (found.message for found in decoder.decode(each.payload).messages):
                fields = dict(message.fields or {})
                rows = fields.get("noMDEntries", ()) if in_snapshots else (fields,)
                for row in rows if fields.get("securityID") == order["security_id"] else ():
                    if is_it(row) and row.get("mDEntryPx") is not None:
                        row["mDEntryPx"], spoiled = row["mDEntryPx"] * 2, True
                made += frame(encoder.encode(str(message.name), fields)) if message.name else b""
            if spoiled:
                packets[place] = each.with_payload(made)
        return packets

    return change


def _crossing_orders(lake: Lake) -> list[Row]:
    """Bids that became the best of an open book with an offer, in the order of time."""
    quotes = lake.arrow("quotes", [("state", "=", "OPEN"), ("quality", "=", 0)]).to_pylist()
    known = {(row["security_id"], row["seq_num"]): row for row in quotes}
    orders = lake.arrow(
        "orders", [("action", "=", "ADD"), ("side", "=", "BUY"), ("quality", "=", 0)]
    ).to_pylist()
    usable = [
        row for row in orders
        if row["end_of_event"] and not row["implied"] and row["price"] is not None
        and (quote := known.get((row["security_id"], row["seq_num"]))) is not None
        and quote["offer_price"] is not None and quote["bid_price"] == row["price"] > 0
    ]  # fmt: skip
    return sorted(usable, key=lambda row: row["ts_send"])


@pytest.fixture(scope="module")
def spoiled(built: Built, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Row]:
    """A capture with a bid that should have met an offer, and the row of that order before."""
    folder, usable = tmp_path_factory.mktemp("spoiled"), _crossing_orders(built.lake)
    order = usable[len(usable) // 2]
    change = _crossing(order)
    for path in sorted(built.day.glob(f"{order['channel']:03}_*.pcap")):
        copy_capture(path, folder / "day", change if "Incremental" in path.name else None)
    return folder, order


def test_a_book_that_is_crossed_while_open_is_one_finding(spoiled: tuple[Path, Row]) -> None:
    folder, order = spoiled
    build([folder / "day"], folder / "lake")
    (found,) = Lake(folder / "lake").arrow("quality", [("finding", "=", "CROSSED_BOOK")]).to_pylist()
    assert (found["severity"], found["security_id"], found["symbol"]) == (
        "ERROR", order["security_id"], order["symbol"],
    )  # fmt: skip
    assert (found["seq_num"], found["first_seq_num"], found["ts_from"]) == (
        order["seq_num"], order["seq_num"], order["ts_event"],
    )  # fmt: skip
    # It ends with the quote that is not crossed any more: B3's next snapshot puts the book right.
    quotes = Lake(folder / "lake").arrow("quotes", [("security_id", "=", order["security_id"])]).to_pylist()
    after = [row for row in quotes if row["ts_event"] > order["ts_event"] and not _is_crossed(row)]
    assert found["ts_to"] == min(row["ts_event"] for row in after) > found["ts_from"]
    assert found["found"].startswith(f"bid {2 * order['price']}, offer ")


def test_it_is_the_same_wherever_slices_are_cut(spoiled: tuple[Path, Row]) -> None:
    folder, _ = spoiled
    build([folder / "day"], folder / "one", slices=1)
    build([folder / "day"], folder / "many", slices=9)
    for table in ("quality", "quotes", "trades", "depth"):
        assert rows_of(Lake(folder / "one"), table) == rows_of(Lake(folder / "many"), table), table


def test_a_stream_tells_it_once_while_it_goes_on_and_as_a_build_does_in_the_end(
    built: Built, tmp_path: Path
) -> None:
    """In snapshots the book is crossed too, so it stays so over the ends of batches."""
    order = max(_crossing_orders(built.lake), key=lambda row: _life_ns(built.lake, row))
    for path in sorted(built.day.glob(f"{order['channel']:03}_*.pcap")):
        is_loop = "Snapshot" in path.name
        change = _crossing(order, in_snapshots=is_loop) if is_loop or "Incremental" in path.name else None
        copy_capture(path, tmp_path / "day", change)
    build([tmp_path / "day"], tmp_path / "whole")
    expected = [row for row in rows_of(Lake(tmp_path / "whole"), "quality") if "CROSSED_BOOK" in row]
    stream, ends = streamer(tmp_path / "lake", tmp_path / "checkpoint", join=2), set[int]()
    for files in rotate(tmp_path / "day", tmp_path / "captures", 40):
        feed(stream, files)
        if (tmp_path / "lake" / "commits").exists():
            told = Lake(tmp_path / "lake").arrow("quality", [("finding", "=", "CROSSED_BOOK")]).to_pylist()
            assert len(told) <= len(expected)
            ends.update(row["ts_to"] for row in told)
    feed(stream, [], finish=True)
    assert len(ends) > len(expected) > 0, "it was told before it was over"
    assert [row for row in rows_of(Lake(tmp_path / "lake"), "quality") if "CROSSED_BOOK" in row] == expected


def _life_ns(lake: Lake, order: Row) -> int:
    """How long an order stood as it was."""
    rows = lake.arrow("orders", [("security_id", "=", order["security_id"])]).to_pylist()
    later = [
        row["ts_send"] for row in rows
        if row["order_id"] == order["order_id"] and row["ts_send"] > order["ts_send"]
        and row["action"] in ("CHANGE", "DELETE")
    ]  # fmt: skip
    return int(min(later, default=order["ts_send"]) - order["ts_send"])
