"""Conditions: as mapping, triples or text, checked against the table."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from pregao.lake.errors import LakeError
from pregao.lake.reading.conditions import Condition, conditions
from pregao.lake.tables.catalogue import TABLES

ORDERS = TABLES["orders"]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (None, []),
        ({"security_id": 5}, [Condition("security_id", "=", 5)]),
        ({"ts_event": (1, None)}, [Condition("ts_event", ">=", 1)]),
        ({"side": ["BUY"]}, [Condition("side", "in", ("BUY",))]),
        ({"firm": None}, [Condition("firm", "is null")]),
        ({"trade_date": "2026-11-16"}, [Condition("trade_date", "=", date(2026, 11, 16))]),
        ([("price", ">", "30.10")], [Condition("price", ">", Decimal("30.10"))]),
        (
            "symbol = 'PE''TR' AND ts_event BETWEEN 1 and 5",
            [
                Condition("symbol", "=", "PE'TR"),
                Condition("ts_event", ">=", 1),
                Condition("ts_event", "<=", 5),
            ],
        ),
        (
            "price<>-1.50 and implied = true",
            [Condition("price", "!=", Decimal("-1.50")), Condition("implied", "=", True)],
        ),
        (
            "side in ('BUY', 'SELL') and firm is not null",
            [Condition("side", "in", ("BUY", "SELL")), Condition("firm", "is not null")],
        ),
        (
            "time >= '2026-11-16T13:00:00+00:00'",
            [Condition("time", ">=", datetime(2026, 11, 16, 13, tzinfo=UTC))],
        ),
    ],
)  # fmt: skip
def test_every_way_to_say_it(where: Any, wanted: list[Condition]) -> None:
    assert conditions(ORDERS, where) == wanted


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ({"nothing": 1}, "no column 'nothing'"),
        ({"security_id": "x"}, "is not of type bigint"),
        ({"security_id": 1.5}, "is not of type bigint"),
        ({"security_id": True}, "is not of type bigint"),
        ({"ts_event": (1, 2, 3)}, "a range is"),
        ({"time": "2026-11-16T13:00:00"}, "is not of type timestamp"),
        ({"trade_date": "yesterday"}, "is not of type date"),
        ({"symbol": 5}, "is not of type string"),
        ({"price": "dear"}, "is not of type decimal"),
        ({"implied": 1}, "is not of type boolean"),
        ([("price", "~", 1)], "is not one of"),
        ("", "at its end"),
        ("price", "at its end"),
        ("price > 1 or size > 2", "at 'or'"),
        ("price > 1 and", "at its end"),
        ("price > (select 1)", "cannot be read at '\\('"),
        ("price > ;", "cannot be read at"),
        ("side in ()", "at '\\)'"),
        ("price > size", "at 'size'"),
    ],
)
def test_what_cannot_be_meant_is_said(where: Any, complaint: str) -> None:
    with pytest.raises(LakeError, match=complaint):
        conditions(ORDERS, where)


def test_nested_columns_cannot_be_compared() -> None:
    with pytest.raises(LakeError, match="is not of type array"):
        conditions(TABLES["instruments"], {"legs": 1})
