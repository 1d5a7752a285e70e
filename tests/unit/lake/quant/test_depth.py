"""Depth on reading: against the stored table, and against a plain twin."""

from typing import Any

import pytest

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from tests.twins.lake.plain_depth import books_after, levels

SECOND = 1_000_000_000
SIDES = (("bid", "BUY"), ("offer", "SELL"))


def busiest(lake: Lake, count: int) -> list[str]:
    rows = lake.arrow("orders", columns=["symbol"]).group_by("symbol").aggregate([([], "count_all")])
    ordered = sorted(rows.to_pylist(), key=lambda row: -row["count_all"])
    return [row["symbol"] for row in ordered if row["symbol"]][:count]


def shown(row: dict[str, Any], side: str, count: int) -> list[tuple[Any, Any, Any]]:
    each = [tuple(row[f"{side}_{name}_{level}"] for name in ("price", "size", "orders"))
            for level in range(1, count + 1)]  # fmt: skip
    return [level for level in each if level[2] is not None]


def twin(lake: Lake, symbol: str, day: Any) -> list[tuple[dict[str, Any], Any]]:
    mine = lake.arrow("orders", {"symbol": symbol, "trade_date": day})
    channel = mine["channel"][0].as_py()
    resets = lake.arrow("orders", {"action": "RESET", "trade_date": day, "channel": channel})
    return list(books_after([*mine.to_pylist(), *resets.to_pylist()]))


@pytest.mark.parametrize("count", [1, 3, 25])
def test_after_each_event_the_book_is_the_twins(lake: Lake, count: int) -> None:
    compared = 0
    for symbol in busiest(lake, 4):
        found = lake.depth(symbol, levels=count).to_pylist()
        for day in lake.dates():
            after = {(row["seq_version"], row["seq_num"], row["ts_event"]): book
                     for row, book in twin(lake, symbol, day)}  # fmt: skip
            seen: Any = None
            for row in (each for each in found if each["trade_date"] == day):
                book = after[row["seq_version"], row["seq_num"], row["ts_event"]]
                for side, word in SIDES:
                    assert shown(row, side, count) == levels(book, word, count), (symbol, row["seq_num"])
                now = [shown(row, side, count) for side, _ in SIDES]
                assert now != seen  # a row is a change
                seen = now
                compared += 1
    assert compared > 100


def test_every_change_of_a_level_is_a_row(lake: Lake) -> None:
    """The twin's last book of the day is the last row's: nothing was left out on the way."""
    for symbol in busiest(lake, 4):
        for day in lake.dates():
            rows = lake.depth(symbol, levels=10, start=str(day), end=str(day)).to_pylist()
            told = twin(lake, symbol, day)
            distinct = []
            for row, book in told:
                now = [levels(book, word, 10) for _, word in SIDES]
                if row["end_of_event"] and (not distinct or now != distinct[-1]):
                    distinct.append(now)
            states = [[shown(row, side, 10) for side, _ in SIDES] for row in rows]
            assert [each for each in distinct if each not in states and each != [[], []]] == []
            assert states[-1] == [levels(told[-1][1], word, 10) for _, word in SIDES]


def test_once_a_second_it_is_the_stored_table(lake: Lake) -> None:
    """Of each stored row, the newest of ours until then: ours has no row where none of its levels changed. A
    stored book that is in doubt stands still; ours goes on with what is told, and says that it is."""
    compared = 0
    for symbol in busiest(lake, 5):
        stored = lake.arrow("depth", {"symbol": symbol}).sort_by("ts_sample").to_pylist()
        found = lake.depth(symbol, every="1s", levels=10).to_pylist()
        sure = {row["ts_sample"] for row in found if not row["quality"]}
        assert sure <= {row["ts_sample"] for row in stored}
        for row in (each for each in stored if not each["quality"]):
            today = [each for each in found if each["trade_date"] == row["trade_date"]]
            last = [each for each in today if each["ts_sample"] <= row["ts_sample"]]
            for side, _ in SIDES:
                expected = shown(last[-1], side, 10) if last else []
                assert shown(row, side, 10) == expected, (symbol, row["ts_sample"])
            compared += 1
    assert compared > 100


def test_phase_and_state_are_those_of_the_stored_table(lake: Lake) -> None:
    """Where that knows them: after a loss it says null until they are told again, and ours goes on."""
    compared, kinds = 0, set()
    for symbol in busiest(lake, 8):
        stored = lake.arrow("depth", {"symbol": symbol}).to_pylist()
        ours = {row["ts_sample"]: row for row in lake.depth(symbol, every="1s", levels=10).to_pylist()}
        for row in stored:
            mine = ours.get(row["ts_sample"])
            if mine is None or row["phase"] is None or row["state"] is None:
                continue
            assert (mine["phase"], mine["state"]) == (row["phase"], row["state"]), (symbol, row["ts_sample"])
            kinds.add((row["phase"], row["state"]))
            compared += 1
    assert compared > 100
    assert len(kinds) > 2


def test_an_interval_keeps_the_last_of_each(lake: Lake) -> None:
    symbol = busiest(lake, 1)[0]
    fine, coarse = (lake.depth(symbol, every=every, levels=5).to_pylist() for every in ("100ms", "10s"))
    assert len(fine) > len(coarse) > 1
    for row in coarse:
        assert row["ts_sample"] % (10 * SECOND) == 0
        today = [each for each in fine if each["trade_date"] == row["trade_date"]]
        before = [each for each in today if each["ts_sample"] <= row["ts_sample"]]
        assert [shown(before[-1], side, 5) for side, _ in SIDES] == [shown(row, side, 5) for side, _ in SIDES]


def test_a_part_of_a_day_is_that_part_of_the_whole(lake: Lake) -> None:
    """It begins with the stored book nearest before."""
    symbol = busiest(lake, 1)[0]
    whole = lake.depth(symbol, levels=5).to_pylist()
    times = [row["ts_event"] for row in whole if row["ts_event"] is not None]
    start, end = times[len(times) // 3], times[2 * len(times) // 3]
    part = lake.depth(symbol, levels=5, start=start, end=end).to_pylist()
    expected = [row for row in whole if row["ts_event"] is not None and start <= row["ts_event"] <= end]
    assert part == expected
    assert len(part) > 10


def test_the_book_at_the_end_of_a_day_is_the_twins(lake: Lake) -> None:
    """Also where a snapshot told it of a packet that was lost, which has no sendingTime."""
    rows = lake.arrow("orders")
    late = [row for row in rows.to_pylist() if row["ts_send"] is None and row["action"] == "SNAPSHOT"]
    assert late
    for symbol, day in sorted({(row["symbol"], row["trade_date"]) for row in late}):
        told = twin(lake, symbol, day)
        book = lake.book(symbol, at=max(row["ts_event"] for row, _ in told))
        for side, word in ((book.bids, "BUY"), (book.offers, "SELL")):
            found = [(level.price, level.size, level.orders) for level in side]
            expected = levels(told[-1][1], word, 1_000)
            assert found == [(None if p is None else int(p * 10_000), s, o) for p, s, o in expected]


def test_what_cannot_be(lake: Lake) -> None:
    for levels_ in (0, 201):
        with pytest.raises(LakeError, match="levels: from 1 to 200"):
            lake.depth("PETR4", levels=levels_)
    with pytest.raises(LakeError, match="is not a length"):
        lake.depth("PETR4", every="fast")
    with pytest.raises(LakeError, match="no instrument 'NOBODY3'"):
        lake.depth("NOBODY3")
