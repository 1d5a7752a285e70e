"""Auctions of groups and of single instruments, from states to uncross."""

from typing import Any

import pytest

from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import MONDAY, at
from tests.unit.lake.computed.conftest import Compute
from tests.unit.lake.computed.kit import found

REGULAR, CROSSED = 1 << 13, 1 << 1


def group(seconds: float, state: str, name: str = "01", **other: Any) -> dict[str, Any]:
    given = {"scope": "GROUP", "security_group": name, "security_id": None, "symbol": None, "state": state}
    return given | {"ts_event": at(seconds)} | other


def own(seconds: float, state: str | None, event: str | None, **other: Any) -> dict[str, Any]:
    return {"scope": "INSTRUMENT", "state": state, "event": event, "ts_event": at(seconds)} | other


def theoretical(seconds: float, price: float | None, size: int | None, **other: Any) -> dict[str, Any]:
    action = "NEW" if price else "DELETE"
    given = {"kind": "THEORETICAL", "action": action, "price": price, "size": size, "ts_event": at(seconds)}
    return given | other


def trade(seconds: float, price: float, size: int, **other: Any) -> dict[str, Any]:
    given = {
        "action": "TRADE", "trade_id": 10_000 * round(seconds * 10) + size, "price": price, "size": size,
        "of_date": MONDAY, "condition": REGULAR,
    }  # fmt: skip
    return given | {"ts_event": at(seconds)} | other


VALE: dict[str, Any] = {"security_id": 2, "symbol": "VALE3"}
STATES = [
    own(1, "CLOSE", "SESSION_CHANGE"),
    group(10, "PRE_OPEN", ts_ends=at(20)),
    # The group opens; the auction of 1 goes on by itself and is prolonged once more.
    group(20, "OPEN"), own(20, "RESERVED", "LEAVES_GROUP", ts_ends=at(30)),
    own(28, "RESERVED", "LEAVES_GROUP", ts_ends=at(40)),
    own(40, "OPEN", "REJOINS_GROUP"),
    own(50, "RESERVED", "LEAVES_GROUP", ts_ends=at(60)),
    group(55, "PAUSE"), group(57, "OPEN"),  # it rests while the group is halted: two auctions
    own(60, "OPEN", "REJOINS_GROUP"),
    own(65, "PAUSE", "LEAVES_GROUP", **VALE),
    group(70, "FINAL_CLOSING_CALL", ts_ends=at(80)), group(80, "CLOSE"),
    group(10, "PRE_OPEN", "99"),
]  # fmt: skip
STATISTICS = [
    theoretical(11, 30, 100), theoretical(15, None, None), theoretical(25, 31, 300), theoretical(52, 29, 50),
    theoretical(12, 8, 10, **VALE), theoretical(75, 28, 700),
]  # fmt: skip
IMBALANCES = [
    {"action": "NEW", "side": "MORE_BUYERS", "size": 500, "ts_event": at(12)},
    {"action": "NEW", "side": "MORE_SELLERS", "size": 20, "ts_event": at(39)},
    {"action": "DELETE", "side": None, "size": None, "ts_event": at(40)},
]
TRADES = [
    trade(30, 30.5, 1000, condition=REGULAR | CROSSED),  # a cross during the auction is not of the book
    trade(40, 31, 200), trade(40, 31, 100), trade(40.5, 32, 7),
    trade(20.2, 8.5, 33, **VALE),  # in continuous trading: it has an execution, and there was no uncross
    trade(79.9, 28, 700),  # trades before the state that ends the auction, as 14.1 has it
]  # fmt: skip
EXECUTIONS = [{"ts_event": at(40.5)}, {"ts_event": at(20.2), **VALE}]
INSTRUMENTS = [
    {"security_group": "01"}, {"security_group": "01", **VALE},
    {"security_group": "01", "security_id": 3, "symbol": "QUIET"},
]  # fmt: skip


@pytest.fixture(scope="module")
def made(compute: Compute) -> Any:
    return compute(
        states=STATES, instruments=INSTRUMENTS, statistics=STATISTICS, imbalances=IMBALANCES,
        executions=EXECUTIONS, trades=TRADES,
    )["auctions"]  # fmt: skip


def test_spans(made: Any) -> None:
    names = ("security_id", "kind", "ts_start", "ts_end", "extensions")
    assert found(made, *names, by="security_id,ts_start") == [
        (1, "OPENING", at(10), at(40), 2),
        (1, "INTRADAY", at(50), at(55), 0),
        (1, "INTRADAY", at(57), at(60), 0),
        (1, "CLOSING", at(70), at(80), 0),
        (2, "OPENING", at(10), at(20), 0),  # halted later: no closing call for it
    ]
    assert list(made[0]) == find_table("auctions").schema.names


def test_uncross_path_and_what_is_left(made: Any) -> None:
    names = ("uncross_price", "uncross_size", "trades", "imbalance_side", "imbalance_size")
    assert found(made, *names, by="security_id,ts_start") == [
        (31.0, 300, 2, "MORE_SELLERS", 20),
        (None, None, 0, None, None),
        (None, None, 0, None, None),
        (28.0, 700, 1, None, None),
        (None, None, 0, None, None),
    ]
    paths = [
        [(point["ts"], float(point["price"]), point["size"]) for point in path or ()]
        for (path,) in found(made, "path", by="security_id,ts_start")
    ]
    assert paths == [
        [(at(11), 30.0, 100), (at(25), 31.0, 300)],
        [(at(52), 29.0, 50)],
        [],
        [(at(75), 28.0, 700)],
        [(at(12), 8.0, 10)],
    ]


def test_who_leaves_its_group_before_the_group_opens_is_extended(compute: Compute) -> None:
    """What is told at one moment counts together, in whatever order: 1 leaves its group in the message before
    the group's own, 2 in the one after it."""
    states = [
        group(10, "PRE_OPEN", ts_ends=at(20), seq_num=1),
        own(20, "RESERVED", "LEAVES_GROUP", ts_ends=at(30), seq_num=2),
        group(20, "OPEN", seq_num=3),
        own(20, "RESERVED", "LEAVES_GROUP", ts_ends=at(30), seq_num=4, **VALE),
        own(30, "OPEN", "REJOINS_GROUP", seq_num=5), own(30, "OPEN", "REJOINS_GROUP", seq_num=6, **VALE),
    ]  # fmt: skip
    made = compute(states=states, instruments=INSTRUMENTS)["auctions"]
    rows = found(made, "security_id", "ts_start", "ts_end", "extensions", by="security_id,ts_start")
    assert rows == [(1, at(10), at(30), 1), (2, at(10), at(30), 1)]


def test_an_end_at_random_has_no_time(compute: Compute) -> None:
    """1 is extended to a time, then to a random end, which has none. 2 loses its time when its group opens,
    and gets another. 3 never had a time, and is told again. 4 goes on while its group changes phase."""

    def reserved(seconds: float, ends: int | None, **other: Any) -> dict[str, Any]:
        return own(seconds, "RESERVED", "LEAVES_GROUP", ts_ends=ends, **other)

    third, fourth = ({"security_id": number, "symbol": f"S{number}"} for number in (3, 4))
    states = [
        reserved(10, at(20)), reserved(18, at(30)), reserved(28, 0), reserved(29, 0),
        own(35, "OPEN", "REJOINS_GROUP"),
        group(10, "PRE_OPEN", ts_ends=at(20)), group(20, "OPEN"),
        reserved(20, None, **VALE), reserved(25, at(30), **VALE), own(30, "OPEN", "REJOINS_GROUP", **VALE),
        reserved(40, 0, **third), reserved(41, None, **third),
        group(5, "OPEN", "03"), reserved(45, at(60), **fourth), group(50, "PRE_CLOSE", "03"),
    ]  # fmt: skip
    instruments = [
        {"security_group": "02"}, {"security_group": "01", **VALE}, {"security_group": "02", **third},
        {"security_group": "03", **fourth},
    ]  # fmt: skip
    statistics = [theoretical(12, 8, 10, **VALE)]
    made = compute(states=states, instruments=instruments, statistics=statistics)["auctions"]
    rows = found(made, "security_id", "ts_start", "extensions", by="security_id,ts_start")
    assert rows == [(1, at(10), 2), (2, at(10), 2), (3, at(40), 0), (4, at(45), 0)]
